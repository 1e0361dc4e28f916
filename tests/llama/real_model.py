"""The client of the project in front of the real server, with a copy of all that passes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from controller.api.base import API_VERSION
from controller.api.model import ResearchModel
from controller.clock import SystemClock
from controller.models.endpoint import EndpointModel
from tests.llama.server import LlamaServer

PATIENCE_SECONDS = 3600
"""Of an answer: on a busy machine the server is slow, and how slow is no concern of a test."""

PRICES = {"inputUSDPerMillionTokens": "1", "outputUSDPerMillionTokens": "2"}
"""Of a model that costs nothing: so that there is an account to keep."""


@dataclass(frozen=True)
class Exchange:
    """One request that was answered, as it went over the wire."""

    path: str
    sent: bytes
    status: int
    received: bytes

    @property
    def asked(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body of the request."""
        return json.loads(self.sent)

    @property
    def answered(self) -> Any:  # noqa: ANN401 - the same
        """The body of the answer."""
        return json.loads(self.received)


@dataclass
class Wire(httpx2.AsyncBaseTransport):
    """A transport that keeps a copy. `begun` counts the requests, also those without an answer."""

    exchanges: list[Exchange] = field(default_factory=list)
    begun: int = 0

    def __post_init__(self) -> None:
        self._below = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request on, and read the whole answer."""
        self.begun += 1
        sent = await request.aread()
        response = await self._below.handle_async_request(request)
        try:
            received = await response.aread()
        finally:
            await response.aclose()
        self.exchanges.append(Exchange(request.url.path, sent, response.status_code, received))
        return httpx2.Response(response.status_code, headers=response.headers, content=received)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._below.aclose()

    @property
    def answers(self) -> list[Exchange]:
        """The requests that were answered with a completion."""
        return [e for e in self.exchanges if e.path.endswith("/completions") and e.status == 200]


@dataclass(frozen=True)
class FixedKey:
    """`Credentials` that hold one key for ever."""

    value: str

    async def key(self, *, fresh: bool = False) -> str:  # noqa: ARG002 - the port's name
        """Return the key."""
        return self.value


def model_manifest(server: LlamaServer, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the ResearchModel of a server, without its key; `spec` changes what it says."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchModel",
        "metadata": {"name": "tiny", "namespace": "default", "generation": 1},
        "spec": {
            "backend": "LlamaCpp",
            "baseURL": server.base_url,
            "model": server.alias,
            "contextWindowTokens": server.window,
            "maxOutputTokens": 256,
            "requestTimeoutSeconds": PATIENCE_SECONDS,
            "maxConcurrentRequests": server.slots,
            "pricing": PRICES,
            **spec,
        },
    }


@asynccontextmanager
async def real_model(
    server: LlamaServer,
    *,
    key: str | None = None,
    **spec: Any,  # noqa: ANN401
) -> AsyncIterator[tuple[EndpointModel, Wire]]:
    """Yield a client of the server, and what passes between the two."""
    wire = Wire()
    resource = ResearchModel.model_validate(model_manifest(server, **spec))
    async with httpx2.AsyncClient(transport=wire, trust_env=False) as client:
        model = EndpointModel(
            resource,
            client=client,
            credentials=FixedKey(key or server.key),
            clock=SystemClock(),
        )
        yield model, wire
