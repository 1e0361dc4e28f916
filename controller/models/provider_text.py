"""Text that an endpoint wrote, made fit to be kept: valid, bounded, and without the key.

An endpoint may echo the key that it was sent, in an error as well as in an answer. It is taken out
of everything before anything else sees it (requirement S2.34).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 300
"""How many characters of an endpoint's own words a message may have."""

SHORTEST_KEY: Final = 8
"""A shorter key is no secret (`none`, `EMPTY`), and taking it out would spoil true text."""

_UNSTORABLE: Final = re.compile("[\ud800-\udfff\0]")


def storable(text: str) -> str:
    """Return a text that a record and a request can hold: no half characters, no zero bytes."""
    return _UNSTORABLE.sub("\ufffd", text)


def safe(text: str, key: str | None) -> str:
    """Return a storable text without the key."""
    text = storable(text)
    return text.replace(key, "[key]") if key and len(key) >= SHORTEST_KEY else text


def one_line(text: str, key: str | None) -> str:
    """Return a text as a part of a message: safe, on one line, without marks that turn it."""
    visible = "".join(" " if unicodedata.category(c) in {"Cc", "Cf"} else c for c in text[:20_000])
    shown = " ".join(safe(visible, key).split())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
