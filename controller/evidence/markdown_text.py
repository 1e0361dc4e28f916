"""Text of others as Markdown that shows exactly its characters, and the forms that rows take.

Nothing of a source or a user takes effect as markup, whatever reads the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
"""What ends a line in the text of a source."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, which a terminal would obey."""

_ALWAYS: Final = re.compile(r"[\\`*\[\]<>|~$]|&(?=#?\w+;)")

_UNDERSCORES: Final = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""Runs of underscores that are not inside a word: only those can begin or end emphasis."""

_HASH: Final = re.compile(r"(?:^|(?<=\s))#")
"""What begins a heading, or closes one."""

_LINE_START: Final = re.compile(r"^(?:[-+=:](?=[-=:\s]|$))")
"""What begins a list, a rule, a table or the underline of a heading."""

_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")

_ADDRESS: Final = re.compile(r"(?i)(?:\b(?:mailto|xmpp)|(?<=\w))(:)(?=//|[^\s@]{1,64}@)|\bwww(\.)")
"""Where a viewer that looks for addresses would make a link of one."""


def escape(text: str) -> str:
    """Return a text as one line of Markdown that shows exactly its characters.

    Line breaks become spaces and control characters the replacement character; white space at
    the ends is dropped, as Markdown would drop it.
    """
    line = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", LINE_BREAK.sub(" ", text)).strip()
    line = _ALWAYS.sub(r"\\\g<0>", line)
    line = _UNDERSCORES.sub(lambda m: r"\_" * len(m[0]), line)
    line = _ADDRESS.sub(lambda m: f"{m[0][:-1]}\\{m[0][-1]}", line)
    line = _HASH.sub(r"\#", line)
    line = _LINE_START.sub(r"\\\g<0>", line)
    return _NUMBERED.sub(r"\1\\\2", line)


def fenced(text: str) -> Iterator[str]:
    """Yield a text as a fenced block, line by line as it is."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    for line in LINE_BREAK.split(text):
        yield _CONTROL.sub("\N{REPLACEMENT CHARACTER}", line)
    yield fence


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with what it counts, in the singular or the plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; its cells are Markdown already."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
