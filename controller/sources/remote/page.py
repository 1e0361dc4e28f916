"""A web page as it was fetched: its document, whether it is one, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from controller.api.errors import ActionError, PermanentError
from controller.api.records import Block, BlockKind, Document
from controller.evidence.soft_failures import soft_failure
from controller.sources.readers import Reading
from controller.sources.readers.text import clean_title
from controller.sources.remote.documents import Owner, document_record, read_document
from controller.sources.web import headers
from controller.sources.web.failures import FetchFailure
from controller.sources.web.fetcher import Fetched
from controller.sources.web.locators import canonical_of_page
from controller.sources.web.request import joined
from controller.sources.web.robots import PRODUCT

if TYPE_CHECKING:
    from lxml.etree import _Element

_HTML: Final = "text/html"
_MOST_LINKS: Final = 2_000
"""So many links of a page are looked at."""

_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>", re.IGNORECASE)
_BUTTONS: Final = frozenset({"submit", "button", "reset", "image"})


@dataclass(frozen=True)
class Link:
    """A link of a page: an absolute URL, and the words that it stands behind."""

    url: str
    text: str


@dataclass(frozen=True)
class Page:
    """A page that was read.

    Attributes:
        document: its record; the locator is canonical.
        blocks: all of its blocks, by offset.
        links: where it leads, in reading order; none where it asks not to be followed.
        directives: which of `noarchive` and `noindex` it says, in its headers or its head.
        is_slowed: whether a robots file asks for longer pauses than are kept.
    """

    document: Document
    blocks: tuple[Block, ...]
    links: tuple[Link, ...] = ()
    directives: frozenset[str] = frozenset()
    is_slowed: bool = False


@dataclass(frozen=True)
class _Head:
    """What an HTML page says beside its text."""

    title: str = ""
    clickable: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    canonical: str | None = None
    directives: frozenset[str] = frozenset()


def read_page(fetched: Fetched, locator: str, owner: Owner) -> Page:
    """Read what was fetched as a page.

    Args:
        fetched: the page.
        locator: the canonical locator of where it was found.
        owner: whose it is.

    Raises:
        RetryableError: `BadResponse`: it holds no text.
        PermanentError: `UnsupportedType`, `BadCharset`, `Unreadable` or `SoftFailure`.
    """
    reading = read_document(fetched.body, fetched.content_type, locator)
    head = _head(fetched, reading) if reading.content_type == _HTML else _Head()
    _require_document(reading, head, locator)
    locator = _canonical(locator, head.canonical)
    return Page(
        document=document_record(reading, fetched.body, locator, owner),
        blocks=reading.text.blocks,
        links=head.links,
        directives=fetched.directives | head.directives,
        is_slowed=fetched.is_slowed,
    )


def _canonical(locator: str, named: str | None) -> str:
    """Return the locator that a page names for itself, if it differs in its query alone.

    Many sites call their home canonical for every page: what is cited would not stand there.
    """
    canonical = canonical_of_page(locator, named)
    return canonical if canonical.partition("?")[0] == locator.partition("?")[0] else locator


def _require_document(reading: Reading, head: _Head, locator: str) -> None:
    """Refuse a page that answers 200 and is no document.

    Raises:
        PermanentError: `SoftFailure`.
    """
    shown = (b.text for b in reading.text.blocks if b.kind is not BlockKind.HIDDEN)
    failure = soft_failure("\n".join((head.title, *shown)), head.clickable)
    if failure is not None:
        message = f"{locator} is {failure.value}, and no document"
        raise PermanentError(FetchFailure.SOFT_FAILURE, message)


def _head(fetched: Fetched, reading: Reading) -> _Head:
    from lxml import etree

    text = _DECLARATION.sub("", fetched.body.decode(reading.charset, "replace"))
    parser = etree.HTMLParser(huge_tree=True, no_network=True)
    root = etree.fromstring(text.replace("\x00", "\ufffd"), parser) if text.strip() else None
    if root is None:
        return _Head()
    robots = [
        meta.get("content", "")
        for meta in root.iter("meta")
        if meta.get("name", "").lower() in {"robots", PRODUCT.lower()}
    ]
    said = {word.strip() for value in robots for word in value.lower().split(",")}
    return _Head(
        title=clean_title(root.findtext(".//title") or ""),
        clickable=tuple(_clickable(root)),
        links=() if said & {"nofollow", "none"} else tuple(_links(root, fetched.url)),
        canonical=_named_canonical(root, fetched.url),
        directives=headers.robots_directives(robots, PRODUCT),
    )


def _named_canonical(root: _Element, url: str) -> str | None:
    for link in root.iter("link"):
        if "canonical" in link.get("rel", "").lower().split():
            return _absolute(_base(root, url), link.get("href", ""))
    return None


def _clickable(root: _Element) -> Iterator[str]:
    for element in root.iter("a", "button", "input"):
        if element.tag != "input":
            yield _words(element)
        elif element.get("type", "").lower() in _BUTTONS:
            yield element.get("value", "")


def _links(root: _Element, url: str) -> Iterator[Link]:
    base = _base(root, url)
    for number, element in enumerate(root.iter("a")):
        if number == _MOST_LINKS:
            return
        if "nofollow" in element.get("rel", "").lower().split():
            continue
        if (absolute := _absolute(base, element.get("href", ""))) is not None:
            yield Link(absolute, clean_title(_words(element) or element.get("title", "")))


def _base(root: _Element, url: str) -> str:
    for element in root.iter("base"):
        if element.get("href"):
            return _absolute(url, element.get("href")) or url
    return url


def _absolute(base: str, reference: str) -> str | None:
    """Return where a reference leads; None: nowhere that could be fetched."""
    reference = reference.strip()
    if not reference or reference.startswith("#"):
        return None
    try:
        url = joined(base, reference)
    except ActionError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def _words(element: _Element) -> str:
    return " ".join("".join(element.itertext()).split())
