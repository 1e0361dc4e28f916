"""Sends requests as plain JSON, through the official client without its typed API classes.

Importing `CoreV1Api` builds validators for hundreds of methods and models: 94 MB, more than all
the rest of the operator, to reach two resources. What is used of the client is what is hard to
get right: credentials and their renewal, certificates, connections, errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from kubernetes.aio.client import ApiClient

from controller.api.base import API_VERSION
from controller.api.errors import UnavailableError
from controller.store.kubernetes_answers import answer_to
from controller.store.kubernetes_client import REQUEST_TIMEOUT_SECONDS

Item = dict[str, Any]
"""A JSON object, as the API server sends it."""

RESEARCH: Final = f"/apis/{API_VERSION}"
CORE: Final = "/api/v1"

STRICT: Final = {"fieldValidation": "Strict"}
"""A field that the cluster's CRD does not know is refused, where it would be dropped unseen."""

_MERGE_PATCH: Final = "application/merge-patch+json"


class Resource(NamedTuple):
    """A resource of a group by its plural name; `root` is the group's path."""

    root: str
    plural: str

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or of all of a namespace, or of all there are."""
        within = ("namespaces", namespace) if namespace is not None else ()
        parts = (*within, self.plural, name, subresource)
        return "/".join((self.root, *(quote(part, safe="") for part in parts if part)))


class Requests:
    """One API client's requests; each names what it asks for in the text of its errors.

    Every method raises what `answer_to` does, and `UnavailableError` for an answer that is no
    JSON object.
    """

    def __init__(
        self, client: ApiClient, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> None:
        self._client = client
        self._timeout = timeout_seconds

    async def get(
        self,
        request: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = "application/json",
    ) -> Item:
        """Return an object or a list."""
        return await self._send(request, "GET", path, query, accept=accept)

    async def create(
        self, request: str, path: str, body: Item, query: Mapping[str, str] | None = None
    ) -> Item:
        """Create an object; return it as it is stored."""
        return await self._send(request, "POST", path, query, body)

    async def replace(self, request: str, path: str, body: Item) -> Item:
        """Replace an object; return it as it is stored."""
        return await self._send(request, "PUT", path, None, body)

    async def merge_patch(
        self, request: str, path: str, body: Item, query: Mapping[str, str] | None = None
    ) -> Item:
        """Apply a JSON merge patch (RFC 7396); return the object as it is stored."""
        return await self._send(request, "PATCH", path, query, body, content_type=_MERGE_PATCH)

    async def delete(self, request: str, path: str, options: Item) -> Item:
        """Delete an object under preconditions; return what the server says of it."""
        return await self._send(request, "DELETE", path, None, options)

    async def _send(
        self,
        request: str,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Item | None = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> Item:
        url = f"{path}?{urlencode(query)}" if query else path
        headers = {"Accept": accept, "Content-Type": content_type}
        answer = await answer_to(request, self._answer(method, url, headers, body))
        if not isinstance(answer, dict):
            raise UnavailableError(
                f"{request}: the answer is no JSON object: something else than the API server"
            )
        return answer

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], body: Item | None
    ) -> object:
        method, url, sent, *_ = await self._client.param_serialize(
            method, path, header_params=headers, auth_settings=["BearerToken"]
        )
        # Without `param_serialize`, which copies a body value by value: it is JSON already.
        response = await self._client.call_api(
            method, url, sent, body, _request_timeout=self._timeout
        )
        await response.read()  # type: ignore[no-untyped-call]  # the client types it not
        return self._client.response_deserialize(response, {"2XX": "object"}).data
