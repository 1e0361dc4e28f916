"""Which transitions people are told about: a few a run, never one a step."""

from __future__ import annotations

from collections.abc import Iterator

from controller.api.meta import ConditionStatus
from controller.api.reasons import TERMINAL, ConditionType, RunningReason, TerminalReason
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.ports import Event, EventType

_NOTABLE = {
    RunningReason.BACKING_OFF: EventType.WARNING,
    RunningReason.WAITING_FOR_REFERENCE: EventType.WARNING,
    RunningReason.SUSPENDED: EventType.NORMAL,
}


def events_of(task: ResearchTask, after: ResearchTaskStatus) -> Iterator[Event]:
    """Yield the events of a status that follows on a task's present one."""
    before = task.status
    if before.start_time is None and after.start_time is not None:
        yield Event(EventType.NORMAL, "TaskStarted", "the first step is recorded")
    if after.terminal_reason and after.terminal_reason != before.terminal_reason:
        yield _ending(task, after, after.terminal_reason)
        return
    succeeded = after.condition(ConditionType.SUCCEEDED)
    known = before.condition(ConditionType.SUCCEEDED)
    if succeeded is None or succeeded.status is not ConditionStatus.UNKNOWN:
        return
    moved = known is None or known.reason != succeeded.reason
    kind = _NOTABLE.get(RunningReason(succeeded.reason))
    if moved and kind is not None:
        yield Event(kind, succeeded.reason, succeeded.message)
    if known is not None and known.reason == RunningReason.SUSPENDED and moved:
        yield Event(EventType.NORMAL, "Resumed", "the run goes on")


def _ending(task: ResearchTask, after: ResearchTaskStatus, reason: TerminalReason) -> Event:
    succeeded = after.condition(ConditionType.SUCCEEDED)
    message = succeeded.message if succeeded else TERMINAL[reason].meaning
    if reason is TerminalReason.GOAL_REACHED:
        return Event(EventType.NORMAL, reason, message)
    hand_off = task.spec.hand_off
    if hand_off is not None:
        message = f"{message} Hand-off to {hand_off.queue}: {hand_off.message}"
    return Event(EventType.WARNING, reason, message)
