"""How bytes become text: by byte order mark, header, declaration, UTF-8, then detection.

A file that is no text, or whose characters cannot be told, is refused with the rule that it
breaks and the mend; nothing is guessed beyond one replacement character in a hundred.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from controller.api.records import CharsetSource
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError

_MAX_REPLACED: Final = 0.01
_MAX_CONTROLS: Final = 0.02
_DETECTION_BYTES: Final = 256 * 1024
_DECLARATION_BYTES: Final = 4096

_BYTE_ORDER_MARKS: Final = (  # the longer mark first: UTF-32's starts with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED_XML: Final = (  # how an XML declaration begins where no mark stands before it
    ("<?".encode("utf-16-le"), "utf-16-le"),
    ("<?".encode("utf-16-be"), "utf-16-be"),
)
_META: Final = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_XML_DECLARATION: Final = re.compile(
    rb"<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE
)
_MARKUP: Final = re.compile(rb"\s*<(?:!doctype\s+html|html|head|meta|\?xml)\b", re.IGNORECASE)
_TEXT_CODECS: Final = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp\d+|koi8-[rut]|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|johab|"
    r"shift_jis\w*|euc_\w+|iso2022_\w+|mac-\w+|tis-620|ptcp154|kz1048"
)
_WIDE_CODECS: Final = re.compile(r"utf-(?:16|32)(?:-[lb]e)?")
_CONTROLS: Final = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text with line feeds as its only line ends, and the charset that it was in.

    `source` is what named the charset; None where nothing does and the bytes are UTF-8.
    """

    text: str
    charset: str
    source: CharsetSource | None = None


def decode(data: bytes, header: str | None = None) -> Decoded:
    """Decode a file; `header` is the charset that its Content-Type names.

    Raises:
        UnreadableDocumentError: the file is binary (UnsupportedType), or more than 1 % of its
            characters would have to be replaced (BadCharset).
    """
    decoded = _decoded(data, header)
    if len(_CONTROLS.findall(decoded.text)) > _MAX_CONTROLS * len(decoded.text):
        raise _binary("more than 2 % of its characters are control characters")
    return decoded


def _decoded(data: bytes, header: str | None) -> Decoded:
    for mark, charset in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], charset, CharsetSource.BYTE_ORDER_MARK)
    named = _named(data, header)
    is_wide = named is not None and _WIDE_CODECS.fullmatch(named[0])
    if b"\x00" in data and not is_wide:
        raise _binary("it holds NUL bytes")
    if named is not None:
        return _replacing(data, *named)
    try:
        return Decoded(_line_feeds(data.decode("utf-8")), "utf-8")
    except UnicodeDecodeError:
        return _replacing(data, _detected(data), CharsetSource.DETECTION)


def _named(data: bytes, header: str | None) -> tuple[str, CharsetSource] | None:
    """Return the charset that a header or the file itself names, and which of them does."""
    if codec := _codec(header or ""):
        return codec, CharsetSource.HEADER
    for beginning, charset in _UNMARKED_XML:
        if data.startswith(beginning):
            return charset, CharsetSource.XML_DECLARATION
    return _declared(data[:_DECLARATION_BYTES])


def _declared(head: bytes) -> tuple[str, CharsetSource] | None:
    if not _MARKUP.match(head):
        return None
    for pattern, source in (
        (_META, CharsetSource.META),
        (_XML_DECLARATION, CharsetSource.XML_DECLARATION),
    ):
        match = pattern.search(head)
        label = match[1].decode("ascii", "replace") if match else ""
        if name := _codec(label):
            # impossible without NUL bytes: HTML's standard says that UTF-8 is meant
            return "utf-8" if _WIDE_CODECS.fullmatch(name) else name, source
    return None


def _codec(label: str) -> str | None:
    """Return the codec that a label means on the web, or None if it is none for text."""
    try:
        name = codecs.lookup(label.strip().lower()).name
    except (LookupError, ValueError):  # ValueError: a NUL in the label
        return None
    if name in {"iso8859-1", "ascii"}:  # what the web means by them
        return "cp1252"
    return name if _TEXT_CODECS.fullmatch(name) or _WIDE_CODECS.fullmatch(name) else None


def _detected(data: bytes) -> str:
    as_utf8 = data.decode("utf-8", "replace")
    replaced = as_utf8.count("\ufffd")
    if sum(character > "\x7f" for character in as_utf8) > 4 * replaced:
        return "utf-8"  # far more valid sequences than broken ones: UTF-8 with a few flaws
    import charset_normalizer

    best = charset_normalizer.from_bytes(data[:_DETECTION_BYTES]).best()
    if best is None:
        raise _bad_charset("no charset fits its bytes")
    return codecs.lookup(best.encoding).name


def _replacing(data: bytes, charset: str, source: CharsetSource) -> Decoded:
    text = data.decode(charset, "replace").removeprefix("\ufeff")
    if text.count("\ufffd") > _MAX_REPLACED * len(text):
        raise _bad_charset(f"more than 1 % of its characters are not {charset}")
    return Decoded(_line_feeds(text), charset, source)


def _binary(why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        DocumentFault.UNSUPPORTED_TYPE,
        f"it is binary ({why})",
        "give it another suffix or take it out of the corpus",
    )


def _bad_charset(why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        DocumentFault.BAD_CHARSET,
        f"its charset is unknown (BadCharset: {why})",
        "save it as UTF-8",
    )


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
