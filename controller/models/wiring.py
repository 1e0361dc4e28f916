"""Makes models from their objects, as the operator and the command line use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import httpx2

from controller.api.model import ResearchModel
from controller.models.credentials import Credentials
from controller.models.endpoint import EndpointModel
from controller.models.pacing import Pacer
from controller.ports import Model

CredentialsOf = Callable[[ResearchModel], Credentials]
"""Returns where the key of a model comes from."""


def make_model(
    resource: ResearchModel,
    *,
    client: httpx2.AsyncClient,
    credentials_of: CredentialsOf,
    pacer: Pacer,
) -> Model:
    """Return the model that an object describes, under the limits of the object; no I/O."""
    model = EndpointModel(resource, client=client, credentials=credentials_of(resource))
    return pacer.paced(resource, model)
