"""Turns: one request at a time to a host, and a pause between two. One for each process.

Whoever waits for a turn waits inside the deadline of its step; nothing is queued beyond that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

USUAL_DELAY_SECONDS: Final = 1.0
"""The least time between the end of a request and the beginning of the next one to its host."""

LONGEST_DELAY_SECONDS: Final = 10.0
"""The longest delay that a robots file can ask for; a longer one is cut, and that is said."""

_MOST_HOSTS: Final = 1024
"""So many hosts are remembered before those that owe nothing any more are forgotten."""


@dataclass
class _Host:
    """A host that was asked: who waits for it, when it was last left, and what it is owed."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    left_at: float | None = None
    delay_seconds: float = LONGEST_DELAY_SECONDS


class Turns:
    """Hands out turns, first come, first served."""

    def __init__(
        self,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Begin with no host known.

        Args:
            monotonic: a clock in seconds that never goes back.
            sleep: waits for so many seconds of that clock.
        """
        self._monotonic = monotonic
        self._sleep = sleep
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay_seconds: float) -> AsyncIterator[None]:
        """Wait until a host may be asked, and keep others from it meanwhile.

        Args:
            host: a name or address; its schemes and ports count as one.
            delay_seconds: how long it is left alone since the request before.
        """
        place = self._place(host)
        place.users += 1
        place.delay_seconds = max(place.delay_seconds, delay_seconds)
        try:
            async with place.lock:
                await self._pause(place, delay_seconds)
                try:
                    yield
                finally:
                    place.left_at = self._monotonic()
        finally:
            place.users -= 1

    async def _pause(self, place: _Host, delay_seconds: float) -> None:
        if place.left_at is None:
            return
        seconds = place.left_at + delay_seconds - self._monotonic()
        if seconds > 0:
            await self._sleep(seconds)

    def _place(self, host: str) -> _Host:
        if host not in self._hosts and len(self._hosts) >= _MOST_HOSTS:
            self._forget()
        return self._hosts.setdefault(host, _Host())

    def _forget(self) -> None:
        """Drop the hosts that nobody waits for and whose longest delay is over."""
        now = self._monotonic()
        self._hosts = {
            host: place
            for host, place in self._hosts.items()
            if place.users or (place.left_at or 0) + place.delay_seconds > now
        }
