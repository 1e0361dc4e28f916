"""The cases of the crash matrix: where processes die, one after another, and what must be found."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass

from controller.api.step import ActionClass, ActionName
from controller.fault_points import FaultPoint

_AFTER_THE_INTENT = {FaultPoint.K1, FaultPoint.K2, FaultPoint.K3, FaultPoint.K4}
"""Where a fresh process finds an intent without its step: a paid attempt is in doubt."""


@dataclass(frozen=True)
class Case:
    """Processes that end at named points; the one after them is left alone.

    Attributes:
        name: a sentence; the key of the case.
        faults: one value of `FIXPOINT_FAULT_POINT` for each process.
        action_class: what a crash during the action means.
        interrupted: how many attempts are recorded as interrupted at the end.
        in_round: the processes die in a second round, which is asked for once the first is over.
        has_model: the task's quotes are found by a model, which is what is paid.
    """

    name: str
    faults: tuple[str, ...]
    action_class: ActionClass
    interrupted: int = 0
    in_round: bool = False
    has_model: bool = False

    @property
    def exit_codes(self) -> tuple[int, ...]:
        """How the processes end: a killed one by its signal, one that is asked to stop with 0."""
        return tuple(0 if f.endswith(":SIGTERM") else -signal.SIGKILL for f in self.faults)


def point_cases(action_class: ActionClass, *, waits: bool) -> Iterator[Case]:
    """Yield a case for each point that an action of a class has.

    Args:
        action_class: the class; its action is `Publish` for an effect, else a `Search`.
        waits: whether the action waits for something outside its process, so that K2 exists.
    """
    is_effect = action_class is ActionClass.EFFECT
    action = ActionName.PUBLISH if is_effect else ActionName.SEARCH
    for point in FaultPoint:
        if point is FaultPoint.K2 and not waits:
            continue
        if point in {FaultPoint.K5, FaultPoint.K7} and not is_effect:
            continue  # only an effect is done outside; only a Publish is followed by the end
        in_doubt = action_class is ActionClass.PAID and point in _AFTER_THE_INTENT
        yield Case(
            f"{point.name} of {action}, {action_class}",
            (f"{point.name}:{action}:1",),
            action_class,
            interrupted=int(in_doubt),
        )


def model_cases() -> Iterator[Case]:
    """Yield a case for each point of an `Extract` by a model: one request, charged once."""
    for point in FaultPoint:
        if point in {FaultPoint.K5, FaultPoint.K7}:
            continue  # neither an effect nor the end
        yield Case(
            f"{point.name} of Extract by a model, Paid",
            (f"{point.name}:Extract:1",),
            ActionClass.PAID,
            interrupted=int(point in _AFTER_THE_INTENT),
            has_model=True,
        )


def round_cases(action_class: ActionClass) -> Iterator[Case]:
    """Yield a case for each point of a `Reverify`, in a second round.

    The first one of a round opens it: it has no intent, and waits for nothing. The second one
    reads a document.
    """
    opening, reading = {FaultPoint.K3, FaultPoint.K4, FaultPoint.K6}, 1
    for point in FaultPoint:
        if point in {FaultPoint.K5, FaultPoint.K7}:
            continue  # neither an effect nor the end
        if point in opening and action_class is ActionClass.PURE:
            yield Case(
                f"{point.name} of the opening of a round",
                (f"{point.name}:Reverify:1",),
                action_class,
                in_round=True,
            )
        passage = reading + (point in opening)
        in_doubt = action_class is ActionClass.PAID and point in _AFTER_THE_INTENT
        yield Case(
            f"{point.name} of Reverify, {action_class}",
            (f"{point.name}:Reverify:{passage}",),
            action_class,
            interrupted=int(in_doubt),
            in_round=True,
        )


KILLS_IN_A_ROW_OF_AN_EFFECT = Case(
    "five more kills while a Publish is recovered",
    (
        "K5:Publish:1",
        "K0:Publish:1",  # before the fresh process has put its own name on the intent
        "K1:Publish:1",
        "K4:Publish:1",
        "K3:Publish:1",
        "K6:Publish:1",
    ),
    ActionClass.EFFECT,
)

KILLS_IN_A_ROW_OF_A_PAID_ACTION = Case(
    "five more kills while a paid Search is recovered",
    (
        "K2:Search:1",
        "K6:Search:1",  # the interrupted attempt is recorded, and not shown yet
        "K0:Search:1",
        "K1:Search:1",
        "K3:Search:1",
        "K4:Search:1",
    ),
    ActionClass.PAID,
    interrupted=4,
)
