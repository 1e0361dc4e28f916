"""Lists objects in chunks, whole or as metadata alone: what a sweep over thousands can afford."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubernetes.aio.client import ApiClient

from controller.api.meta import ObjectMeta
from controller.store.kubernetes_requests import CORE, RESEARCH, Item, Requests, Resource
from controller.store.names import STEPS, TASK_LABEL, TASKS

METADATA_CHUNK: Final = 500
"""How many objects' metadata one answer carries."""

_JSON: Final = "application/json"
_METADATA_ONLY: Final = f"{_JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


async def list_task_metadata(
    client: ApiClient, namespace: str | None = None, *, limit: int = METADATA_CHUNK
) -> tuple[ObjectMeta, ...]:
    """Return the metadata of the tasks of a namespace, or of all; `limit` in one answer.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    path = Resource(RESEARCH, TASKS).path(namespace)
    return await _list_metadata(client, "list the metadata of tasks", path, {"limit": str(limit)})


async def count_tasks(client: ApiClient, namespace: str | None = None) -> int | None:
    """Return how many tasks there are, from a list of one; None where the answer does not say.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    path, query = Resource(RESEARCH, TASKS).path(namespace), {"limit": "1"}
    answer = await Requests(client).get("count the tasks", path, query, accept=_METADATA_ONLY)
    listed, metadata = len(answer["items"] or ()), answer["metadata"]
    if not metadata.get("continue"):
        return listed
    remaining = metadata.get("remainingItemCount")
    return None if remaining is None else listed + int(remaining)


async def touch_steps(client: ApiClient, namespace: str | None = None) -> None:
    """List one step at most, so that no task is the first to ask for one.

    An API server that has just learned a kind answers 429 until the kind's storage is ready.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    path = Resource(RESEARCH, STEPS).path(namespace)
    query = {"limit": "1"}
    await Requests(client).get("list the steps", path, query, accept=_METADATA_ONLY)


async def list_report_metadata(
    client: ApiClient, namespace: str | None = None, *, limit: int = METADATA_CHUNK
) -> tuple[ObjectMeta, ...]:
    """Return the metadata of the reports of a namespace, or of all; `limit` in one answer.

    Raises:
        UnavailableError: no answer, or try again.
        RefusedError: a right is missing.
    """
    path = Resource(CORE, "configmaps").path(namespace)
    query = {"labelSelector": TASK_LABEL, "limit": str(limit)}
    return await _list_metadata(client, "list the metadata of reports", path, query)


async def all_items(
    requests: Requests,
    request: str,
    path: str,
    query: Mapping[str, str],
    *,
    accept: str = _JSON,
) -> tuple[Item, ...]:
    """Return the items of a list, in as many chunks as its limit makes.

    Raises:
        StoreError: a request failed; a list that is continued too late must begin again.
    """
    items: list[Item] = []
    chunk = dict(query)
    while True:
        answer = await requests.get(request, path, chunk, accept=accept)
        items.extend(answer["items"] or ())  # an empty list of metadata is null
        if not (continued := answer["metadata"].get("continue")):
            return tuple(items)
        chunk["continue"] = continued


async def _list_metadata(
    client: ApiClient, request: str, path: str, query: Mapping[str, str]
) -> tuple[ObjectMeta, ...]:
    items = await all_items(Requests(client), request, path, query, accept=_METADATA_ONLY)
    return tuple(ObjectMeta.model_validate(item["metadata"]) for item in items)
