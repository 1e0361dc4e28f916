"""reStructuredText by its structure, as Sphinx documentation uses it.

Not a renderer: unknown directives and roles are read by their shape, nothing is included or
executed, and no file is refused.

    title, rubric                        heading; nested by the first use of its adornment
    directive with argument and body     term; the argument is one more heading-path element
    directive without a body             anchor of the heading after it, else a term
    definition, option, glossary entry   term; its body stands under it
    `Label: value` under one of these    field; a literal announced by `Label::` is adjacent
    note, warning, admonition, ...       note blocks
    versionadded, deprecated, ...        the version in the heading path
    literal, code-block, doctest, ...    code, line for line
    table, list-table, csv-table         one row a block, the header's cells in the heading path
    toctree, image, include, comment     no text
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from controller.api.records import BlockKind
from controller.sources.readers import rest_directives, rest_tables
from controller.sources.readers.rest_inline import References, plain
from controller.sources.readers.rest_lines import (
    Chunk,
    Directive,
    is_adornment,
    parse_directive,
)
from controller.sources.readers.text import HeadingPath, Text, TextBuilder, join_lines

_MAX_DEPTH: Final = 40
_MIN_ADORNMENT: Final = 4

_EXPLICIT: Final = re.compile(r"\.\.(?: |$)|__(?: |$)")
_FOOTNOTE: Final = re.compile(r"\.\. \[(?:\d+|#[\w.-]*|\*|[A-Za-z][\w.-]*)\](?: |$)")
_BULLET: Final = re.compile(r"[*+\-\u2022\u2023\u2043](?: +|$)")
_ENUMERATOR: Final = re.compile(
    r"\(?(?:\d{1,9}|[A-Za-z]|[ivxlcdm]{1,9}|[IVXLCDM]{1,9}|#)[.)](?: +|$)"
)
_FIELD_MARKER: Final = re.compile(r":(?![: ])((?:\\.|[^\\:`]|:(?!\s|$|`)){1,200}):(?: +|$)")
_ONE_OPTION: Final = r"(?:-\w|--\w[\w-]*|/\w)(?:[ =][\w<>.|-]+)?"
_OPTION: Final = re.compile(rf"{_ONE_OPTION}(?:, {_ONE_OPTION})*(?:  +|$)")
_LINE_BLOCK: Final = re.compile(r"\|(?: |$)")
_DOCTEST: Final = re.compile(r">>> ")
_QUOTING: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


@dataclass
class Level:
    """Where the parser stands in one indented body, and what the next blocks belong to."""

    base: HeadingPath
    kind: BlockKind
    depth: int
    headings: list[tuple[int, str]] = field(default_factory=list)
    term: str | None = None
    bare: list[Directive] = field(default_factory=list)

    @property
    def path(self) -> HeadingPath:
        """The heading path of the next block."""
        path = self.base + tuple(title for _, title in self.headings)
        return path if self.term is None else (*path, self.term)

    def below(self, term: str | None = None, kind: BlockKind | None = None) -> Level:
        """Return the level of a body below this one."""
        path = self.path if term is None else (*self.path, term)
        return Level(path, kind or self.kind, self.depth + 1)


def read(text: str, title_hint: str) -> Text:
    """Read reStructuredText; the title is the first heading's."""
    return Parser(text).parse(title_hint)


