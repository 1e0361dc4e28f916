"""Whether the next call to a model fits what is left: spent, reserved and its worst case (S4.4).

The closing summary has a reserve of its own, one call, out of the reach of all other calls. It is
kept only where at least two such calls fit, once a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from controller.api.model_call import ModelTerms, Reservation, usd
from controller.api.reasons import TERMINAL, ExitCode, TerminalReason
from controller.api.step import ActionName, StepDecision
from controller.evidence.draft import facts_to_word
from controller.loop.accounting import cost
from controller.loop.exchanges.summarize import GRACE_OUTPUT_TOKENS, GRACE_PROMPT_TOKENS
from controller.loop.intents import Intent, SummarizeArguments
from controller.loop.model_policy import model_in_use, with_model
from controller.loop.situation import Situation

_LEAST_GRACE_PROMPT: Final = 256
"""A window that has less room than this beside the summary holds no fact worth summing up."""


class Shortage(NamedTuple):
    """Which budget the next call would cross, in words and as the reason that ends the run."""

    reason: TerminalReason
    message: str


@dataclass(frozen=True)
class Reserve:
    """What is kept for the closing summary."""

    calls: int = 0
    tokens: int = 0
    cost_micro_usd: int = 0


def shortage(situation: Situation, intent: Intent) -> Shortage | None:
    """Return the budget that an intent's call to a model would cross; None: it fits."""
    reserved = intent.reservation
    if reserved is None:
        return None
    kept = Reserve() if intent.action is ActionName.SUMMARIZE else reserve(situation)
    return (
        _calls(situation, kept) or _tokens(situation, kept, reserved)
        or _cost(situation, kept, reserved)
    )  # fmt: skip


def over_ceiling(situation: Situation, intent: Intent) -> str | None:
    """Return how an intent's call would cross the operator's ceiling; None: it does not (E12)."""
    spend, reserved = situation.spend, intent.reservation
    if spend is None or reserved is None or not reserved.cost_micro_usd:
        return None
    if spend.spent + reserved.cost_micro_usd <= spend.limit:
        return None
    return (
        f"the operator's ceiling for all tasks is US dollars {usd(spend.limit)}, and "
        f"{usd(spend.spent)} are used; the next call may cost {usd(reserved.cost_micro_usd)}"
    )


def is_affordable(situation: Situation, intent: Intent) -> bool:
    """Say whether a call that a run can do without fits every budget and the operator's ceiling."""
    return shortage(situation, intent) is None and over_ceiling(situation, intent) is None


def reserve(situation: Situation) -> Reserve:
    """Return what is kept for the closing summary: nothing once it was made."""
    capacity = model_in_use(situation)
    if capacity is None or situation.state.model.is_summed_up:
        return Reserve()
    terms = capacity.terms
    if terms.context_window_tokens < GRACE_OUTPUT_TOKENS + _LEAST_GRACE_PROMPT:
        return Reserve()
    one, budgets, limit = _grace(terms), situation.task.spec.budgets, situation.cost_limit
    two_fit = (
        budgets.max_model_calls >= 2 * one.calls
        and budgets.max_tokens >= 2 * one.tokens
        and (limit is None or limit >= 2 * one.cost_micro_usd)
    )
    return one if two_fit else Reserve()


def closing_summary(situation: Situation, decision: StepDecision) -> Intent | None:
    """Return the closing summary of a run that has used up a budget; None: the template it is.

    It is made once a round, of verified facts alone, and not where time is up.
    """
    ending = decision.ending
    is_exhausted = ending is not None and TERMINAL[ending].exit_code is ExitCode.EXHAUSTED
    if not is_exhausted or ending is TerminalReason.DEADLINE_EXCEEDED:
        return None
    findings, language = situation.assessment.findings, situation.task.spec.language
    has_facts = bool(facts_to_word(findings, language))
    if reserve(situation) == Reserve() or not has_facts or situation.assessment.needs_approval:
        return None  # what was not approved is withheld
    arguments = SummarizeArguments(basis=situation.assessment.basis)
    intent = with_model(situation, Intent(ActionName.SUMMARIZE, arguments, decision))
    return intent if intent.reservation and shortage(situation, intent) is None else None


def _grace(terms: ModelTerms) -> Reserve:
    prompt = min(GRACE_PROMPT_TOKENS, terms.context_window_tokens - GRACE_OUTPUT_TOKENS)
    return Reserve(
        calls=1,
        tokens=prompt + GRACE_OUTPUT_TOKENS,
        cost_micro_usd=cost(terms, prompt, 0, GRACE_OUTPUT_TOKENS),
    )


def _calls(situation: Situation, kept: Reserve) -> Shortage | None:
    limit, used = situation.task.spec.budgets.max_model_calls, situation.state.usage.model_calls
    if used + 1 + kept.calls <= limit:
        return None
    return Shortage(
        TerminalReason.MODEL_CALL_BUDGET_EXHAUSTED,
        f"{used} of the task's spec.budgets.maxModelCalls {limit} are used{_kept(kept.calls)}",
    )


def _tokens(situation: Situation, kept: Reserve, reserved: Reservation) -> Shortage | None:
    limit, used = situation.task.spec.budgets.max_tokens, situation.state.usage.tokens
    if used + reserved.tokens + kept.tokens <= limit:
        return None
    return Shortage(
        TerminalReason.TOKEN_BUDGET_EXHAUSTED,
        f"{used} of spec.budgets.maxTokens {limit} are used{_kept(kept.tokens)}; the next call "
        f"may need {reserved.tokens}",
    )


def _cost(situation: Situation, kept: Reserve, reserved: Reservation) -> Shortage | None:
    limit, used = situation.cost_limit, situation.state.usage.cost_micro_usd
    if limit is None or used + reserved.cost_micro_usd + kept.cost_micro_usd <= limit:
        return None
    aside = f", {usd(kept.cost_micro_usd)} kept for the closing summary" if kept.calls else ""
    return Shortage(
        TerminalReason.COST_BUDGET_EXHAUSTED,
        f"{usd(used)} of spec.budgets.maxCostUSD {usd(limit)} are used{aside}; the next call may "
        f"cost {usd(reserved.cost_micro_usd)}",
    )


def _kept(amount: int) -> str:
    return f", {amount} kept for the closing summary" if amount else ""
