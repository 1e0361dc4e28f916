"""Which transitions users are told about: changes of the reason of `Succeeded`, never a step.

A run that goes well has two events, `TaskStarted` and `GoalReached`. The store gives an event a
name made of task, generation, request and reason, so that the same one is told once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.api.meta import Condition
from controller.api.reasons import ConditionType, RunningReason, TerminalReason
from controller.api.step import Outcome
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.ports import Event, EventType

_ENTERED: Final = {
    RunningReason.BACKING_OFF: EventType.WARNING,
    RunningReason.WAITING_FOR_REFERENCE: EventType.WARNING,
    RunningReason.AWAITING_INPUT: EventType.NORMAL,
    RunningReason.SUSPENDED: EventType.NORMAL,
}
"""The reasons that are told when a run comes to them."""

TASK_STARTED: Final = "TaskStarted"
STEP_INTERRUPTED: Final = "StepInterrupted"
RESUMED: Final = "Resumed"
ROUND_STARTED: Final = "RoundStarted"

EVENT_REASONS: Final = (
    TASK_STARTED,
    STEP_INTERRUPTED,
    RESUMED,
    ROUND_STARTED,
    *_ENTERED,
    *TerminalReason,
)
"""Every reason that an event can have."""


def transition(before: ResearchTaskStatus, after: ResearchTaskStatus) -> Condition | None:
    """Return the condition `Succeeded` of `after` if its reason is another one than before."""
    known = before.condition(ConditionType.SUCCEEDED)
    shown = after.condition(ConditionType.SUCCEEDED)
    moved = shown is not None and (known is None or known.reason != shown.reason)
    return shown if moved else None


def events_of(task: ResearchTask, after: ResearchTaskStatus) -> Iterator[Event]:
    """Yield the events of a status that follows on a task's present one."""
    before = task.status
    if before.start_time is None and after.start_time is not None:
        yield Event(EventType.NORMAL, TASK_STARTED, "the first step is recorded")
    if (step := _interrupted_step(before, after)) is not None:
        yield Event(
            EventType.WARNING,
            STEP_INTERRUPTED,
            f"{step}: the process that took it is gone; it is charged, and its answer is lost",
        )
    moved = transition(before, after)
    if moved is None:
        return
    if after.terminal_reason is not None:
        yield _ending(task, after.terminal_reason, moved.message)
        return
    if (after.round or 0) > (before.round or 0):
        yield Event(EventType.NORMAL, ROUND_STARTED, f"round {after.round} is begun")
    elif _was_at_rest(before):
        yield Event(EventType.NORMAL, RESUMED, "the run goes on")
    kind = _ENTERED.get(RunningReason(moved.reason))
    if kind is not None:
        yield Event(kind, moved.reason, moved.message)


def _was_at_rest(status: ResearchTaskStatus) -> bool:
    """Say whether a run had ended or was suspended, so that only a user's word moves it on."""
    succeeded = status.condition(ConditionType.SUCCEEDED)
    is_suspended = succeeded is not None and succeeded.reason == RunningReason.SUSPENDED
    return is_suspended or status.terminal_reason is not None


def _interrupted_step(before: ResearchTaskStatus, after: ResearchTaskStatus) -> str | None:
    """Return the name of the newest step, if it is new and was interrupted."""
    last = after.last_step
    is_new = last is not None and (before.last_step is None or before.last_step.name != last.name)
    return last.name if last and is_new and last.outcome == Outcome.INTERRUPTED else None


def _ending(task: ResearchTask, reason: TerminalReason, message: str) -> Event:
    """Return the event of an ending; one that is no success names who gets the task.

    The hand-off stands first, because a long message is cut at its end.
    """
    if reason is TerminalReason.GOAL_REACHED:
        return Event(EventType.NORMAL, reason, message)
    hand_off = task.spec.hand_off
    if hand_off is not None:
        told = f"{hand_off.queue}: {hand_off.message}" if hand_off.message else hand_off.queue
        message = f"Hand-off to {told} — {message}"
    return Event(EventType.WARNING, reason, message)
