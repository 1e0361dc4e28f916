"""Carries one request to an endpoint and its answer back, by the OpenAI SDK. Nothing is hidden.

The SDK is given nothing to be clever with: no retries, no redirects, no parsing. What it adds of
its own or takes from the environment (`OPENAI_ORG_ID`, `OPENAI_CUSTOM_HEADERS`, ...) ends in a
transport that passes on method, address, body and the few headers that are ours. That transport
also bounds what is read, whatever the status is. This module alone imports `openai`, which is
large: it is loaded when a model is first asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx2
import openai

from controller.api.errors import BlockedAddressError, RetryableError
from controller.models.failures import HttpAnswer
from controller.models.unreachable import connection_failure

LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""How many bytes of an answer are read; no answer within an output cap is as large."""

_PASSED_ON: Final = frozenset({"authorization", "content-type"})
_OURS: Final = {"accept": "application/json", "accept-encoding": "identity"}
_OURS_AND_NO_MORE: Final[Mapping[str, Any]] = {"timeout": None, "max_retries": 0}


class Carrier:
    """One endpoint, made once for a model. `client` decides what may be connected to."""

    def __init__(self, base_url: str, client: httpx2.AsyncClient) -> None:
        self._url = base_url
        self._sdk = openai.AsyncOpenAI(
            api_key="",
            admin_api_key="",  # not None: else both are looked for in the environment
            base_url=base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                transport=_Transport(client), trust_env=False, follow_redirects=False
            ),
        )

    async def post(self, path: str, body: Mapping[str, Any], key: str | None) -> HttpAnswer:
        """Send one request with a JSON body and return what came back, whatever its status.

        Raises:
            RetryableError: no whole answer came back (classes `Unreachable`, `BadResponse`).
            PermanentError: the address may not be connected to.
        """
        return await self._exchanged("post", path, body, key)

    async def get(self, path: str, key: str | None) -> HttpAnswer:
        """Ask for one document; as `post`."""
        return await self._exchanged("get", path, None, key)

    async def _exchanged(
        self, method: str, path: str, body: Mapping[str, Any] | None, key: str | None
    ) -> HttpAnswer:
        authorization = openai.Omit() if key is None else f"Bearer {key}"
        options: Any = {**_OURS_AND_NO_MORE, "headers": {"Authorization": authorization}}
        try:
            if method == "get":
                response = await self._sdk.get(path, cast_to=httpx2.Response, options=options)
            else:
                response = await self._sdk.post(
                    path, cast_to=httpx2.Response, body=dict(body or {}), options=options
                )
        except openai.APIStatusError as error:
            response = error.response
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise connection_failure(error, self._url) from None
        except BlockedAddressError as error:
            raise connection_failure(error, self._url) from None
        return HttpAnswer(response.status_code, dict(response.headers), response.content)


class _Transport(httpx2.AsyncBaseTransport):
    """Sends what is ours of a request through another client, and reads a bounded answer."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Exchange one request for one answer."""
        passed_on = {n: v for n, v in request.headers.items() if n.lower() in _PASSED_ON}
        ours = httpx2.Request(
            request.method,
            request.url,
            headers={**passed_on, **_OURS, "user-agent": "fixpoint"},
            content=await request.aread(),
            extensions={"timeout": httpx2.Timeout(None).as_dict()},
        )
        answer = await self._client.send(ours, stream=True, auth=None, follow_redirects=False)
        try:
            body = await _bounded(answer)
        finally:
            await answer.aclose()
        headers = {n: v for n, v in answer.headers.items() if n.startswith("retry-after")}
        return httpx2.Response(answer.status_code, headers=headers, content=body)


async def _bounded(answer: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise RetryableError(
                "BadResponse",
                f"the endpoint answered {answer.status_code} with more than {LARGEST_ANSWER} "
                "bytes; the rest was not read",
            )
    return bytes(body)
