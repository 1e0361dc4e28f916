"""Tables of reStructuredText, simple and grid, as rows of cells."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from controller.sources.readers.text import join_lines

_SIMPLE_BORDER: Final = re.compile(r"=+(?: +=+)+")
_GRID_BORDER: Final = re.compile(r"\+(?:-+\+)+")

_PADDING: Final = "\ufdd0"  # a noncharacter: in no text

_ANY_BORDER: Final = re.compile(r"[=-]+(?: +[=-]+)*")
_GRID_HEADER: Final = re.compile(r"\+(?:=+\+)+")
_GRID_RULE: Final = re.compile(r"(?<=[+|])(?:-{3,}|={3,})(?=[+|])")


@dataclass(frozen=True, slots=True)
class Row:
    """A table's row: its cells, and the first and last of its lines, counted from the table's."""

    cells: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the rows of its header, those of its body, and how many lines it takes."""

    header: tuple[Row, ...]
    body: tuple[Row, ...]
    length: int


def read(lines: list[str], at: int) -> Table | None:
    """Read the table that starts at a line; None where none does."""
    if _SIMPLE_BORDER.fullmatch(lines[at]):
        return _read_simple(lines, at)
    if _GRID_BORDER.fullmatch(lines[at]):
        return _read_grid(lines, at)
    return None


def _padded(line: str) -> str:
    """Give a character of double width two places, as those who draw tables do."""
    if line.isascii():
        return line
    return "".join(
        character + _PADDING if unicodedata.east_asian_width(character) in "WF" else character
        for character in line
    )


def _read_simple(lines: list[str], at: int) -> Table | None:
    borders = [border - at for border in _simple_borders(lines, at)]
    if len(borders) == 1:
        return None
    lines = [_padded(line) for line in lines[at : at + borders[-1] + 1]]
    starts = [match.start() for match in re.finditer(r"=+", lines[0])]
    parts = [
        _simple_rows(lines, above + 1, below, starts)
        for above, below in itertools.pairwise(borders)
    ]
    header = parts.pop(0) if len(parts) > 1 else []
    body = [row for part in parts for row in part]
    return Table(tuple(header), tuple(body), borders[-1] + 1)


def _simple_borders(lines: list[str], at: int) -> list[int]:
    """Return where the borders are; the last is the first one, not the top, before a blank line.

    Without such a line the table ends with the last border that there is.
    """
    borders: list[int] = []
    for index in range(at, len(lines)):
        line = lines[index]
        if line.startswith("=") and _SIMPLE_BORDER.fullmatch(line):
            borders.append(index)
            at_end = index + 1 == len(lines) or not lines[index + 1]
            if at_end and index > at:
                break
    return borders


def _simple_rows(lines: list[str], first: int, end: int, starts: list[int]) -> list[Row]:
    """Group lines into rows: a line with an empty first column goes on with the row above."""
    rows: list[Row] = []
    group: list[str] = []
    group_first = first

    def close(last: int) -> None:
        if group:
            rows.append(Row(_cells(group, starts), group_first, last))
            group.clear()

    for index in range(first, end):
        line = lines[index]
        if not line.strip() or _ANY_BORDER.fullmatch(line.strip()):
            if line.strip():
                close(index - 1)
            continue
        first_column = line[: starts[1]] if len(starts) > 1 else line
        if first_column.strip() and group:
            close(index - 1)
        if not group:
            group_first = index
        group.append(line)
    close(end - 1)
    return rows


def _cells(lines: list[str], starts: list[int]) -> tuple[str, ...]:
    """Cut lines into columns; the last column is as wide as its text."""
    bounds = [*starts[1:], None]
    columns: list[list[str]] = [[] for _ in starts]
    for line in lines:
        for column, start, end in zip(columns, starts, bounds, strict=True):
            part = line[start:end].strip()
            if part:
                column.append(part)
    return tuple(join_lines(column).replace(_PADDING, "") for column in columns)


def _read_grid(lines: list[str], at: int) -> Table | None:
    """Read a grid; cells that span columns or rows are one cell with the text of their lines."""
    length = 1
    while at + length < len(lines) and lines[at + length].startswith(("+", "|")):
        length += 1
    lines = [_padded(line) for line in lines[at : at + length]]
    header: list[Row] = []
    body: list[Row] = []
    group: list[str] = []
    for index in range(1, length):
        line = lines[index]
        if not line.startswith("+"):
            group.append(line)
            continue
        if group:
            body.append(Row(_grid_cells(group, lines[0]), index - len(group), index - 1))
            group = []
        if _GRID_HEADER.fullmatch(line):
            header, body = header + body, []
    if group:
        body.append(Row(_grid_cells(group, lines[0]), length - len(group), length - 1))
    return Table(tuple(header), tuple(body), length)


def _grid_cells(lines: list[str], border: str) -> tuple[str, ...]:
    columns = [match.span() for match in re.finditer("-+", border)]
    texts: list[list[str]] = [[] for _ in columns]
    for line in lines:
        text = _GRID_RULE.sub(lambda match: " " * len(match[0]), line)
        owner = 0
        for index, (start, end) in enumerate(columns):
            if text[start - 1 : start] in {"|", "+"}:
                owner = index
            spans_on = text[end : end + 1] not in {"|", "+", ""}
            part = text[start : end + 1 if spans_on else end].strip()
            if part:
                texts[owner].append(part)
    return tuple(join_lines(column).replace(_PADDING, "") for column in texts)
