"""Readers: from a file's bytes to its text, blocks and offsets, by what the file holds.

A reader's version is part of every document's record and of the index's file name: the same
version makes the same text of the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from controller.api.records import Extractor
from controller.sources.readers import html, markdown, plain, rest
from controller.sources.readers.charset import UnreadableDocumentError, decode
from controller.sources.readers.text import Anchor, Text

__all__ = ["SUFFIXES", "Anchor", "Reading", "Text", "UnreadableDocumentError", "read_file"]

_HTML_SUFFIXES: Final = frozenset({".html", ".htm"})
_MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})

SUFFIXES: Final = frozenset({".rst", ".txt"}) | _MARKDOWN_SUFFIXES | _HTML_SUFFIXES
"""The suffixes of the files that a directory's documents are taken from, in lower case."""

_MAX_STRUCTURED_LINE: Final = 100_000

_HTML_DOCUMENT: Final = re.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_ELEMENT: Final = re.compile(r"</?[a-z][a-z0-9]{0,20}(?:\s[^<>]{0,2000})?>", re.IGNORECASE)
_REST_MARKUP: Final = re.compile(
    r"^\.\. (?:[A-Za-z][\w.+:-]*::(?:\s|$)|_[^\n]+:(?:\s|$))", re.MULTILINE
)
_UNDERLINED: Final = re.compile(
    r"^(?! )(\S[^\n]*)\n([=\-~^\"'`#*+:.<>_])\2{2,}[ \t]*$", re.MULTILINE
)
_MARKDOWN_HEADING: Final = re.compile(r"^#{1,6} \S", re.MULTILINE)


@dataclass(frozen=True)
class _Format:
    extractor: Extractor
    content_type: str
    read: Callable[[str, str], Text]


_HTML = _Format(Extractor(name="html", version="1"), "text/html", html.read)
_MARKDOWN = _Format(Extractor(name="markdown", version="1"), "text/markdown", markdown.read)
_REST = _Format(Extractor(name="restructuredtext", version="1"), "text/x-rst", rest.read)
_PLAIN = _Format(Extractor(name="plain", version="1"), "text/plain", plain.read)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as read: its text, and what the record of the document says of the reading."""

    text: Text
    content_type: str
    charset: str
    extractor: Extractor


def read_file(data: bytes, path: str) -> Reading:
    """Read a file; what it holds decides which reader does, its suffix only where that is open.

    Raises:
        UnreadableDocumentError: it is binary, its charset is unknown, or it cannot be parsed.
    """
    decoded = decode(data)
    name = PurePosixPath(path)
    chosen = _format_of(decoded.text, name.suffix.lower())
    return Reading(
        text=chosen.read(decoded.text, name.name or path),
        content_type=chosen.content_type,
        charset=decoded.charset,
        extractor=chosen.extractor,
    )


def _format_of(text: str, suffix: str) -> _Format:
    if _HTML_DOCUMENT.match(text) or (suffix in _HTML_SUFFIXES and _HTML_ELEMENT.search(text)):
        return _HTML
    if any(len(line) > _MAX_STRUCTURED_LINE for line in text.split("\n")):
        return _PLAIN  # no person wrote such a line: it has no structure, and parsers crawl
    if suffix in _MARKDOWN_SUFFIXES:
        return _MARKDOWN
    if suffix == ".rst" or _looks_like_rest(text):
        return _REST
    is_markdown = suffix not in SUFFIXES and _MARKDOWN_HEADING.search(text)
    return _MARKDOWN if is_markdown else _PLAIN


def _looks_like_rest(text: str) -> bool:
    """Say whether a text has a `.. name::` line, a target, or an underlined heading."""
    if _REST_MARKUP.search(text):
        return True
    return any(
        len(match[0]) - len(match[1]) - 1 >= min(4, len(match[1]))
        for match in _UNDERLINED.finditer(text)
    )
