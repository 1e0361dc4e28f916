"""Keeps the limits of each `ResearchModel` over all tasks of this process.

Whether a model may be asked is looked at when a task decides (`pace`), and its slot is taken
before the attempt begins (`take`): no worker waits for a limit. A task that must wait goes back to
the queue, and is told when a call has ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from controller.api.model import ResearchModel, ResearchModelSpec
from controller.api.model_call import ModelCall, Reservation
from controller.loop.pace import Pace, busy
from controller.ports import Clock, Model, NoSlot, Slot, TaskKey

_MINUTE: Final = 61.0
"""A minute, and what may lie between the moment a slot is taken and the one its call leaves."""

_SPACING: Final = 0.05
"""So many seconds lie between two tasks that may go when tokens are free again."""

_WAITING_SECONDS: Final = 90.0
"""A task that was not looked at for so long waits no more: it is looked at every 30 s."""


class _Name(NamedTuple):
    namespace: str
    name: str


@dataclass
class _Sent:
    """One request: when it was sent, and what it is taken to have used."""

    at: float
    tokens: int


@dataclass
class _Counters:
    """What counts for one model."""

    spec: ResearchModelSpec
    under_way: int = 0
    sent: deque[_Sent] = field(default_factory=deque)
    line: dict[TaskKey, float] = field(default_factory=dict)


class Pacer:
    """The counters of all models; it implements `ports.Pacing`. One for each process."""

    def __init__(
        self,
        clock: Clock,
        *,
        on_free: Callable[[TaskKey], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make counters at rest.

        Args:
            clock: turns times to wait into times of day.
            on_free: told of the task that may go when a call has ended.
            monotonic: a monotonic time in seconds, by which is counted.
        """
        self._clock = clock
        self._on_free = on_free
        self._monotonic = monotonic
        self._counters: dict[_Name, _Counters] = {}

    def limit(self, resource: ResearchModel) -> None:
        """Keep the limits of an object, as it is now; what was counted stays."""
        name = _Name(resource.metadata.namespace, resource.metadata.name)
        known = self._counters.setdefault(name, _Counters(resource.spec))
        known.spec = resource.spec

    def making(self, make: Callable[[ResearchModel], Model]) -> Callable[[ResearchModel], Model]:
        """Return what makes models as `make` does, and keeps the limits of their objects."""

        def made(resource: ResearchModel) -> Model:
            self.limit(resource)
            return make(resource)

        return made

    def pace(self, key: TaskKey, model: str) -> Pace | None:
        """Return what a model's limits leave for a task; None: nothing is known of it."""
        counters = self._counters.get(_Name(key.namespace, model))
        if counters is None:
            return None
        now = self._monotonic()
        self._forget_old(counters, now)
        line = counters.line
        ahead = next((at for at, waiting in enumerate(line) if waiting == key), len(line))
        limit = _requests_limit(counters)
        spacing = _MINUTE / limit if limit else _SPACING
        return self._pace(model, counters, ahead * spacing)

    def wait(self, key: TaskKey, model: str) -> None:
        """Take note that a task waits: it is told when a call has ended."""
        counters = self._counters.get(_Name(key.namespace, model))
        if counters is not None:
            counters.line[key] = self._monotonic()

    def leave(self, key: TaskKey) -> None:
        """Take note that a task waits no more."""
        for name, counters in self._counters.items():
            if name.namespace == key.namespace:
                counters.line.pop(key, None)

    def take(self, key: TaskKey, reserved: Reservation) -> Slot | None:
        """Count a call as under way; None: the model cannot be asked now."""
        counters = self._counters.get(_Name(key.namespace, reserved.model))
        if counters is None:
            return NoSlot()
        self._forget_old(counters, self._monotonic())
        if busy(self._pace(reserved.model, counters, 0), reserved.tokens) is not None:
            return None
        counters.line.pop(key, None)
        counters.under_way += 1
        sent = _Sent(self._monotonic(), reserved.tokens)
        counters.sent.append(sent)
        return _TakenSlot(partial(self._release, counters, sent))

    def _release(self, counters: _Counters, sent: _Sent, call: ModelCall | None) -> None:
        counters.under_way -= 1
        if call is not None:
            sent.tokens = call.prompt_tokens + call.completion_tokens
        for first in tuple(counters.line)[:1]:
            del counters.line[first]
            self._on_free(first)

    def _pace(self, name: str, counters: _Counters, behind: float) -> Pace:
        now, today = self._monotonic(), self._clock.now()
        limits, requests = counters.spec.rate_limit, _requests_limit(counters)
        until = None
        if requests is not None and len(counters.sent) >= requests:
            oldest = counters.sent[len(counters.sent) - requests]
            until = today + timedelta(seconds=oldest.at + _MINUTE - now)
        return Pace(
            name=name,
            max_concurrent=counters.spec.max_concurrent_requests,
            under_way=counters.under_way,
            requests_limit=requests,
            requests_until=until,
            tokens_limit=limits.tokens_per_minute if limits else None,
            tokens_spent=tuple(
                (today + timedelta(seconds=sent.at + _MINUTE - now), sent.tokens)
                for sent in counters.sent
            ),
            behind=timedelta(seconds=behind),
        )

    def _forget_old(self, counters: _Counters, now: float) -> None:
        while counters.sent and now - counters.sent[0].at >= _MINUTE:
            counters.sent.popleft()
        for key in tuple(_older(counters.line, now - _WAITING_SECONDS)):
            del counters.line[key]


class _TakenSlot:
    """A call that is under way. It implements `ports.Slot`."""

    def __init__(self, release: Callable[[ModelCall | None], None]) -> None:
        self._release = release

    def release(self, call: ModelCall | None) -> None:
        """Count the call as ended, with what it was charged."""
        self._release(call)


def _requests_limit(counters: _Counters) -> int | None:
    limits = counters.spec.rate_limit
    return limits.requests_per_minute if limits else None


def _older(line: dict[TaskKey, float], than: float) -> Iterator[TaskKey]:
    return (key for key, at in line.items() if at < than)
