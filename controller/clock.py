"""The wall clock, in the unit that is stored."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The time of the machine, cut to the milliseconds that records hold.

    What is computed from a time is then the same before and after it was stored, so that a
    status that says nothing new is equal to the stored one.
    """

    def now(self) -> datetime:
        """Return the time now, in UTC."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)
