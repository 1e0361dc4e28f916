"""What every reader makes of a file: a text, and the structural blocks that it consists of.

A document's text is the texts of its blocks joined by line feeds and nothing else, so that
`text[block.start:block.end] == block.text` holds by construction, whatever a reader does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from controller.api.records import Block, BlockKind, Lines

HeadingPath = tuple[str, ...]

MAX_BLOCK_CHARACTERS: Final = 3_000
"""A longer block is cut: evidence is recorded by whole blocks, and a step's room is bounded."""

_MAX_TITLE: Final = 500
_MAX_PATH: Final = 16

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_FIELD: Final = re.compile(r"[^\W\d_][\w'/-]{0,30}(?: [\w'/()-]{1,30}){0,3}:(?: \S|$)")
_SENTENCE_END: Final = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]* |[\u3002\uff01\uff1f]")
_WIDE: Final = r"[\u2e80-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60]"
_BETWEEN_WIDE: Final = re.compile(rf"(?<={_WIDE})\n(?={_WIDE})")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A name that a document gives to the heading at `offset`, beside the heading's own text."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Text:
    """A document as a reader sees it; offsets are code points of `text`, which is NFC.

    A heading and a term stand in their own heading path, so that the blocks below a heading
    have exactly its path.
    """

    title: str
    text: str
    blocks: tuple[Block, ...]
    anchors: tuple[Anchor, ...] = ()


def words(text: str) -> frozenset[str]:
    """Return the set of words of a text: how the readers write their long lists of names."""
    return frozenset(text.split())


def join_lines(lines: list[str]) -> str:
    """Join the lines of a paragraph: by a space, by nothing between characters written without."""
    joined = "\n".join(lines)
    if not joined.isascii():
        joined = _BETWEEN_WIDE.sub("", joined)
    return joined.replace("\n", " ")


def clean(text: str) -> str:
    """Return a text in NFC, with U+FFFD for what no record can store (NUL, lone surrogates)."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return unicodedata.normalize("NFC", _UNSTORABLE.sub("\ufffd", text))


def clean_title(text: str) -> str:
    """Return a heading or title as one line of at most 500 characters."""
    return clean(" ".join(text.split()))[:_MAX_TITLE].rstrip()


class TextBuilder:
    """Collects blocks in reading order and keeps their offsets."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._anchors: list[Anchor] = []
        self._offset = 0
        self._paths: dict[HeadingPath, HeadingPath] = {(): ()}

    @property
    def offset(self) -> int:
        """Where the next block will start."""
        return self._offset

    def add_anchor(self, name: str) -> None:
        """Let a name stand for the block that comes next."""
        self._anchors.append(Anchor(clean_title(name), self._offset))

    def add(self, kind: BlockKind, text: str, path: HeadingPath, first: int, last: int) -> None:
        """Add a block, if it has any text, with the first and last line of its source.

        A paragraph `Label: value` directly under a heading or term becomes a field; a block
        that is too long becomes several.
        """
        text = clean(text)
        text = text.strip("\n").rstrip() if kind is BlockKind.CODE else text.strip()
        if not text or text.isspace():
            return
        if kind is BlockKind.PARAGRAPH and self._follows_heading() and _FIELD.match(text):
            kind = BlockKind.FIELD
        path = self._bounded(path)
        if len(text) <= MAX_BLOCK_CHARACTERS:
            self._append(kind, text, path, Lines(first=first, last=max(first, last)))
            return
        for piece, lines_before in _pieces(text, kind):
            start, end = first, max(first, last)
            if kind is BlockKind.CODE:
                start = first + lines_before
                end = start + piece.count("\n")
            self._append(kind, piece, path, Lines(first=start, last=end))

    def build(self, title: str) -> Text:
        """Return the document; `title` is shortened to what a record can hold."""
        return Text(
            title=clean_title(title),
            text="\n".join(block.text for block in self._blocks),
            blocks=tuple(self._blocks),
            anchors=tuple(self._anchors),
        )

    def _append(self, kind: BlockKind, text: str, path: HeadingPath, lines: Lines) -> None:
        end = self._offset + len(text)
        self._blocks.append(
            Block(start=self._offset, end=end, kind=kind, heading_path=path, lines=lines, text=text)
        )
        self._offset = end + 1

    def _follows_heading(self) -> bool:
        return bool(self._blocks) and self._blocks[-1].kind in {BlockKind.HEADING, BlockKind.TERM}

    def _bounded(self, path: HeadingPath) -> HeadingPath:
        bounded = self._paths.get(path)
        if bounded is None:
            bounded = tuple(title for title in map(clean_title, path) if title)
            if len(bounded) > _MAX_PATH:  # the document's title and what is nearest say most
                bounded = (bounded[0], *bounded[1 - _MAX_PATH :])
            self._paths[path] = bounded
        return bounded


def _pieces(text: str, kind: BlockKind) -> Iterator[tuple[str, int]]:
    """Cut a long text; yield each piece and the number of line feeds before it."""
    start = 0
    lines_before = 0
    while start < len(text):
        end = len(text)
        if end - start > MAX_BLOCK_CHARACTERS:
            end = _cut(text, start, start + MAX_BLOCK_CHARACTERS, kind)
        piece = text[start:end]
        stripped = piece.rstrip() if kind is BlockKind.CODE else piece.strip()
        if stripped:
            yield stripped, lines_before
        lines_before += piece.count("\n")
        start = end


def _cut(text: str, start: int, limit: int, kind: BlockKind) -> int:
    """Return where to cut: after a line, a sentence or a word, else before `limit`."""
    middle = start + MAX_BLOCK_CHARACTERS // 2
    line_end = text.rfind("\n", middle, limit)
    if line_end >= 0:
        return line_end + 1
    if kind is not BlockKind.CODE:
        ends = [match.end() for match in _SENTENCE_END.finditer(text, middle, limit)]
        if ends:
            return ends[-1]
    space = text.rfind(" ", middle, limit)
    if space >= 0:
        return space + 1
    while limit > middle and _joins(text[limit - 1], text[limit]):
        limit -= 1
    return limit


def _joins(before: str, after: str) -> bool:
    """Say whether two characters belong to one that a reader sees (marks, emoji sequences)."""
    return "\u200d" in (before, after) or unicodedata.category(after) in {"Mn", "Me", "Mc"}
