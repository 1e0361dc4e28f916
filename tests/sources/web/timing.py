"""Time that passes only where a test says so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from controller.sources.web.politeness import Turns


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds
        await asyncio.sleep(0)

    def turns(self) -> Turns:
        return Turns(monotonic=self.monotonic, sleep=self.sleep)
