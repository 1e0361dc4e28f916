"""A claim in somebody's own words: the form in which it is kept, whoever wrote it."""

from __future__ import annotations

import unicodedata
from typing import Final

from controller.evidence.normalisation import normalise

MAXIMUM_CLAIM: Final = 600
"""P2: the greatest length of a worded claim in normal form, in characters."""

_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that words are written with in Persian and in Indic scripts."""


def one_line(text: str) -> str:
    """Return a text as one line that shows all that it has.

    Line breaks and other control characters become spaces, as do runs of white space. Half
    characters become question marks. Characters that nobody sees, and those that turn the
    direction of a line, are left out: a claim is judged by what a reader sees of it.
    """
    whole = text.encode("utf-8", "replace").decode()
    return " ".join("".join(map(_shown, whole)).split())


def says_the_same(claim: str, quote: str) -> bool:
    """Say whether a claim is the quote itself, in normal form."""
    return normalise(claim).text == normalise(quote).text


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category == "Cf" and character not in _JOINERS else character
