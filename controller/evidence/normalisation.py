"""The one normalisation under which a quote may differ from its source, with an offset map.

A copy of a text rarely keeps its curly quotes, dashes, ligatures, line wraps and invisible
characters. Normalisation folds exactly those, on the quote's side and on the text's, and nothing
that carries meaning: no case, no digit's value, no comparison sign. Each output character keeps
the place that it came from, so that what was found in the folded text is cited from the stored
one (docs/verification.md, P1).
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

FOLDS: Final[dict[str, str]] = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63", "-"),
    "\u0152": "OE",
    "\u0153": "oe",
    "\u00c6": "AE",
    "\u00e6": "ae",
    "\u1e9e": "SS",
    "\u00df": "ss",
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
"""What each character becomes before compatibility folding: quotes, dashes, ligatures, nothing.

It comes first because NFKC turns the double prime into two primes, never into a quotation mark.
"""

LINE_END_HYPHEN: Final = "\ufffe"
"""What pdfium writes for a hyphen at a line's end; it is removed with the line break after it."""

_LAYOUT: Final = frozenset(" -")
"""What the form L leaves out of a normal form."""

_KEPT_DIGIT_FORMS: Final = ("<super>", "<sub>", "<fraction>", "<circle>")
"""Digits of these forms skip NFKC: else ten to the fifth equals 105, and a circled one equals 1."""

_ODD_SPACE: Final = re.compile(rf"(?<!{LINE_END_HYPHEN})(?<!{LINE_END_HYPHEN}\r)[^\S ]")
"""White space that is not a space; replaced one for one, it leaves every offset as it is."""

_SPECIAL: Final = re.compile(
    rf"{LINE_END_HYPHEN}(?:\r\n|[\r\n])?| {{2,}}|[^\x20-\x7e{LINE_END_HYPHEN}]+"
)
"""What is not already normal: runs of spaces, and of characters beyond printable ASCII."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text and, for each of its characters, where the source has it.

    `starts[i]` and `ends[i]` bound, in code points and half-open, the piece of the source that
    became character `i`; characters of one piece (`oe` of a ligature) share its bounds.
    """

    text: str
    starts: array[int]
    ends: array[int]

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source that became `text[start:end]`, which is not empty."""
        return self.starts[start], self.ends[end - 1]

    def layout(self) -> Normalised:
        """Return the form without spaces and hyphens, in which a page's layout makes no difference.

        It is the form L of the tier `Layout`: of text that is taken from pages, as a PDF file's,
        spaces are a guess, and a hyphen may have been the end of a line (docs/verification.md).
        """
        kept = [at for at, character in enumerate(self.text) if character not in _LAYOUT]
        return Normalised(
            "".join(self.text[at] for at in kept),
            array("l", (self.starts[at] for at in kept)),
            array("l", (self.ends[at] for at in kept)),
        )

    def parts_a_piece(self, at: int) -> bool:
        """Say whether an edge at `text[at]` falls inside what one piece of the source became."""
        return 0 < at < len(self.text) and self.starts[at - 1] == self.starts[at]


@lru_cache(maxsize=65_536)
def fold_character(character: str) -> str:
    """Return what one composed code point becomes: a row of `FOLDS`, else its NFKC form, folded."""
    if character in FOLDS:
        return FOLDS[character]
    if unicodedata.numeric(character, None) is not None and unicodedata.decomposition(
        character
    ).startswith(_KEPT_DIGIT_FORMS):
        return character
    return "".join(FOLDS.get(c, c) for c in unicodedata.normalize("NFKC", character))


@lru_cache(maxsize=65_536)
def _starts_a_cluster(character: str) -> bool:
    return unicodedata.combining(unicodedata.normalize("NFD", character)[0]) == 0


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (NFC form, start, end) of the shortest pieces of a text that compose independently."""
    start = 0
    for at, character in enumerate(text):
        if at > start and _starts_a_cluster(character):
            before = unicodedata.normalize("NFC", text[start:at])
            apart = before + unicodedata.normalize("NFC", character)
            if unicodedata.normalize("NFC", apart) == apart:
                yield before, start, at
                start = at
    yield unicodedata.normalize("NFC", text[start:]), start, len(text)


class _Builder:
    """Collects normalised characters with their source bounds, white space collapsed."""

    def __init__(self, length: int) -> None:
        self.pieces: list[str] = []
        self.starts: array[int] = array("l")
        self.ends: array[int] = array("l")
        self.after_space = True
        self._positions = array("l", range(length + 1))

    def copy(self, piece: str, start: int) -> None:
        """Append what is already normal, with single spaces inside."""
        if self.after_space and piece.startswith(" "):
            piece, start = piece[1:], start + 1
        if not piece:
            return
        end = start + len(piece)
        self.pieces.append(piece)
        self.starts.extend(self._positions[start:end])
        self.ends.extend(self._positions[start + 1 : end + 1])
        self.after_space = piece.endswith(" ")

    def fold(self, text: str, start: int) -> None:
        """Append what a piece of the source folds to, cluster by cluster where it must be."""
        if not unicodedata.is_normalized("NFC", text):
            for composed, piece_start, piece_end in _pieces(text):
                self._append(composed, start + piece_start, start + piece_end)
        elif all(fold_character(character) == character for character in text):
            self.copy(text, start)
        else:
            for at, character in enumerate(text, start):
                self._append(character, at, at + 1)

    def _append(self, composed: str, start: int, end: int) -> None:
        for character in composed:
            for folded in fold_character(character):
                space = folded.isspace()
                if space and self.after_space:
                    continue
                self.pieces.append(" " if space else folded)
                self.starts.append(start)
                self.ends.append(end)
                self.after_space = space

    def finish(self) -> Normalised:
        if self.pieces and self.after_space:
            self.pieces[-1] = self.pieces[-1].removesuffix(" ")
            self.starts.pop()
            self.ends.pop()
        return Normalised("".join(self.pieces), self.starts, self.ends)


def normalise(text: str) -> Normalised:
    """Return a text's normal form N with the source bounds of each of its characters.

    NFC on the whole; then, code point by code point, the fold table, or else NFKC and the fold
    table again; then runs of white space become one space, and the ends are trimmed. Superscript,
    subscript, fraction and circled digits stay as they are.
    """
    builder = _Builder(len(text))
    spaced = _ODD_SPACE.sub(" ", text)
    position = 0
    for special in _SPECIAL.finditer(spaced):
        start, end = special.span()
        found = special[0]
        if found[0] == " ":
            builder.copy(spaced[position : start + 1], position)
        elif found[0] == LINE_END_HYPHEN:
            builder.copy(spaced[position:start], position)
        else:
            # A combining mark belongs to the character before it, which may be plain ASCII.
            start = max(position, start - 1)
            builder.copy(spaced[position:start], position)
            builder.fold(spaced[start:end], start)
        position = end
    builder.copy(spaced[position:], position)
    return builder.finish()
