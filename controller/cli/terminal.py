"""What a person sees: the two consoles, and text of others made safe for them.

Questions, titles and messages come from people and documents. A control character among them
would be obeyed by the terminal, so it is shown as a replacement character instead.
"""

from __future__ import annotations

import re
import sys
from enum import IntEnum
from typing import Final

from rich.console import Console
from rich.text import Text

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WHITE_SPACE: Final = re.compile(r"\s+")

LABELLED: Final = 12
"""The column in which the text of a labelled line begins."""

_LEAST_ROOM: Final = 20
_MINUTE: Final = 60
_HOUR: Final = 3600


class Verbosity(IntEnum):
    """How much is told of a run (S0.34)."""

    SILENT = 0
    MILESTONES = 1
    STEPS = 2
    DEBUG = 3


def visible(text: str) -> str:
    """Return a text as one line that a terminal shows and does not obey."""
    line = _WHITE_SPACE.sub(" ", text).strip()
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", line)


def output() -> Console:
    """Return the console of results, which are never interpreted as markup."""
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def write(console: Console, line: str, indent: int = LABELLED) -> None:
    """Write a line; on a terminal what does not fit goes on below, `indent` columns in."""
    if not console.is_terminal:
        console.print(line)
        return
    room = max(console.width - indent, _LEAST_ROOM)
    pieces = Text(line[indent:]).wrap(console, room)
    for number, piece in enumerate(pieces or [Text()]):
        console.print((line[:indent] if number == 0 else " " * indent) + piece.plain.rstrip())


def complain(text: str) -> None:
    """Say on standard error what is wrong: each line as it is, after one `error:`."""
    lines = [_CONTROL.sub("\N{REPLACEMENT CHARACTER}", line) for line in text.splitlines()]
    sys.stderr.write("error: " + "\n".join(lines) + "\n")
    sys.stderr.flush()


def is_live(console: Console) -> bool:
    """Say whether a console can show a view that is drawn again and again."""
    return console.is_terminal and not console.is_dumb_terminal


def labelled(label: str, text: str) -> str:
    """Return a line with its label in a column of its own; without one it goes on with another."""
    return f"{label and label + ':':<{LABELLED}}{text}"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number and its noun: `1 step`, `2 steps`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Return a length of time for people: `41 ms`, `3.1 s`, `2 min 5 s`, `15 min`, `3 h`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        parts = (whole // _MINUTE, "min"), (whole % _MINUTE, "s")
    else:
        parts = (whole // _HOUR, "h"), (whole % _HOUR // _MINUTE, "min")
    return " ".join(f"{number} {unit}" for number, unit in parts if number)