class Parser:
    """A recursive descent over lines; every block knows its lines in the file."""

    def __init__(self, text: str) -> None:
        self.builder = TextBuilder()
        self.references = References.of(text)
        self._source = Chunk.of(text)
        self._adornments: list[tuple[str, bool]] = []
        self._title: str | None = None

    def parse(self, title_hint: str) -> Text:
        """Parse the whole document."""
        self.body(self._source, Level((), BlockKind.PARAGRAPH, 0))
        return self.builder.build(self._title or title_hint)

    def plain(self, text: str) -> str:
        """Return text without its inline markup."""
        return plain(text, self.references)

    def add(self, level: Level, kind: BlockKind, text: str, first: int, last: int) -> None:
        """Add a block where a level stands; directives without a body come to their word first."""
        self.settle(level)
        self.builder.add(kind, text, level.path, first, last)

    def settle(self, level: Level) -> None:
        """Let directives that had no body, and no heading after them, be terms of what follows."""
        for directive in level.bare:
            level.term = directive.title
            kind = BlockKind.HEADING if directive.name == "rubric" else BlockKind.TERM
            self.builder.add(kind, directive.title, level.path, directive.first, directive.first)
        level.bare.clear()

    def body(self, chunk: Chunk, level: Level) -> None:
        """Parse a body: everything at one indentation, and what is indented below it."""
        if level.depth > _MAX_DEPTH:
            self._verbatim(chunk, level)
            return
        position = 0
        while position < len(chunk.lines):
            if chunk.lines[position]:
                position = self._element(chunk, position, level)
            else:
                position += 1
        self.settle(level)

    def _element(self, chunk: Chunk, at: int, level: Level) -> int:
        """Parse what begins at a line that is not blank; return where it ends."""
        line = chunk.lines[at]
        if line[0] == " ":
            quote, end = chunk.indented(at)
            self.settle(level)
            self.body(quote, level.below())
            return end
        if not line[0].isalnum():
            marked_end = self._marked(chunk, at, level)
            return self._text(chunk, at, level) if marked_end is None else marked_end
        if (match := _ENUMERATOR.match(line)) and chunk.is_blank_or_indented(at + 1, _ENUMERATOR):
            return self._item(chunk, at, match.end(), level)
        return self._text(chunk, at, level)

    def _marked(self, chunk: Chunk, at: int, level: Level) -> int | None:
        """Parse what its first character may mark; None where it is text after all."""
        for parse in (self._explicit, self._drawn_table, self._overlined, self._listed):
            end = parse(chunk, at, level)
            if end is not None:
                return end
        return None

    def _listed(self, chunk: Chunk, at: int, level: Level) -> int | None:
        """Parse the items of lists, and lines that a mark at their beginning keeps as they are."""
        if self._is_underlined(chunk, at, level):
            return None
        line = chunk.lines[at]
        for pattern, parse in (
            (_BULLET, self._item),
            (_ENUMERATOR, self._item),
            (_FIELD_MARKER, self._field),
            (_OPTION, self._option),
            (_LINE_BLOCK, self._line_block),
            (_DOCTEST, self._doctest),
        ):
            if match := pattern.match(line):
                return parse(chunk, at, match.end(), level)
        return None

    def _drawn_table(self, chunk: Chunk, at: int, level: Level) -> int | None:
        table = rest_tables.read(chunk.lines, at)
        if table is None:
            return None
        self.table(table, chunk.first + at, level)
        return at + table.length

    def _item(self, chunk: Chunk, at: int, indent: int, level: Level) -> int:
        body, end = chunk.hanging(at, indent)
        self.settle(level)
        self.body(body, level.below(kind=BlockKind.ITEM))
        return end

    def _field(self, chunk: Chunk, at: int, indent: int, level: Level) -> int:
        """Parse `:name: body`; a field without a body (`:orphan:`) is no text."""
        name = self.plain(chunk.lines[at][1:indent].rstrip()[:-1])
        body, end = chunk.after(at, indent)
        length = next((i for i, line in enumerate(body.lines) if not line), len(body.lines))
        value = self.plain(join_lines(body.lines[:length]))
        if value:
            first = chunk.first + at
            self.add(level, BlockKind.FIELD, f"{name}: {value}", first, first + length - 1)
        self.body(body.part(length), level.below(name))
        return end

    def _option(self, chunk: Chunk, at: int, indent: int, level: Level) -> int:
        """Parse a row of an option list: the option is the term of its description."""
        option = chunk.lines[at][:indent].rstrip()
        body, end = chunk.after(at, indent)
        self.settle(level)
        below = level.below(option)
        self.add(below, BlockKind.TERM, option, chunk.first + at, chunk.first + at)
        self.body(body, below)
        return end

    def _line_block(self, chunk: Chunk, at: int, _: int, level: Level) -> int:
        end = chunk.until_blank(at)
        lines = [self.plain(line.removeprefix("|").strip()) for line in chunk.lines[at:end]]
        self.add(level, level.kind, "\n".join(lines), chunk.first + at, chunk.first + end - 1)
        return end

    def _doctest(self, chunk: Chunk, at: int, _: int, level: Level) -> int:
        end = chunk.until_blank(at)
        self._verbatim(chunk.part(at, end), level)
        return end

    def _verbatim(self, chunk: Chunk, level: Level) -> None:
        text = "\n".join(chunk.lines)
        self.add(level, BlockKind.CODE, text, chunk.first, chunk.first + len(chunk.lines) - 1)

    def table(self, table: rest_tables.Table, first: int, level: Level) -> None:
        """Add a table's rows, under the cells of its header, cells parted by tabulators."""
        self.settle(level)
        headers = [" | ".join(map(self.plain, row.cells)) for row in table.header]
        below = level.below(" / ".join(headers) or None)
        for row in (*table.header, *table.body):
            text = "\t".join(map(self.plain, row.cells))
            self.add(below, BlockKind.TABLE_ROW, text, first + row.first, first + row.last)

    def _is_underlined(self, chunk: Chunk, at: int, level: Level) -> bool:
        if level.depth or at + 1 >= len(chunk.lines):
            return False
        underline = chunk.lines[at + 1]
        return is_adornment(underline) and len(underline) >= min(
            _MIN_ADORNMENT, len(chunk.lines[at])
        )

    def _overlined(self, chunk: Chunk, at: int, level: Level) -> int | None:
        """Parse a title between two lines, or a transition (which is no text)."""
        lines = chunk.lines
        if not is_adornment(lines[at]):
            return None
        is_title = (
            level.depth == 0
            and at + 2 < len(lines)
            and lines[at + 1]
            and is_adornment(lines[at + 2])
            and lines[at][0] == lines[at + 2][0]
        )
        if is_title:
            self._heading(chunk, at + 1, (lines[at][0], True), level)
            return at + 3
        is_alone = at + 1 == len(lines) or not lines[at + 1]
        return at + 1 if is_alone and len(lines[at]) >= _MIN_ADORNMENT else None

    def _heading(self, chunk: Chunk, at: int, style: tuple[str, bool], level: Level) -> None:
        """Open a section; its depth is the first use of its adornment in the document."""
        title = self.plain(chunk.lines[at].strip())
        for directive in level.bare:
            for name in directive.signatures:
                self.builder.add_anchor(name)
        level.bare.clear()
        level.term = None
        if style not in self._adornments:
            self._adornments.append(style)
        depth = self._adornments.index(style)
        while level.headings and level.headings[-1][0] >= depth:
            level.headings.pop()
        level.headings.append((depth, title))
        self._title = self._title or title
        self.add(level, BlockKind.HEADING, title, chunk.first + at, chunk.first + at)

    def _text(self, chunk: Chunk, at: int, level: Level) -> int:
        """Parse a title, a definition or a paragraph, with the literal block that it announces."""
        if self._is_underlined(chunk, at, level):
            self._heading(chunk, at, (chunk.lines[at + 1][0], False), level)
            return at + 2
        end = at + 1
        while end < len(chunk.lines) and chunk.lines[end] and chunk.lines[end][0] != " ":
            end += 1
        if end == at + 1 and end < len(chunk.lines) and chunk.lines[end]:
            return self._definition(chunk, at, level)
        text = join_lines(chunk.lines[at:end])
        first, last = chunk.first + at, chunk.first + end - 1
        if not text.endswith("::"):
            self.add(level, level.kind, self.plain(text), first, last)
            return end
        announced = text[:-1] if text[:-2].rstrip() == text[:-2] else text[:-2].rstrip()
        if text != "::":
            self.add(level, level.kind, self.plain(announced), first, last)
        return self._literal(chunk, end, level)

    def _literal(self, chunk: Chunk, at: int, level: Level) -> int:
        """Parse the literal block after `::`: indented, or each line quoted by one character."""
        start = at
        while start < len(chunk.lines) and not chunk.lines[start]:
            start += 1
        if start == len(chunk.lines):
            return start
        mark = chunk.lines[start][0]
        if mark == " ":
            block, end = chunk.indented(start)
            self._verbatim(block, level)
            return end
        if mark not in _QUOTING or start == at or _EXPLICIT.match(chunk.lines[start]):
            return start
        end = chunk.until_blank(start)
        if any(line[0] != mark for line in chunk.lines[start:end]):
            return start
        self._verbatim(chunk.part(start, end), level)
        return end

    def _definition(self, chunk: Chunk, at: int, level: Level) -> int:
        """Parse a term and its indented body; a classifier after ` : ` is not in the path."""
        self.settle(level)
        line = chunk.lines[at]
        below = level.below(self.plain(line.partition(" : ")[0]))
        self.add(below, BlockKind.TERM, self.plain(line), chunk.first + at, chunk.first + at)
        body, end = chunk.indented(at + 1)
        self.body(body, below)
        return end

    def _explicit(self, chunk: Chunk, at: int, level: Level) -> int | None:
        """Parse what begins with `..`: a directive or a footnote; all else is no text."""
        if not _EXPLICIT.match(chunk.lines[at]):
            return None
        directive, end = parse_directive(chunk, at)
        if directive is not None:
            rest_directives.read(self, directive, level)
        elif match := _FOOTNOTE.match(chunk.lines[at]):
            body, end = chunk.after(at, match.end())
            self.settle(level)
            self.body(body, level.below())
        return end
