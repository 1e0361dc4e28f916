"""XML as a tree of names, texts and lines: without entities, without what lies elsewhere, bounded.

defusedxml refuses the declaration of any entity and any reference to another file, so that neither
expands to a billion letters nor reads what the document only names.
"""

from __future__ import annotations

import html.entities
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.sax.handler import ContentHandler, feature_namespaces
from xml.sax.xmlreader import AttributesNSImpl, InputSource, Locator

from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError

_MAX_ELEMENTS: Final = 200_000
_MAX_DEPTH: Final = 200

_BEGINNING: Final = re.compile(r"\s*<(?:\?xml\b|(?:rss|feed|rdf:RDF)\b)")
_TAG: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:\?xml\b|!DOCTYPE\b|[A-Za-z_][\w:.-]*)", re.DOTALL
)
_NAMED_CHARACTER: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,30});")

_EXTERNAL_TYPE: Final = re.compile(r"<!DOCTYPE\s[^<>\[]{0,2000}>")
"""A document type that lies elsewhere, and so is not looked at: most name one on the web."""


@dataclass(slots=True)
class Element:
    """An element by its name without its namespace; its content is texts and elements in order."""

    name: str
    line: int
    attributes: Mapping[str, str]
    content: list[str | Element] = field(default_factory=list)

    def elements(self, name: str | None = None) -> Iterator[Element]:
        """Yield the elements directly within this one, of a name if it is given."""
        for part in self.content:
            if isinstance(part, Element) and name in {None, part.name}:
                yield part

    def first(self, *names: str) -> Element | None:
        """Return the first element directly within this one that has one of some names."""
        found = (element for name in names for element in self.elements(name))
        return next(found, None)

    def text(self) -> str:
        """Return all text within."""
        return "".join(part if isinstance(part, str) else part.text() for part in self.content)


def looks_like_xml(text: str, *, is_named_so: bool) -> bool:
    """Say whether a text begins as XML; any tag will do where its name or header calls it that."""
    return (_TAG if is_named_so else _BEGINNING).match(text) is not None


def parse(text: str) -> Element:
    """Return the root of an XML document.

    Raises:
        UnreadableDocumentError: it is not well formed, or declares entities (Malformed), or has
            too many elements or levels of them (TooLarge).
    """
    from xml.sax import SAXException

    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    source = InputSource()
    named = _NAMED_CHARACTER.sub(_character, text.lstrip())
    known = _EXTERNAL_TYPE.sub(_line_feeds, named, count=1)
    source.setByteStream(io.BytesIO(known.encode("utf-8", "replace")))
    source.setEncoding("utf-8")
    parser = create_parser()
    parser.setFeature(feature_namespaces, True)
    builder = _Builder(text[: len(text) - len(text.lstrip())].count("\n"))
    parser.setContentHandler(builder)
    try:
        parser.parse(source)
    except DefusedXmlException as error:
        raise _malformed(f"it declares entities or refers to other files ({error})") from error
    except SAXException as error:
        raise _malformed(f"it is not well-formed XML ({error.getMessage()})") from error
    assert builder.root is not None  # else it would not be well formed
    return builder.root


class _Builder(ContentHandler):
    def __init__(self, lines_before: int) -> None:
        super().__init__()
        self.root: Element | None = None
        self._lines_before = lines_before
        self._open: list[Element] = []
        self._count = 0
        self._locator: Locator | None = None

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802 - the interface's name
        """Take what knows the line."""
        self._locator = locator

    def startElementNS(  # noqa: N802 - the interface's name
        self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl
    ) -> None:
        """Open an element."""
        del qname
        self._count += 1
        if self._count > _MAX_ELEMENTS or len(self._open) >= _MAX_DEPTH:
            raise UnreadableDocumentError(
                DocumentFault.TOO_LARGE,
                f"it has more than {_MAX_ELEMENTS} elements or {_MAX_DEPTH} levels of them",
                "split it",
            )
        attributes = {local: value for (_, local), value in attrs.items()}
        line = (self._locator and self._locator.getLineNumber()) or 1
        element = Element(name[1], self._lines_before + line, attributes)
        if self._open:
            self._open[-1].content.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:  # noqa: N802 - the interface's name
        """Close the innermost element."""
        del name, qname
        self._open.pop()

    def characters(self, content: str) -> None:
        """Take a piece of text."""
        self._open[-1].content.append(content)


def _line_feeds(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _character(match: re.Match[str]) -> str:
    """Return the character that HTML has by a name: feeds use them, and XML does not know them."""
    return html.entities.html5.get(f"{match[1]};", match[0])


def _malformed(rule: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        DocumentFault.MALFORMED, f"{rule[:300]} (Malformed)", "mend it or take it out of the corpus"
    )
