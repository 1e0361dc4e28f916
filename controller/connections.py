"""The connection guard: no request leaves for an address that only the operator can reach.

A host is resolved once, refused if any of its addresses is forbidden, and connected to at an
address that was looked at: a name that changes its answer in between gains nothing, TLS keeps
the name, and a redirect or a new connection passes here again. Who owns the operator opens
exact origins; no object of a tenant can.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, NamedTuple

import httpcore2
import httpx2

from controller.addresses import forbidden_address, forbidden_host, host_fault, is_literal
from controller.api.errors import BlockedAddressError, UserError

CONNECT_SECONDS: Final = 5.0
"""How long a connection may take to be there, the resolution of its name included."""

_MOST_ADDRESSES: Final = 4
"""So many addresses of a name are tried, each for its part of the time."""

_LIMITS: Final = httpx2.Limits(
    max_connections=256, max_keepalive_connections=32, keepalive_expiry=30.0
)
"""As many connections as there can be workers; few are kept, and not for long."""

_PORTS: Final = {"http": 80, "https": 443}

_AUTHORITY: Final = re.compile(r"[^/?#]*//([^/?#]*).*", re.DOTALL)
"""Where a user may stand in a URL; in a path `@` is a character like any other."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a name; raises `OSError` where it has none."""


class Origin(NamedTuple):
    """Where a URL leads: its scheme, its host in ASCII, and its port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True)
class OpenedOrigins:
    """The origins that the operator's configuration opens, whatever their addresses are."""

    origins: frozenset[Origin] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> OpenedOrigins:
        """Read origins as they are configured, such as `http://ollama.models.svc:11434`.

        Raises:
            UserError: one of them is no origin, or says more than an origin.
        """
        return cls(frozenset(_opened(text) for text in texts))

    @classmethod
    def of_urls(cls, urls: Iterable[str]) -> OpenedOrigins:
        """Open the origins of whole URLs, which their own user has written.

        Raises:
            UserError: one of them is no URL.
        """
        return cls(frozenset(origin_of(url) for url in urls))

    def __contains__(self, origin: object) -> bool:
        return origin in self.origins


def origin_of(url: str) -> Origin:
    """Return where a URL leads, read as the client that sends the request does.

    Raises:
        UserError: it is no URL, has another scheme, names a user or has no host that can be used.
    """
    return _origin(_url(url), url)


def _url(text: str) -> httpx2.URL:
    """Read a URL as the client that sends the request does.

    Raises:
        UserError: it is none.
    """
    try:
        return httpx2.URL(text)
    except (httpx2.InvalidURL, UnicodeError) as error:
        # The text is repeated without what may be a password.
        why = "it cannot be read" if "@" in text else str(error)
        raise UserError(f"{shown(text)!r} is no URL: {why}; correct it") from None


def shown(url: str) -> str:
    """Return a URL without a user and password that may stand in it, for messages."""
    return re.sub(r"^([^/]*//)?.*@", r"\1", url)


def _opened(text: str) -> Origin:
    url = _url(text)
    says_more = url.path not in {"", "/"} or url.query or url.fragment or "?" in text or "#" in text
    if says_more:
        raise UserError(
            f"{text!r} is no origin: it must be a scheme, a host and a port and nothing else, such "
            "as http://ollama.models.svc:11434; leave out what follows"
        )
    return _origin(url, text)


def _origin(url: httpx2.URL, text: str) -> Origin:
    if url.scheme not in _PORTS or not url.host:
        raise UserError(
            f"{shown(text)!r} must begin with http:// or https:// and name a host; correct it"
        )
    if url.userinfo or "@" in _AUTHORITY.sub(r"\1", text, count=1):
        raise UserError(
            f"the URL {shown(text)!r} must name no user and no password; a key belongs in a Secret"
        )
    host = url.raw_host.decode("ascii").lower().removesuffix(".")
    port = _PORTS[url.scheme] if url.port is None else url.port
    if (fault := host_fault(host)) is not None:
        raise UserError(f"{text!r} has a host that cannot be used: {fault}; correct it")
    if not 0 < port < 2**16:
        raise UserError(f"{text!r} has the port {port}: it must be 1..65535; correct it")
    return Origin(url.scheme, host, port)


