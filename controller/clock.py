"""Clocks: the machine's, in the unit that is stored, and one that tests move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SystemClock:
    """The time of the machine, cut to the milliseconds that records hold.

    What is computed from a time is then the same before and after it was stored, so that a
    status that says nothing new is equal to the stored one.
    """

    def now(self) -> datetime:
        """Return the time now, in UTC."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


class SteppedClock:
    """A clock for tests: it moves by a fixed step each time it is read, and by hand.

    Nothing waits for it, so that a test of a day of back-offs takes no time.
    """

    def __init__(self, start: datetime, step: timedelta = timedelta(milliseconds=10)) -> None:
        """Begin at a time, which must carry a time zone; `step` is added before each reading."""
        self.time = start
        self._step = step

    def now(self) -> datetime:
        """Return the time, after it has moved on."""
        self.time += self._step
        return self.time

    def advance(self, seconds: float) -> None:
        """Move on by hand."""
        self.time += timedelta(seconds=seconds)
