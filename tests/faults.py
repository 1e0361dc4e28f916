"""A store that fails where a test says: before a call does anything, or after it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, cast

from controller.api.errors import UnavailableError
from controller.ports import TaskStore

WRITES = ("create_step", "delete_step", "write_status", "put_report")


class Moment(StrEnum):
    """Whether the request was lost, or its answer."""

    BEFORE = "before"
    AFTER = "after"


class FaultyStore:
    """Passes every call on to a real store; the write of a given number fails once."""

    def __init__(self, store: TaskStore, at: int, moment: Moment) -> None:
        self._store = store
        self._left = at
        self._moment = moment
        self.is_hit = False

    @property
    def port(self) -> TaskStore:
        """The store as the port that it stands for: it passes every call on."""
        return cast("TaskStore", self)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call: Callable[..., Awaitable[Any]] = getattr(self._store, name)
        return self._failing(call) if name in WRITES else call

    def _failing(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wrapped(*arguments: Any) -> Any:  # noqa: ANN401
            self._left -= 1
            hit = self._left == 0
            self.is_hit |= hit
            if hit and self._moment is Moment.BEFORE:
                raise UnavailableError("the request was lost")
            result = await call(*arguments)
            if hit:
                raise UnavailableError("the answer was lost")
            return result

        return wrapped
