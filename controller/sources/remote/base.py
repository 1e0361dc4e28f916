"""What every remote source has in common: its address, its key, and how a page is read.

A search names documents and a read fetches one of them. Nothing is repeated here and no error is
swallowed: each has a class of docs/sources.md, and the journal decides what becomes of it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pydantic import SecretStr

from controller.api.errors import (
    BlockedAddressError,
    PermanentError,
    SourceNotReadyError,
    UserError,
)
from controller.api.reasons import ReadyReason
from controller.api.source import ResearchSource, Robots, addresses_of
from controller.connections import ConnectionGuard, Origin, origin_of
from controller.ports import Reread, SearchOutcome, Source, SourceObservation
from controller.sources.remote.documents import Owner
from controller.sources.remote.page import Page, read_page
from controller.sources.web.failures import FetchFailure
from controller.sources.web.fetcher import Fetched, Fetcher
from controller.sources.web.locators import canonical_locator
from controller.sources.web.request import FetchRules, Request

ROBOTS_IGNORED = "robots files are not asked: spec.robots is Ignore"


class Key(Protocol):
    """The key of one source: where it comes from is not the source's business."""

    async def require(self) -> None:
        """Check that the key is there; nothing to check where the source names none.

        Raises:
            SourceNotReadyError: it is not, or it cannot be used; the reason is `SecretNotFound`.
        """
        ...

    async def value(self, *, fresh: bool = False) -> SecretStr | None:
        """Return the key, None where the source names none; `fresh`: read it now.

        Raises:
            StoreError: it cannot be read, so nothing is sent.
        """
        ...


class NoKey:
    """The `Key` of a source that names none."""

    async def require(self) -> None:
        """Do nothing."""

    async def value(self, *, fresh: bool = False) -> None:  # noqa: ARG002 - as the port's
        """Return None."""
        return


@dataclass(frozen=True, kw_only=True)
class Network:
    """How a source reaches its server, under which guard, and with which key."""

    fetcher: Fetcher
    guard: ConnectionGuard
    key: Key


class RemoteSource(ABC, Source):
    """A source that asks a server; a search names documents, which are read one by one."""

    def __init__(self, resource: ResearchSource, network: Network) -> None:
        """Make a source of a resource that its schema accepts, without I/O."""
        self._resource = resource
        self._spec = resource.spec
        self._network = network
        self._owner = Owner(
            name=resource.metadata.name,
            priority=resource.spec.priority,
            origin_key=resource.spec.origin_key,
        )

    @property
    def name(self) -> str:
        """The name of the `ResearchSource`."""
        return self._owner.name

    @property
    def max_results(self) -> int:
        """How many hits a search may return, from the source's spec."""
        return self._spec.max_results

    @property
    def is_remote(self) -> bool:
        """Searches and reads are calls to somebody else."""
        return True

    async def observe(self) -> SourceObservation:
        """Check the addresses and the key; the server itself is not asked.

        Raises:
            SourceNotReadyError: `AddressBlocked` or `SecretNotFound`.
        """
        await asyncio.gather(*(self._require(*address) for address in addresses_of(self._spec)))
        await self._network.key.require()
        ignores = self._spec.robots is Robots.IGNORE
        return SourceObservation(warnings=(ROBOTS_IGNORED,) if ignores else ())

    @abstractmethod
    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Name the documents that a query finds; `terms` are not weighed.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """

    async def read(self, locator: str) -> Reread:
        """Fetch and read one page, by the URL of a hit or of what was cited before.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will; the page's own classes close its hit.
        """
        return _as_read(await self._read_page(locator))

    @property
    def _own_origins(self) -> frozenset[Origin]:
        """The origins that pages may have though they are closed to others; none, as a rule.

        Where a search leads is fetched under the strict rule.
        """
        return frozenset()

    @cached_property
    def _spec_origins(self) -> frozenset[Origin]:
        """The origins that the spec names; `observe` has looked at them."""
        return frozenset(origin_of(url) for _, url in addresses_of(self._spec))

    @property
    def _page_rules(self) -> FetchRules:
        return FetchRules(
            own_origins=self._own_origins,
            seconds=self._spec.timeout_seconds,
            obey_robots=self._spec.robots is Robots.RESPECT,
        )

    async def _read_page(self, locator: str) -> Page:
        """Fetch and read a page.

        Raises:
            ActionError: it could not be fetched, or is no document.
        """
        try:
            fetched = await self._network.fetcher.fetch(Request(url=locator), self._page_rules)
        except PermanentError as error:
            if error.error_class == FetchFailure.BAD_REQUEST:  # of a document: it is none
                raise PermanentError(FetchFailure.SOFT_FAILURE, str(error)) from None
            raise
        return await asyncio.to_thread(read_page, fetched, self._found_at(fetched), self._owner)

    def _found_at(self, fetched: Fetched) -> str:
        """Return the canonical locator of what was fetched: where it was found in the end."""
        try:
            return canonical_locator(fetched.url)
        except UserError as error:
            raise PermanentError(FetchFailure.BLOCKED_ADDRESS, str(error)) from None

    async def _require(self, field: str, url: str) -> None:
        try:
            await self._network.guard.require(url)
        except BlockedAddressError as error:
            raise SourceNotReadyError(
                ReadyReason.ADDRESS_BLOCKED, f"spec.{field}: {error}"
            ) from None


def _as_read(page: Page) -> Reread:
    return Reread(page.document, page.blocks)
