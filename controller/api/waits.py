"""When a server wants to be asked again: `Retry-After`, in both of its forms. Pure.

It becomes a time to wake up at, never a sleep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_WAIT: Final = 315_360_000.0
"""Ten years, in seconds: beyond any deadline, and still a time that can be computed with."""

_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds after which a server wants to be asked again; None: it said nothing.

    Milliseconds win over seconds, seconds may have decimals, a date is taken from `now` on. What
    is not in the future or cannot be read is nothing.

    Args:
        headers: those of the answer; names are in lower case.
        now: the time of the answer, with its zone.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(milliseconds):
        return _wait(float(milliseconds) / 1000)
    said = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(said):
        return _wait(float(said))
    try:
        date = parsedate_to_datetime(said)
    except (ValueError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return _wait((date - now).total_seconds())


def _wait(seconds: float) -> float | None:
    return min(seconds, LONGEST_WAIT) if seconds > 0 and not math.isnan(seconds) else None
