"""Directives of reStructuredText, known and unknown: which text they hold, and where it belongs."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from controller.api.records import BlockKind
from controller.sources.readers.rest_lines import Chunk, Directive
from controller.sources.readers.rest_tables import Row, Table
from controller.sources.readers.text import words

if TYPE_CHECKING:
    from controller.sources.readers.rest import Level, Parser

_WITHOUT_TEXT: Final = words(
    "toctree contents image index module currentmodule include literalinclude raw highlight "
    "default-role default-domain role sectnum section-numbering meta title tabularcolumns program "
    "unicode date header footer graphviz digraph graph inheritance-diagram autosummary testsetup "
    "testcleanup target-notes sectionauthor codeauthor moduleauthor cssclass rst-class"
)
_CODE: Final = words(
    "code code-block sourcecode console parsed-literal doctest testcode testoutput prompt "
    "productionlist math snippet ipython command-output"
)
_NOTES: Final = words("note warning tip hint important caution attention danger error seealso todo")
_TITLED_NOTES: Final = words("admonition topic sidebar")
_TRANSPARENT: Final = words(
    "container compound epigraph highlights pull-quote hlist only tabs tab figure centered "
    "glossary autoclass autofunction automodule autodata automethod autoattribute autoexception"
)
_VERSIONS: Final = {  # what Sphinx shows for them
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}


def read(parser: Parser, directive: Directive, level: Level) -> None:
    """Read a directive: its argument into the heading path, its body into blocks."""
    name = directive.name
    if name in _WITHOUT_TEXT:
        return
    if name in _CODE:
        _code(parser, directive, level)
    elif name in _NOTES or (name in _TITLED_NOTES and not directive.arguments):
        parser.settle(level)
        _bodies(parser, directive, level.below(kind=BlockKind.NOTE))
    elif name in _TITLED_NOTES:
        _titled(parser, directive, level.below(_argument(parser, directive), BlockKind.NOTE))
    elif name in _VERSIONS:
        _version(parser, directive, level)
    elif name in {"list-table", "csv-table", "table"}:
        _table(parser, directive, level)
    elif name in _TRANSPARENT or not directive.arguments:
        _transparent(parser, directive, level)
    elif directive.has_body:
        _object(parser, directive, level)
    else:
        level.bare.append(directive)


def _argument(parser: Parser, directive: Directive) -> str:
    return parser.plain(" ".join(directive.arguments))


def _bodies(parser: Parser, directive: Directive, level: Level) -> None:
    """Parse a directive whose argument is the beginning of its text."""
    head = directive.argument_is_body
    parser.body(Chunk(head.lines + directive.body.lines, head.first), level)


def _titled(parser: Parser, directive: Directive, level: Level) -> None:
    parser.add(level, BlockKind.HEADING, level.path[-1], directive.first, directive.first)
    parser.body(directive.body, level)


def _object(parser: Parser, directive: Directive, level: Level) -> None:
    """Read an object's description: each signature is a term, all are one path element."""
    parser.settle(level)
    below = level.below(directive.title)
    for index, signature in enumerate(directive.signatures):
        line = directive.first + index
        parser.add(below, BlockKind.TERM, signature, line, line)
    parser.body(directive.body, below)


def _version(parser: Parser, directive: Directive, level: Level) -> None:
    """Read a version's note: the version into the path; text behind it begins the body."""
    parser.settle(level)
    version, _, rest = " ".join(directive.arguments).partition(" ")
    below = level.below(f"{_VERSIONS[directive.name]} {version}".rstrip())
    if rest:
        last = directive.first + len(directive.arguments) - 1
        parser.add(below, below.kind, parser.plain(rest), directive.first, last)
    parser.body(directive.body, below)


def _code(parser: Parser, directive: Directive, level: Level) -> None:
    """Keep code as it is; its caption, which a page shows above it, goes into the path."""
    parser.settle(level)
    caption = directive.options.get("caption")
    below = level.below(parser.plain(caption) if caption else None)
    body = directive.body
    if directive.name == "math" and directive.arguments:
        body = Chunk(directive.argument_is_body.lines + body.lines, directive.first)
    text = "\n".join(body.lines)
    skipped = len(text) - len(text.lstrip("\n"))
    last = body.first + len(body.lines) - 1
    parser.add(below, BlockKind.CODE, text, body.first + skipped, last)


def _transparent(parser: Parser, directive: Directive, level: Level) -> None:
    """Read a body that belongs to what is around it."""
    parser.settle(level)
    if directive.name == "glossary":
        _glossary(parser, directive.body, level.below())
    elif directive.name == "centered":
        text = _argument(parser, directive)
        parser.add(level, level.kind, text, directive.first, directive.first)
    else:
        parser.body(directive.body, level.below())


def _glossary(parser: Parser, body: Chunk, level: Level) -> None:
    """Read a glossary: a definition may have several terms, one a line."""
    at = 0
    while at < len(body.lines):
        line = body.lines[at]
        following = body.lines[at + 1] if at + 1 < len(body.lines) else ""
        if line and line[0] != " " and following and following[0] != " ":
            term = parser.plain(line)
            parser.add(level.below(term), BlockKind.TERM, term, body.first + at, body.first + at)
            at += 1
            continue
        end = at + 1
        while end < len(body.lines) and (not body.lines[end] or body.lines[end][0] == " "):
            end += 1
        parser.body(body.part(at, end), level.below())
        at = end


def _table(parser: Parser, directive: Directive, level: Level) -> None:
    """Read a table directive: its title into the path, its rows as any table's."""
    parser.settle(level)
    below = level.below(_argument(parser, directive) if directive.arguments else None)
    if directive.name == "table":
        parser.body(directive.body, below)
        return
    body = directive.body
    rows = _csv_rows(body) if directive.name == "csv-table" else _list_rows(body)
    headers = int(count) if (count := directive.options.get("header-rows", "")).isdecimal() else 0
    header = tuple(rows[:headers])
    if titles := directive.options.get("header"):
        cells = tuple(next(csv.reader([titles], skipinitialspace=True), []))
        header = (Row(cells, 0, 0), *header)
    parser.table(Table(header, tuple(rows[headers:]), len(body.lines)), body.first, below)


def _csv_rows(body: Chunk) -> list[Row]:
    reader = csv.reader((f"{line}\n" for line in body.lines), skipinitialspace=True)
    rows: list[Row] = []
    first = 0
    try:
        for cells in reader:
            if cells:
                rows.append(Row(tuple(cells), first, reader.line_num - 1))
            first = reader.line_num
    except csv.Error:  # a cell beyond the module's limit: the rest as it stands
        rest = body.lines[first:]
        rows += [Row((line,), first + i, first + i) for i, line in enumerate(rest) if line]
    return rows


def _list_rows(body: Chunk) -> list[Row]:
    """Read `* - cell` and `  - cell` lines, with the lines that go on below them."""
    rows: list[Row] = []
    cells: list[str] = []
    first = 0
    for index, line in enumerate(body.lines):
        if line.startswith(("* -", "- -")):
            if cells:
                rows.append(Row(tuple(cells), first, index - 1))
            cells, first = [line[3:].strip()], index
        elif line.startswith(("  - ", "  -")) and cells:
            cells.append(line[3:].strip())
        elif line and cells:
            cells[-1] = f"{cells[-1]} {line.strip()}".strip()
    if cells:
        rows.append(Row(tuple(cells), first, len(body.lines) - 1))
    return rows
