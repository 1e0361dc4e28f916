"""Feeds (Atom, RSS 2.0, RSS 1.0): each entry a heading, its date, and its summary.

    title of the feed       heading
    title of an entry       heading below it
    when it was published   field, `Published: ...`, as the feed writes it
    summary or content      as text, or by the HTML reader where it is HTML

`entries_of` gives the same entries as data, with their links, to an adapter that follows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from controller.api.records import BlockKind
from controller.sources.readers import html, xml_tree
from controller.sources.readers.charset import decode
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError
from controller.sources.readers.text import Text, TextBuilder
from controller.sources.readers.xml_tree import Element

_ROOTS: Final = frozenset({"feed", "rss", "RDF"})
_CONTENTS: Final = ("content", "encoded", "summary", "description")
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_MARKUP: Final = re.compile(r"<[a-zA-Z/!][^<>]{0,500}>|&(?:#\d+|#x[0-9a-fA-F]+|\w+);")


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An entry as its feed describes it; what the feed leaves out is empty.

    `link` is the page that it is about, as written: relative to the feed's address if it is no
    URL. `published` and `updated` are times as the feed writes them. `summary` is plain text.
    """

    title: str
    link: str
    id: str
    published: str
    updated: str
    summary: str


def entries_of(data: bytes, charset: str | None = None) -> tuple[FeedEntry, ...]:
    """Return the entries of a feed, in its order; `charset` is what its header names.

    Raises:
        UnreadableDocumentError: it is no feed (UnsupportedType), no XML (Malformed), too large,
            or in no known charset.
    """
    root = xml_tree.parse(decode(data, charset).text)
    if not is_feed(root):
        raise UnreadableDocumentError(
            DocumentFault.UNSUPPORTED_TYPE,
            f"it is no feed (its root element is {root.name[:80]})",
            "give the address of an Atom or RSS feed",
        )
    return tuple(_entry(element) for element in _entries(root))


def is_feed(root: Element) -> bool:
    """Say whether a document is a feed, by its root."""
    return root.name in _ROOTS


def read(root: Element, title_hint: str) -> Text:
    """Read a feed."""
    builder = TextBuilder()
    head = root if root.name == "feed" else root.first("channel") or root
    title = _line(_of(head, "title"))
    builder.add(BlockKind.HEADING, title, (title,), head.line, head.line)
    _add_content(builder, head, (title,), "subtitle", "description")
    for element in _entries(root):
        entry = _line(_of(element, "title"))
        path = (title, entry)
        builder.add(BlockKind.HEADING, entry, path, element.line, element.line)
        if published := _published(element):
            text = f"Published: {published}"
            builder.add(BlockKind.FIELD, text, path, element.line, element.line)
        _add_content(builder, element, path, *_CONTENTS)
    return builder.build(title or title_hint)


def _entries(root: Element) -> Iterator[Element]:
    if root.name == "feed":
        yield from root.elements("entry")
        return
    for channel in root.elements("channel"):
        yield from channel.elements("item")
    yield from root.elements("item")


def _entry(element: Element) -> FeedEntry:
    builder = TextBuilder()
    _add_content(builder, element, (), *_CONTENTS)
    identifier = _line(_of(element, "id", "guid"))
    return FeedEntry(
        title=_line(_of(element, "title")),
        link=_link(element),
        id=identifier or element.attributes.get("about", ""),
        published=_published(element),
        updated=_line(_of(element, "updated", "modified")),
        summary="\n".join(block.text for block in builder.blocks),
    )


def _link(element: Element) -> str:
    """Return the address of an entry's page: Atom's alternate link, else RSS's text."""
    for link in element.elements("link"):
        if link.attributes.get("rel", "alternate") == "alternate":
            address = link.attributes.get("href", "") or _line(link)
            if address.strip():
                return address.strip()
    guid = element.first("guid")
    if guid is not None and guid.attributes.get("isPermaLink", "true") == "true":
        return _line(guid)
    return ""


def _published(element: Element) -> str:
    return _line(_of(element, "published", "pubDate", "issued", "date", "updated"))


def _of(element: Element, *names: str) -> Element | None:
    return element.first(*names)


def _line(element: Element | None) -> str:
    """Return an element's text as one line, without the markup that titles sometimes have."""
    if element is None:
        return ""
    text = element.text()
    if element.attributes.get("type") in {"html", "xhtml"} and _MARKUP.search(text):
        builder = TextBuilder()
        html.read_fragment(builder, text, (), first=1)
        text = " ".join(block.text for block in builder.blocks)
    return " ".join(text.split())


def _add_content(
    builder: TextBuilder, element: Element, path: tuple[str, ...], *names: str
) -> None:
    """Add the fullest of an element's descriptions."""
    found = [part for name in names for part in element.elements(name)]
    if not found:
        return
    content = max(found, key=lambda part: len(part.text()))
    kind = content.attributes.get("type", "")
    text = _markup(content) if kind in {"xhtml", "application/xhtml+xml"} else content.text()
    if kind != "text" and _MARKUP.search(text):
        html.read_fragment(builder, text, path, first=content.line)
        return
    for paragraph in _BLANK_LINE.split(text):
        shown = " ".join(paragraph.split())
        builder.add(BlockKind.PARAGRAPH, shown, path, content.line, content.line)


def _markup(element: Element) -> str:
    """Return the content of an element as HTML: what a feed holds as XHTML."""
    return "".join(
        escape(part) if isinstance(part, str) else f"<{part.name}>{_markup(part)}</{part.name}>"
        for part in element.content
    )
