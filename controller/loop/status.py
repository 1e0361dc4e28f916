"""The status that people and tools read: a bounded cache of state, assessment and decision.

Conditions are observations: nothing is ever read back from them but the time of their last
transition. What must hold together (`terminalReason`, `Finished` and `Succeeded`) is made here
from one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from controller.api.base import canonical_json
from controller.api.meta import Condition, ConditionStatus
from controller.api.model_call import usd
from controller.api.reasons import (
    TERMINAL,
    AcceptedReason,
    ConditionType,
    RunningReason,
    TerminalReason,
)
from controller.api.step import step_name
from controller.api.task import (
    ConsecutiveErrors,
    JournalStatus,
    LastStep,
    Pending,
    Progress,
    Quality,
    QuestionStatus,
    ReportStatus,
    ResearchTaskStatus,
    Usage,
)
from controller.loop.closing import MAX_MESSAGE
from controller.loop.degrade import FALLBACK_MODEL
from controller.loop.rounds import source_marks, total
from controller.loop.seal import is_sealed, sealed, unsealed
from controller.loop.situation import Act, Decision, End, Interrupt, Situation, Wait
from controller.loop.usage import Usage as Used
from controller.loop.validity import fault_of

MAX_STATUS_BYTES: Final = 32 * 1024
"""The largest status, as JSON in UTF-8."""


@dataclass(frozen=True)
class _Observed:
    """One condition before it has a time."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str


def build_status(
    situation: Situation, decision: Decision, pending: Pending | None
) -> ResearchTaskStatus:
    """Return the whole status after the steps that are folded and the decision that follows."""
    task, state = situation.task, situation.state
    ending = decision.reason if isinstance(decision, End) else None
    if ending is TerminalReason.JOURNAL_CORRUPT:
        return sealed(_corrupt(situation, decision))
    wait = decision if isinstance(decision, Wait) else None
    until = decision.until if isinstance(decision, Wait | End) else None
    status = ResearchTaskStatus(
        observed_generation=task.metadata.generation,
        conditions=tuple(_dated(situation, _conditions(situation, decision))),
        terminal_reason=ending,
        start_time=state.started_at,
        completion_time=_completion_time(situation, ending),
        round=state.round,
        last_handled_requested_at=task.request,
        usage=_usage(situation.state.usage),
        totals=_usage(total(situation.state)),
        pending=pending,
        progress=_progress(situation),
        quality=_quality(situation),
        questions=_questions(situation),
        consecutive_errors=tuple(
            ConsecutiveErrors(subject=e.subject, error_class=e.error_class, count=e.count)
            for e in list(state.errors.values())[:9]
        ),
        sources=source_marks(situation),
        next_wake_up_time=until,
        wake_up_reason=_wake_up_reason(decision) if until else None,
        awaiting=wait.awaiting if wait else None,
        last_step=_last_step(situation),
        journal=JournalStatus(steps=state.next_index, digest=state.digest),
        report=_report(situation),
    )
    return sealed(fitted(unsealed(status)))


def _wake_up_reason(decision: Decision) -> str:
    """Say what a task is looked at again for: its run, a refresh, or its expiry."""
    if isinstance(decision, End):
        return decision.wake_up_reason
    return decision.reason if isinstance(decision, Wait) else ""


def _corrupt(situation: Situation, decision: Decision) -> ResearchTaskStatus:
    """Keep what was shown before: a journal that does not fold says nothing that is better."""
    return situation.task.status.model_copy(
        update={
            "observed_generation": situation.task.metadata.generation,
            "conditions": tuple(_dated(situation, _conditions(situation, decision))),
            "terminal_reason": TerminalReason.JOURNAL_CORRUPT,
            "completion_time": _completion_time(situation, TerminalReason.JOURNAL_CORRUPT),
            "last_handled_requested_at": situation.task.request,
            "pending": None,
            "next_wake_up_time": decision.until if isinstance(decision, End) else None,
            "wake_up_reason": None,
            "awaiting": None,
        }
    )


