"""A proxy before a real API server that loses, refuses and delays, and keeps what was accepted.

Plain HTTP on a loopback port, TLS to the API server; the caller's own token is passed on. What
goes wrong is decided for each request by a `Faults`. Every write that the API server accepts is
kept, in the API server's own order: the recorder that outlives every operator.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from aiohttp import ClientResponse, ClientSession, ClientTimeout, TCPConnector, web

from tests.controlplane.plane import ControlPlane
from tests.crash.figures import Write

_PATH: Final = re.compile(
    r"^/(?:api|apis/[^/]+)/[^/]+(?:/namespaces/(?P<namespace>[^/]+))?/(?P<resource>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?$"
)
_KINDS: Final = {
    "researchtasks": "ResearchTask",
    "researchsteps": "ResearchStep",
    "configmaps": "ConfigMap",
}
_KEPT_OF_STATUS: Final = ("journal", "usage", "pending", "terminalReason", "observedGeneration")
_HOP_BY_HOP: Final = {"connection", "host", "transfer-encoding", "content-length"}
_START_SECONDS: Final = 10.0


class Fault(StrEnum):
    """What can go wrong with a request."""

    CONFLICT = "409 Conflict"
    TOO_MANY_REQUESTS = "429 with Retry-After"
    SERVER_ERROR = "500"
    FORBIDDEN = "403 Forbidden"
    LOST_REQUEST = "lost before the API server"
    LOST_ANSWER = "done, and the answer lost"


@dataclass(frozen=True)
class Request:
    """A request as far as faults depend on it."""

    method: str
    resource: str
    namespace: str
    name: str
    subresource: str
    is_watch: bool

    @property
    def is_conditional(self) -> bool:
        """Whether it names a version, so that the API server may answer 409 Conflict."""
        return self.method in {"PATCH", "PUT"}


class Faults(Protocol):
    """Decides what goes wrong."""

    def fault(self, request: Request) -> Fault | None:
        """Return what goes wrong with a request."""
        ...

    def seconds(self, request: Request) -> float:
        """Return by how much a request, or each event of a watch, is late."""
        ...


class NoFaults:
    """Nothing goes wrong."""

    def fault(self, _: Request) -> Fault | None:
        """Return none."""
        return None

    def seconds(self, _: Request) -> float:
        """Return 0."""
        return 0


class ChosenFaults(NoFaults):
    """One fault, for some of the requests that a test chooses."""

    def __init__(
        self, fault: Fault, chosen: Callable[[Request], bool], *, times: int = 1, skip: int = 0
    ) -> None:
        """Take the fault, for which requests it is, how often, and how many are spared first."""
        self._fault = fault
        self._chosen = chosen
        self._skip = skip
        self.left = times

    def fault(self, request: Request) -> Fault | None:
        """Return the fault while it is to happen."""
        if not self.left or not self._chosen(request):
            return None
        if self._skip:
            self._skip -= 1
            return None
        self.left -= 1
        return self._fault


class EachOf(NoFaults):
    """Several faults, the first that is for a request."""

    def __init__(self, *faults: Faults) -> None:
        self._faults = faults

    def fault(self, request: Request) -> Fault | None:
        """Return the first fault that there is."""
        return next(filter(None, (faults.fault(request) for faults in self._faults)), None)


class RandomFaults:
    """Faults for a share of all requests, and lateness, from a seed."""

    def __init__(
        self, seed: int, *, percent: float, latency_seconds: float, watch_seconds: float
    ) -> None:
        """Take the share of faulty requests, and the most that requests and events are late."""
        self._random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._percent = percent
        self._latency_seconds = latency_seconds
        self._watch_seconds = watch_seconds

    def fault(self, request: Request) -> Fault | None:
        """Return a fault that the API server, or the network, could show for such a request."""
        if self._random.random() * 100 >= self._percent:
            return None
        possible = [
            Fault.TOO_MANY_REQUESTS,
            Fault.SERVER_ERROR,
            Fault.LOST_REQUEST,
            *([] if request.is_watch else [Fault.LOST_ANSWER]),
            *([Fault.CONFLICT] if request.is_conditional else []),
        ]
        return self._random.choice(possible)

    def seconds(self, request: Request) -> float:
        """Return a lateness between 0 and the most."""
        most = self._watch_seconds if request.is_watch else self._latency_seconds
        return self._random.uniform(0, most)


class FaultProxy:
    """The proxy, in a thread and event loop of its own; started by `with`."""

    def __init__(self, plane: ControlPlane, faults: Faults | None = None) -> None:
        self.faults: Faults = faults or NoFaults()
        self.injected: Counter[Fault] = Counter()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self._plane = plane
        self._accepted: list[tuple[int, Write]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._stop = asyncio.Event()
        self._port = 0
        self._served: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(_START_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_START_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """The proxy's address."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def trail(self) -> tuple[Write, ...]:
        """Every write of a task, step or ConfigMap that was accepted, in the server's order."""
        return tuple(write for _, write in sorted(self._accepted, key=lambda item: item[0]))

    def kubeconfig(self, original: Path) -> Path:
        """Write a copy of a kubeconfig that leads through the proxy; return its path."""
        content = json.loads(original.read_text(encoding="utf-8"))
        for item in content["clusters"]:
            item["cluster"] = {"server": self.url}
        file = original.with_name(f"{original.stem}-proxy-{self._port}.kubeconfig")
        file.write_text(json.dumps(content), encoding="utf-8")
        return file

    async def _start(self) -> None:
        ready = asyncio.Event()
        self._served = asyncio.ensure_future(self._serve(ready))
        await ready.wait()

    async def _end(self) -> None:
        self._stop.set()
        assert self._served is not None
        await self._served

    async def _serve(self, ready: asyncio.Event) -> None:
        trusted = ssl.create_default_context(cafile=str(self._plane.certificate_authority))
        async with ClientSession(
            connector=TCPConnector(ssl=trusted, limit=0),
            timeout=ClientTimeout(total=None),
            auto_decompress=False,
        ) as session:
            handler = _Handler(self, session, self._plane.url)
            # Handlers end with their clients: a killed operator leaves no watch behind.
            server = web.Server(handler.handle, access_log=None, handler_cancellation=True)
            runner = web.ServerRunner(server, shutdown_timeout=0.5)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self._port = runner.addresses[0][1]
            ready.set()
            await self._stop.wait()
            await runner.cleanup()

    def keep(self, request: Request, body: bytes) -> None:
        """Keep a write that the API server has accepted."""
        kind = _KINDS.get(request.resource)
        if kind is None or request.method not in {"POST", "PATCH", "PUT"}:
            return
        content = json.loads(body)
        metadata = content["metadata"]
        write = Write(kind, metadata["namespace"], metadata["name"], _kept(kind, content))
        self._accepted.append((int(metadata["resourceVersion"]), write))


