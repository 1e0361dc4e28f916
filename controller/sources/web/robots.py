"""Robots files: what a site lets programs read, kept in memory for a day.

Protego matches the rules. It is given only the groups that speak to us: its work grows with the
product of agents and rules, and a hostile file has thousands of both.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from protego import Protego

from controller.api.errors import ActionError
from controller.connections import Origin
from controller.sources.web.failures import FetchFailure, status_error

PRODUCT: Final = "Fixpoint"
"""The product token: how a robots file and a page's directives call us."""

KEPT_SECONDS: Final = 24 * 3600.0
LONGEST_FILE: Final = 512 * 1024
"""So many bytes of a robots file are read; RFC 9309 asks for 500 KiB at least."""

_MOST_FILES: Final = 1024
_MOST_BYTES: Final = 4 * 1024 * 1024
"""So much text of rules is kept in all; what was not asked for longest goes first."""

_AGENT_LINE: Final = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*([^#]*)", re.IGNORECASE)
_SITE_LINE: Final = re.compile(r"\s*(site-?maps?|host)\s*[:\s]", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[a-z_-]+|\*", re.IGNORECASE)

_NOT_REACHED: Final = frozenset(
    {
        FetchFailure.BLOCKED_ADDRESS,
        FetchFailure.DNS,
        FetchFailure.RATE_LIMITED,
        FetchFailure.TLS,
        FetchFailure.UNREACHABLE,
    }
)
"""What says nothing of the rules: the page could not be fetched either, and nothing is kept."""


class RobotsAnswer(NamedTuple):
    """What a server answers where its robots file should be."""

    url: str
    status: int
    body: bytes
    retry_after_seconds: float | None


class Permission(NamedTuple):
    """What a robots file says of one URL; `delay_seconds` is its Crawl-delay, 0: it has none."""

    is_allowed: bool
    delay_seconds: float


@dataclass(frozen=True)
class RobotsRules:
    """The rules of one origin that are for us; `size` is the length of their text."""

    protego: Protego | None
    size: int = 0

    async def permission(self, url: str) -> Permission:
        """Say whether a URL may be read; the rules of a hostile file take long to match."""
        if self.protego is None:
            return Permission(is_allowed=False, delay_seconds=0)
        allowed = await asyncio.to_thread(self.protego.can_fetch, url, PRODUCT)
        return Permission(allowed, self.protego.crawl_delay(PRODUCT) or 0)


NOTHING_ALLOWED: Final = RobotsRules(None)


def parsed_rules(body: bytes) -> RobotsRules:
    """Read a robots file; what cannot be read forbids nothing."""
    text = "\n".join(("User-agent: *", *_for_us(body.decode("utf-8-sig", "replace"))))
    return RobotsRules(Protego.parse(text), len(text))


def _for_us(text: str) -> Iterator[str]:
    """Yield the rules that name us, or where none does, those for everybody."""
    named: list[str] = []
    general: list[str] = []
    agents: set[str] = set()
    is_named = is_in_rules = False
    for line in text.splitlines():
        content = line.partition("#")[0]
        if not content.strip() or _SITE_LINE.match(content):
            continue
        if (agent := _AGENT_LINE.match(content)) is not None:
            if is_in_rules:
                agents, is_in_rules = set(), False
            token = _TOKEN.match(agent[1])
            agents |= {token[0].lower()} if token else set()
            is_named |= PRODUCT.lower() in agents
            continue
        is_in_rules = True
        if PRODUCT.lower() in agents:
            named.append(content)
        if "*" in agents:
            general.append(content)
    yield from named if is_named else general


class RobotsFiles:
    """The robots files of the process: each is read once a day, by one reader at a time."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: OrderedDict[tuple[Origin, bool], tuple[float, RobotsRules]] = OrderedDict()
        self._locks: WeakValueDictionary[tuple[Origin, bool], asyncio.Lock] = WeakValueDictionary()

    async def rules_of(
        self, origin: Origin, *, is_own: bool, read: Callable[[], Awaitable[RobotsAnswer]]
    ) -> RobotsRules:
        """Return the rules of an origin.

        Args:
            origin: whose rules.
            is_own: whether the source that asks names the origin: others do not reach it by the
                same way, and learn nothing of what it answers.
            read: asks for the file.

        Raises:
            ActionError: the file could not be asked for, so the page cannot be either.
        """
        key = (origin, is_own)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            rules = self._known(key)
            if rules is None:
                rules = await _read_rules(read)
                self._keep(key, rules)
            return rules

    def _known(self, key: tuple[Origin, bool]) -> RobotsRules | None:
        found = self._kept.get(key)
        if found is None or self._monotonic() >= found[0] + KEPT_SECONDS:
            return None
        self._kept.move_to_end(key)
        return found[1]

    def _keep(self, key: tuple[Origin, bool], rules: RobotsRules) -> None:
        self._kept[key] = (self._monotonic(), rules)
        self._kept.move_to_end(key)
        total = sum(kept.size for _, kept in self._kept.values())
        while len(self._kept) > 1 and (len(self._kept) > _MOST_FILES or total > _MOST_BYTES):
            _, (_, dropped) = self._kept.popitem(last=False)
            total -= dropped.size


async def _read_rules(read: Callable[[], Awaitable[RobotsAnswer]]) -> RobotsRules:
    try:
        answer = await read()
    except ActionError as error:
        if error.error_class in _NOT_REACHED:
            raise
        return NOTHING_ALLOWED
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise status_error(answer.url, answer.status, answer.retry_after_seconds)
    if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return await asyncio.to_thread(parsed_rules, answer.body)
    if HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return parsed_rules(b"")
    return NOTHING_ALLOWED
