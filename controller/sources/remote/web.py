"""Pages of the web that a spec names, and those that they link to on hosts that it allows.

There is no engine: the source ranks the pages that it knows. A link is followed only if its host
is allowed and its page is near enough; no other URL of a page's text is ever asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from controller.api.errors import ActionError, PermanentError, UserError
from controller.api.source import ResearchSource, Web
from controller.connections import Origin, origin_of
from controller.ports import Reread, SearchOutcome
from controller.sources.remote.base import Network, RemoteSource
from controller.sources.remote.hits import Result, outcome_of
from controller.sources.remote.known_pages import KnownPage, KnownPages, terms_of_page
from controller.sources.remote.page import Page
from controller.sources.web.failures import FetchFailure, named
from controller.sources.web.fetcher import Fetched
from controller.sources.web.locators import canonical_locator
from controller.sources.web.origin_keys import origin_key

MOST_EXPLORED: Final = 3
"""So many pages are fetched for one search, to learn where they lead."""


class WebSource(RemoteSource):
    """Given pages and, up to a depth, those that they link to."""

    def __init__(
        self, resource: ResearchSource, network: Network, pages: KnownPages | None = None
    ) -> None:
        """Make a source; `pages` is what it knows, None: nothing yet."""
        super().__init__(resource, network)
        self._pages = pages or KnownPages()

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Rank the pages that are known, by the words of a query.

        Where links are followed, up to three pages are fetched first whose links are not known;
        one that cannot be is a warning, and its own hit says why. The outcome is `Partial` while
        there is a page that nobody has looked at, beyond the hits that are read anyway.
        """
        del terms
        self._know_given()
        warnings = [str(error) for error in await self._explore(query)]
        ranked = self._pages.ranked(query)
        if unseen := self._pages.unseen(ranked):
            warnings.append(f"{unseen} pages were not read yet: nothing is known of their text")
        if unexplored := self._unexplored():
            warnings.append(f"where {len(unexplored)} pages lead is not known yet")
        if self._pages.is_full:
            warnings.append(f"there are more than {len(self._pages)} pages; the rest is left out")
        return outcome_of(
            (Result(page.locator, page.title) for page in ranked), limit, warnings=warnings
        )

    async def read(self, locator: str) -> Reread:
        """Fetch and read one page; its links become known.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will; `BlockedAddress` where the spec does not allow it.
        """
        self._know_given()
        page = await self._visit(locator)
        return Reread(page.document, page.blocks)

    @property
    def _web(self) -> Web:
        assert self._spec.web is not None
        return self._spec.web

    @property
    def _own_origins(self) -> frozenset[Origin]:
        return self._spec_origins

    @property
    def _hosts(self) -> frozenset[str]:
        return frozenset({*self._web.allowed_hosts, *(o.host for o in self._spec_origins)})

    def _know_given(self) -> None:
        """Know the pages that the spec names.

        Raises:
            PermanentError: `BlockedAddress`: one of them is too long to be asked for.
        """
        for url in self._web.urls:
            try:
                self._pages.add(canonical_locator(url), url, 0)
            except UserError as error:
                message = f"spec.web.urls: {error}"
                raise PermanentError(FetchFailure.BLOCKED_ADDRESS, message) from None

    def _unexplored(self) -> list[KnownPage]:
        """Return the pages whose links count and are not known."""
        return [p for p in self._pages if p.depth < self._web.max_depth and not p.is_explored]

    async def _explore(self, query: str) -> list[ActionError]:
        """Learn where some pages lead, the best for a query first; return what went wrong."""
        unexplored = {page.locator for page in self._unexplored()}
        ranked = (p for p in self._pages.ranked(query) if p.locator in unexplored)
        errors: list[ActionError] = []
        for page in [p for p in ranked if not p.has_failed][:MOST_EXPLORED]:
            try:
                await self._visit(page.locator)
            except ActionError as error:
                page.has_failed = True
                errors.append(error)
        return errors

    async def _visit(self, locator: str) -> Page:
        """Fetch and read a page, and take in what it says and where it leads."""
        self._require_allowed(locator)
        page = await self._read_page(locator)
        known = self._pages.get(locator)
        if known is None:  # a hit of an earlier process: how far away it is, is not known
            return page
        self._pages.take_in(locator, page.document.title, await terms_of_page(page))
        known.is_explored = True
        if known.depth < self._web.max_depth:
            self._know_links(page, known.depth)
        return page

    def _know_links(self, page: Page, depth: int) -> None:
        """Know where a page leads: on allowed hosts, and on the one that a given URL leads to."""
        hosts = self._hosts | ({origin_of(page.document.locator).host} if depth == 0 else set())
        for link in page.links:
            try:
                if origin_of(link.url).host in hosts:
                    self._pages.add(canonical_locator(link.url), link.text, depth + 1)
            except UserError:
                continue  # it leads nowhere that could be asked for

    def _found_at(self, fetched: Fetched) -> str:
        """Return where a page was found; a redirect may not lead to another owner's."""
        locator = super()._found_at(fetched)
        self._require_allowed(locator)
        return locator

    def _require_allowed(self, locator: str) -> None:
        """Refuse a page of an owner that the spec does not name.

        Raises:
            PermanentError: `BlockedAddress`.
        """
        host = urlsplit(locator).hostname or ""
        owners = {origin_key(f"https://{host}") for host in self._web.allowed_hosts}
        owners |= {origin_key(url) for url in self._web.urls}
        try:
            is_allowed = origin_key(locator) in owners
        except UserError as error:
            raise PermanentError(FetchFailure.BLOCKED_ADDRESS, str(error)) from None
        if not is_allowed:
            raise PermanentError(
                FetchFailure.BLOCKED_ADDRESS,
                f"{named(locator)} is on the host {host}, which the source does not allow; name "
                "it in spec.web.allowedHosts",
            )
