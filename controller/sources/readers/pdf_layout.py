"""From the lines of a PDF document, with their places, to its blocks.

A PDF says where letters stand and nothing of paragraphs: a gap, another size of letters, an indent
or a bullet begins one. What stands first or last on many pages is a running head or foot, and is
set apart as navigation. Letters that are larger than the text's make a heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from controller.api.records import BlockKind
from controller.evidence.normalisation import LINE_END_HYPHEN
from controller.sources.readers.pdf_pages import (
    SAME_HEIGHT,
    SAME_LINE,
    Line,
    Page,
    RunningLines,
    pitch_of,
    widest_step,
)
from controller.sources.readers.text import TextBuilder, join_lines

_OTHER_SIZE: Final = 0.25
_STEP: Final = 1.1
_INDENT: Final = 0.8
_SHORT_LINE: Final = 0.85
_HEADING: Final = 1.12
_MAX_HEADING: Final = 200

_BULLET: Final = re.compile(
    r"(?:[\u2022\u2023\u2043\u25aa\u25cf\u25e6\u2013\u2014*-]|"
    r"\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]) \S"
)
_ENDS_SENTENCE: Final = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f][\"')\]\u201d\u2019]*$")
_WORD: Final = re.compile(r"[\w\u2019'-]+")
_BROKEN_WORD: Final = re.compile(rf"([\w\u2019'-]*){LINE_END_HYPHEN}([\w\u2019'-]*)")


def add_pages(builder: TextBuilder, pages: Sequence[Page]) -> str | None:
    """Add the blocks of all pages; return the first heading, if there is any."""
    running = RunningLines(pages)
    levels = _heading_levels(pages, running)
    dictionary = _Dictionary(pages)
    headings: list[tuple[int, str]] = []
    title = None
    for page in pages:
        for paragraph, is_running in _paragraphs(page, running.of(page)):
            text = dictionary.joined([line.text.strip() for line in paragraph])
            level = levels.get(_rounded(paragraph[0].height))
            kind = BlockKind.PARAGRAPH
            if is_running:
                kind = BlockKind.NAVIGATION
            elif level is not None and len(text) <= _MAX_HEADING:
                kind = BlockKind.HEADING
                while headings and headings[-1][0] >= level:
                    headings.pop()
                headings.append((level, text))
                title = title or text
            elif _BULLET.match(text):
                kind = BlockKind.ITEM
            builder.add_on_page(kind, text, tuple(name for _, name in headings), page.number)
    return title


def _paragraphs(page: Page, running: frozenset[Line]) -> Iterator[tuple[list[Line], bool]]:
    """Yield a page's paragraphs, and whether each is a running head or foot."""
    pitch = pitch_of(page.lines)
    paragraph: list[Line] = []
    for line in page.lines:
        is_running = line in running
        if paragraph and (is_running or _begins_paragraph(paragraph, line, pitch)):
            yield paragraph, False
            paragraph = []
        if is_running:
            yield [line], True
        else:
            paragraph.append(line)
    if paragraph:
        yield paragraph, False


def _begins_paragraph(paragraph: Sequence[Line], line: Line, pitch: float) -> bool:
    before = paragraph[-1]
    height = max(before.height, 1.0)
    down = before.baseline - line.baseline
    if abs(down) <= SAME_LINE * height:
        return False  # the same line, in pieces: cells of a table, a raised number
    if down < 0 or down > widest_step(pitch, height):
        return True  # another column, or a gap
    other = abs(line.height - before.height) / height
    if other > _OTHER_SIZE or (other > SAME_HEIGHT and down > _STEP * pitch):
        return True  # fonts of one size differ a little in height
    if _BULLET.match(line.text):
        return True
    widest = max(part.right for part in paragraph)
    left = min(part.left for part in paragraph[1:] or paragraph)
    is_indented = line.left > left + _INDENT * height
    ended = bool(_ENDS_SENTENCE.search(before.text.rstrip()))
    is_short = before.right - left < _SHORT_LINE * (max(widest, line.right) - left)
    return ended and (is_short or is_indented)


def _rounded(height: float) -> float:
    return round(2 * height) / 2


def _body_height(pages: Sequence[Page]) -> float:
    """Return the height of letters that most of the text has."""
    characters: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            characters[_rounded(line.height)] += len(line.text)
    return characters.most_common(1)[0][0] if characters else 0.0


def _heading_levels(pages: Sequence[Page], running: RunningLines) -> dict[float, int]:
    """Return the level of each height of letters that headings have, from 0 for the largest."""
    least = _HEADING * _body_height(pages)
    heights = {
        _rounded(line.height)
        for page in pages
        for line in set(page.lines) - running.of(page)
        if line.height >= least
    }
    return {height: level for level, height in enumerate(sorted(heights, reverse=True))}


class _Dictionary:
    """The words of a document, which tell a hyphen of a word from one of a line's end."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._words = frozenset(
            word
            for page in pages
            for line in page.lines
            for word in _WORD.findall(line.text.replace(LINE_END_HYPHEN, " "))
        )

    def joined(self, lines: list[str]) -> str:
        """Join the lines of a paragraph and the words that a line's end has parted.

        A word keeps its hyphen where the document has it with one elsewhere and never without.
        """
        text = join_lines(lines)
        if LINE_END_HYPHEN not in text:
            return text
        text = text.replace(LINE_END_HYPHEN + " ", LINE_END_HYPHEN)
        return _BROKEN_WORD.sub(self._whole, text).replace(LINE_END_HYPHEN, "")

    def _whole(self, match: re.Match[str]) -> str:
        before, after = match.groups()
        hyphenated = f"{before}-{after}"
        is_known = hyphenated in self._words and before + after not in self._words
        return hyphenated if is_known else before + after
