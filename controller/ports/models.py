"""Models: one attempt is one request. How fast they may be asked is the pacing's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from controller.api.model_call import ModelCall, ModelTerms, Reservation
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.pace import Pace
from controller.ports.store import TaskKey


class Model(Protocol):
    """A model, made from a `ResearchModel`: one attempt is one request, and nothing is hidden."""

    @property
    def terms(self) -> ModelTerms:
        """What it can take and what it costs."""
        ...

    @property
    def sampling(self) -> Sampling:
        """How it is asked, for the record."""
        ...

    async def probe(self) -> str | None:
        """Ask the endpoint whether it is there, without a call that is charged.

        Returns:
            a warning for people, None where nothing is odd; nothing waits for it, and no error
            is raised.
        """
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request, and only one; whatever comes back is the answer.

        Raises:
            RetryableError: another attempt may succeed; the class is one of docs/models.md.
            PermanentError: no attempt will.
        """
        ...


@dataclass(frozen=True)
class Sampling:
    """How a model is asked: the name that its endpoint knows it by, and what steers the dice.

    `seed` is None where none is sent.
    """

    requested_model: str
    temperature: str
    seed: int | None


class Pacing(Protocol):
    """Says how fast models may be asked, over all tasks of the process."""

    def pace(self, key: TaskKey, model: str) -> Pace | None:
        """Return what the limits of a model leave for a task; None: it has none."""
        ...

    def wait(self, key: TaskKey, model: str) -> None:
        """Take note that a task waits for a model, and may be told when it is free."""
        ...

    def leave(self, key: TaskKey) -> None:
        """Take note that a task waits for no model any more."""
        ...

    def take(self, key: TaskKey, reserved: Reservation) -> Slot | None:
        """Count a call as under way, at once; None: the model cannot be asked now."""
        ...


class Slot(Protocol):
    """A call that counts as under way."""

    def release(self, call: ModelCall | None) -> None:
        """Count the call as ended, with what it was charged; None: nothing was sent."""
        ...


class NoSlot:
    """A `Slot` that nothing counts."""

    def release(self, call: ModelCall | None) -> None:
        """Do nothing."""


class Unpaced:
    """A `Pacing` without limits."""

    def pace(self, key: TaskKey, model: str) -> None:
        """Return that nothing is limited."""

    def wait(self, key: TaskKey, model: str) -> None:
        """Do nothing."""

    def leave(self, key: TaskKey) -> None:
        """Do nothing."""

    def take(self, key: TaskKey, reserved: Reservation) -> Slot:  # noqa: ARG002 - as the port's
        """Return a slot that counts nothing."""
        return NoSlot()