def fitted(status: ResearchTaskStatus) -> ResearchTaskStatus:
    """Return the status in at most 32 KiB: messages are cut first, then the questions' texts."""
    for length in (256, 96, 24, 12, 8):
        if _size(status) <= MAX_STATUS_BYTES:
            return status
        status = status.model_copy(
            update={
                "conditions": tuple(
                    c.model_copy(update={"message": shortened(c.message, length)})
                    for c in status.conditions
                ),
                "questions": tuple(
                    q.model_copy(update={"text": shortened(q.text, length)})
                    for q in status.questions
                ),
            }
        )
    return status


def shortened(text: str, length: int) -> str:
    """Return a text of at most `length` characters; an ellipsis says that it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _size(status: ResearchTaskStatus) -> int:
    return len(canonical_json(status.to_json()).encode())


def _conditions(situation: Situation, decision: Decision) -> Iterator[_Observed]:
    yield _accepted(situation)
    yield from _ending(decision) if isinstance(decision, End) else _running(situation, decision)
    yield from _degraded(situation)
    is_suspended = isinstance(decision, Wait) and decision.reason is RunningReason.SUSPENDED
    yield _Observed(
        ConditionType.SUSPENDED,
        ConditionStatus.TRUE if is_suspended else ConditionStatus.FALSE,
        "SuspendedByUser" if is_suspended else "Active",
        "suspended by spec.desiredState" if is_suspended else "the run is not suspended",
    )


def _accepted(situation: Situation) -> _Observed:
    fault, missing = fault_of(situation.task.spec), situation.missing
    reason, message = AcceptedReason.ACCEPTED, "the spec is valid and every reference is ready"
    if missing:
        reason, message = missing.reason, missing.message
    if fault:
        reason, message = AcceptedReason.INVALID_SPEC, fault
    status = ConditionStatus.FALSE if fault or missing else ConditionStatus.TRUE
    return _Observed(ConditionType.ACCEPTED, status, reason, message)


def _degraded(situation: Situation) -> Iterator[_Observed]:
    """Say that the run goes on with less than it was given: a model, or a source, fewer."""
    findings, said = situation.assessment.findings, dict[str, str]()
    if (model := findings.model_set_aside) is not None:
        said[f"the extractive policy has taken over from the model {model}"] = model.error_class
    elif situation.state.model.is_degraded:
        said["the fallback model has taken over"] = FALLBACK_MODEL
    if aside := findings.set_aside:
        message = f"set aside for the round: {', '.join(map(str, aside))}"
        said[message] = aside[0].error_class
    if said:
        reason = next(iter(said.values()))
        message = "; ".join(said)
        yield _Observed(ConditionType.DEGRADED, ConditionStatus.TRUE, reason, message)


def _ending(decision: End) -> Iterator[_Observed]:
    reason = decision.reason
    succeeded = reason is TerminalReason.GOAL_REACHED
    message = f"{decision.message.rstrip('.')}. {TERMINAL[reason].remedy}"
    status = ConditionStatus.TRUE if succeeded else ConditionStatus.FALSE
    yield _Observed(ConditionType.SUCCEEDED, status, reason, message)
    yield _Observed(ConditionType.FINISHED, ConditionStatus.TRUE, reason, TERMINAL[reason].meaning)
    if not succeeded:
        yield _Observed(ConditionType.STALLED, ConditionStatus.TRUE, reason, message)


def _running(situation: Situation, decision: Decision) -> Iterator[_Observed]:
    reason, message = RunningReason.RUNNING, "the run goes on"
    if isinstance(decision, Wait):
        reason, message = decision.reason, decision.message
    elif isinstance(decision, Act | Interrupt):
        intent = decision.intent
        question = f" for {intent.question_id}" if intent.question_id else ""
        message = f"next: {intent.action}{question}"
        if intent.decision.ending is TerminalReason.CANCELLED:
            reason = RunningReason.CANCELLING
    yield _Observed(ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, reason, message)
    yield _Observed(
        ConditionType.FINISHED, ConditionStatus.FALSE, "NotFinished", "the run has not ended"
    )
    if isinstance(decision, Wait) and decision.awaiting is not None:
        asks_for = "ClarificationNeeded" if decision.awaiting.fields else "ApprovalNeeded"
        yield _Observed(
            ConditionType.AWAITING_INPUT, ConditionStatus.TRUE, asks_for, decision.message
        )
    if reason is not RunningReason.SUSPENDED:
        retries = situation.state.retry is not None or reason is RunningReason.BACKING_OFF
        yield _Observed(
            ConditionType.RECONCILING,
            ConditionStatus.TRUE,
            "ProgressingWithRetry" if retries else "Progressing",
            message,
        )


def _dated(situation: Situation, observed: Iterator[_Observed]) -> Iterator[Condition]:
    """Give each condition its time: it moves only when the condition's status changes."""
    shown, now = _trusted(situation), situation.now
    if shown is not situation.task.status:
        now = situation.state.last_time or now
    for item in observed:
        before = shown.condition(item.type)
        same = before is not None and before.status is item.status
        yield Condition(
            type=item.type,
            status=item.status,
            observed_generation=situation.task.metadata.generation,
            last_transition_time=before.last_transition_time
            if before and same
            else now.replace(microsecond=0),
            reason=item.reason,
            message=shortened(item.message, MAX_MESSAGE),
        )


