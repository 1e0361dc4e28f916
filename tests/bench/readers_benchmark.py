"""Measures the readers: `python -m tests.bench.readers_benchmark [FOLDER]`.

Prints JSON: for each format, how many documents of 10 KB one processor reads in a minute (for PDF
with its process, which parses on a processor of its own). The documents are Django's documentation,
written in each format. With a folder of HTML pages, also which share of the prose paragraphs of
their main elements can be quoted, and which share of what can be quoted is none of theirs.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Final

from controller.api.records import Block, BlockKind
from controller.sources.readers import read_file, rest
from demo.corpus import django_docs
from tests.sources.pdfs import content, document

BYTES: Final = 10_000
DOCUMENTS: Final = 100
LINES_OF_A_PAGE: Final = 45

_APART: Final = frozenset({BlockKind.NAVIGATION, BlockKind.CONSENT, BlockKind.HIDDEN})
_LETTERS: Final = re.compile(r"[\W_]+")
_SENTENCE: Final = re.compile(r"[.!?:;)]$")
_MIN_PROSE: Final = 40
_MAINS: Final = '//main|//*[@role="main"]|//div[@class="body" or @class="chapter" or @class="book"]'


def sources() -> list[str]:
    """Return texts of about 10 KB: Django's, cut at the ends of paragraphs, joined where short."""
    whole = "\n\n".join(
        path.read_text(encoding="utf-8") for path in sorted(django_docs().rglob("*.txt"))
    )
    texts: list[str] = []
    at = 0
    while len(texts) < DOCUMENTS:
        end = whole.index("\n\n", at + BYTES)
        texts.append(whole[at:end])
        at = end
    return texts


def as_text(text: str) -> str:
    """Write a text as paragraphs."""
    return "\n\n".join(block.text for block in rest.read(text, "").blocks)


def as_html(text: str) -> str:
    """Write a text as a page with what stands around pages."""
    links = "".join(f"<li><a href='/{n}'>A page about things {n}</a></li>" for n in range(10))
    body = "".join(map(_html_of, rest.read(text, "").blocks))
    return (
        f"<!doctype html><html><body><div class='menu'><ul>{links}</ul></div><div>{body}</div>"
        "<div class='footer'>Copyright of it all, <a href='/i'>Imprint</a></div></body></html>"
    )


def _html_of(block: Block) -> str:
    tags = {BlockKind.HEADING: "h2", BlockKind.CODE: "pre", BlockKind.ITEM: "li"}
    tag = tags.get(block.kind, "p")
    return f"<{tag}>{escape(block.text)}</{tag}>"


def as_markdown(text: str) -> str:
    """Write a text as Markdown."""
    marks = {BlockKind.HEADING: "## {}", BlockKind.ITEM: "- {}", BlockKind.CODE: "```\n{}\n```"}
    blocks = rest.read(text, "").blocks
    return "\n\n".join(marks.get(block.kind, "{}").format(block.text) for block in blocks)


def as_json(text: str) -> str:
    """Write a text as JSON."""
    values = [{"kind": block.kind, "text": block.text} for block in rest.read(text, "").blocks]
    return json.dumps({"title": "A text", "blocks": values}, indent=1)


def as_xml(text: str) -> str:
    """Write a text as XML."""
    parts = "".join(f"<p>{escape(b.text)}</p>" for b in rest.read(text, "").blocks)
    storable = re.sub("[\x00-\x08\x0b-\x1f]", "", parts)
    return f"<?xml version='1.0'?><doc><title>A text</title>{storable}</doc>"


def as_pdf(text: str) -> bytes:
    """Write a text as a PDF document."""
    lines = [line.encode("cp1252", "replace").decode("cp1252") for line in text.split("\n")]
    pages = range(0, len(lines), LINES_OF_A_PAGE)
    return document([content(lines[at : at + LINES_OF_A_PAGE]) for at in pages])


FORMATS: Final[dict[str, tuple[str, Callable[[str], str | bytes]]]] = {
    "plain text": ("a.txt", as_text),
    "reStructuredText": ("a.rst", str),
    "Markdown": ("a.md", as_markdown),
    "HTML": ("a.html", as_html),
    "JSON": ("a.json", as_json),
    "XML": ("a.xml", as_xml),
    "PDF": ("a.pdf", as_pdf),
}


def rate(path: str, documents: list[bytes]) -> dict[str, Any]:
    """Return how many documents a processor reads in a minute, and what the reader called them."""
    read_file(documents[0], path)  # what is loaded once is no part of it
    started = processor_seconds()
    types = {read_file(data, path).content_type for data in documents}
    seconds = processor_seconds() - started
    return {
        "meanBytes": sum(map(len, documents)) // len(documents),
        "types": sorted(types),
        "milliseconds": round(1000 * seconds / len(documents), 2),
        "documentsAMinute": round(60 * len(documents) / seconds),
    }


def processor_seconds() -> float:
    """Return the seconds of a processor of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def letters(text: str) -> str:
    """Return a text's letters and digits: what is compared."""
    return _LETTERS.sub("", text)


def prose_of(page: str) -> tuple[list[str], str] | None:
    """Return a page's prose paragraphs and all letters of its main element, if it has one."""
    import lxml.html

    mains = lxml.html.fromstring(page.encode()).xpath(_MAINS)
    if not mains:
        return None
    paragraphs = [" ".join(p.text_content().split()) for p in mains[0].xpath(".//p")]
    prose = [p for p in paragraphs if len(p) >= _MIN_PROSE and _SENTENCE.search(p)]
    return (prose, letters(mains[0].text_content())) if prose else None


def main_content(pages: Iterable[str]) -> dict[str, Any]:
    """Return how much of pages' prose can be quoted, and how much else."""
    count = prose_count = found = characters = foreign = 0
    seconds = 0.0
    for page in pages:
        expected = prose_of(page)
        if expected is None:
            continue
        prose, main = expected
        started = time.process_time()
        blocks = read_file(page.encode(), "a.html").text.blocks
        seconds += time.process_time() - started
        quotable = [block.text for block in blocks if block.kind not in _APART]
        text = letters(" ".join(quotable))
        count += 1
        prose_count += len(prose)
        found += sum(letters(paragraph) in text for paragraph in prose)
        characters += sum(map(len, quotable))
        foreign += sum(len(block) for block in quotable if letters(block) not in main)
    return {
        "pages": count,
        "proseParagraphs": prose_count,
        "quotable": round(found / max(1, prose_count), 4),
        "foreignCharacters": round(foreign / max(1, characters), 4),
        "secondsAPage": round(seconds / max(1, count), 4),
    }


def pages_below(folder: Path) -> Iterator[str]:
    """Yield the HTML pages below a folder that are UTF-8."""
    for path in sorted(folder.rglob("*.html")):
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")


def measure(folder: Path | None) -> dict[str, Any]:
    """Measure each format, then the pages of a folder."""
    texts = sources()
    rates = {}
    for name, (path, write) in FORMATS.items():
        written = [write(text) for text in texts]
        documents = [data if isinstance(data, bytes) else data.encode() for data in written]
        rates[name] = rate(path, documents)
    return {"rates": rates} | ({"mainContent": main_content(pages_below(folder))} if folder else {})


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    sys.stdout.write(json.dumps(measure(given), indent=2) + "\n")
