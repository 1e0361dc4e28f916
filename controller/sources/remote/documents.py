"""From the bytes of a remote document to its record and its blocks, by the reader that fits them.

The words of a document are read exactly as those of a corpus; only its place is a URL.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from controller.api.base import digest_of, digest_of_text
from controller.api.errors import PermanentError, RetryableError
from controller.api.records import Document, RobotsDirective
from controller.evidence.minhash import minhash
from controller.sources.readers import DocumentFault, Reading, UnreadableDocumentError, read_file
from controller.sources.web.origin_keys import origin_key

_READER_DEFECTS: Final = (ValueError, LookupError, RecursionError)
"""What a defect of a reader raises: it costs the document, not the run."""

UNREADABLE: Final = "Unreadable"
"""The class of a document whose reader failed."""

_NO_TEXT: Final = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript")
"""Types that are no documents, also where their bytes are text."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """What a source adds to the records of its documents."""

    name: str
    priority: int
    origin_key: str | None


def read_document(
    data: bytes, locator: str, content_type: str, charset: str | None = None
) -> Reading:
    """Read a document that a server sent.

    Args:
        data: the body.
        locator: its URL, whose last part stands for a file's name.
        content_type: as the server declared it, without parameters; empty: it did not.
        charset: as the server declared it; None: it did not.

    Raises:
        PermanentError: one of the classes of docs/readers.md, or `Unreadable`.
    """
    if content_type.startswith(_NO_TEXT):
        message = f"{locator} is of the type {content_type}, which holds no text to quote"
        raise PermanentError(DocumentFault.UNSUPPORTED_TYPE, message)
    header = f"{content_type}; charset={charset}" if charset else content_type
    try:
        return read_file(data, unquote(urlsplit(locator).path) or "/", header)
    except UnreadableDocumentError as error:
        message = f"{locator} cannot be read: {error.rule}"
        raise PermanentError(error.fault.value, message) from None
    except _READER_DEFECTS:
        _log.exception("a reader failed on %s", locator)
        raise PermanentError(UNREADABLE, f"{locator} cannot be read: its reader failed") from None


def document_record(
    reading: Reading,
    data: bytes,
    locator: str,
    owner: Owner,
    *,
    directives: Collection[str] = (),
) -> Document:
    """Return the record of a document that was read at a canonical locator.

    Args:
        reading: the document as it was read.
        data: its bytes.
        locator: where it was found, and is found again.
        owner: whose it is.
        directives: what it asks of robots, of those that are recorded.

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
        bytes_digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
        text_digest=text_digest,
        bytes=len(data),
        origin_key=owner.origin_key or origin_key(locator),
        priority=owner.priority,
        minhash=minhash(text),
        robots_directives=tuple(map(RobotsDirective, sorted(directives))) or None,
        **reading.fields(),
    )


def partial_of(reading: Reading) -> str | None:
    """Say what of a document could not be read, None where it was read whole."""
    unread = reading.fields()["unread_pages"]
    return f"its pages {unread} hold no text that can be read" if unread else None
