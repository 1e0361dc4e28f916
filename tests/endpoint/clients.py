"""The client for models, pointed at a scripted endpoint."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from controller.api.meta import ObjectMeta
from controller.api.model import Backend, ResearchModel, ResearchModelSpec
from controller.clock import SystemClock
from controller.loop.exchange import ModelRequest, Tool
from controller.models.credentials import Credentials
from controller.models.endpoint import EndpointModel
from controller.ports import Clock

_TLS: Final = ssl.create_default_context()

CANARY: Final = "sk-canary-5f1e0c7a9b"

QUERIES: Final = ModelRequest(
    instructions="Answer with JSON only.",
    prompt="Write search queries.",
    max_output_tokens=512,
    answer_schema={"type": "object", "properties": {"queries": {"type": "array"}}},
)
PROPOSAL: Final = ModelRequest(
    instructions="Pick one.",
    prompt="Pick the next action.",
    max_output_tokens=512,
    tools=(
        Tool("Plan", "Write queries.", {"type": "object", "properties": {}, "required": []}),
        Tool(
            "Search",
            "Ask a source.",
            {
                "type": "object",
                "properties": {
                    "questionId": {"type": "string", "enum": ["glow"]},
                    "query": {"type": "string"},
                },
                "required": ["questionId", "query"],
            },
        ),
        Tool(
            "Extract",
            "Look for quotes.",
            {
                "type": "object",
                "properties": {"questionId": {"type": "string", "enum": ["glow", "frost"]}},
                "required": ["questionId"],
            },
        ),
    ),
)


@dataclass
class Keys:
    """`Credentials` that a test sets: `now` is what a look past the cache finds."""

    cached: str | None = CANARY
    now: Iterable[str | Exception | None] = ()
    looks: list[bool] = field(default_factory=list)

    async def key(self, *, fresh: bool = False) -> str | None:
        """Return the key, or fail as a test wants."""
        self.looks.append(fresh)
        if fresh:
            found = next(iter(self.now), self.cached)
            if isinstance(found, Exception):
                raise found
            self.cached = found
        return self.cached


def resource(url: str | None, backend: Backend = Backend.OPENAI, **spec: Any) -> ResearchModel:  # noqa: ANN401
    """Return a model's object."""
    fields = {"backend": backend, "baseURL": url, "model": "scripted", **spec}
    return ResearchModel(
        metadata=ObjectMeta(name="scripted", generation=3),
        spec=ResearchModelSpec.model_validate(fields),
    )


@asynccontextmanager
async def endpoint_model(
    url: str | None,
    backend: Backend = Backend.OPENAI,
    *,
    credentials: Credentials | None = None,
    clock: Clock | None = None,
    **spec: Any,  # noqa: ANN401 - any field
) -> AsyncIterator[EndpointModel]:
    """Give a model on a client of its own."""
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=False, verify=_TLS) as client:
        yield EndpointModel(
            resource(url, backend, **spec),
            client=client,
            credentials=credentials or Keys(),
            clock=clock or SystemClock(),
        )
