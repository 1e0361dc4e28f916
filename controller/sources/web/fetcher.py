"""Fetches documents and answers of remote sources: one logical request, and all that it needs.

A fetch is the request itself, its redirects and the robots files on its way. Each of them is a
request with its own turn, and goes through the connection guard. Nothing is repeated here: an
error says whether and when another attempt may help, and the journal decides.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, Self

import httpcore2

from controller import __version__
from controller.api.errors import UserError
from controller.api.waits import retry_after
from controller.connections import ConnectionGuard, Origin
from controller.ports import Clock
from controller.sources.web import headers
from controller.sources.web.exchange import Answer, Bounds, Exchanges
from controller.sources.web.failures import FetchFailure, fetch_error, named, status_error
from controller.sources.web.politeness import LONGEST_DELAY_SECONDS, USUAL_DELAY_SECONDS, Turns
from controller.sources.web.request import (
    MOST_REDIRECTS,
    FetchRules,
    Request,
    admitted,
    redirected,
)
from controller.sources.web.robots import LONGEST_FILE, PRODUCT, RobotsAnswer, RobotsFiles

_CONTACT: Final = re.compile(r"[!-'*-~]([ -'*-~]{0,198}[!-'*-~])?")


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What a fetch brought.

    Attributes:
        url: where it was found, after redirects.
        status: 200; 304 for a conditional request; of `exchange`, any other one.
        content_type: type and subtype in small letters as declared; empty: none.
        charset: as declared, in small letters; None: none.
        body: decoded; empty with 304, cut at 64 KiB with a status other than 200.
        etag: to ask again with; None: there is none that can be sent back.
        last_modified: the same.
        directives: which of `noarchive` and `noindex` the headers say.
        redirects: the URLs that led here, in their order.
        is_slowed: whether a robots file asks for a longer pause than is kept.
        retry_after_seconds: when the server wants to be asked again; None: it did not say.
    """

    url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes = field(repr=False)
    etag: str | None
    last_modified: str | None
    directives: frozenset[str]
    redirects: tuple[str, ...] = ()
    is_slowed: bool = False
    retry_after_seconds: float | None = None

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the body as a JSON value.

        Raises:
            RetryableError: `BadResponse`: it is none.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            message = f"{named(self.url)} answered with what is no JSON"
            raise fetch_error(FetchFailure.BAD_RESPONSE, message) from None


@dataclass(frozen=True, kw_only=True)
class Delays:
    """The least time between two requests to one host, in seconds; only tests have less than 1.

    Attributes:
        usual: for all hosts.
        opened: for origins that the operator's owner has opened, which are the owner's to burden.
    """

    usual: float = USUAL_DELAY_SECONDS
    opened: float = USUAL_DELAY_SECONDS


def user_agent(contact: str | None) -> str:
    """Return how we call ourselves.

    Args:
        contact: how a site's owner reaches the operator's: an address or a URL; None: not said.

    Raises:
        UserError: a header cannot hold it.
    """
    if contact is not None and not _CONTACT.fullmatch(contact):
        raise UserError(
            f"the contact {contact!r} must be at most 200 printable ASCII characters without "
            "parentheses, such as research@example.com or https://example.com/bot; correct it"
        )
    return f"{PRODUCT}/{__version__}" + (f" (+{contact})" if contact is not None else "")


