"""What a file holds, told by its content; its name or header only where the content leaves it open.

A file is a PDF, a page, JSON, XML or a feed because it begins and parses as one, whatever it is
called. Markdown, reStructuredText and plain text share most of their characters: there the markup
that only one of them has decides, then what the file is called, then the weaker signs.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from controller.sources.readers import json_values, xml_tree
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError


class Format(StrEnum):
    """The formats of documents, by their media types."""

    PDF = "application/pdf"
    HTML = "text/html"
    JSON = "application/json"
    XML = "application/xml"
    MARKDOWN = "text/markdown"
    REST = "text/x-rst"
    PLAIN = "text/plain"


SUFFIXES: Final[dict[str, Format]] = {
    ".htm": Format.HTML,
    ".html": Format.HTML,
    ".xhtml": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".rst": Format.REST,
    ".txt": Format.PLAIN,
    ".pdf": Format.PDF,
    ".json": Format.JSON,
    ".xml": Format.XML,
    ".atom": Format.XML,
    ".rss": Format.XML,
}
"""The suffixes, in lower case, of the files that a directory's documents are taken from."""

_MEDIA_TYPES: Final = {
    "application/xhtml+xml": Format.HTML,
    "text/xml": Format.XML,
    "text/x-markdown": Format.MARKDOWN,
    "text/prs.fallenstein.rst": Format.REST,
} | {kind.value: kind for kind in Format if kind is not Format.PLAIN}

_MAX_STRUCTURED_LINE: Final = 100_000
_PDF_HEADER_BYTES: Final = 1024
_PDF_TRAILER_BYTES: Final = 2048

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive, such as a DOCX, ODT or EPUB file"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"(\xb5/\xfd", "a Zstandard archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file"),
    (b"{\\rtf", "an RTF file"),
    (b"%!PS", "a PostScript file"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"OggS", "an Ogg sound or film"),
    (b"ID3", "an MP3 sound"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
)

_HTML_DOCUMENT: Final = re.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_BEGINNING: Final = re.compile(  # the list of the standard on sniffing, WHATWG
    r"\s*<(?:head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>]", re.IGNORECASE
)
_HTML_ELEMENT: Final = re.compile(r"</?[a-z][a-z0-9]{0,20}(?:\s[^<>]{0,2000})?>", re.IGNORECASE)
_REST_MARKUP: Final = re.compile(
    r"^\.\. (?:[A-Za-z][\w.+:-]*::(?:\s|$)|_[^\n]+:(?:\s|$))", re.MULTILINE
)
_UNDERLINED: Final = re.compile(
    r"^(?! )(\S[^\n]*)\n([=\-~^\"'`#*+:.<>_])\2{2,}[ \t]*$", re.MULTILINE
)
_MARKDOWN_HEADING: Final = re.compile(r"^#{1,6} \S", re.MULTILINE)
_MARKDOWN_ALONE: Final = (  # of each kind, a sign that no reStructuredText or prose has
    re.compile(r"(?:\A|\n\n)#{1,6} \S[^\n]*(?:\n\n|\Z)"),
    re.compile(r"^ {0,3}(?:```|~~~)[ \t]*[\w+.#-]*[ \t]*$", re.MULTILINE),
    re.compile(r"(?<![`\\])\[[^\]\[\n]{1,200}\]\((?:https?:|[#./\w])[^()\s]{0,500}\)"),
    re.compile(r"^\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)+\|?[ \t]*$", re.MULTILINE),
)
_ENOUGH_SIGNS: Final = 2


def hint_of(path: str, media_type: str | None) -> Format | None:
    """Return what a file is called by its header's media type, if that says much, or its suffix."""
    named = _MEDIA_TYPES.get((media_type or "").partition(";")[0].strip().lower())
    return named or SUFFIXES.get(PurePosixPath(path).suffix.lower())


def is_pdf(data: bytes) -> bool:
    """Say whether bytes are a PDF document, of which some have a few bytes before their header."""
    if data.lstrip(b"\x00\t\n\f\r \xef\xbb\xbf").startswith(b"%PDF-"):
        return True
    return b"%PDF-" in data[:_PDF_HEADER_BYTES] and b"startxref" in data[-_PDF_TRAILER_BYTES:]


def refuse_known_binaries(data: bytes) -> None:
    """Let no file through that begins as a known kind of file without readable text.

    Raises:
        UnreadableDocumentError: it does (UnsupportedType).
    """
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            raise UnreadableDocumentError(
                DocumentFault.UNSUPPORTED_TYPE,
                f"it is binary, {kind} (UnsupportedType)",
                "convert it to a format that is read, or take it out of the corpus",
            )


def format_of(text: str, hint: Format | None, *, maybe_json: bool = True) -> Format:
    """Return the format of a file that is text; what may be JSON is known once it is parsed."""
    if _HTML_DOCUMENT.match(text):
        return Format.HTML
    if maybe_json and json_values.looks_like_json(text):
        return Format.JSON
    if xml_tree.looks_like_xml(text, is_named_so=hint is Format.XML):
        return Format.XML
    if _is_fragment(text, hint):
        return Format.HTML
    return _written_format(text, hint)


def _written_format(text: str, hint: Format | None) -> Format:
    """Return which of the formats of written text a file has."""
    if any(len(line) > _MAX_STRUCTURED_LINE for line in text.split("\n")):
        return Format.PLAIN  # no person wrote such a line: it has no structure, and parsers crawl
    has_directive = _REST_MARKUP.search(text) is not None
    signs = sum(sign.search(text) is not None for sign in _MARKDOWN_ALONE)
    if has_directive and (signs == 0 or (hint is not Format.MARKDOWN and signs < _ENOUGH_SIGNS)):
        return Format.REST
    if signs >= _ENOUGH_SIGNS or hint is Format.MARKDOWN:
        return Format.MARKDOWN
    if hint is Format.REST or _is_underlined(text):
        return Format.REST
    is_markdown = hint is None and _MARKDOWN_HEADING.search(text)
    return Format.MARKDOWN if is_markdown else Format.PLAIN


def _is_fragment(text: str, hint: Format | None) -> bool:
    """Say whether a text is a piece of HTML without the elements that hold a page."""
    if hint is Format.HTML:
        return _HTML_ELEMENT.search(text) is not None
    is_written = hint in {Format.MARKDOWN, Format.REST, Format.JSON, Format.XML}
    return (
        not is_written
        and _HTML_BEGINNING.match(text) is not None
        and not any(sign.search(text) for sign in _MARKDOWN_ALONE)
    )


def _is_underlined(text: str) -> bool:
    """Say whether a text has an underlined heading."""
    return any(
        len(match[0]) - len(match[1]) - 1 >= min(4, len(match[1]))
        for match in _UNDERLINED.finditer(text)
    )
