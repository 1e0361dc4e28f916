"""Tables of reStructuredText, simple and grid, as rows of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from controller.sources.readers.text import join_lines

SIMPLE_BORDER: Final = re.compile(r"=+(?: +=+)+")
GRID_BORDER: Final = re.compile(r"\+(?:-+\+)+")

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


def read_simple(lines: list[str]) -> Table | None:
    """Read the simple table that starts at the first line; None where none does."""
    if not SIMPLE_BORDER.fullmatch(lines[0]):
        return None
    borders = _simple_borders(lines)
    if len(borders) < 2:
        return None
    starts = [match.start() for match in re.finditer(r"=+", lines[0])]
    top, bottom = borders[0], borders[-1]
    if len(borders) == 2:
        return Table((), tuple(_simple_rows(lines, top + 1, bottom, starts)), bottom + 1)
    header = _simple_rows(lines, top + 1, borders[1], starts)
    body = [
        row
        for first, last in zip(borders[1:], borders[2:], strict=False)
        for row in _simple_rows(lines, first + 1, last, starts)
    ]
    return Table(tuple(header), tuple(body), bottom + 1)


def _simple_borders(lines: list[str]) -> list[int]:
    """Return where the borders are; a border before a blank line, not the first two, is the last.

    Without such a line the table ends with the text, as far as it is understood.
    """
    borders: list[int] = []
    for index, line in enumerate(lines):
        if line.startswith("=") and SIMPLE_BORDER.fullmatch(line):
            borders.append(index)
            at_end = index + 1 == len(lines) or not lines[index + 1].strip()
            if at_end and len(borders) > 1:
                break
        elif line.strip() and line[0] not in " =" and not borders:
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
    return tuple(join_lines(column) for column in columns)


def read_grid(lines: list[str]) -> Table | None:
    """Read the grid table that starts at the first line; None where none does.

    Cells that span columns or rows become one cell with the text of all their lines.
    """
    if not GRID_BORDER.fullmatch(lines[0]):
        return None
    length = next(
        (i for i, line in enumerate(lines) if not line.startswith(("+", "|"))), len(lines)
    )
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
    return tuple(join_lines(column) for column in texts)