NOTHING_OPENED: Final = OpenedOrigins()


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Return the addresses that this machine's resolver has for a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class ConnectionGuard:
    """Says where requests may go. One for each process."""

    def __init__(
        self,
        opened: OpenedOrigins,
        *,
        option: str = "--allow-origin",
        resolve: Resolve = resolve_name,
    ) -> None:
        """Make a guard.

        Args:
            opened: what is let through, whatever its address is.
            option: how the operator's owner opens an origin, for messages.
            resolve: finds the addresses of a name.
        """
        self._opened = opened
        self._option = option
        self._resolve = resolve

    def opens(self, origin: Origin) -> bool:
        """Say whether an origin is let through whatever its address is."""
        return origin in self._opened

    def strict(self) -> ConnectionGuard:
        """Return a guard that knows the same names and opens nothing."""
        return ConnectionGuard(NOTHING_OPENED, option=self._option, resolve=self._resolve)

    async def require(self, url: str) -> None:
        """Check a base URL before anything is sent; a name that has no address now is no block.

        Raises:
            BlockedAddressError: no request would be let through, or it is no URL.
        """
        try:
            origin = origin_of(url)
        except UserError as error:
            raise BlockedAddressError(str(error)) from error
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.addresses(origin)
        except (TimeoutError, OSError):
            return

    async def addresses(self, origin: Origin) -> Sequence[str]:
        """Resolve an origin's host, once; return its addresses, all of which are let through.

        Raises:
            BlockedAddressError: the name, or one of its addresses, is forbidden.
            OSError: it has no address.
        """
        is_opened = origin in self._opened
        if not is_opened and (reason := forbidden_host(origin.host)) is not None:
            raise self._blocked(origin, reason)
        if is_literal(origin.host):
            return (origin.host,)
        # With a dot at its end a name is not looked for among the cluster's own names.
        name = origin.host if is_opened else f"{origin.host}."
        found = await self._resolve(name, origin.port)
        if not found:
            raise OSError(f"{origin.host} has no address")
        if not is_opened:
            for address in found:
                if (reason := forbidden_address(address)) is not None:
                    raise self._blocked(origin, reason)
        return found

    def _blocked(self, origin: Origin, reason: str) -> BlockedAddressError:
        return BlockedAddressError(
            f"the origin {origin} is closed: {reason}; the operator's owner may open it with "
            f"{self._option} {origin}"
        )


class UnresolvedNameError(httpcore2.ConnectError):
    """A name has no address; a client raises it as the cause of its own error."""


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Walk from an error to what caused it, groups of errors included."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions


def guarded_client(
    guard: ConnectionGuard,
    *,
    context: ssl.SSLContext | None = None,
    network: httpcore2.AsyncNetworkBackend | None = None,
) -> httpx2.AsyncClient:
    """Return a client that connects through the guard alone; the caller closes it.

    It follows no redirect, knows no proxy or credentials of the environment and repeats nothing.

    Args:
        guard: says where requests may go.
        context: whom to trust; None: the usual authorities, or those that SSL_CERT_FILE names.
        network: connects to addresses that the guard has let through; None: the machine's own.
    """
    context = context or httpx2.create_ssl_context()
    network = network or httpcore2.AnyIOBackend()
    return httpx2.AsyncClient(
        mounts={
            f"{scheme}://": _GuardedTransport(context, _GuardedBackend(guard, scheme, network))
            for scheme in _PORTS
        },
        transport=_NoTransport(),
        timeout=httpx2.Timeout(30.0, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # nobody is remembered
    )


class _NoTransport(httpx2.AsyncBaseTransport):
    """For any other scheme: nothing is sent."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.UnsupportedProtocol(
            f"the scheme {request.url.scheme!r} cannot be used; it must be http or https"
        )


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    """The usual transport over a pool with a network of ours, which its own options cannot name."""

    def __init__(self, context: ssl.SSLContext, network: httpcore2.AsyncNetworkBackend) -> None:
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=_LIMITS.max_connections,
            max_keepalive_connections=_LIMITS.max_keepalive_connections,
            keepalive_expiry=_LIMITS.keepalive_expiry,
            network_backend=network,
        )


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that the guard has looked at; one for each scheme."""

    def __init__(
        self, guard: ConnectionGuard, scheme: str, network: httpcore2.AsyncNetworkBackend
    ) -> None:
        self._guard = guard
        self._scheme = scheme
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve, look, connect.

        Raises:
            BlockedAddressError: the address is closed.
            UnresolvedNameError: the name has no address.
            httpcore2.ConnectError: nothing listens.
            httpcore2.ConnectTimeout: it took too long.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (CONNECT_SECONDS if timeout is None else timeout)
        origin = Origin(self._scheme, host.lower().removesuffix("."), port)
        try:
            async with asyncio.timeout_at(deadline):
                found = await self._guard.addresses(origin)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"{host} was not resolved in time") from error
        except OSError as error:
            raise UnresolvedNameError(f"{host} cannot be resolved: {error}") from error
        addresses = found[:_MOST_ADDRESSES]
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                return await self._network.connect_tcp(
                    address,
                    port,
                    timeout=max(0.0, deadline - loop.time()) / left,
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if left == 1:
                    raise
        raise AssertionError("a name without an address is an error of its own")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - as above
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: a path is no address.

        Raises:
            BlockedAddressError: always.
        """
        raise BlockedAddressError(f"the socket {path} is no address that requests may go to")

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts of the library's own, which are switched off."""
        await asyncio.sleep(seconds)
