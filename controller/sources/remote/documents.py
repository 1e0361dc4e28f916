"""From the bytes of a remote document to its record and its blocks, by the reader that fits them.

The words of a document are read exactly as those of a corpus; only its place is a URL.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from controller.api.base import digest_of, digest_of_text
from controller.api.errors import PermanentError, RetryableError
from controller.api.records import Document
from controller.evidence.minhash import minhash
from controller.sources.readers import Reading, UnreadableDocumentError, read_file
from controller.sources.web.origin_keys import origin_key

_READER_DEFECTS: Final = (ValueError, LookupError, RecursionError)
"""What a defect of a reader raises: it costs the document, not the run."""

_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-rst": ".rst",
    "text/prs.fallenstein.rst": ".rst",
}
"""Types that say how a text is to be read where its bytes leave that open."""

_NO_TEXT: Final = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript")
"""Types that are no documents, also where their bytes are text."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What a source adds to the records of its documents."""

    name: str
    priority: int
    origin_key: str | None


def read_document(data: bytes, content_type: str, locator: str) -> Reading:
    """Read a document that a server sent.

    Args:
        data: the body.
        content_type: as the server declared it, without parameters; empty: it did not.
        locator: its URL, whose last part stands for a file's name.

    Raises:
        PermanentError: `UnsupportedType`, `BadCharset` or `Unreadable`.
    """
    if content_type.startswith(_NO_TEXT):
        message = f"{locator} is of the type {content_type}, which holds no text to quote"
        raise PermanentError("UnsupportedType", message)
    try:
        return read_file(data, _file_name(locator, content_type))
    except UnreadableDocumentError as error:
        raise PermanentError(_class_of(error), f"{locator} cannot be read: {error.rule}") from None
    except _READER_DEFECTS:
        _log.exception("a reader failed on %s", locator)
        raise PermanentError("Unreadable", f"{locator} cannot be read: its reader failed") from None


def document_record(
    reading: Reading, data: bytes, locator: str, owner: Owner, *, title: str | None = None
) -> Document:
    """Return the record of a document that was read at a canonical locator.

    Raises:
        RetryableError: `BadResponse`: it holds no text at all; a server that is asked too much
            often answers so.
    """
    text = reading.text.text
    if not text.strip():
        raise RetryableError("BadResponse", f"{locator} holds no text")
    text_digest = digest_of_text(text)
    return Document(
        id="d-" + digest_of([locator, text_digest]).removeprefix("sha256:")[:12],
        source_name=owner.name,
        locator=locator,
        title=title or reading.text.title,
        content_type=reading.content_type,
        charset=reading.charset,
        bytes_digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
        text_digest=text_digest,
        bytes=len(data),
        characters=len(text),
        extractor=reading.extractor,
        origin_key=owner.origin_key or origin_key(locator),
        priority=owner.priority,
        minhash=minhash(text),
    )


def _file_name(locator: str, content_type: str) -> str:
    """Return a name whose suffix says of what type the server declared the document."""
    name = PurePosixPath(unquote(urlsplit(locator).path)).name or "index"
    suffix = _SUFFIXES.get(content_type)
    return name if suffix is None or name.lower().endswith(suffix) else f"{name}{suffix}"


def _class_of(error: UnreadableDocumentError) -> str:
    if not error.bars_absence:
        return "UnsupportedType"
    return "BadCharset" if "BadCharset" in error.rule else "Unreadable"