class _Handler:
    """Passes requests on, as the proxy's faults allow."""

    def __init__(self, proxy: FaultProxy, session: ClientSession, server: str) -> None:
        self._proxy = proxy
        self._session = session
        self._server = server
        self._asked: set[asyncio.Task[web.Response]] = set()

    async def handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        request = _read(incoming)
        fault = self._proxy.faults.fault(request)
        if fault is not None:
            self._proxy.injected[fault] += 1
        if fault is Fault.LOST_REQUEST:
            return _hang_up(incoming)
        if fault is not None and fault is not Fault.LOST_ANSWER:
            return _refusal(fault)
        if request.is_watch:
            return await self._watch(incoming, request)
        await asyncio.sleep(self._proxy.faults.seconds(request))
        # What the API server has been asked is kept even if the operator dies meanwhile.
        asked = asyncio.create_task(self._ask(incoming, request))
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        answer = await asyncio.shield(asked)
        return _hang_up(incoming) if fault is Fault.LOST_ANSWER else answer

    async def _ask(self, incoming: web.BaseRequest, request: Request) -> web.Response:
        async with self._forwarded(incoming) as answer:
            body = await answer.read()
            self._proxy.requests[request.method, request.resource, answer.status] += 1
            if answer.ok:
                self._proxy.keep(request, body)
            return web.Response(status=answer.status, headers=_passed(answer.headers), body=body)

    @asynccontextmanager
    async def _forwarded(self, incoming: web.BaseRequest) -> AsyncIterator[ClientResponse]:
        body = await incoming.read()
        async with self._session.request(
            incoming.method,
            f"{self._server}{incoming.raw_path}",
            headers=_passed(incoming.headers),
            data=body or None,
        ) as answer:
            yield answer

    async def _watch(self, incoming: web.BaseRequest, request: Request) -> web.StreamResponse:
        async with self._forwarded(incoming) as answer:
            return await self._stream(incoming, request, answer)

    async def _stream(
        self, incoming: web.BaseRequest, request: Request, answer: ClientResponse
    ) -> web.StreamResponse:
        """Pass a watch on, each piece as late as was drawn for this watch."""
        response = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
        response.enable_chunked_encoding()
        late = self._proxy.faults.seconds(request)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            async for piece in answer.content.iter_any():
                pieces.put_nowait((loop.time() + late, piece))
            pieces.put_nowait((0, b""))

        reading = asyncio.create_task(read())
        try:
            await response.prepare(incoming)
            while True:
                due, piece = await pieces.get()
                if not piece:
                    return response
                await asyncio.sleep(due - loop.time())
                await response.write(piece)
        except ConnectionError:
            return response  # the operator is gone
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def _read(incoming: web.BaseRequest) -> Request:
    found = _PATH.match(incoming.path)
    parts = found.groupdict() if found else {}
    return Request(
        method=incoming.method,
        resource=parts.get("resource") or "",
        namespace=parts.get("namespace") or "",
        name=parts.get("name") or "",
        subresource=parts.get("subresource") or "",
        is_watch=incoming.query.get("watch") == "true",
    )


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}


def _hang_up(incoming: web.BaseRequest) -> web.StreamResponse:
    """Close the connection as a cut line would; what is returned is not sent."""
    if incoming.transport is not None:
        incoming.transport.abort()
    return web.Response()


def _refusal(fault: Fault) -> web.Response:
    status, reason, headers = {
        Fault.CONFLICT: (HTTPStatus.CONFLICT, "Conflict", {}),
        Fault.TOO_MANY_REQUESTS: (
            HTTPStatus.TOO_MANY_REQUESTS,
            "TooManyRequests",
            {"Retry-After": "1"},
        ),
        Fault.SERVER_ERROR: (HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", {}),
        Fault.FORBIDDEN: (HTTPStatus.FORBIDDEN, "Forbidden", {}),
    }[fault]
    content = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": reason,
        "message": "injected",
        "code": int(status),
    }
    return web.json_response(content, status=status, headers=headers)


def _kept(kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of an object that the figures look at."""
    if kind == "ResearchTask":
        status = content.get("status") or {}
        return {"status": {name: status.get(name) for name in _KEPT_OF_STATUS}}
    if kind == "ConfigMap":
        return {"metadata": {"annotations": content["metadata"].get("annotations") or {}}}
    return {"spec": {name: content["spec"][name] for name in ("taskName", "index", "holder")}}
