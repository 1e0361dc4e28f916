"""Named points at which a process can be told to die, so that a test of crashes needs no luck.

Between two writes a process may be gone at any instant. The points name the instants that differ
in what a fresh process finds; docs/crash-safety.md says what each asks of it. They do nothing
unless the environment variable `FIXPOINT_FAULT_POINT` names one when this module is imported:

    FIXPOINT_FAULT_POINT=K5:Publish:1           the first K5 of a Publish: SIGKILL
    FIXPOINT_FAULT_POINT=K2:Search:3:SIGTERM    the third K2 of a Search: SIGTERM

The process sends itself a signal and raises nothing, so no handler of ours can soften the end.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Final

from controller.api.step import ActionName

VARIABLE: Final = "FIXPOINT_FAULT_POINT"
"""The environment variable that switches one point on."""


class FaultPoint(Enum):
    """The instants of one step that a fresh process must tell apart; the value says what each is.

    In time they come as K0, K1, K4, K2, K5, K3, K6, and K7 after the last step.
    """

    K0 = "the action is decided, and the status write that stores its intent is not sent"
    K1 = "the intent is stored, and nothing is begun"
    K2 = "the action runs, and waits for an answer from outside this process for the first time"
    K3 = "the action has ended, and its step is not created"
    K4 = "the intent is this process's own, and the action is about to begin"
    K5 = "the effect is done, and its step is not created"
    K6 = "the step is created, and the status that folds it is not written"
    K7 = "the ending is decided, and the last status is not written"


def reached(point: FaultPoint, action: ActionName) -> None:
    """Say that a point of an action is reached; return, unless the process is to die there."""
    if _ARMED is not None:
        _ARMED.pass_by(point, action)


def during(action: ActionName) -> AbstractContextManager[None]:
    """Mark the time in which an action runs: K2 lies at its first wait, if it ever waits."""
    return nullcontext() if _ARMED is None else _at_first_wait(action)


@contextmanager
def _at_first_wait(action: ActionName) -> Iterator[None]:
    """Reach K2 when the event loop is free for something else for the first time."""
    waiting = asyncio.get_running_loop().call_soon(reached, FaultPoint.K2, action)
    try:
        yield
    finally:
        waiting.cancel()


@dataclass
class _Armed:
    """The one point that is switched on, and how often it has yet to be reached."""

    point: FaultPoint
    action: ActionName
    passages_left: int
    signal: signal.Signals

    def pass_by(self, point: FaultPoint, action: ActionName) -> None:
        if (point, action) != (self.point, self.action):
            return
        self.passages_left -= 1
        if self.passages_left == 0:
            os.kill(os.getpid(), self.signal)


_VALUE: Final = re.compile(r"(K[0-7]):([A-Z][a-z]+):([1-9][0-9]*)(?::(SIG[A-Z]+))?")


def _armed(value: str | None) -> _Armed | None:
    """Read the variable's value.

    Raises:
        ValueError: it names no point; a test that meant another one must not pass by luck.
    """
    if not value:
        return None
    try:
        found = _VALUE.fullmatch(value)
        point, action, passage, name = found.groups() if found else ("", "", "", "")
        number = signal.Signals[name or "SIGKILL"]
        return _Armed(FaultPoint[point], ActionName(action), int(passage), number)
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{VARIABLE}={value} names no fault point: it is POINT:ACTION:PASSAGE or "
            "POINT:ACTION:PASSAGE:SIGNAL, such as K5:Publish:1 or K2:Search:3:SIGTERM"
        ) from error


_ARMED: Final = _armed(os.environ.get(VARIABLE))
