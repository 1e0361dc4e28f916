"""The guards of the budgets: tested before anything is spent, so that none is ever crossed."""

from __future__ import annotations

from datetime import datetime, timedelta

from controller.api.reasons import TerminalReason
from controller.api.step import ActionClass
from controller.loop.allowance import shortage
from controller.loop.closing import close
from controller.loop.intents import called_source
from controller.loop.model_policy import chosen
from controller.loop.situation import Decision, Situation
from controller.loop.soft_check import upcoming


def deadline_exceeded(situation: Situation) -> Decision | None:
    """The active time is used up."""
    limit = situation.task.spec.budgets.active_deadline_seconds
    if situation.active_milliseconds < limit * 1000:
        return None
    missing = f"; missing: {situation.missing.message}" if situation.missing else ""
    return close(
        situation,
        TerminalReason.DEADLINE_EXCEEDED,
        f"spec.budgets.activeDeadlineSeconds is {limit}{missing}",
    )


def step_budget(situation: Situation) -> Decision | None:
    """The next step would be one too many: tested before it is taken."""
    limit, used = situation.task.spec.budgets.max_steps, situation.state.usage.steps
    if used < limit:
        return None
    return close(
        situation,
        TerminalReason.STEP_BUDGET_EXHAUSTED,
        f"{used} of spec.budgets.maxSteps {limit} are used",
    )


def source_call_budget(situation: Situation) -> Decision | None:
    """The next call to a remote source would be one too many."""
    intent = chosen(situation)
    if intent is None or called_source(intent.arguments) is None:
        return None
    if situation.action_class(intent) is not ActionClass.PAID:
        return None
    limit = situation.task.spec.budgets.max_source_calls
    used = situation.state.usage.source_calls
    if used + 1 <= limit:
        return None
    return close(
        situation,
        TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED,
        f"{used} of spec.budgets.maxSourceCalls {limit} are used",
    )


def model_budget(situation: Situation) -> Decision | None:
    """The worst case of the next call to the model does not fit what is left."""
    intent = upcoming(situation)
    short = shortage(situation, intent) if intent else None
    return close(situation, short.reason, short.message) if short else None


def deadline(situation: Situation) -> datetime:
    """Return when the active time will be used up, if the run goes on."""
    limit = situation.task.spec.budgets.active_deadline_seconds * 1000
    return situation.now + timedelta(milliseconds=limit - situation.active_milliseconds)
