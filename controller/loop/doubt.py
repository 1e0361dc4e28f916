"""When the paid attempt of another process is settled, and when it is left to that process.

A holder that is known to be gone is in doubt at once. One that may live is given the time that its
attempt has: two living processes would else interrupt each other's paid attempts, one by one,
until a budget ends the run (docs/loop.md).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from controller.api.step import ActionClass
from controller.loop.intents import Intent
from controller.loop.recording import intent_of
from controller.loop.situation import Situation


def foreign_intent(situation: Situation) -> Intent | None:
    """Return the intent that another process stored for the next step, if there is one."""
    pending = situation.pending
    if pending is None or pending.holder == situation.holder:
        return None
    if pending.index != situation.state.next_index:
        return None
    return intent_of(pending)


def left_until(situation: Situation) -> datetime | None:
    """Return until when the next step is left to another process; None: it is not.

    The time is that of one attempt, from the moment at which its intent was stored.
    """
    pending, intent = situation.pending, foreign_intent(situation)
    if pending is None or intent is None or not situation.holder_may_live:
        return None
    if situation.action_class(intent) is not ActionClass.PAID:
        return None
    limit = situation.task.spec.progress_policy.step_timeout_seconds
    until = pending.start_time + timedelta(seconds=limit)
    return until if situation.now < until else None
