"""One request and its answer, through the connection guard: no redirect, no retry, no memory.

Every exchange has a connection of its own, so that a name is resolved and looked at each time,
and nothing that a server sends too much is taken for the answer to the next request.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import httpcore2
import httpx2

from controller.api.errors import ActionError, BlockedAddressError
from controller.connections import ConnectionGuard, Origin, guarded_client
from controller.sources.web.body import ACCEPT_ENCODING, BodyBounds, read_body
from controller.sources.web.failures import FetchFailure, exchange_error, fetch_error
from controller.sources.web.request import REDIRECTS, Request

LONGEST_ERROR: Final = 64 * 1024
"""So many bytes of an answer are kept whose status is not 200."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How long parts of a fetch may take, in seconds, and how much of a body is read.

    Attributes:
        connect_seconds: to resolve a name and connect, and again for TLS.
        read_seconds: between two parts of an answer.
        robots_seconds: for a robots file, its redirects included.
        body: how much is read.
    """

    connect_seconds: float = 5.0
    read_seconds: float = 10.0
    robots_seconds: float = 10.0
    body: BodyBounds = field(default_factory=BodyBounds)


@dataclass(frozen=True)
class Answer:
    """One answer as it came, to a URL as it was sent; of a redirect the body is not read."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def location(self) -> str | None:
        """Where the answer redirects to; None: it is no redirect."""
        return self.headers.get("location") if self.status in REDIRECTS else None


class Exchanges:
    """Sends requests: those of a source to its own origins one way, all others the strict way."""

    def __init__(
        self,
        guard: ConnectionGuard,
        *,
        user_agent: str,
        bounds: Bounds,
        context: ssl.SSLContext | None = None,
        network: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        context = context or httpx2.create_ssl_context()
        self._guard = guard
        self._user_agent = user_agent
        self._bounds = bounds
        self._own = guarded_client(guard, context=context, network=network)
        self._strict = guarded_client(guard.strict(), context=context, network=network)

    async def aclose(self) -> None:
        """Close what is open."""
        await self._own.aclose()
        await self._strict.aclose()

    async def send(
        self, request: Request, origin: Origin, *, is_own: bool, cut_at: int | None = None
    ) -> Answer:
        """Exchange one request for one answer, whatever its status is.

        Args:
            request: what to ask for; `admitted` has let its URL pass.
            origin: that of the URL.
            is_own: whether the source's spec names the origin.
            cut_at: cut a longer body at so many bytes; None: refuse it.

        Raises:
            RetryableError: no whole answer came.
            PermanentError: nothing may be sent there, or the body is too large.
        """
        client = self._own if is_own else self._strict
        outgoing = self._outgoing(request)
        try:
            answer = await client.send(outgoing, stream=True, auth=None, follow_redirects=False)
            try:
                return await self._received(request, answer, cut_at)
            finally:
                await answer.aclose()
        except BlockedAddressError as error:
            raise self._blocked(error, origin, is_own=is_own) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise exchange_error(request.url, error) from None

    def _outgoing(self, request: Request) -> httpx2.Request:
        headers = {
            "accept": "*/*",
            **{name.lower(): value for name, value in request.headers.items()},
            **{n.lower(): v.get_secret_value() for n, v in request.secret_headers.items()},
            **_conditions(request),
            "accept-encoding": ACCEPT_ENCODING,
            "user-agent": self._user_agent,
            "connection": "close",
        }
        if request.body is not None:
            headers["content-type"] = request.content_type
        bounds = self._bounds
        timeout = httpx2.Timeout(bounds.read_seconds, connect=bounds.connect_seconds)
        return httpx2.Request(
            "GET" if request.body is None else "POST",
            request.url,
            headers=headers,
            content=request.body,
            extensions={"timeout": timeout.as_dict()},
        )

    async def _received(
        self, request: Request, answer: httpx2.Response, cut_at: int | None
    ) -> Answer:
        status = answer.status_code
        if status == HTTPStatus.OK:
            body = await self._body(request, answer, cut_at)
        elif status in REDIRECTS:
            body = b""
        else:
            body = await self._error_body(request, answer)
        url = str(answer.request.url.copy_with(fragment=None))
        return Answer(url, status, answer.headers, _without_secrets(body, request))

    async def _body(self, request: Request, answer: httpx2.Response, cut_at: int | None) -> bytes:
        bounds = self._bounds.body
        return await read_body(
            request.url,
            answer.aiter_raw(),
            encodings=answer.headers.get("content-encoding", "").split(","),
            announced=answer.headers.get("content-length"),
            bounds=bounds if cut_at is None else bounds.cut_at(cut_at),
        )

    async def _error_body(self, request: Request, answer: httpx2.Response) -> bytes:
        """Return the words of an error; the status counts, also where they cannot be read."""
        try:
            return await self._body(request, answer, LONGEST_ERROR)
        except (ActionError, httpx2.HTTPError):
            return b""

    def _blocked(self, error: BlockedAddressError, origin: Origin, *, is_own: bool) -> ActionError:
        if is_own or not self._guard.opens(origin):
            return fetch_error(FetchFailure.BLOCKED_ADDRESS, str(error))
        return fetch_error(
            FetchFailure.BLOCKED_ADDRESS,
            f"the origin {origin} is open only to sources whose spec names it, not to where a "
            "page, a redirect or a search leads",
        )


def _conditions(request: Request) -> Mapping[str, str]:
    conditions = {"if-none-match": request.etag, "if-modified-since": request.last_modified}
    return {name: value for name, value in conditions.items() if value is not None}


def _without_secrets(body: bytes, request: Request) -> bytes:
    """Return a body without the secrets that were sent for it: a server may repeat them."""
    for secret in request.secrets:
        body = body.replace(secret.encode(), b"[secret]")
    return body
