"""JSON documents: each value a block, under the names that lead to it.

    a scalar with a name            field, `name: value`
    a long or many-lined text       term (its name) and the paragraphs of the text under it
    an object or array with a name  heading; one within an array stands under its place, `[2]`
    a scalar within an array        item

Values are shown as they are written: no number is rounded, no second value of a name is lost. The
parser is a loop, so that no depth of nesting overflows a stack. Several values after another, as in
JSON Lines, are read like an array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined] # it is there, and the stubs do not know
from typing import Final

from controller.api.records import BlockKind
from controller.sources.readers.text import HeadingPath, Text, TextBuilder

_TOKEN: Final = re.compile(
    r'[ \t\n\r]*(?:([{}\[\],:])|(")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)'
    r"(?![\w.+-]))"
)
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_BEGINNING: Final = re.compile(r"[ \t\n\r]*[{\[]")
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_MAX_FIELD: Final = 300
_MAX_DEPTH: Final = 1_000
_TITLES: Final = ("title", "name")


class NotJsonError(ValueError):
    """A text is no JSON."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A mark of punctuation, or a scalar (`mark` is empty) as it is shown."""

    mark: str
    value: str
    is_text: bool
    start: int


def looks_like_json(text: str) -> bool:
    """Say whether a text begins as an object or array does; the parser knows for certain."""
    return _BEGINNING.match(text) is not None


def read(text: str, title_hint: str) -> Text:
    """Read JSON; the title is the value of `title` or `name` at the top, else the hint.

    Raises:
        NotJsonError: it is none, or holds nothing but a scalar.
    """
    reader = _Reader(text)
    reader.read()
    return reader.builder.build(reader.title or title_hint)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while match := _TOKEN.match(text, at):
        if match[2]:
            try:
                value, at = scanstring(text, match.end(), True)
            except json.JSONDecodeError as error:
                raise NotJsonError(str(error)) from error
            yield _Token("", value, is_text=True, start=match.start(2))
            continue
        at = match.end()
        start = match.start(1 if match[1] else 3)
        yield _Token(match[1] or "", match[3] or "", is_text=False, start=start)
    if not _BLANK.fullmatch(text, at):
        raise NotJsonError(f"character {at} begins no value")


@dataclass(slots=True)
class _Container:
    """An object or array that is being read; `name` is that of the value that comes next."""

    is_object: bool
    path: HeadingPath
    count: int = 0
    name: str | None = None


class _Reader:
    def __init__(self, text: str) -> None:
        self.builder = TextBuilder()
        self.title: str | None = None
        self._text = text
        self._open: list[_Container] = []
        self._line = 1
        self._at = 0
        self._values = 0

    def read(self) -> None:
        """Read all values; a grammar by what may come next."""
        expected = "value"
        for token in _tokens(self._text):
            expected = self._take(token, expected)
        if self._open or not self._values:
            raise NotJsonError("it ends within a value")

    def _take(self, token: _Token, expected: str) -> str:
        """Take a token; return what may come next: a value, a name, a colon, or what follows."""
        inside = self._open[-1] if self._open else None
        mark = token.mark
        if expected == "colon":
            self._require(mark == ":", token)
            return "value"
        if inside and mark == ("}" if inside.is_object else "]"):
            self._require(expected in {"next", "name or end", "value or end"}, token)
            self._open.pop()
            return "next"
        if expected == "next" and inside:
            self._require(mark == ",", token)
            return "name" if inside.is_object else "value"
        if inside and inside.is_object and expected in {"name", "name or end"}:
            self._require(token.is_text, token)
            inside.name = token.value
            return "colon"
        if mark in {"{", "["}:
            self._enter(token)
            return "name or end" if mark == "{" else "value or end"
        self._require(not mark and inside is not None, token)
        self._scalar(token)
        return "next"

    def _require(self, condition: object, token: _Token) -> None:
        if not condition:
            raise NotJsonError(f"character {token.start} is not what may stand there")

    def _enter(self, token: _Token) -> None:
        self._require(len(self._open) < _MAX_DEPTH, token)
        path: HeadingPath = ()
        if self._open:
            outer = self._open[-1]
            path = (*outer.path, self._name_of(outer))
            if outer.is_object:
                self._add(BlockKind.HEADING, path[-1], path, token)
        else:
            self._values += 1
            if self._values > 1:
                path = (f"[{self._values - 1}]",)
        self._open.append(_Container(token.mark == "{", path))

    def _name_of(self, outer: _Container) -> str:
        """Return the name of the value that comes next in a container, and count it."""
        outer.count += 1
        return (outer.name or "") if outer.is_object else f"[{outer.count - 1}]"

    def _scalar(self, token: _Token) -> None:
        outer = self._open[-1]
        name = self._name_of(outer)
        value = token.value
        if not outer.is_object:
            self._add(BlockKind.ITEM, value, outer.path, token)
            return
        if len(self._open) == 1 and token.is_text and name.lower() in _TITLES:
            self.title = self.title or value
        if "\n" not in value.strip() and len(value) <= _MAX_FIELD:
            self._add(BlockKind.FIELD, f"{name}: {value}", outer.path, token)
            return
        path = (*outer.path, name)
        self._add(BlockKind.TERM, name, path, token)
        for paragraph in _BLANK_LINE.split(value):
            self._add(BlockKind.PARAGRAPH, paragraph, path, token)

    def _add(self, kind: BlockKind, text: str, path: HeadingPath, token: _Token) -> None:
        self._line += self._text.count("\n", self._at, token.start)
        self._at = token.start
        self.builder.add(kind, text, path, self._line, self._line)
