"""What must be true after the demonstration, read from the API server's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.actions.publish import JSON_FILE
from controller.api.meta import ConditionStatus
from controller.api.model_call import usd
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import QuestionState
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask, Usage
from controller.evidence.report_format import Report
from controller.ports import StoredReport

ABSENT: Final = "session-cookie-flavour"
"""The question about a setting that does not exist."""


@dataclass(frozen=True)
class Outcome:
    """One expectation: whether it is met, and what was found."""

    expectation: str
    is_met: bool
    found: str = ""


@dataclass(frozen=True)
class Ended:
    """A task that has ended, with its journal and its report, as the API server has them."""

    task: ResearchTask
    steps: tuple[ResearchStep, ...]
    stored: StoredReport | None

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.metadata.name

    @property
    def usage(self) -> Usage:
        """What its status shows as used."""
        return self.task.status.usage or Usage()

    @property
    def report(self) -> Report | None:
        """The published report, None: there is none."""
        return Report.model_validate_json(self.stored.files[JSON_FILE]) if self.stored else None


def goal_reached(ended: Ended) -> Iterator[Outcome]:
    """Yield what must be true of a task that reached its goal with one question absent."""
    yield _ended_as(ended, TerminalReason.GOAL_REACHED, ConditionStatus.TRUE)
    states = {q.id: q.state for q in ended.task.status.questions}
    others = {i: s for i, s in states.items() if i != ABSENT}
    yield Outcome(
        f"{ended.name}: {len(others)} questions are Answered",
        bool(others) and set(others.values()) == {QuestionState.ANSWERED},
        ", ".join(f"{i} {s}" for i, s in others.items()),
    )
    yield Outcome(
        f"{ended.name}: {ABSENT} is NotFound",
        states.get(ABSENT) is QuestionState.NOT_FOUND,
        str(states.get(ABSENT)),
    )
    report = ended.report
    certificate = next(
        (q.certificate for q in report.questions if q.id == ABSENT) if report else iter(()), None
    )
    yield Outcome(
        f"{ended.name}: a certificate proves that absence",
        certificate is not None and bool(certificate.queries) and bool(certificate.corpora),
        "no certificate"
        if certificate is None
        else f"{len(certificate.queries)} queries over "
        f"{sum(c.documents for c in certificate.corpora)} documents",
    )


def budget_exhausted(ended: Ended, steps: int) -> Iterator[Outcome]:
    """Yield what must be true of a task whose step budget was too small."""
    yield _ended_as(ended, TerminalReason.STEP_BUDGET_EXHAUSTED, ConditionStatus.FALSE)
    used = ended.task.status.usage.steps if ended.task.status.usage else 0
    yield Outcome(f"{ended.name}: not a step above {steps} was taken", used == steps, f"{used}")
    report = ended.report
    quotes = sum(len(q.statements) for q in report.questions) if report else 0
    missing = len(report.missing) if report else 0
    yield Outcome(
        f"{ended.name}: a partial report says what is verified and what is missing",
        quotes > 0 and missing > 0,
        f"{quotes} quotes, {missing} questions missing",
    )


def kept(before: Sequence[ResearchStep], ended: Ended) -> Outcome:
    """Return whether a run that went on has its journal from before."""
    same = tuple(step.spec.digest for step in ended.steps[: len(before)])
    return Outcome(
        f"{ended.name}: the {len(before)} steps from before are kept as they were",
        bool(before) and same == tuple(step.spec.digest for step in before),
        f"{len(ended.steps)} steps now",
    )


def went_on(before: Sequence[ResearchStep], ended: Ended) -> Iterator[Outcome]:
    """Yield what must be true of a run that went on, given its journal before that."""
    yield kept(before, ended)
    asked = [
        (s.spec.search.source_name, s.spec.search.question_id, s.spec.search.query)
        for s in ended.steps
        if s.spec.search is not None
    ]
    yield Outcome(
        f"{ended.name}: nothing was searched twice",
        bool(asked) and len(asked) == len(set(asked)),
        f"{len(asked)} searches, {len(set(asked))} different ones",
    )


def ended_for_a_reason(ended: Ended) -> Outcome:
    """Return whether a task ended, said why, and left a report."""
    status = ended.task.status
    finished = status.condition(ConditionType.FINISHED)
    return Outcome(
        f"{ended.name}: ends for a reason with a name, and with a report",
        status.terminal_reason is not None
        and finished is not None
        and finished.status is ConditionStatus.TRUE
        and ended.report is not None,
        f"{status.terminal_reason}",
    )


def budgets_held(ended: Ended) -> Outcome:
    """Return whether a task kept within its budgets of steps, calls, tokens and money."""
    used, budgets = ended.usage, ended.task.spec.budgets
    tokens = used.prompt_tokens + used.completion_tokens
    is_within = (
        used.steps <= budgets.max_steps
        and used.model_calls <= budgets.max_model_calls
        and tokens <= budgets.max_tokens
        and float(used.cost_usd) <= float(budgets.max_cost_usd or 0)
    )
    found = f"{used.steps} steps, {used.model_calls} calls, {tokens} tokens, ${used.cost_usd}"
    return Outcome(
        f"{ended.name}: no budget is passed (steps, model calls, tokens, money)", is_within, found
    )


def usage_is_the_journals(ended: Ended) -> Outcome:
    """Return whether the status shows the sum of what its steps were charged."""
    used = ended.usage
    calls = [step.spec.model_call for step in ended.steps if step.spec.model_call is not None]
    journal = (
        len(calls),
        sum(call.prompt_tokens for call in calls),
        sum(call.completion_tokens for call in calls),
        usd(sum(call.cost_micro_usd for call in calls)),
    )
    shown = (used.model_calls, used.prompt_tokens, used.completion_tokens, used.cost_usd)
    return Outcome(
        f"{ended.name}: its usage is the sum of its steps: {journal[0]} calls, "
        f"{journal[1]:,} + {journal[2]:,} tokens, ${journal[3]}",
        shown == journal,
        str(shown),
    )


def usage_is_the_servers(tasks: Iterable[Ended], counted: int) -> Outcome:
    """Return whether tasks were charged the tokens that their model's server has counted."""
    used = [ended.usage for ended in tasks]
    charged = sum(usage.prompt_tokens + usage.completion_tokens for usage in used)
    return Outcome(
        f"the {charged:,} tokens that the tasks were charged are those that the server counted",
        charged == counted and not any(usage.unknown_usage_calls for usage in used),
        f"{counted:,}",
    )


def _ended_as(ended: Ended, reason: TerminalReason, succeeded: ConditionStatus) -> Outcome:
    status = ended.task.status
    shown = {c.type: c.status for c in status.conditions}
    return Outcome(
        f"{ended.name}: ends as {reason}, Succeeded={succeeded}",
        status.terminal_reason is reason
        and shown.get(ConditionType.SUCCEEDED) is succeeded
        and shown.get(ConditionType.FINISHED) is ConditionStatus.TRUE,
        f"{status.terminal_reason}, Succeeded={shown.get(ConditionType.SUCCEEDED)}, "
        f"Finished={shown.get(ConditionType.FINISHED)}",
    )
