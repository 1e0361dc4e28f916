"""Where sentences end: a small rule with offsets by construction, for any script with stops."""

from __future__ import annotations

import re
from typing import Final

_ABBREVIATED: Final = (
    "approx cf ca dr e.g eq fig i.e jr ltd mr mrs ms nr pp prof resp sec sr st vol vs"
)
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())
_STOP: Final = re.compile(
    r"[.!?\u2026]+[\"'\u2019\u201d)\]\u00bb]*(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09]*"
    r"|\n\s*\n"
)
_LAST_WORD: Final = re.compile(r"[^\s(\[\"']*$")
_LONGEST_ABBREVIATION: Final = 16


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a text's sentences, without the white space around them.

    A full stop ends one where white space follows and then no small letter, unless the word
    before it is an abbreviation or an initial. Exclamation and question marks, blank lines, and
    Chinese and Japanese stops always do; an ellipsis never does.
    """
    spans = []
    start = 0
    for stop in _STOP.finditer(text):
        end = stop.end() if stop[0].strip() else stop.start()
        if stop[0].startswith((".", "\u2026")) and _goes_on(text, stop):
            continue
        spans.append((start, end))
        start = stop.end()
    spans.append((start, len(text)))
    return tuple(_stripped(text, *span) for span in spans if text[slice(*span)].strip())


def _goes_on(text: str, stop: re.Match[str]) -> bool:
    following = text[stop.end() :].lstrip()[:1]
    word = _LAST_WORD.search(text, max(0, stop.start() - _LONGEST_ABBREVIATION), stop.start())
    last = word[0] if word else ""
    initial = len(last) == 1 and last.isupper()
    ellipsis = stop[0].startswith(("..", "\u2026"))
    return ellipsis or following.islower() or initial or last.lower() in _ABBREVIATIONS


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while text[start].isspace():
        start += 1
    while text[end - 1].isspace():
        end -= 1
    return start, end
