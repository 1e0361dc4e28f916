"""XML documents of any vocabulary, by their shape.

element `title`, `head` or `caption`   heading of what stands beside it
element with a short text              field, `name: text`
element with a long or mixed text      paragraph, with all text within
element with attributes alone          field, `name: attribute="value" ...`
element with elements                  one more heading-path element
"""

from __future__ import annotations

from typing import Final

from controller.api.records import BlockKind
from controller.sources.readers.text import HeadingPath, Text, TextBuilder
from controller.sources.readers.xml_tree import Element

_MAX_FIELD: Final = 120
_HEADINGS: Final = ("title", "head", "caption")


def read(root: Element, title_hint: str) -> Text:
    """Read an XML document; the title is that of its root, else the hint."""
    builder = TextBuilder()
    _add(builder, root, ())
    title = root.first(*_HEADINGS)
    return builder.build(_shown(title) if title else title_hint)


def _add(builder: TextBuilder, element: Element, path: HeadingPath) -> None:
    """Add an element's blocks; the parser bounds how deep this goes."""
    has_text = any(isinstance(part, str) and part.strip() for part in element.content)
    if has_text:
        _add_text(builder, element, path)
        return
    if element.attributes and not element.content:
        pairs = " ".join(f'{name}="{value}"' for name, value in element.attributes.items())
        builder.add(BlockKind.FIELD, f"{element.name}: {pairs}", path, element.line, element.line)
        return
    title = next((e for e in element.elements() if e.name in _HEADINGS), None)
    below = (*path, (_shown(title) if title else "") or element.name)
    for part in element.elements():
        if part is title:
            builder.add(BlockKind.HEADING, _shown(part), below, part.line, part.line)
        else:
            _add(builder, part, below)


def _add_text(builder: TextBuilder, element: Element, path: HeadingPath) -> None:
    text = _shown(element)
    is_plain = next(element.elements(), None) is None
    if is_plain and len(text) <= _MAX_FIELD:
        builder.add(BlockKind.FIELD, f"{element.name}: {text}", path, element.line, element.line)
        return
    last = element.line + element.text().rstrip().count("\n")
    builder.add(BlockKind.PARAGRAPH, text, (*path, element.name), element.line, last)


def _shown(element: Element) -> str:
    return " ".join(element.text().split())
