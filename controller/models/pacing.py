"""Keeps the limits of each `ResearchModel` over all tasks of this process.

Whether a model may be asked is looked at before a task decides to (`pace`), so that no worker
waits for a limit: a task that must wait goes back to the queue. A slot that was taken in between
is awaited within the attempt, under its deadline, so that a limit is never passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple

from controller.api.model import ResearchModel, ResearchModelSpec
from controller.api.model_call import ModelTerms
from controller.loop.accounting import estimated_tokens
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.pace import Pace, busy
from controller.ports import Clock, Model, Sampling, TaskKey

_MINUTE: Final = 60.0

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
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Pacer:
    """The counters of all models; it implements `ports.Pacing`. One for each process."""

    def __init__(
        self,
        clock: Clock,
        *,
        on_free: Callable[[TaskKey], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Make counters at rest.

        Args:
            clock: turns times to wait into times of day.
            on_free: told of the task that may go when a call has ended.
            monotonic: a monotonic time in seconds, by which is counted.
            sleep: waits within an attempt.
        """
        self._clock = clock
        self._on_free = on_free
        self._monotonic = monotonic
        self._sleep = sleep
        self._counters: dict[_Name, _Counters] = {}

    def paced(self, resource: ResearchModel, model: Model) -> Model:
        """Return a model that keeps the limits of its object."""
        name = _Name(resource.metadata.namespace, resource.metadata.name)
        known = self._counters.setdefault(name, _Counters(resource.spec))
        known.spec = resource.spec
        return _PacedModel(self, name, model)

    def making(self, make: Callable[[ResearchModel], Model]) -> Callable[[ResearchModel], Model]:
        """Return what makes models as `make` does, each under the limits of its object."""
        return lambda resource: self.paced(resource, make(resource))

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

    @asynccontextmanager
    async def slot(self, name: _Name, tokens: int) -> AsyncIterator[_Sent]:
        """Wait until a request of so many tokens may be sent, and count it as under way."""
        counters = self._counters[name]
        await self._wait_for_slot(name, counters, tokens)
        sent = _Sent(self._monotonic(), tokens)
        counters.sent.append(sent)
        counters.under_way += 1
        try:
            yield sent
        finally:
            counters.under_way -= 1
            counters.changed.set()
            for first in tuple(counters.line)[:1]:
                del counters.line[first]
                self._on_free(first)

    async def _wait_for_slot(self, name: _Name, counters: _Counters, tokens: int) -> None:
        while True:
            self._forget_old(counters, self._monotonic())
            held = busy(self._pace(name.name, counters, 0), tokens)
            if held is None:
                return
            if held.until is None:
                counters.changed.clear()
                await counters.changed.wait()
            else:
                await self._sleep(max(0.01, (held.until - self._clock.now()).total_seconds()))

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


class _PacedModel:
    """A model whose requests are counted. It implements `ports.Model`."""

    def __init__(self, pacer: Pacer, name: _Name, model: Model) -> None:
        self._pacer = pacer
        self._name = name
        self._model = model

    @property
    def terms(self) -> ModelTerms:
        """What the model can take and what it costs."""
        return self._model.terms

    @property
    def sampling(self) -> Sampling:
        """How it is asked."""
        return self._model.sampling

    async def probe(self) -> str | None:
        """Ask the endpoint whether it is there; see `ports.Model`."""
        return await self._model.probe()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request when the limits let it; see `ports.Model`."""
        reserved = estimated_tokens(request.size) + request.max_output_tokens
        async with self._pacer.slot(self._name, reserved) as sent:
            reply = await self._model.complete(request)
            with contextlib.suppress(ValueError):
                sent.tokens = _used(reply)
            return reply


def _used(reply: ModelReply) -> int:
    """Return the tokens that an endpoint says it used.

    Raises:
        ValueError: it says nothing that can be true.
    """
    usage = reply.usage
    counts = (usage.prompt_tokens, usage.completion_tokens) if usage else ()
    whole = [count for count in counts if type(count) is int and count > 0]
    if len(whole) != 2:  # noqa: PLR2004 - prompt and answer
        raise ValueError("no usage")
    return sum(whole)


def _requests_limit(counters: _Counters) -> int | None:
    limits = counters.spec.rate_limit
    return limits.requests_per_minute if limits else None


def _older(line: dict[TaskKey, float], than: float) -> Iterator[TaskKey]:
    return (key for key, at in line.items() if at < than)
