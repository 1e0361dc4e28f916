"""The switch to the fallback model: one way, at most once a round (`degradeAtPercent`, E8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.loop.capacity import Capacity
from controller.loop.exchanges import request_for
from controller.loop.model_policy import capacity_of, chosen, model_in_use
from controller.loop.situation import Situation

FALLBACK_MODEL: Final = "FallbackModel"
"""The reason of `Degraded=True` after the switch."""


def switch_to_fallback(situation: Situation) -> str | None:
    """Return why the fallback takes over now; None: it does not.

    It needs a fallback that is ready, whose price is known where money is limited, and whose window
    the next call fits.
    """
    has_fallback = bool(situation.models[1:])
    if situation.state.model.is_degraded or not has_fallback or model_in_use(situation) is None:
        return None
    percent = situation.task.spec.progress_policy.degrade_at_percent
    reached = [f"{n} {used}/{limit}" for n, used, limit in _budgets(situation)
               if limit and used * 100 >= limit * percent]  # fmt: skip
    fallback = capacity_of(situation, situation.models[-1].name)
    if not reached or fallback is None or not _can_take_over(situation, fallback):
        return None
    return f"{percent} % of a budget are used ({', '.join(reached)})"


def _can_take_over(situation: Situation, fallback: Capacity) -> bool:
    if situation.cost_limit is not None and not fallback.terms.is_priced:
        return False
    intent = chosen(situation)
    if intent is None or intent.reservation is None:
        return intent is not None
    return fallback.fits(request_for(situation, intent, fallback))


def _budgets(situation: Situation) -> Iterator[tuple[str, int, int]]:
    budgets, used = situation.task.spec.budgets, situation.state.usage
    yield "maxSteps", used.steps, budgets.max_steps
    yield "maxModelCalls", used.model_calls, budgets.max_model_calls
    yield "maxTokens", used.tokens, budgets.max_tokens
    yield "maxSourceCalls", used.source_calls, budgets.max_source_calls
    yield "maxCostUSD", used.cost_micro_usd, situation.cost_limit or 0
    seconds = situation.active_milliseconds // 1000
    yield "activeDeadlineSeconds", seconds, budgets.active_deadline_seconds
