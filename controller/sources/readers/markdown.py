"""Markdown (CommonMark with tables), by the line maps of markdown-it's tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from controller.api.records import BlockKind
from controller.sources.readers import plain
from controller.sources.readers.text import HeadingPath, Text, TextBuilder, join_lines

if TYPE_CHECKING:
    from markdown_it.token import Token

_MAX_NESTING: Final = 60
_MAX_LINES: Final = 100_000
_MAX_INLINE: Final = 10_000
"""Inline markup of a longer text is left as it is: its parser takes quadratic time."""

_FRONT_MATTER: Final = re.compile(r"---\n(.*?\n)?(?:---|\.\.\.)(?:\n|$)", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(['\"]?)(\S.*?)\1[ \t]*$", re.MULTILINE)
_ALERT: Final = re.compile(r"\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*", re.IGNORECASE)


def read(text: str, title_hint: str) -> Text:
    """Read Markdown; the title is the first heading's, else the front matter's.

    A document that is nested deeper than the parser follows, or has so many lines that it would
    take minutes, is read as plain text, so that none is lost.
    """
    from markdown_it import MarkdownIt

    if text.count("\n") > _MAX_LINES:
        return plain.read(text, title_hint)
    front = _FRONT_MATTER.match(text)
    body = text
    if front is not None:  # its lines stay, so that line numbers do
        body = "\n" * front[0].count("\n") + text[front.end() :]
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"]).disable("inline")
    references: dict[str, Any] = {}
    tokens = parser.parse(body, references)
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):
        return plain.read(text, title_hint)
    for token in tokens:
        if token.type == "inline" and len(token.content) <= _MAX_INLINE:
            token.children = []
            parser.inline.parse(token.content, parser, references, token.children)
    reader = _Reader()
    if front is not None:
        reader.builder.add(BlockKind.CODE, front[1] or "", (), 2, front[0].count("\n"))
        if match := _FRONT_TITLE.search(front[1] or ""):
            title_hint = match[2]
    reader.read(tokens)
    return reader.builder.build(reader.title or title_hint)


class _Reader:
    """Walks tokens in order; a block is an inline token, a code block or a table's row."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.title: str | None = None
        self._headings: list[tuple[int, str]] = []
        self._containers: list[BlockKind] = []
        self._kind = BlockKind.PARAGRAPH
        self._level = 0
        self._cells: list[str] = []
        self._header: str | None = None
        self._lines = (1, 1)

    def read(self, tokens: Sequence[Token]) -> None:
        """Read a document's tokens."""
        for token in tokens:
            if token.map is not None:
                self._lines = (token.map[0] + 1, max(token.map[0] + 1, token.map[1]))
            if token.type == "inline":
                self._inline(token)
            elif token.type in {"fence", "code_block"}:
                self._add(BlockKind.CODE, token.content)
            elif token.type == "html_block":
                self._html(token.content)
            else:
                self._structure(token)

    def _structure(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self._kind, self._level = BlockKind.HEADING, int(token.tag[1:])
            case "paragraph_open":
                self._kind = self._containers[-1] if self._containers else BlockKind.PARAGRAPH
            case "list_item_open":
                self._containers.append(BlockKind.ITEM)
            case "blockquote_open":
                self._containers.append(BlockKind.PARAGRAPH)
            case "list_item_close" | "blockquote_close":
                self._containers.pop()
            case "th_open" | "td_open":
                self._kind = BlockKind.TABLE_ROW
            case "tr_open":
                self._cells = []
            case "tr_close":
                self._row()
            case "table_close":
                self._header = None
            case _:
                pass

    def _inline(self, token: Token) -> None:
        text = _text_of(token.children or ()) or join_lines(token.content.split("\n"))
        if self._kind is BlockKind.TABLE_ROW:
            self._cells.append(text)
            return
        if self._kind is BlockKind.HEADING:
            while self._headings and self._headings[-1][0] >= self._level:
                self._headings.pop()
            self._headings.append((self._level, text))
            self.title = self.title or text
        elif self._containers and (alert := _ALERT.match(text)):
            text = text[alert.end() :]
            self._kind = self._containers[-1] = BlockKind.NOTE
        self._add(self._kind, text)

    def _row(self) -> None:
        if self._header is None:
            self._header = " | ".join(self._cells)
        self._add(BlockKind.TABLE_ROW, "\t".join(self._cells))

    def _html(self, source: str) -> None:
        """Read a block of HTML by the HTML reader, below the headings around it."""
        from controller.sources.readers import html

        html.read_fragment(self.builder, source, self._path(), first=self._lines[0])

    def _path(self) -> HeadingPath:
        path = tuple(title for _, title in self._headings)
        return (*path, self._header) if self._header else path

    def _add(self, kind: BlockKind, text: str) -> None:
        self.builder.add(kind, text, self._path(), *self._lines)


def _text_of(tokens: Sequence[Token]) -> str:
    """Return what inline markup shows: texts, code, titles of links, descriptions of images."""
    parts: list[str] = []
    for token in tokens:
        if token.type in {"softbreak", "hardbreak"}:
            parts.append("\n")
        elif token.type == "image":
            parts.append(_text_of(token.children or ()))
        elif token.type in {"text", "code_inline", "text_special"}:
            parts.append(token.content)
    return join_lines("".join(parts).split("\n"))
