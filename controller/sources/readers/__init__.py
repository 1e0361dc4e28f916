"""Readers: from a file's bytes to its text, blocks and offsets, by what the file holds.

A reader's version is part of every document's record and of the index's file name: the same
version makes the same text of the same bytes. docs/readers.md has a table of the formats, of their
bounds and of the classes of what cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any, Final

from controller.api.records import BlockKind, CharsetSource, Extractor
from controller.sources.readers import (
    feeds,
    html,
    json_values,
    markdown,
    pdf,
    plain,
    rest,
    xml_documents,
    xml_tree,
)
from controller.sources.readers.charset import Decoded, decode
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError
from controller.sources.readers.feeds import FeedEntry, entries_of
from controller.sources.readers.formats import (
    SUFFIXES,
    Format,
    format_of,
    hint_of,
    is_pdf,
    refuse_known_binaries,
)
from controller.sources.readers.injection import suspected_injection
from controller.sources.readers.pdf import Pages
from controller.sources.readers.text import Anchor, Text

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "SUFFIXES",
    "Anchor",
    "DocumentFault",
    "FeedEntry",
    "Reading",
    "Text",
    "UnreadableDocumentError",
    "entries_of",
    "read_file",
]

MAX_DOCUMENT_BYTES: Final = 20 * 2**20
"""A larger document is refused, whatever it holds."""

_MAX_RANGES: Final = 128
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:+-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as read: its text, and what the record of the document says of the reading.

    `pages` is None where a file has none. `suspicion` names the pattern by which its text speaks
    to a model, if it does.
    """

    text: Text
    content_type: str
    charset: str
    extractor: Extractor
    charset_source: CharsetSource | None = None
    pages: Pages | None = None
    suspicion: str | None = None

    def fields(self) -> dict[str, Any]:
        """Return the fields of a `Document` that the reading alone decides."""
        blocks = self.text.blocks
        hidden = sum(len(block.text) for block in blocks if block.kind is BlockKind.HIDDEN)
        unread = _shortened(str(self.pages)) if self.pages else ""
        return {
            "title": self.text.title,
            "content_type": self.content_type,
            "charset": self.charset,
            "charset_source": self.charset_source,
            "characters": len(self.text.text),
            "alternative_characters": self.text.alternative_characters,
            "hidden_characters": hidden or None,
            "pages": self.pages.count if self.pages else None,
            "unread_pages": unread or None,
            "injection_suspected": True if self.suspicion else None,
            "extractor": self.extractor,
        }


def read_file(data: bytes, path: str, content_type: str | None = None) -> Reading:
    """Read a file by what it holds.

    Args:
        data: its bytes.
        path: its name, or the path of its address: decides only what the content leaves open.
        content_type: the header that it came with, if any; it may name the charset.

    Raises:
        UnreadableDocumentError: it is no document; its `fault` says why.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UnreadableDocumentError(
            DocumentFault.TOO_LARGE,
            f"it is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB (TooLarge)",
            "split it",
        )
    name = PurePosixPath(path).name or path
    if is_pdf(data):
        text, pages = pdf.read(data, name)
        return _reading(Format.PDF, text, Decoded("", "binary"), pages=pages)
    refuse_known_binaries(data)
    header = _CHARSET.search(content_type or "")
    decoded = decode(data, header[1] if header else None)
    chosen, text = _read_text(decoded.text, name, hint_of(path, content_type))
    return _reading(chosen, text, decoded)


def _read_text(text: str, name: str, hint: Format | None) -> tuple[Format | str, Text]:
    chosen = format_of(text, hint)
    if chosen is Format.JSON:
        try:
            return chosen, json_values.read(text, name)
        except json_values.NotJsonError:
            chosen = format_of(text, hint, maybe_json=False)  # it only begins like JSON
    if chosen is Format.XML:
        return _read_xml(text, name)
    return chosen, _READERS[chosen](text, name)


def _read_xml(text: str, name: str) -> tuple[str, Text]:
    root = xml_tree.parse(text)
    if not feeds.is_feed(root):
        return Format.XML, xml_documents.read(root, name)
    kind = "atom" if root.name == "feed" else "rss"
    return f"application/{kind}+xml", feeds.read(root, name)


_READERS: Final[dict[Format, Callable[[str, str], Text]]] = {
    Format.HTML: html.read,
    Format.MARKDOWN: markdown.read,
    Format.REST: rest.read,
    Format.PLAIN: plain.read,
}


def _reading(
    chosen: Format | str, text: Text, decoded: Decoded, pages: Pages | None = None
) -> Reading:
    return Reading(
        text=text,
        content_type=str(chosen),
        charset=decoded.charset,
        extractor=_extractor(str(chosen)),
        charset_source=decoded.source,
        pages=pages,
        suspicion=suspected_injection(text.text),
    )


def _shortened(ranges: str) -> str:
    """Return as many of a list of ranges as a record has room for."""
    if len(ranges) <= _MAX_RANGES:
        return ranges
    return ranges[: ranges.rfind(", ", 0, _MAX_RANGES - 5)] + ", ..."


@cache
def _extractor(content_type: str) -> Extractor:
    """Return a reader's name and version, with that of the library that decides with it."""
    name, number, library = _EXTRACTORS[content_type]
    return Extractor(name=name, version=f"{number}+{version(library)}" if library else number)


_EXTRACTORS: Final = {
    Format.PDF: ("pdf", "1", "pypdfium2"),
    Format.HTML: ("html", "2", "trafilatura"),
    Format.JSON: ("json", "1", None),
    Format.XML: ("xml", "1", None),
    "application/atom+xml": ("feed", "1", None),
    "application/rss+xml": ("feed", "1", None),
    Format.MARKDOWN: ("markdown", "2", None),
    Format.REST: ("restructuredtext", "1", None),
    Format.PLAIN: ("plain", "1", None),
}
