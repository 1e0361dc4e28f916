"""What is asked for, under which rules, and what a redirect makes of it. Pure.

A source's own origins are those that its spec names. They alone may be origins that the
operator's owner has opened: where a page or a search result leads is fetched under the strict
rule, so that an origin opened for one source, or for a model, is no way in for another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

import httpx2
from pydantic import SecretStr

from controller.api.errors import UserError
from controller.connections import Origin, origin_of
from controller.sources.web.failures import FetchFailure, fetch_error, named

USUAL_PORTS: Final = frozenset({80, 443})
LONGEST_URL: Final = 2048
"""How many characters a URL has at most: as many as a record's locator."""

MOST_REDIRECTS: Final = 5

_SHORTEST_SECRET: Final = 8
"""A shorter secret is none, and taking it out would spoil true text."""

REDIRECTS: Final = frozenset(
    {
        HTTPStatus.MOVED_PERMANENTLY,
        HTTPStatus.FOUND,
        HTTPStatus.SEE_OTHER,
        HTTPStatus.TEMPORARY_REDIRECT,
        HTTPStatus.PERMANENT_REDIRECT,
    }
)


@dataclass(frozen=True, kw_only=True)
class FetchRules:
    """What a source's spec says about its requests.

    Attributes:
        own_origins: the origins that the spec names; only these may be opened ones.
        ports: the ports that any other origin may have.
        seconds: how long a fetch may take, redirects and robots files included; time spent
            waiting for a turn is not part of it.
        obey_robots: whether robots files are asked; a program's interface is no page to crawl.
        least_delay_seconds: the least time between two requests to one host, if that is more
            than what is usual.
    """

    own_origins: frozenset[Origin] = frozenset()
    ports: frozenset[int] = USUAL_PORTS
    seconds: float = 30.0
    obey_robots: bool = True
    least_delay_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Request:
    """One document or answer to ask for: a GET, or a POST where there is a body.

    Attributes:
        url: where it is; a fragment is not sent.
        headers: sent along, wherever redirects lead.
        secret_headers: sent to the URL's own origin alone.
        etag: the one of the copy at hand: the answer may be 304.
        last_modified: the time of the copy at hand, as the server wrote it.
        body: what is posted; such a request is not redirected.
        content_type: the type of `body`.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: Mapping[str, SecretStr] = field(default_factory=dict)
    etag: str | None = None
    last_modified: str | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"

    @property
    def is_conditional(self) -> bool:
        """Whether 304 would be an answer."""
        return self.etag is not None or self.last_modified is not None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be seen again, without what is too short to be one."""
        values = (value.get_secret_value() for value in self.secret_headers.values())
        return tuple(value for value in values if len(value) >= _SHORTEST_SECRET)

    def repeats_secret(self, text: str) -> bool:
        """Whether a text holds what was sent in secret."""
        return any(secret in text for secret in self.secrets)


def admitted(url: str, rules: FetchRules) -> Origin:
    """Return the origin of a URL that may be asked for as far as its text goes.

    Raises:
        PermanentError: `BlockedAddress`: another scheme, a user, a port that is not open, a host
            that is none, or the URL is too long.
    """
    try:
        origin = origin_of(url)
    except UserError as error:
        raise fetch_error(FetchFailure.BLOCKED_ADDRESS, str(error)) from None
    if len(str(httpx2.URL(url))) > LONGEST_URL:
        message = f"{named(url)} is longer than {LONGEST_URL} characters"
        raise fetch_error(FetchFailure.BLOCKED_ADDRESS, message)
    if origin not in rules.own_origins and origin.port not in rules.ports:
        ports = ", ".join(map(str, sorted(rules.ports)))
        raise fetch_error(
            FetchFailure.BLOCKED_ADDRESS,
            f"{named(url)} has port {origin.port}: it must be one of {ports}, or the source's "
            "spec must name this origin",
        )
    return origin


def redirected(request: Request, location: str) -> Request:
    """Return what a redirect asks for instead; what is secret stays with its origin.

    Raises:
        PermanentError: it may not be followed.
        RetryableError: `BadResponse`: it leads to no URL, or to one that repeats a secret.
    """
    if request.body is not None:
        raise fetch_error(
            FetchFailure.BAD_REQUEST,
            f"{named(request.url)} redirects what is posted to it; the source's spec must name "
            "the address itself",
        )
    if request.repeats_secret(location):
        message = f"{named(request.url)} redirects to a URL with the key that it was sent"
        raise fetch_error(FetchFailure.BAD_RESPONSE, message)
    before, url = origin_of(request.url), joined(request.url, location)
    try:
        after = origin_of(url)
    except UserError as error:
        message = f"{named(request.url)} redirects to where nothing is sent: {error}"
        raise fetch_error(FetchFailure.BLOCKED_ADDRESS, message) from None
    if (before.scheme, after.scheme) == ("https", "http"):
        raise fetch_error(
            FetchFailure.TLS,
            f"{named(request.url)} redirects from https to http, to {named(url)}: that is not "
            "followed",
        )
    if after == before:
        return replace(request, url=url)
    return replace(request, url=url, secret_headers={}, etag=None, last_modified=None)


def joined(base: str, reference: str) -> str:
    """Return where a reference on a page or in a redirect leads, without a fragment.

    Raises:
        RetryableError: `BadResponse`: it is no URL.
    """
    try:
        return str(httpx2.URL(base).join(reference).copy_with(fragment=None))
    except (httpx2.InvalidURL, UnicodeError):
        message = f"{named(base)} redirects to what is no URL"
        raise fetch_error(FetchFailure.BAD_RESPONSE, message) from None
