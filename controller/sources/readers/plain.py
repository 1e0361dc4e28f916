"""Plain text: paragraphs between blank lines, and no other structure."""

from __future__ import annotations

import re
from typing import Final

from controller.api.records import BlockKind
from controller.sources.readers.text import Text, TextBuilder, join_lines

_LAYOUT: Final = re.compile(r"^[ \t]|\S(?: {2,}|\t)\S", re.MULTILINE)


def read(text: str, title_hint: str) -> Text:
    """Read plain text.

    Lines of a paragraph are joined, unless spaces lay them out (columns, indentation): then
    they are kept as they are.
    """
    builder = TextBuilder()
    paragraph: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            _add(builder, paragraph, first=number - len(paragraph))
            paragraph = []
    return builder.build(title_hint)


def _add(builder: TextBuilder, paragraph: list[str], first: int) -> None:
    as_written = "\n".join(paragraph)
    laid_out = len(paragraph) > 1 and _LAYOUT.search(as_written)
    text = as_written if laid_out else join_lines(paragraph)
    builder.add(BlockKind.PARAGRAPH, text, (), first, first + len(paragraph) - 1)
