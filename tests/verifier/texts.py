"""The documents of a corpus as recorded text, and the sentences that can be quoted of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from controller.api.records import Block, BlockKind, Evidence, Extractor
from controller.evidence.normalisation import normalise
from controller.evidence.predicates import MAXIMUM_LENGTH, MINIMUM_LENGTH, is_too_short
from controller.evidence.quotes import PDF, Stretch, stretches_of
from controller.evidence.sentences import sentences
from controller.sources.readers import SUFFIXES, UnreadableDocumentError, read_file
from tests.evidence.recorded import document

QUOTABLE: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.NOTE})

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Page:
    """A document: its recorded blocks, and what of it is a negative for which quote."""

    number: int
    blocks: tuple[Block, ...]

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Its recorded text."""
        return stretches_of(self.blocks)

    @cached_property
    def words(self) -> str:
        """Its words, each between spaces, in small letters: what it says, to judge by."""
        return words_of("\n".join(block.text for block in self.blocks))

    def says(self, text: str) -> bool:
        """Say whether the words of a text stand here, one after the other, whatever is between.

        This shares no code with the verifier.
        """
        return words_of(text) in self.words

    def evidence(self, extractor: str = "rest") -> Evidence:
        """Return it as a search over it would record it."""
        known = {
            "id": f"d-{self.number:012}",
            "extractor": Extractor(name=extractor, version="1"),
        }
        made = document("\n".join(block.text for block in self.blocks))
        return Evidence.model_construct(document=made.model_copy(update=known), blocks=self.blocks)


@dataclass(frozen=True)
class Sentence:
    """A sentence that can be quoted, its page, and the block that it stands in."""

    page: Page
    block: Block
    text: str
    start: int


def words_of(text: str) -> str:
    """Return the words of a text in small letters, each between spaces."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def pages_below(folder: Path) -> list[Page]:
    """Return the documents below a folder that a reader can read, in order."""
    pages: list[Page] = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix.lower() not in SUFFIXES:
            continue
        try:
            blocks = read_file(path.read_bytes(), str(path.relative_to(folder))).text.blocks
        except UnreadableDocumentError:
            continue
        pages.append(Page(len(pages), blocks))
    return pages


def sentences_of(pages: Iterable[Page]) -> Iterator[Sentence]:
    """Yield the sentences of prose that are as long as a quote must and may be (P2)."""
    for page in pages:
        for block in page.blocks:
            if block.kind not in QUOTABLE:
                continue
            for start, end in sentences(block.text):
                text = block.text[start:end]
                length = len(normalise(text).text)
                if MINIMUM_LENGTH <= length <= MAXIMUM_LENGTH and not is_too_short(text):
                    yield Sentence(page, block, text, block.start + start)


def as_pdf(page: Page, damage: Iterator[str]) -> Page:
    """Return a page whose blocks have other text, as a PDF file may give it."""
    blocks, at = [], 0
    for block, text in zip(page.blocks, damage, strict=True):
        update = {"start": at, "end": at + len(text), "text": text}
        blocks.append(block.model_copy(update=update))
        at += len(text) + 1
    return Page(page.number, tuple(blocks))


__all__ = ["PDF", "Page", "Sentence", "as_pdf", "pages_below", "sentences_of", "words_of"]
