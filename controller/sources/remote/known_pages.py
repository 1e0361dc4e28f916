"""The pages that a source knows without an engine that ranks them for it.

A page that was read is known by its words, another one only by its title, the words of the links
to it and its address. The two are ranked apart and then alternate, so that every query brings up
pages that were not read yet. All of it is memory of the process: a new one begins with what the
source's spec or its server names.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final
from urllib.parse import unquote, urlsplit

from controller.api.records import BlockKind
from controller.evidence.hits import MIN_HITS_READ
from controller.evidence.terms import content_terms, parts_of
from controller.sources.remote.page import Page

MOST_PAGES: Final = 500
"""So many pages are known at most; more of them are not taken in."""

MOST_TERMS: Final = 2_000
"""So many terms of a text are kept, in its own order."""

KNOWN_SECONDS: Final = 3600.0
"""For how long it is believed that a page says what it said."""


@dataclass
class KnownPage:
    """A page: where it is, how many links away, and what is known of it.

    `label` has the terms of what it is called by, `text` those of what it says. It `is_explored`
    where its links are known, and `has_failed` where it could not be fetched for them.
    """

    locator: str
    title: str
    depth: int
    label: frozenset[str]
    text: frozenset[str] = frozenset()
    read_at: float | None = None
    is_explored: bool = False
    has_failed: bool = False


class KnownPages:
    """The pages that one source knows, in the order in which they became known."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin with no page known; `monotonic` is a clock in seconds that never goes back."""
        self._monotonic = monotonic
        self._pages: dict[str, KnownPage] = {}
        self.is_full = False

    def __iter__(self) -> Iterator[KnownPage]:
        """Iterate over the pages."""
        return iter(self._pages.values())

    def __len__(self) -> int:
        """Return how many pages are known."""
        return len(self._pages)

    def get(self, locator: str) -> KnownPage | None:
        """Return a page by its locator."""
        return self._pages.get(locator)

    def add(self, locator: str, label: str, depth: int) -> None:
        """Know a page by a label; one that is known keeps its title and is no farther away."""
        page = self._pages.get(locator)
        if page is not None:
            page.label |= terms_of(label)
            page.depth = min(page.depth, depth)
        elif len(self._pages) >= MOST_PAGES:
            self.is_full = True
        else:
            words = terms_of(label) | _terms_of_address(locator)
            self._pages[locator] = KnownPage(locator, label, depth, words)

    def keep_only(self, locators: Iterable[str]) -> None:
        """Forget the pages that a server does not name any more."""
        named = set(locators)
        self._pages = {at: page for at, page in self._pages.items() if at in named}
        self.is_full = False

    def take_in(self, locator: str, title: str, terms: frozenset[str]) -> None:
        """Take note of what a known page says."""
        page = self._pages.get(locator)
        if page is not None:
            page.title = title
            page.label |= terms_of(title)
            page.text = terms
            page.read_at = self._monotonic()

    def ranked(self, query: str) -> tuple[KnownPage, ...]:
        """Return all pages: those that were read alternate with the others, each best first."""
        wanted = terms_of(query)
        read = [page for page in self._pages.values() if self.is_read(page)]
        others = [page for page in self._pages.values() if not self.is_read(page)]
        read.sort(key=lambda page: -len(wanted & (page.label | page.text)))
        others.sort(key=lambda page: -len(wanted & page.label))
        return tuple(p for p in chain.from_iterable(zip_longest(others, read)) if p is not None)

    def unseen(self, ranked: Iterable[KnownPage]) -> int:
        """Count the pages that were not read and are not among the hits that will be."""
        return sum(not self.is_read(page) for page in tuple(ranked)[MIN_HITS_READ:])

    def is_read(self, page: KnownPage) -> bool:
        """Say whether what a page says is known."""
        return page.read_at is not None and self._monotonic() - page.read_at < KNOWN_SECONDS


def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a text as they are compared, and the words of its identifiers."""
    found = [term.casefold() for term in content_terms(text)[:MOST_TERMS]]
    return frozenset(found).union(*map(parts_of, found))


async def terms_of_page(page: Page) -> frozenset[str]:
    """Return the terms of what a page shows; that of a long one takes a while."""
    shown = "\n".join(b.text for b in page.blocks if b.kind is not BlockKind.HIDDEN)
    return await asyncio.to_thread(terms_of, shown)


def _terms_of_address(locator: str) -> frozenset[str]:
    parts = urlsplit(locator)
    return terms_of(" ".join(unquote(f"{parts.path} {parts.query}").replace("/", " ").split()))
