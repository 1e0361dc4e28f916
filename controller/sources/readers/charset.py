"""How bytes become text: by byte order mark, declaration, UTF-8, then detection.

A file that is no text, or whose characters cannot be told, is refused with the rule that it
breaks and the mend; nothing is guessed beyond one replacement character in a hundred.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_MAX_REPLACED: Final = 0.01
_DETECTION_BYTES: Final = 256 * 1024

_BYTE_ORDER_MARKS: Final = (  # the longer mark first: UTF-32's starts with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION: Final = re.compile(
    rb"<(?:meta\b[^>]{0,200}?\bcharset|\?xml\b[^>]{0,200}?\bencoding)\s*=\s*[\"']?([\w.:-]+)",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(rb"\s*<(?:!doctype\s+html|html|head|meta|\?xml)\b", re.IGNORECASE)
_TEXT_CODECS: Final = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp\d+|koi8-[rut]|gb2312|gbk|gb18030|hz|big5(?:hkscs)?|johab|"
    r"shift_jis\w*|euc_\w+|iso2022_\w+|mac-\w+|tis-620|ptcp154|kz1048"
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text with line feeds as its only line ends, and the charset that it was in."""

    text: str
    charset: str


class UnreadableDocumentError(Exception):
    """A file cannot be a document: the rule that it breaks, and the mend.

    `bars_absence` says whether an answer may be hidden in the file, so that nothing can be
    certified absent from its corpus.
    """

    def __init__(self, rule: str, mend: str, *, bars_absence: bool) -> None:
        super().__init__(f"{rule}; {mend}")
        self.rule = rule
        self.mend = mend
        self.bars_absence = bars_absence


def decode(data: bytes) -> Decoded:
    """Decode a file.

    Raises:
        UnreadableDocumentError: the file is binary, or more than 1 % of its characters would
            have to be replaced (BadCharset).
    """
    for mark, charset in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], charset)
    if b"\x00" in data:
        raise UnreadableDocumentError(
            "it is binary (it holds NUL bytes)",
            "give it another suffix or take it out of the corpus",
            bars_absence=False,
        )
    declared = _declared(data[:4096])
    if declared is not None:
        return _replacing(data, declared)
    try:
        return Decoded(_line_feeds(data.decode("utf-8")), "utf-8")
    except UnicodeDecodeError:
        return _replacing(data, _detected(data))


def _declared(head: bytes) -> str | None:
    match = _DECLARATION.search(head) if _MARKUP.match(head) else None
    if match is None:
        return None
    label = match[1].decode("ascii", "replace").lower()
    if label in {"utf-16", "utf-16le", "utf-16be"}:  # impossible without NUL bytes: HTML says UTF-8
        return "utf-8"
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    if name in {"iso8859-1", "ascii"}:  # what the web means by them
        return "cp1252"
    return name if _TEXT_CODECS.fullmatch(name) else None


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


def _replacing(data: bytes, charset: str) -> Decoded:
    text = data.decode(charset, "replace")
    if text.count("\ufffd") > _MAX_REPLACED * len(text):
        raise _bad_charset(f"more than 1 % of its characters are not {charset}")
    return Decoded(_line_feeds(text), charset)


def _bad_charset(why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"its charset is unknown (BadCharset: {why})", "save it as UTF-8", bars_absence=True
    )


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
