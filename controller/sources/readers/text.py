"""What every reader makes of a file: a text, and the structural blocks that it consists of.

A document's text is the texts of its blocks joined by line feeds and nothing else, so that
`text[block.start:block.end] == block.text` holds by construction, whatever a reader does.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.api.records import Block, BlockKind, Lines
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError

HeadingPath = tuple[str, ...]

MAX_BLOCK_CHARACTERS: Final = 3_000
"""A longer block is cut: evidence is recorded by whole blocks, and a step's room is bounded."""

MAX_BLOCKS: Final = 100_000
"""A document with more of them is refused: 10 MiB of prose have about 25,000."""

MAX_HIDDEN_CHARACTERS: Final = 20_000
"""So much hidden text is kept for an audit; what goes beyond is dropped."""

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
    have exactly its path. What a page hides stands behind everything that it shows.
    `alternative_characters` is how long a page's text is by a second extractor.
    """

    title: str
    text: str
    blocks: tuple[Block, ...]
    anchors: tuple[Anchor, ...] = ()
    alternative_characters: int | None = None


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
        self._hidden: list[tuple[str, HeadingPath, Lines]] = []
        self._hidden_characters = 0

    @property
    def offset(self) -> int:
        """Where the next block will start."""
        return self._offset

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks so far, without what is hidden."""
        return self._blocks

    def set_kind(self, index: int, kind: BlockKind) -> None:
        """Say of a block, by its index, that it is of another kind."""
        self._blocks[index] = self._blocks[index].model_copy(update={"kind": kind})

    def add_anchor(self, name: str) -> None:
        """Let a name stand for the block that comes next."""
        self._anchors.append(Anchor(clean_title(name), self._offset))

    def add(self, kind: BlockKind, text: str, path: HeadingPath, first: int, last: int) -> None:
        """Add a block, if it has any text, with the first and last line of its source.

        A paragraph `Label: value` directly under a heading or term becomes a field; a block
        that is too long becomes several.

        Raises:
            UnreadableDocumentError: the document has too many blocks (TooLarge).
        """
        self._add(kind, text, path, Lines(first=first, last=max(first, last)))

    def add_on_page(self, kind: BlockKind, text: str, path: HeadingPath, page: int) -> None:
        """Add a block of a page, counted from 1, where a file has pages and no lines."""
        self._add(kind, text, path, None, page)

    def hide(self, text: str, path: HeadingPath, line: int) -> None:
        """Keep text that a page does not show aside, with the line that it begins on."""
        text = clean(text).strip()[: MAX_HIDDEN_CHARACTERS - self._hidden_characters]
        if text and not text.isspace():
            self._hidden_characters += len(text)
            lines = Lines(first=line, last=line + text.count("\n"))
            self._hidden.append((text, path, lines))

    def build(self, title: str, *, alternative_characters: int | None = None) -> Text:
        """Return the document; `title` is shortened to what a record can hold."""
        for text, path, lines in self._hidden:
            self._add(BlockKind.HIDDEN, text, path, lines)
        self._hidden.clear()
        return Text(
            title=clean_title(title),
            text="\n".join(block.text for block in self._blocks),
            blocks=tuple(self._blocks),
            anchors=tuple(self._anchors),
            alternative_characters=alternative_characters,
        )

    def _add(
        self,
        kind: BlockKind,
        text: str,
        path: HeadingPath,
        lines: Lines | None,
        page: int | None = None,
    ) -> None:
        text = clean(text)
        text = text.strip("\n").rstrip() if kind is BlockKind.CODE else text.strip()
        if not text or text.isspace():
            return
        if kind is BlockKind.PARAGRAPH and self._follows_heading() and _FIELD.match(text):
            kind = BlockKind.FIELD
        path = self._bounded(path)
        if len(text) <= MAX_BLOCK_CHARACTERS:
            self._append(kind, text, path, lines, page)
            return
        for piece, lines_before in _pieces(text, kind):
            of_piece = lines
            if lines is not None and kind is BlockKind.CODE:
                start = lines.first + lines_before
                of_piece = Lines(first=start, last=start + piece.count("\n"))
            self._append(kind, piece, path, of_piece, page)

    def _append(
        self,
        kind: BlockKind,
        text: str,
        path: HeadingPath,
        lines: Lines | None,
        page: int | None,
    ) -> None:
        if len(self._blocks) == MAX_BLOCKS:
            raise UnreadableDocumentError(
                DocumentFault.TOO_LARGE,
                f"it has more than {MAX_BLOCKS} paragraphs, rows or values",
                "split it",
            )
        start = self._offset
        self._offset = start + len(text) + 1
        self._blocks.append(
            Block(
                start=start,
                end=start + len(text),
                kind=kind,
                heading_path=path,
                lines=lines,
                page=page,
                text=text,
            )
        )

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