class Fetcher:
    """Fetches for all sources of a process; the owner closes it."""

    def __init__(
        self,
        guard: ConnectionGuard,
        *,
        clock: Clock,
        contact: str | None = None,
        delays: Delays | None = None,
        bounds: Bounds | None = None,
        turns: Turns | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        context: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        """Make a fetcher.

        Args:
            guard: says where requests may go, and which origins are opened.
            clock: dates in `Retry-After` are taken from its time on.
            contact: as `user_agent` takes it.
            delays: how long hosts are left alone; None: as is usual.
            bounds: how long an exchange may take, and how large its body may be; None: as is
                usual.
            turns: hands out turns; None: turns of its own.
            monotonic: the clock by which robots files grow old.
            context: whom to trust; None: the usual authorities.
            network: as `guarded_client` takes it.
        """
        self._guard = guard
        self._clock = clock
        self._delays = delays or Delays()
        self._turns = turns or Turns()
        self._bounds = bounds or Bounds()
        self._robots = RobotsFiles(monotonic=monotonic)
        self._exchanges = Exchanges(
            guard,
            user_agent=user_agent(contact),
            bounds=self._bounds,
            context=context,
            network=network,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close what is open."""
        await self._exchanges.aclose()

    async def fetch(self, request: Request, rules: FetchRules) -> Fetched:
        """Fetch what there is at a URL: status 200, or 304 where the request is conditional.

        Raises:
            RetryableError: another attempt may succeed; the class is one of docs/fetching.md.
            PermanentError: no attempt will.
        """
        fetched = await self.exchange(request, rules)
        is_answer = fetched.status == HTTPStatus.OK or (
            fetched.status == HTTPStatus.NOT_MODIFIED and request.is_conditional
        )
        if not is_answer:
            raise status_error(fetched.url, fetched.status, fetched.retry_after_seconds)
        return fetched

    async def exchange(self, request: Request, rules: FetchRules) -> Fetched:
        """Fetch whatever a URL answers, also an error: an interface says more than its status.

        Raises:
            RetryableError: as `fetch`, where no whole answer came.
            PermanentError: the same.
        """
        deadline = _Deadline(rules.seconds)
        try:
            return await self._followed(request, rules, deadline)
        except TimeoutError:
            message = f"{named(request.url)} took longer than {rules.seconds:g} s in all"
            raise fetch_error(FetchFailure.TIMEOUT, message) from None

    async def _followed(
        self, request: Request, rules: FetchRules, deadline: _Deadline, cut_at: int | None = None
    ) -> Fetched:
        """Send a request and follow its redirects; each is looked at like the first one."""
        redirects: list[str] = []
        is_slowed = False
        while True:
            origin = admitted(request.url, rules)
            delay, is_slower = await self._delay(request.url, origin, rules, deadline)
            is_slowed |= is_slower
            async with self._turns.turn(origin.host, delay), deadline.running():
                answer = await self._exchanges.send(
                    request, origin, is_own=origin in rules.own_origins, cut_at=cut_at
                )
            if answer.location is None:
                return self._fetched(answer, tuple(redirects), is_slowed=is_slowed)
            if len(redirects) == MOST_REDIRECTS:
                message = f"{named(redirects[0])} redirects more than {MOST_REDIRECTS} times"
                raise fetch_error(FetchFailure.SOFT_FAILURE, message)
            redirects.append(answer.url)
            request = redirected(request, answer.location)

    async def _delay(
        self, url: str, origin: Origin, rules: FetchRules, deadline: _Deadline
    ) -> tuple[float, bool]:
        """Return how long the host is left alone before the request, and whether that is too short.

        Raises:
            PermanentError: `RobotsDisallowed`.
        """
        is_own = origin in rules.own_origins
        is_opened = is_own and self._guard.opens(origin)
        usual = self._delays.opened if is_opened else self._delays.usual
        least = max(usual, rules.least_delay_seconds)
        if not rules.obey_robots:
            return least, False
        file = await self._robots.rules_of(
            origin, is_own=is_own, read=self._robots_reader(origin, rules, deadline)
        )
        permission = await file.permission(url)
        if not permission.is_allowed:
            raise fetch_error(
                FetchFailure.ROBOTS_DISALLOWED,
                f"{named(url)} may not be read: the robots file of {origin} forbids it, or could "
                "not be read; spec.robots: Ignore of the source goes past it",
            )
        asked = permission.delay_seconds
        return max(least, min(asked, LONGEST_DELAY_SECONDS)), asked > LONGEST_DELAY_SECONDS

    def _robots_reader(
        self, origin: Origin, rules: FetchRules, deadline: _Deadline
    ) -> Callable[[], Awaitable[RobotsAnswer]]:
        """Return what reads a robots file, on the time of the fetch that needs it."""

        async def read() -> RobotsAnswer:
            request = Request(url=f"{origin}/robots.txt")
            seconds = self._bounds.robots_seconds
            part = _Deadline(min(seconds, deadline.seconds_left))
            try:
                found = await self._followed(
                    request, replace(rules, obey_robots=False), part, LONGEST_FILE
                )
            except TimeoutError:
                if part.seconds < seconds:  # it is the fetch that has no time left
                    raise
                message = f"{request.url} took longer than {seconds:g} s"
                raise fetch_error(FetchFailure.TIMEOUT, message) from None
            finally:
                deadline.spend(part)
            return RobotsAnswer(found.url, found.status, found.body, found.retry_after_seconds)

        return read

    def _fetched(self, answer: Answer, redirects: tuple[str, ...], *, is_slowed: bool) -> Fetched:
        said = answer.headers
        content_type = said.get("content-type", "")
        return Fetched(
            url=answer.url,
            status=answer.status,
            content_type=headers.media_type(content_type),
            charset=headers.declared_charset(content_type),
            body=answer.body,
            etag=headers.validator(said.get("etag")),
            last_modified=headers.validator(said.get("last-modified")),
            directives=headers.robots_directives(said.get_list("x-robots-tag"), PRODUCT),
            redirects=redirects,
            is_slowed=is_slowed,
            retry_after_seconds=retry_after(said, self._clock.now()),
        )


class _Deadline:
    """The time that a fetch has left; it runs only while `running`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.seconds_left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let time run, and raise `TimeoutError` where it is over."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(max(0.0, self.seconds_left)):
                yield
        finally:
            self.seconds_left -= loop.time() - began

    def spend(self, part: _Deadline) -> None:
        """Take off what a part of the fetch has used."""
        self.seconds_left -= part.seconds - part.seconds_left
