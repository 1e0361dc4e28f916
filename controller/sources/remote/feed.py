"""RSS and Atom feeds: the pages of their entries are read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from controller.api.errors import ActionError, UserError
from controller.api.source import ResearchSource
from controller.connections import Origin
from controller.ports import Reread, SearchOutcome
from controller.sources.remote.base import Network
from controller.sources.remote.feeds import Feed, NoFeedError, read_feed
from controller.sources.remote.hits import Result, outcome_of, plain
from controller.sources.remote.interface import Interface
from controller.sources.remote.known_pages import KnownPages, terms_of_page
from controller.sources.web.failures import FetchFailure, fetch_error, named
from controller.sources.web.fetcher import Fetched
from controller.sources.web.locators import canonical_locator
from controller.sources.web.request import Request, joined


@dataclass(frozen=True)
class _Copy:
    """A feed as it was fetched last, and what to ask with whether it changed."""

    feed: Feed
    url: str
    etag: str | None
    last_modified: str | None


class FeedSource(Interface):
    """A feed; its entries are ranked by the words of their titles and summaries."""

    def __init__(
        self, resource: ResearchSource, network: Network, pages: KnownPages | None = None
    ) -> None:
        """Make a source; `pages` is what it knows, None: nothing yet."""
        super().__init__(resource, network)
        self._pages = pages or KnownPages()
        self._copy: _Copy | None = None

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Rank the entries of the feed as it is now, by the words of a query.

        The outcome is `Partial` while there is an entry whose page nobody has looked at, beyond
        the hits that are read anyway, and where there is no entry.
        """
        del terms
        self._copy = copy = await self._newest()
        warnings = self._know(copy)
        ranked = self._pages.ranked(query)
        if not ranked:
            warnings.append(f"{named(self._address)} has no entries")
        if unseen := self._pages.unseen(ranked):
            warnings.append(f"{unseen} entries were not read yet: only their summaries are known")
        summaries = {_locator(copy.url, e.link): e.summary for e in copy.feed.entries}
        return outcome_of(
            (Result(p.locator, p.title, summaries.get(p.locator, "")) for p in ranked),
            limit,
            warnings=warnings,
        )

    async def read(self, locator: str) -> Reread:
        """Fetch and read the page of an entry.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will; the page's own classes close its hit.
        """
        page = await self._read_page(locator)
        self._pages.take_in(locator, page.document.title, await terms_of_page(page))
        return Reread(page.document, page.blocks)

    @property
    def _address(self) -> str:
        assert self._spec.feed is not None
        return self._spec.feed.url

    @property
    def _field(self) -> str:
        return "spec.feed.url"

    @property
    def _own_origins(self) -> frozenset[Origin]:
        return self._spec_origins

    async def _newest(self) -> _Copy:
        """Return the feed as it is now; the copy at hand, where the server says that it is that."""
        known = self._copy
        fetched = await self._ask(
            Request(
                url=self._address,
                etag=known.etag if known else None,
                last_modified=known.last_modified if known else None,
            )
        )
        if known is not None and fetched.status == HTTPStatus.NOT_MODIFIED:
            return known
        return await asyncio.to_thread(_copy_of, fetched)

    def _know(self, copy: _Copy) -> list[str]:
        """Know the pages of the feed's entries and no others; return what is left out."""
        located = [(_locator(copy.url, entry.link), entry) for entry in copy.feed.entries]
        self._pages.keep_only(locator for locator, _ in located if locator is not None)
        without = 0
        for locator, entry in located:
            if locator is None:
                without += 1
                continue
            title = plain(entry.title)
            if self._pages.get(locator) is None:
                self._pages.add(locator, title, 0)
                self._pages.add(locator, plain(entry.summary), 0)
        warnings = [f"{without} entries have no link that can be followed"] if without else []
        if self._pages.is_full:
            warnings.append(f"only the first {len(self._pages)} entries are looked at")
        return warnings


def _copy_of(fetched: Fetched) -> _Copy:
    try:
        feed = read_feed(fetched.body)
    except NoFeedError as error:
        message = f"{named(fetched.url)} answered with what is no feed ({error})"
        raise fetch_error(FetchFailure.BAD_RESPONSE, message) from None
    return _Copy(feed, fetched.url, fetched.etag, fetched.last_modified)


def _locator(feed_url: str, link: str) -> str | None:
    """Return where the page of an entry is; None: its link leads nowhere that could be read."""
    if not link.strip():
        return None
    try:
        return canonical_locator(joined(feed_url, link.strip()))
    except (UserError, ActionError):
        return None
