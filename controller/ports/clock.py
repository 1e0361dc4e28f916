"""Time for what is recorded."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time for what is recorded; the loop itself never reads a clock."""

    def now(self) -> datetime:
        """Return the time now, in UTC."""
        ...
