"""HTML by its structure: what a page shows, block by block, without what it hides.

The tree is walked by events, not by recursion, so that no depth of nesting overflows a stack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from controller.api.records import BlockKind
from controller.sources.readers.charset import UnreadableDocumentError
from controller.sources.readers.text import HeadingPath, Text, TextBuilder, words

if TYPE_CHECKING:
    from lxml.etree import _Element

_DROPPED: Final = words(
    "script style noscript template iframe object embed svg canvas audio video map area "
    "select textarea input button datalist title head"
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

_HIDDEN_STYLE: Final = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]))",
    re.IGNORECASE,
)
_CONSENT: Final = re.compile(
    r"\b(?:cookie|consent|gdpr)[-_]?(?:consent|banner|notice|bar)\b", re.IGNORECASE
)
_NOTE: Final = re.compile(r"\b(?:admonition|note|warning|tip|caution|callout)\b", re.IGNORECASE)
_PERMALINK: Final = re.compile(r"\b(?:headerlink|anchorjs-link|header-anchor|permalink)\b")
_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\n\r\f]+")


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
    title = walker.title or root.findtext(".//title") or ""
    return builder.build(title if title.strip() else title_hint)


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
            "its elements are nested deeper than the HTML parser follows",
            "simplify the page or take it out of the corpus",
            bars_absence=True,
        )
    return root


_FATAL: Final = frozenset({"ERR_INTERNAL_ERROR", "ERR_RESOURCE_LIMIT", "ERR_NO_MEMORY"})


class _Walker:
    """Walks a tree in document order and turns runs of text into blocks."""

    def __init__(self, builder: TextBuilder, path: HeadingPath, lines_before: int) -> None:
        self.title: str | None = None
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

    def walk(self, root: _Element) -> None:
        """Read everything below an element."""
        from lxml import etree

        events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        for event, element in events:
            if event == "start":
                if self._is_dropped(element):
                    events.skip_subtree()
                else:
                    self._start(element)
                    self._append(element.text, element)
                continue
            if event == "end" and not self._is_dropped(element):
                self._end(element)
            if element is not root:
                self._append(element.tail, element)
        self._flush()

    def _append(self, text: str | None, element: _Element) -> None:
        if text:
            if not self._text:
                leading = len(text) - len(text.lstrip())
                line = (element.sourceline or 1) + self._lines_before
                self._first = line + text.count("\n", 0, leading)
            self._text.append(text)

    def _is_dropped(self, element: _Element) -> bool:
        attributes = element.attrib
        if element.tag in _DROPPED or (element.tag == "dialog" and "open" not in attributes):
            return True
        if not attributes:
            return False
        return (
            "hidden" in attributes
            or _HIDDEN_STYLE.search(attributes.get("style", "")) is not None
            or (element.tag == "a" and bool(_PERMALINK.search(attributes.get("class", ""))))
        )

    def _start(self, element: _Element) -> None:
        tag = element.tag
        if tag == "br":
            self._text.append("\n")
        if tag not in _BLOCKS:
            return
        self._flush()
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
        self._builder.add(kind, text, self._path(), self._first, self._last)


def _is_layout(table: _Element) -> bool:
    """Say whether a table only lays out a page: it holds tables, headings or code."""
    return any(table.find(f".//{mark}") is not None for mark in _LAYOUT_MARKS)
