"""How long a finished task is kept (`ttlSecondsAfterFinished`)."""

from __future__ import annotations

from datetime import datetime, timedelta

from controller.api.reasons import ConditionType
from controller.loop.seal import is_sealed
from controller.loop.situation import Decision, End, Remove, Situation


def kept(situation: Situation, end: End) -> Decision:
    """Return the ending with the time until which the task is kept, or that it is to go.

    The time runs from the moment that `Finished` became true, as people see it.
    """
    seconds = situation.task.spec.ttl_seconds_after_finished
    finished_at = _finished_at(situation, end)
    if seconds is None or finished_at is None:
        return end
    until = finished_at + timedelta(seconds=seconds)
    if situation.now >= until:
        return Remove()
    return End(end.reason, end.message, until)


def _finished_at(situation: Situation, end: End) -> datetime | None:
    status = situation.task.status
    if situation.state.closed and status.terminal_reason and not is_sealed(status.to_json()):
        return (situation.state.last_time or situation.now).replace(microsecond=0)
    finished = status.condition(ConditionType.FINISHED)
    if status.terminal_reason is not end.reason or finished is None:
        # Not shown yet: the status that is about to be written starts the time.
        return situation.now.replace(microsecond=0)
    return finished.last_transition_time
