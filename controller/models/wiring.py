"""Makes models from their objects: the one place that knows the client for endpoints."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from controller.api.model import ResearchModel
from controller.models.credentials import Credentials
from controller.models.endpoint import EndpointModel
from controller.ports import Clock, Model


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
        return EndpointModel(
            resource, client=client, credentials=credentials_of(resource), clock=clock
        )

    return make
