"""How a run closes: draft, publish, end. Each closing step is taken once, retries apart.

The ending is decided before the first closing step and recorded with it, so that a crash in
between finds the same ending again (kill point K7).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.api.reasons import RunningReason, TerminalReason
from controller.api.records import NoteKind
from controller.api.step import ActionName, StepDecision, Verdict
from controller.evidence.draft import facts_to_word
from controller.loop.allowance import closing_summary, is_affordable
from controller.loop.breakers import ending_of
from controller.loop.failures import ErrorCount, Retry
from controller.loop.intents import (
    DraftArguments,
    Intent,
    NoteArguments,
    PublishArguments,
)
from controller.loop.model_policy import with_model
from controller.loop.situation import Act, Decision, End, Situation, Wait

MAX_MESSAGE: Final = 1024
"""Messages are cut to what a condition may hold."""

_FIRST_BACK_OFF: Final = timedelta(seconds=1)
_LONGEST_BACK_OFF: Final = timedelta(seconds=60)


def close(situation: Situation, reason: TerminalReason, message: str) -> Decision:
    """Return the next closing step of an ending, or the end where none is left to take.

    A closing step that fails for good ends the run without a report. A success without a report
    is none: it ends under the failure's name.
    """
    message = message[:MAX_MESSAGE]
    if (broken := closing_failure(situation)) is not None:
        if reason is TerminalReason.GOAL_REACHED:
            return End(ending_of(broken, TerminalReason.REPEATED_FAILURE), broken.message)
        return End(reason, f"{message}; no report: {broken.message}"[:MAX_MESSAGE])
    verdict = Verdict.FINISH if reason is TerminalReason.GOAL_REACHED else Verdict.FAIL
    decision = StepDecision(verdict=verdict, reason=reason, message=message)
    intent = with_attempt(situation, _closing_step(situation, reason, decision))
    retry = situation.state.retry
    if retry and intent.attempt > 1 and situation.now < wake_up(retry):
        return Wait(RunningReason.BACKING_OFF, retry.message, until=wake_up(retry))
    return Act(intent)


def _closing_step(situation: Situation, reason: TerminalReason, decision: StepDecision) -> Intent:
    """Return the next of draft, closing summary and report."""
    if not has_draft(situation):
        return draft_intent(situation, decision)
    if (summary := closing_summary(situation, decision)) is not None:
        return summary
    arguments = PublishArguments(
        config_map=f"{situation.task.metadata.name}-report",
        report_digest=situation.assessment.report_digest(reason),
    )
    return Intent(ActionName.PUBLISH, arguments, decision)


def has_draft(situation: Situation) -> bool:
    """Say whether there is a draft of today's answers and facts."""
    state = situation.state
    return state.statements is not None and state.draft_basis == situation.assessment.basis


def draft_intent(situation: Situation, decision: StepDecision) -> Intent:
    """Return the intent to draft today's answers and facts.

    A model writes the draft of a goal that holds, where a call fits what is left. Any other ending
    has the facts' own words: after a budget has ended a run nothing more is spent on it.
    """
    arguments = DraftArguments(basis=situation.assessment.basis)
    plain = Intent(ActionName.DRAFT, arguments, decision)
    findings, language = situation.assessment.findings, situation.task.spec.language
    if not situation.assessment.goal_holds or not facts_to_word(findings, language):
        return plain
    written = with_model(situation, plain)
    return written if is_affordable(situation, written) else plain


def closing_failure(situation: Situation) -> ErrorCount | None:
    """Return the failure for which no closing step is tried again, if there is one."""
    error = situation.state.errors.get("report")
    limit = situation.task.spec.progress_policy.identical_failure_limit
    if error is None:
        return None
    final = error.identical >= limit or error.error_class == TerminalReason.INTERNAL_ERROR
    return error if final else None


def same_ending(situation: Situation, before: StepDecision, now: Decision) -> bool:
    """Say whether a re-opened run would only close again, the same way on the same facts."""
    if not (situation.state.closed and isinstance(now, Act) and now.intent.decision.ending):
        return False
    report = situation.state.report
    return (
        now.intent.decision.reason == before.reason
        and now.intent.action is ActionName.PUBLISH
        and report is not None
        and report.report_digest
        == situation.assessment.report_digest(TerminalReason(before.reason))
    )


def with_attempt(situation: Situation, intent: Intent) -> Intent:
    """Number the attempt: one more than those of the same action that will be repeated."""
    retry = situation.state.retry
    repeats = retry is not None and (retry.action, retry.arguments_json) == (
        intent.action,
        intent.arguments_json,
    )
    return replace(intent, attempt=retry.attempts + 1) if retry and repeats else intent


def wake_up(retry: Retry) -> datetime:
    """Return when an attempt is repeated: as the other side asked, else by growing delays."""
    if retry.not_before is not None:
        return retry.not_before
    delay: timedelta = min(_FIRST_BACK_OFF * int(2 ** (retry.attempts - 1)), _LONGEST_BACK_OFF)
    return retry.ended_at + delay


def note(kind: NoteKind, reason: str, message: str, draft_digest: str | None = None) -> Act:
    """Return the intent to record that the state moved without an action."""
    decision = StepDecision(verdict=Verdict.CONTINUE, reason=reason)
    arguments = NoteArguments(
        kind=kind, reason=reason, message=message[:MAX_MESSAGE], draft_digest=draft_digest
    )
    return Act(Intent(ActionName.NOTE, arguments, decision))
