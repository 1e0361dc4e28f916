"""Pages of a PDF document as lines with their places, and which lines run along with the pages.

A running head or foot stands first or last on a page, in the same words but for numbers on many
pages, or at the same place on most of them and away from the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

SAME_HEIGHT: Final = 0.1
SAME_LINE: Final = 0.3

_WIDE_GAP: Final = 1.35
_MIN_PITCH: Final = 1.2
_MAX_PITCH: Final = 2.5

_LEAST_PAGES: Final = 3
_MANY: Final = 0.2
_MOST: Final = 0.5
_EDGE_LINES: Final = 2
_SAME_PLACE: Final = 3.0

_NUMBERS: Final = re.compile(r"\d+|\b[ivxlc]+\b")


class Line(NamedTuple):
    """A line of a page: its text, its place, and the height of its letters, in points."""

    text: str
    left: float
    right: float
    baseline: float
    height: float


@dataclass(frozen=True, slots=True)
class Page:
    """A page by its number, from 1; one that is not `read` shows something that is no text."""

    number: int
    read: bool
    lines: tuple[Line, ...]


def widest_step(pitch: float, height: float) -> float:
    """Return how far down the next line of a paragraph is at most."""
    return _WIDE_GAP * max(min(pitch, _MAX_PITCH * height), _MIN_PITCH * height)


def pitch_of(lines: Sequence[Line]) -> float:
    """Return how far apart the lines of a page usually are."""
    steps = [
        above.baseline - below.baseline
        for above, below in pairwise(lines)
        if abs(above.height - below.height) <= SAME_HEIGHT * above.height
        and SAME_LINE * above.height < above.baseline - below.baseline < 3 * above.height
    ]
    return median(steps) if steps else max((line.height for line in lines), default=1.0)


class RunningLines:
    """Knows the running heads and feet of a document."""

    def __init__(self, pages: Sequence[Page]) -> None:
        shapes: Counter[str] = Counter()
        places: Counter[float] = Counter()
        for page in pages:
            shapes.update({_shape(line) for line in _edges(page)})
            places.update({_place(line) for line in _apart(page)})
        many = max(_LEAST_PAGES, _MANY * len(pages))
        most = max(_LEAST_PAGES, _MOST * len(pages))
        self._shapes = frozenset(shape for shape, count in shapes.items() if count >= many)
        self._places = frozenset(place for place, count in places.items() if count >= most)

    def of(self, page: Page) -> frozenset[Line]:
        """Return the lines of a page that are no part of its text; never all that it has."""
        same_words = (line for line in _edges(page) if _shape(line) in self._shapes)
        same_place = (line for line in _apart(page) if _place(line) in self._places)
        running = frozenset((*same_words, *same_place))
        return running if len(running) < len(set(page.lines)) else frozenset()


def _edges(page: Page) -> tuple[Line, ...]:
    """Return the lines that stand highest and lowest on a page."""
    by_place = sorted(page.lines, key=lambda line: -line.baseline)
    return (*by_place[:_EDGE_LINES], *by_place[-_EDGE_LINES:])


def _apart(page: Page) -> tuple[Line, ...]:
    """Return the highest and the lowest line of a page, with what stands beside them."""
    baselines = sorted({line.baseline for line in page.lines}, reverse=True)
    if len(baselines) < _EDGE_LINES:
        return ()
    apart: list[float] = []
    for edge, neighbour in (baselines[:2], baselines[:-3:-1]):
        height = max(line.height for line in page.lines if line.baseline == edge)
        if abs(edge - neighbour) > widest_step(pitch_of(page.lines), height):
            apart.append(edge)
    return tuple(line for line in page.lines if line.baseline in apart)


def _place(line: Line) -> float:
    return round(line.baseline / _SAME_PLACE)


def _shape(line: Line) -> str:
    """Return a line without the numbers that change from page to page."""
    return _NUMBERS.sub("#", line.text.strip())
