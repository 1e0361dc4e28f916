"""How long a finished task is left alone: until it is refreshed, or to be kept no longer."""

from __future__ import annotations

from datetime import datetime, timedelta

from controller.api.reasons import ConditionType
from controller.loop.rounds import REFRESH, next_refresh
from controller.loop.seal import is_sealed
from controller.loop.situation import Decision, End, Remove, Situation


def kept(situation: Situation, end: End) -> Decision:
    """Return the ending with the time at which to look again, or that the task is to go.

    That is the end of the refresh interval or of the time for which the task is kept, which runs
    from the moment that `Finished` became true, as people see it; the earlier one wins.
    """
    expiry, refresh = _expiry(situation, end), next_refresh(situation)
    if expiry is not None and situation.now >= expiry:
        return Remove()
    if refresh is not None and (expiry is None or refresh < expiry):
        return End(end.reason, end.message, refresh, REFRESH)
    return End(end.reason, end.message, expiry)


def _expiry(situation: Situation, end: End) -> datetime | None:
    seconds = situation.task.spec.ttl_seconds_after_finished
    finished_at = _finished_at(situation, end)
    if seconds is None or finished_at is None:
        return None
    return finished_at + timedelta(seconds=seconds)


def _finished_at(situation: Situation, end: End) -> datetime | None:
    status = situation.task.status
    if situation.state.closed and status.terminal_reason and not is_sealed(status.to_json()):
        return (situation.state.last_time or situation.now).replace(microsecond=0)
    finished = status.condition(ConditionType.FINISHED)
    if status.terminal_reason is not end.reason or finished is None:
        # Not shown yet: the status that is about to be written starts the time.
        return situation.now.replace(microsecond=0)
    return finished.last_transition_time
