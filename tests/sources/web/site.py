"""A scripted web site on this machine: every byte it sends, and when, is the test's.

    async with Site({"/": page(b"hello"), "/old": redirect("/")}) as site:
        ...  # site.origin, site.requests

Whoever asks for what it has not gets 404, also for `/robots.txt`. Who speaks TLS to a site that has
none is answered by the route without a target.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final, Self

_TLS_HELLO: Final = b"\x16"
"""The first byte of a client that speaks TLS: a site without answers as it does to nonsense."""

_CERTIFICATES: Final = Path(__file__).parent / "certificates"


def trusting() -> ssl.SSLContext:
    """Return a context that trusts the sites' certificate, for a.example and b.example alone."""
    return ssl.create_default_context(cafile=str(_CERTIFICATES / "certificate.pem"))


def _serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_CERTIFICATES / "certificate.pem", _CERTIFICATES / "key.pem")
    return context


@dataclass(frozen=True)
class Reply:
    """What is sent: pieces, with a pause in seconds before each but the first one.

    Then the connection is closed; or kept open and silent, where the reply `hangs`; or reset,
    where it `resets`: what was sent may then be lost.
    """

    pieces: Iterable[bytes]
    pause: float = 0.0
    hangs: bool = False
    resets: bool = False


@dataclass(frozen=True)
class Received:
    """One request as it came; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    is_tls: bool


Route = Reply | Callable[[Received], Reply]


def head(status: int = 200, /, **headers: str) -> bytes:
    """Return the head of an answer; `_` in a header's name stands for `-`."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Odd"
    lines = "".join(f"{n.replace('_', '-')}: {value}\r\n" for n, value in headers.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1")


def page(body: bytes = b"", status: int = 200, /, **headers: str) -> Reply:
    """Return an answer with a body of the right length, unless the headers say another."""
    return Reply([head(status, **{"content_length": str(len(body)), **headers}), body])


def gzipped(body: bytes, **headers: str) -> Reply:
    """Return an answer with a packed body."""
    return page(gzip.compress(body), content_encoding="gzip", **headers)


def redirect(location: str, status: int = 302) -> Reply:
    """Return a redirect."""
    lines = b"content-length: 0\r\nlocation: " + location.encode() + b"\r\n\r\n"
    return Reply([head(status).removesuffix(b"\r\n") + lines])


@dataclass
class Site:
    """Serves routes by the target of the request; `requests` has what came, in order."""

    routes: Mapping[str, Route] = field(default_factory=dict)
    is_tls: bool = False
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    sent: int = 0

    def __post_init__(self) -> None:
        self._busy: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        assert self._server is not None, "the site is not started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def origin(self) -> str:
        """The site's origin, as it is really reached."""
        return f"http{'s' if self.is_tls else ''}://127.0.0.1:{self.port}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [request.target for request in self.requests]

    async def __aenter__(self) -> Self:
        context = _serving() if self.is_tls else None
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=context)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self.connections += 1
        try:
            received = await _read(reader, is_tls=self.is_tls)
            self.requests.append(received)
            route = self.routes.get(received.target, page(b"nothing here", 404))
            await self._send(route if isinstance(route, Reply) else route(received), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self._busy.discard(task)
            writer.transport.abort() if task.cancelling() else writer.close()

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        for number, piece in enumerate(reply.pieces):
            if number and reply.pause:
                await asyncio.sleep(reply.pause)
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)
        if reply.hangs:
            await asyncio.Future()
        if reply.resets:
            at_once = struct.pack("ii", 1, 0)
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader, *, is_tls: bool) -> Received:
    start = await reader.readexactly(1)
    if start == _TLS_HELLO and not is_tls:
        return Received("", "", {}, b"", is_tls=False)
    first, *lines = (
        (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    )
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (n.partition(":") for n in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, is_tls)
