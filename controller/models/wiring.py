"""Makes models from their objects: the one place that knows the client for endpoints."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final

import httpx2

from controller.api.model import ResearchModel
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.credentials import Credentials
from controller.models.endpoint import EndpointModel
from controller.ports import Clock, Model

_CARRIER: Final = "controller.models.carrier"
"""The one module that imports the SDK."""


class _LoadedModel(EndpointModel):
    """A model whose SDK is imported beside the event loop: that takes about a second, once."""

    async def probe(self) -> str | None:
        await _load_sdk()
        return await super().probe()

    async def complete(self, request: ModelRequest) -> ModelReply:
        await _load_sdk()
        return await super().complete(request)


async def _load_sdk() -> None:
    if _CARRIER not in sys.modules:
        await asyncio.to_thread(import_module, _CARRIER)


def model_maker(
    client: httpx2.AsyncClient,
    credentials_of: Callable[[ResearchModel], Credentials],
    clock: Clock,
) -> Callable[[ResearchModel], Model]:
    """Return what makes a model of an object, without I/O.

    Args:
        client: sends the requests; it decides what may be connected to.
        credentials_of: says where the key of a model comes from.
        clock: for times that an endpoint names.
    """

    def make(resource: ResearchModel) -> Model:
        return _LoadedModel(
            resource, client=client, credentials=credentials_of(resource), clock=clock
        )

    return make
