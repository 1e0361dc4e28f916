"""RSS and Atom: the entries of a feed, in the order in which it has them.

XML is parsed without entities or anything from outside (defusedxml).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

ATOM: Final = "{http://www.w3.org/2005/Atom}"
OPEN_SEARCH: Final = "{http://a9.com/-/spec/opensearch/1.1/}"
_RSS_1: Final = "{http://purl.org/rss/1.0/}"
_RDF: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_CONTENT: Final = "{http://purl.org/rss/1.0/modules/content/}"
_ROOTS: Final = frozenset({"rss", f"{_RDF}RDF", f"{ATOM}feed"})


class NoFeedError(Exception):
    """A document is no feed: it cannot be parsed, or is something else."""


@dataclass(frozen=True)
class Entry:
    """An entry: texts as they stand there, empty where there is none; `link` may be relative."""

    id: str
    link: str
    title: str
    summary: str
    authors: tuple[str, ...] = ()
    updated: str = ""


@dataclass(frozen=True)
class Feed:
    """A feed: its entries, and how many there are in all, where it says so."""

    entries: tuple[Entry, ...]
    total: int | None = None


def read_feed(data: bytes) -> Feed:
    """Read an RSS or Atom feed.

    Raises:
        NoFeedError: it is none.
    """
    try:
        root = defusedxml.ElementTree.fromstring(data, forbid_dtd=False)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise NoFeedError(type(error).__name__) from None
    if root.tag not in _ROOTS:
        raise NoFeedError("it is XML of another kind")
    total = (root.findtext(f"{OPEN_SEARCH}totalResults") or "").strip()
    return Feed(tuple(_entries(root)), int(total) if total.isdecimal() else None)


def _entries(root: Element) -> Iterator[Entry]:
    if root.tag == f"{ATOM}feed":
        yield from map(_atom, root.findall(f"{ATOM}entry"))
        return
    prefix = _RSS_1 if root.tag == f"{_RDF}RDF" else ""
    yield from (_rss(item, prefix) for item in root.iter(f"{prefix}item"))


def _atom(entry: Element) -> Entry:
    return Entry(
        id=_text(entry, f"{ATOM}id"),
        link=_atom_link(entry),
        title=_text(entry, f"{ATOM}title"),
        summary=_text(entry, f"{ATOM}summary") or _text(entry, f"{ATOM}content"),
        authors=tuple(_text(a, f"{ATOM}name") for a in entry.findall(f"{ATOM}author")),
        updated=_text(entry, f"{ATOM}updated"),
    )


def _atom_link(entry: Element) -> str:
    links = entry.findall(f"{ATOM}link")
    alternate = [link for link in links if link.get("rel", "alternate") == "alternate"]
    return next((link.get("href", "") for link in alternate), "")


def _rss(item: Element, prefix: str) -> Entry:
    guid = item.find("guid")
    is_link = guid is not None and guid.get("isPermaLink", "true").lower() == "true"
    identifier = _text(item, "guid")
    return Entry(
        id=identifier,
        link=_text(item, f"{prefix}link") or (identifier if is_link else ""),
        title=_text(item, f"{prefix}title"),
        summary=_text(item, f"{prefix}description") or _text(item, f"{_CONTENT}encoded"),
        updated=_text(item, "pubDate"),
    )


def _text(element: Element, path: str) -> str:
    found = element.find(path)
    return "".join(found.itertext()).strip() if found is not None else ""
