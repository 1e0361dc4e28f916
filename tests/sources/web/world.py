"""A small internet of scripted sites: names resolve to public addresses, and lead to this machine.

The connection guard and everything above it are the real ones. Below it, what it has let through
is recorded, and then led to a site's port on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpcore2

from controller.api.errors import PermanentError, RetryableError
from controller.clock import SteppedClock
from controller.connections import ConnectionGuard, OpenedOrigins, Origin, origin_of
from controller.sources.web.exchange import Bounds
from controller.sources.web.fetcher import Delays, Fetched, Fetcher
from controller.sources.web.request import FetchRules, Request
from tests.sources.web.site import Site, trusting

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
NO_DELAYS: Final = Delays(usual=0, opened=0)
HASTY: Final = Bounds(connect_seconds=2, read_seconds=0.3)
"""For servers that are slow on purpose: a test need not wait as long as the operator does."""

PLAIN: Final = FetchRules(obey_robots=False)
_TRUST: Final = trusting()


@dataclass
class World(httpcore2.AsyncNetworkBackend):
    """Names and sites. `answers` overrides what a name resolves to; the last answer stays."""

    sites: dict[str, Site] = field(default_factory=dict)
    answers: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._addresses: dict[str, str] = {}

    def address_of(self, host: str) -> str:
        """Return the public address of a host."""
        return self._addresses.setdefault(host, f"93.184.215.{len(self._addresses) + 1}")

    async def resolve(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - as the guard's
        """Answer as a resolver does."""
        self.asked.append(host)
        if answers := self.answers.get(host.removesuffix(".")):
            return answers.pop(0) if len(answers) > 1 else answers[0]
        if any(host.removesuffix(".") == origin_of(url).host for url in self.sites):
            return [self.address_of(host.removesuffix("."))]
        raise OSError("no such name")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the library's
        local_address: str | None = None,  # noqa: ARG002 - as above
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Record where a connection goes that the guard has let through, and lead it to a site."""
        self.connected.append((host, port))
        for url, site in self.sites.items():
            origin = origin_of(url)
            if (self.address_of(origin.host), origin.port) == (host, port):
                network = httpcore2.AnyIOBackend()
                return await network.connect_tcp("127.0.0.1", site.port, timeout)
        raise httpcore2.ConnectError("nothing listens there")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def fetcher(self, *opened: str, **options: Any) -> Fetcher:  # noqa: ANN401 - any option
        """Return a fetcher in this world, without delays unless the options say otherwise."""
        guard = ConnectionGuard(OpenedOrigins.parse(opened), resolve=self.resolve)
        return Fetcher(
            guard,
            **{
                "clock": SteppedClock(NOW, timedelta(0)),
                "delays": NO_DELAYS,
                "context": _TRUST,
                "network": self,
                **options,
            },
        )


def own(*urls: str, **rules: Any) -> FetchRules:  # noqa: ANN401 - any rule
    """Return the rules of a source whose spec names these origins, robots files set aside."""
    origins: frozenset[Origin] = frozenset(map(origin_of, urls))
    return FetchRules(**{"own_origins": origins, "obey_robots": False, **rules})


async def fetched(
    world: World,
    url: str,
    rules: FetchRules = PLAIN,
    *,
    opened: str | None = None,
    **options: Any,  # noqa: ANN401 - any option
) -> Fetched:
    """Fetch one URL with a fetcher of its own; `opened` is an origin that its owner opened."""
    async with world.fetcher(*([opened] if opened else []), **options) as fetcher:
        return await fetcher.fetch(Request(url=url), rules)


async def failure(
    world: World,
    url: str,
    rules: FetchRules = PLAIN,
    **options: Any,  # noqa: ANN401 - any option
) -> PermanentError | RetryableError:
    """Fetch one URL and return the error that it ends with."""
    try:
        found = await fetched(world, url, rules, **options)
    except (PermanentError, RetryableError) as error:
        return error
    raise AssertionError(f"{url} was fetched: {found}")
