"""A model behind HTTP: one attempt is one request, under one deadline, and everything is told.

It implements `ports.Model` for the five kinds of endpoint (docs/endpoints.md). What differs among
them is data in `backends`; what an answer means is decided by `envelope` and `failures`.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httpx2

from controller.api.errors import (
    ActionError,
    FixpointError,
    NotReadyError,
    PermanentError,
    RetryableError,
)
from controller.api.model import ResearchModel
from controller.api.model_call import terms_of
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.backends import PROFILES, base_url_of
from controller.models.credentials import Credentials
from controller.models.envelope import reply_of
from controller.models.failures import HttpAnswer, failure_of
from controller.models.provider_text import one_line
from controller.models.request_body import is_offered_as_json, request_body
from controller.models.tools_as_json import as_call
from controller.ports import Clock, Sampling

if TYPE_CHECKING:
    from controller.models.carrier import Carrier

PROBE_SECONDS: Final = 5
"""How long a probe may take: it holds up nothing that matters."""


class EndpointModel:
    """A `ResearchModel` that is reached over HTTP. It implements `ports.Model`.

    It is made once for a version of the object and used for many calls, also at once. The client
    is the caller's: it decides what may be connected to, and is closed by who made it.
    """

    def __init__(
        self,
        resource: ResearchModel,
        *,
        client: httpx2.AsyncClient,
        credentials: Credentials,
        clock: Clock,
    ) -> None:
        spec = resource.spec
        self._spec = spec
        self._profile = PROFILES[spec.backend]
        self._url = base_url_of(spec.backend, spec.base_url)
        self._client = client
        self._credentials = credentials
        self._clock = clock
        self._carrier_once: Carrier | None = None
        self.terms = terms_of(resource)
        self.sampling = Sampling(
            requested_model=spec.model,
            temperature=spec.temperature,
            seed=spec.seed if self._profile.knows_seed else None,
        )

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request, and only one; whatever comes back is the answer.

        Raises:
            RetryableError: another attempt may succeed; the class is one of docs/models.md.
            PermanentError: no attempt will.
            StoreError: the key could not be read, and nothing was sent.
        """
        body = request_body(self._profile, self._spec, request)
        key = await self._key()
        answer = await self._posted(body, key)
        if answer.status != HTTPStatus.OK:
            raise await self._failure(answer, key)
        reply = reply_of(
            self._profile, answer.body, max_output_tokens=request.max_output_tokens, key=key
        )
        return as_call(reply) if is_offered_as_json(self._profile, request) else reply

    async def probe(self) -> str | None:
        """Ask the endpoint which models it has; return a warning, or None. It never raises.

        It is a courtesy of the first use: a warning blocks nothing.
        """
        key: str | None = None
        try:
            key = await self._key()
            carrier = await self._carrier()
            async with asyncio.timeout(PROBE_SECONDS):
                answer = await carrier.get("models", key)
        except TimeoutError:
            return f"the endpoint did not list its models within {PROBE_SECONDS} s"
        except (ActionError, FixpointError) as error:
            return f"the endpoint cannot be asked for its models: {error}"
        if answer.status != HTTPStatus.OK:
            failure = failure_of(self._profile, answer, self._clock.now(), key)
            return f"the endpoint does not list its models: {failure}"
        return self._named(answer, key)

    async def _posted(self, body: dict[str, object], key: str | None) -> HttpAnswer:
        """Send the request under its deadline: the whole of it, however slowly bytes drip."""
        carrier, seconds = await self._carrier(), self._spec.request_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await carrier.post("chat/completions", body, key)
        except TimeoutError:
            message = (
                f"no whole answer within {seconds} s: spec.requestTimeoutSeconds of the "
                f"ResearchModel {self.terms.name}"
            )
            raise RetryableError("Timeout", message) from None

    async def _key(self) -> str | None:
        """Return the key as a header can carry it.

        Raises:
            RetryableError: it is gone; the task waits for it when it is looked for again.
            PermanentError: it cannot be sent.
            StoreError: it cannot be read now.
        """
        try:
            key = await self._credentials.key()
        except NotReadyError as error:
            raise RetryableError("CredentialsChanged", str(error), 0) from None
        return _sendable(key)

    async def _failure(self, answer: HttpAnswer, key: str | None) -> ActionError:
        """Return what an answer stands for; a key that was rotated meanwhile is tried once more."""
        failure = failure_of(self._profile, answer, self._clock.now(), key)
        if failure.error_class != "Credentials" or key is None:
            return failure
        try:
            now = _sendable(await self._credentials.key(fresh=True))
        except PermanentError:
            return failure
        except FixpointError:  # the request is sent and charged, whatever the store says now
            return RetryableError(
                "CredentialsChanged", f"{failure}; the key could not be read again"
            )
        if now == key:
            return failure
        return RetryableError(
            "CredentialsChanged",
            "the endpoint refused the key, and the Secret holds another one by now",
            retry_after_seconds=0,
        )

    async def _carrier(self) -> Carrier:
        """Return the carrier, made at the first use.

        The SDK takes a second to load: that is done in a thread, and on nobody's deadline.
        """
        if self._carrier_once is None:
            carrier = await asyncio.to_thread(_loaded)
            self._carrier_once = carrier(self._url, self._client)
        return self._carrier_once

    def _named(self, answer: HttpAnswer, key: str | None) -> str | None:
        """Say so where the list of models has not the model's name."""
        try:
            entries = json.loads(answer.body)["data"]
            names = [entry["id"] for entry in entries if isinstance(entry["id"], str)]
        except (ValueError, TypeError, KeyError, RecursionError):
            return "the endpoint answered its list of models with what is no such list"
        model = self._spec.model
        if not self._profile.checks_name or {model, f"{model}:latest"} & set(names):
            return None
        listed = one_line(", ".join(names[:10]), key) or "none"
        return f"the endpoint does not list the model {model} (spec.model); it lists {listed}"


def _loaded() -> type[Carrier]:
    from controller.models.carrier import Carrier

    return Carrier


def _sendable(key: str | None) -> str | None:
    """Return a key without the white space around it, which a Secret often ends with.

    Raises:
        PermanentError: no header can hold it.
    """
    if key is None:
        return None
    key = key.strip()
    if key and key.isascii() and key.isprintable():
        return key
    raise PermanentError(
        "Credentials",
        "the key that spec.credentialsSecretRef names is empty, or has characters that no HTTP "
        "header can hold",
    )
