"""HTML by its structure: what a page shows, block by block; what it hides stands apart, at the end.

The tree is walked by events, not by recursion, so that no depth of nesting overflows a stack.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from controller.api.records import BlockKind
from controller.sources.readers import html_main
from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError
from controller.sources.readers.html_hidden import is_hidden
from controller.sources.readers.text import HeadingPath, Text, TextBuilder, words

if TYPE_CHECKING:
    from lxml.etree import XPath, _Element

_DROPPED: Final = words(
    "script style iframe object embed svg canvas audio video map area "
    "select textarea input button datalist title"
)
_BLOCKS: Final = words(
    "html body address article aside blockquote center details dialog dd div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol "
    "optgroup option p pre search section summary table caption thead tbody tfoot tr td th ul"
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_OWN_KINDS: Final = dict.fromkeys(_HEADINGS, BlockKind.HEADING) | {
    "li": BlockKind.ITEM,
    "dt": BlockKind.TERM,
    "pre": BlockKind.CODE,
}
_LAYOUT_MARKS: Final = ("table", "h1", "h2", "h3", "pre", "dl", "form")

_CONSENT: Final = re.compile(
    r"\b(?:cookie|consent|gdpr)[-_]?(?:consent|banner|notice|bar)\b", re.IGNORECASE
)
_NOTE: Final = re.compile(r"\b(?:admonition|note|warning|tip|caution|callout)\b", re.IGNORECASE)
_PERMALINK: Final = re.compile(r"\b(?:headerlink|anchorjs-link|header-anchor|permalink)\b")
_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")
_MAX_LINKED: Final = 0.5
"""A block with more of its characters in links is no prose: its author vouches for nothing."""


def read(text: str, title_hint: str) -> Text:
    """Read an HTML document; the title is its first `h1`, else its `title`.

    Raises:
        UnreadableDocumentError: it is nested deeper than the parser follows.
    """
    builder = TextBuilder()
    root = _parse(text)
    if root is None:
        return builder.build(title_hint)
    walker = _Walker(builder, (), 0)
    walker.walk(root)
    for comment in (*root.itersiblings(preceding=True), *root.itersiblings()):
        walker.hide(comment.text or "", comment)
    alternative = html_main.set_boilerplate_apart(
        text, builder, walker.vouched, nesting=walker.nesting
    )
    title = walker.title or root.findtext(".//title") or ""
    return builder.build(title if title.strip() else title_hint, alternative_characters=alternative)


def read_fragment(builder: TextBuilder, source: str, path: HeadingPath, *, first: int) -> None:
    """Read a piece of HTML that stands in another document, at line `first`, below `path`."""
    root = _parse(f"<div>{source}</div>")
    if root is not None:
        _Walker(builder, path, first - 1).walk(root)


def _parse(text: str) -> _Element | None:
    from lxml import etree

    text = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), text)
    if not text.strip():
        return None
    parser = etree.HTMLParser(huge_tree=True, no_network=True)
    root = etree.fromstring(text.replace("\x00", "\ufffd"), parser)
    if any(error.type_name in _FATAL for error in parser.error_log):
        raise UnreadableDocumentError(
            DocumentFault.TOO_LARGE,
            "its elements are nested deeper than the HTML parser follows",
            "simplify the page or take it out of the corpus",
        )
    return root


_FATAL: Final = frozenset({"ERR_INTERNAL_ERROR", "ERR_RESOURCE_LIMIT", "ERR_NO_MEMORY"})


class _Walker:
    """Walks a tree in document order and turns runs of text into blocks.

    `vouched` says of each block whether it is prose in the page's `main` element, `nesting` is
    the sum of the depths of all elements.
    """

    def __init__(self, builder: TextBuilder, path: HeadingPath, lines_before: int) -> None:
        self.title: str | None = None
        self.vouched: list[bool] = []
        self.nesting = 0
        self._builder = builder
        self._base = path
        self._lines_before = lines_before
        self._headings: list[tuple[int, str]] = []
        self._terms: list[str | None] = []
        self._kinds: list[BlockKind] = [BlockKind.PARAGRAPH]
        self._headers: list[str | None] = []
        self._layouts: list[bool] = []
        self._cells: list[str] | None = None
        self._row_is_header = False
        self._text: list[str] = []
        self._first = 1
        self._last = 1
        self._depth = 0
        self._links = 0
        self._mains = 0
        self._characters = 0
        self._linked = 0

    def walk(self, root: _Element) -> None:
        """Read everything below an element."""
        from lxml import etree

        skipped: _Element | None = None
        events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        for event, element in events:
            if event == "start":
                if self._is_skipped(element):
                    skipped = element
                    events.skip_subtree()
                else:
                    self._start(element)
                    self._append(element.text, element)
                continue
            if event == "comment":
                self.hide(element.text or "", element)
            elif event == "end" and element is skipped:
                skipped = None
            elif event == "end":
                self._end(element)
            if element is not root:
                self._append(element.tail, element)
        self._flush()

    def _append(self, text: str | None, element: _Element) -> None:
        if text:
            if not self._text:
                self._first = self._line(text, element)
            self._text.append(text)
            self._characters += len(text)
            if self._links:
                self._linked += len(text)

    def _line(self, text: str, element: _Element) -> int:
        """Return the line on which a text of an element begins to show something."""
        leading = len(text) - len(text.lstrip())
        return (element.sourceline or 1) + self._lines_before + text.count("\n", 0, leading)

    def _is_skipped(self, element: _Element) -> bool:
        """Say whether nothing below an element is read; what it hides is kept apart."""
        if element.tag in _DROPPED or (
            element.tag == "a" and _PERMALINK.search(element.get("class", ""))
        ):
            return True
        if not is_hidden(element):
            return False
        self.hide(" ".join(_seen_text()(element)), element)
        return True

    def hide(self, text: str, element: _Element) -> None:
        """Keep what an element or comment hides aside."""
        self._builder.hide(_SPACE.sub(" ", text), self._path(), self._line(text, element))

    def _start(self, element: _Element) -> None:
        tag = element.tag
        self._depth += 1
        self.nesting += self._depth
        self._links += tag == "a"
        if tag == "br":
            self._text.append("\n")
        if tag not in _BLOCKS:
            return
        self._flush()
        self._mains += _is_main(element)
        self._kinds.append(self._kind_of(element))
        if tag == "dl":
            self._terms.append(None)
        elif tag == "table":
            self._layouts.append(_is_layout(element))
            self._headers.append(None)
        elif tag == "tr" and self._in_data_table():
            self._cells, self._row_is_header = [], True
        elif tag == "td":
            self._row_is_header = False

    def _end(self, element: _Element) -> None:
        tag = element.tag
        self._depth -= 1
        self._links -= tag == "a"
        if tag not in _BLOCKS:
            return
        if tag in {"td", "th"} and self._cells is not None:
            self._cells.append(self._taken())
        elif tag in _HEADINGS and self._kinds[-1] is BlockKind.HEADING:
            self._heading(_HEADINGS[tag])
        elif tag == "dt" and self._terms:
            self._term()
        else:
            self._flush()
        if tag == "tr" and self._cells is not None:
            self._row()
        elif tag == "dl" and self._terms:
            self._terms.pop()
        elif tag == "table" and self._layouts:
            self._layouts.pop()
            self._headers.pop()
        self._kinds.pop()
        self._mains -= _is_main(element)

    def _kind_of(self, element: _Element) -> BlockKind:
        """Return what the text directly in an element is; some kinds hold for all below."""
        outer = self._kinds[-1]
        if outer in {BlockKind.NAVIGATION, BlockKind.CONSENT, BlockKind.CODE}:
            return outer
        tag, attributes = element.tag, element.attrib
        classes = attributes.get("class", "")
        if tag == "nav" or attributes.get("role") in {"navigation", "search"}:
            return BlockKind.NAVIGATION
        if _CONSENT.search(f"{classes} {attributes.get('id', '')}"):
            return BlockKind.CONSENT
        if tag in {"div", "aside", "section"} and _NOTE.search(classes):
            return BlockKind.NOTE
        inherited = outer in {BlockKind.NOTE, BlockKind.ITEM} and tag in {"p", "div"}
        return outer if inherited else _OWN_KINDS.get(tag, BlockKind.PARAGRAPH)

    def _in_data_table(self) -> bool:
        return bool(self._layouts) and not self._layouts[-1]

    def _path(self) -> HeadingPath:
        path = self._base + tuple(title for _, title in self._headings)
        path += tuple(term for term in self._terms if term)
        header = self._headers[-1] if self._headers else None
        return (*path, header) if header else path

    def _heading(self, level: int) -> None:
        title = " ".join(self._taken().split())
        if not title:
            return
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, title))
        if level == 1:
            self.title = self.title or title
        self._emit(BlockKind.HEADING, title)

    def _term(self) -> None:
        term = self._taken()
        if term:
            self._terms[-1] = " ".join(term.split())
            self._emit(self._kinds[-1], term)

    def _row(self) -> None:
        cells = self._cells or []
        self._cells = None
        if not any(cells):
            return
        if self._row_is_header and self._headers[-1] is None:
            self._headers[-1] = " | ".join(" ".join(cell.split()) for cell in cells)
        kind = BlockKind.TABLE_ROW if self._kinds[-1] is BlockKind.PARAGRAPH else self._kinds[-1]
        self._emit(kind, "\t".join(cells))

    def _flush(self) -> None:
        if self._cells is not None:  # blocks within a cell are one text, parted by spaces
            self._text.append(" ")
            return
        text = self._taken()
        if text:
            self._emit(self._kinds[-1], text)

    def _taken(self) -> str:
        """Take the text collected so far, white space collapsed as a page shows it."""
        raw = "".join(self._text)
        self._last = self._first + raw.strip().count("\n")
        self._text.clear()
        if self._kinds[-1] is BlockKind.CODE:
            return raw
        return _SPACE.sub(" ", raw).strip()

    def _emit(self, kind: BlockKind, text: str) -> None:
        before = len(self._builder.blocks)
        self._builder.add(kind, text, self._path(), self._first, self._last)
        is_prose = self._linked <= _MAX_LINKED * self._characters
        added = len(self._builder.blocks) - before
        self.vouched += [self._mains > 0 and is_prose] * added
        self._characters = self._linked = 0


@cache
def _seen_text() -> XPath:
    """Return what finds the texts of an element that a page could show."""
    from lxml import etree

    return etree.XPath(".//text()[not(ancestor::script or ancestor::style)]")


def _is_main(element: _Element) -> bool:
    return bool(element.tag == "main" or element.get("role") == "main")


def _is_layout(table: _Element) -> bool:
    """Say whether a table only lays out a page: it holds tables, headings or code."""
    return any(table.find(f".//{mark}") is not None for mark in _LAYOUT_MARKS)
