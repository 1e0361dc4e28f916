"""A local HTTP server that plays a script of answers, whole, broken, slow or silent.

It speaks just enough HTTP for a client of models, on a raw socket, so that every byte and every
broken connection is the script's.

    async with ScriptedEndpoint([good(...), error(...)]) as endpoint:
        ... # endpoint.url is a baseURL; endpoint.requests has what came

`RunningEndpoint` is the same for a caller that has no event loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Final, Self

TLS_HELLO: Final = b"\x16"
"""The first byte of a client that speaks TLS."""


class Delivery(Enum):
    """How an answer is sent."""

    WHOLE = auto()
    SILENCE = auto()
    """Nothing is ever sent."""
    HEADERS_THEN_SILENCE = auto()
    HALF_THEN_SILENCE = auto()
    DRIP = auto()
    """One byte every tenth of a second: it never ends within a test."""
    RESET_BEFORE = auto()
    RESET_DURING = auto()
    RESET_AFTER = auto()
    CUT = auto()
    """Half of the body, and the connection is closed in good order."""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer. The body is sent `times` times over, in one response."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = Delivery.WHOLE
    times: int = 1


@dataclass(frozen=True)
class Received:
    """One request as it came; header names are in lower case, `at` is the loop's time."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """All text that was sent to the model."""
        return "\n".join(message["content"] for message in self.json["messages"])


Turn = Answer | Callable[[Received], Answer]


class ScriptedEndpoint:
    """Plays a script, one turn a request; status 410 where none is left.

    `requests` has the requests for answers, `listings` those for the list of models, which is
    `models` and takes no turn (or `listing`, if it is set). `sent` counts bytes of bodies.
    """

    def __init__(self, script: Iterable[Turn], models: tuple[str, ...] = ("scripted",)) -> None:
        self.models = models
        self.listing: Answer | None = None
        self.requests: list[Received] = []
        self.listings: list[Received] = []
        self.sent = 0
        self._script: Iterator[Turn] = iter(script)
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        assert self._server is not None, "the endpoint is not started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self._writers.add(writer)
        try:
            while await self._served(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self._busy.discard(task)
            self._writers.discard(writer)
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; return whether the connection is still good."""
        received = await _read(reader)
        if received.method == "GET" and received.path.endswith("/models"):
            self.listings.append(received)
            answer = self.listing or _listing(self.models)
        else:
            self.requests.append(received)
            turn = next(self._script, None)
            answer = (
                Answer(410)
                if turn is None
                else turn
                if isinstance(turn, Answer)
                else turn(received)
            )
        return await self._send(answer, writer)

    async def _send(self, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.delivery is Delivery.SILENCE:
            await asyncio.Future()
        if answer.delivery is Delivery.RESET_BEFORE:
            writer.transport.abort()
            return False
        writer.write(_head(answer))
        await writer.drain()
        match answer.delivery:
            case Delivery.HEADERS_THEN_SILENCE:
                await asyncio.Future()
            case Delivery.DRIP:
                for byte in answer.body:
                    await self._write(writer, bytes([byte]))
                    await asyncio.sleep(0.1)
            case Delivery.WHOLE | Delivery.RESET_AFTER:
                for _ in range(answer.times):
                    await self._write(writer, answer.body)
            case _:
                await self._write(writer, answer.body[: len(answer.body) // 2])
        return await _after(answer.delivery, writer)

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)


def _played(turn: Turn | None, received: Received) -> Answer:
    if turn is None:
        return Answer(HTTPStatus.GONE)
    return turn if isinstance(turn, Answer) else turn(received)


async def _after(delivery: Delivery, writer: asyncio.StreamWriter) -> bool:
    """End what was begun; return whether the connection is still good."""
    if delivery is Delivery.HALF_THEN_SILENCE:
        await asyncio.Future()
    if delivery in {Delivery.RESET_DURING, Delivery.RESET_AFTER}:
        writer.transport.abort()
    return delivery in {Delivery.WHOLE, Delivery.DRIP}


async def _read(reader: asyncio.StreamReader) -> Received:
    start = await reader.readexactly(1)
    if start == TLS_HELLO:
        raise ConnectionResetError("this endpoint speaks no TLS")
    head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (n.partition(":") for n in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, asyncio.get_running_loop().time())


def _head(answer: Answer) -> bytes:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unknown"
    length = len(answer.body) * answer.times
    headers = {"content-type": "application/json", "content-length": str(length), **answer.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} {phrase}\r\n{lines}\r\n".encode("latin-1")


def _listing(models: tuple[str, ...]) -> Answer:
    data = [{"id": model, "object": "model"} for model in models]
    return Answer(body=json.dumps({"object": "list", "data": data}).encode())


class RunningEndpoint:
    """A `ScriptedEndpoint` in a thread of its own, for a caller without an event loop."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        self.endpoint = endpoint
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="scripted endpoint", daemon=True)

    @property
    def url(self) -> str:
        """The base URL."""
        return self.endpoint.url

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        async with self.endpoint:
            self._started.set()
            await self._stop.wait()
