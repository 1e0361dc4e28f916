"""Lists objects in chunks, whole or as metadata alone: what a sweep over thousands can afford."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from kubernetes.aio.client import ApiClient, CoreV1Api, CustomObjectsApi
from kubernetes.aio.client.api_response import ApiResponse
from kubernetes.aio.client.rest import RESTResponse

from controller.api.base import GROUP, VERSION
from controller.api.errors import UnavailableError
from controller.api.meta import ObjectMeta
from controller.store.kubernetes_answers import answer_to
from controller.store.kubernetes_client import REQUEST_TIMEOUT_SECONDS
from controller.store.names import TASK_LABEL, TASKS

Item = dict[str, Any]

_METADATA_ONLY: Final = {
    "Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
}
METADATA_CHUNK: Final = 500
"""How many objects' metadata one answer carries."""


async def list_task_metadata(
    client: ApiClient, namespace: str | None = None, *, limit: int = METADATA_CHUNK
) -> tuple[ObjectMeta, ...]:
    """Return the metadata of the tasks of a namespace, or of all; `limit` in one answer.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    objects = CustomObjectsApi(client)

    async def chunk(continued: str | None) -> object:
        if namespace is None:
            return await objects.list_cluster_custom_object(
                GROUP,
                VERSION,
                TASKS,
                limit=limit,
                _continue=continued,
                _headers=_METADATA_ONLY,
                _request_timeout=REQUEST_TIMEOUT_SECONDS,
            )
        return await objects.list_namespaced_custom_object(
            GROUP,
            VERSION,
            namespace,
            TASKS,
            limit=limit,
            _continue=continued,
            _headers=_METADATA_ONLY,
            _request_timeout=REQUEST_TIMEOUT_SECONDS,
        )

    return _metadata(await all_items("list the metadata of tasks", chunk))


async def list_report_metadata(
    client: ApiClient, namespace: str | None = None, *, limit: int = METADATA_CHUNK
) -> tuple[ObjectMeta, ...]:
    """Return the metadata of the reports of a namespace, or of all; `limit` in one answer.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    core = CoreV1Api(client)

    async def chunk(continued: str | None) -> object:
        # Read as plain JSON: the client's typed objects would cost many times as much.
        if namespace is None:
            response = await core.list_config_map_for_all_namespaces_without_preload_content(
                label_selector=TASK_LABEL,
                limit=limit,
                _continue=continued,
                _headers=_METADATA_ONLY,
                _request_timeout=REQUEST_TIMEOUT_SECONDS,
            )
        else:
            response = await core.list_namespaced_config_map_without_preload_content(
                namespace,
                label_selector=TASK_LABEL,
                limit=limit,
                _continue=continued,
                _headers=_METADATA_ONLY,
                _request_timeout=REQUEST_TIMEOUT_SECONDS,
            )
        raw = RESTResponse(response)
        await raw.read()  # type: ignore[no-untyped-call]  # the client types it not
        answer: ApiResponse[object] = client.response_deserialize(raw, {"2XX": "object"})
        return answer.data

    return _metadata(await all_items("list the metadata of reports", chunk))


async def all_items(
    request: str, chunk: Callable[[str | None], Awaitable[object]]
) -> tuple[Item, ...]:
    """Return the items of all chunks; `chunk` asks for the one after a `continue` token."""
    items: list[Item] = []
    continued: str | None = None
    while True:
        answer = json_object(await answer_to(request, chunk(continued)))
        items.extend(answer["items"])
        continued = answer["metadata"].get("continue")
        if not continued:
            return tuple(items)


def json_object(answer: object) -> Item:
    """Return an answer to a request for custom objects, which the client does not type.

    Raises:
        UnavailableError: it is no JSON object, so it is not the API server's.
    """
    if not isinstance(answer, dict):
        raise UnavailableError("the answer is no JSON object: something else than the API server")
    return answer


def _metadata(items: tuple[Item, ...]) -> tuple[ObjectMeta, ...]:
    return tuple(ObjectMeta.model_validate(item["metadata"]) for item in items)