def _trusted(situation: Situation) -> ResearchTaskStatus:
    """Return the status that times are kept from: a blank one if an ended run's was changed."""
    status = situation.task.status
    is_foreign = situation.state.closed and not is_sealed(status.to_json())
    return ResearchTaskStatus() if is_foreign else status


def _completion_time(situation: Situation, ending: TerminalReason | None) -> datetime | None:
    if ending is None:
        return None
    before = _trusted(situation)
    if before.terminal_reason is ending and before.completion_time is not None:
        return before.completion_time
    return situation.state.last_time or situation.now


def _usage(used: Used) -> Usage:
    return Usage(
        steps=used.steps,
        model_calls=used.model_calls,
        source_calls=used.source_calls,
        prompt_tokens=used.prompt_tokens,
        cached_tokens=used.cached_tokens,
        completion_tokens=used.completion_tokens,
        unknown_usage_calls=used.unknown_usage_calls,
        cost_usd=usd(used.cost_micro_usd),
        active_seconds=used.active_milliseconds // 1000,
        writes=used.writes,
        resumes=used.resumes,
        interrupted=used.interrupted,
        grace_calls=used.grace_calls,
        verifier_rejections=used.verifier_rejections,
    )


def _progress(situation: Situation) -> Progress | None:
    progress = situation.state.progress
    if progress.current is None:
        return None
    return Progress(
        fingerprint=progress.current,
        recent=progress.recent,
        stalled_steps=progress.stalled_steps,
        last_progress_step=progress.last_progress_step,
    )


def _quality(situation: Situation) -> Quality:
    assessment = situation.assessment
    return Quality(
        score=assessment.score.quality,
        coverage=assessment.score.coverage,
        citation_recall=assessment.score.citation_recall,
        citation_precision=assessment.score.citation_precision,
        predicates=assessment.predicates,
    )


def _questions(situation: Situation) -> tuple[QuestionStatus, ...]:
    verified = situation.assessment.findings.verified
    return tuple(
        QuestionStatus(
            id=view.question.id,
            text=view.question.text,
            state=view.state,
            reason=view.reason,
            facts=len(verified(view.question.id)),
            origins=view.answer.origins if view.answer else 0,
            steps=view.steps,
        )
        for view in situation.assessment.questions
    )


def _last_step(situation: Situation) -> LastStep | None:
    state, last = situation.state, situation.state.last
    if last is None:
        return None
    return LastStep(
        name=step_name(state.task_name, state.task_uid, last.index),
        action=last.action,
        outcome=last.outcome,
        transition_reason=last.decision.reason,
    )


def _report(situation: Situation) -> ReportStatus | None:
    report = situation.state.report
    if report is None:
        return None
    return ReportStatus(
        config_map=report.config_map,
        digest=report.report_digest,
        statements=report.statements,
        citations=report.citations,
    )
