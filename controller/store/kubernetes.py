"""The store of the operator: tasks, journals and reports as objects of a Kubernetes cluster.

Each method is one request, but for lists in chunks and for a report that is there already. Every
write is conditional: on a version that was read, or on a name that only this record can have.
What the API server answers is mapped to errors in `kubernetes_answers`.
"""

from __future__ import annotations

import logging
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeVar

from kubernetes.aio.client import ApiClient
from pydantic import SecretStr, ValidationError

from controller.api.base import API_VERSION, ApiModel, format_time
from controller.api.errors import (
    AlreadyExistsError,
    ConflictError,
    JournalError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel, ResearchModelStatus
from controller.api.source import ResearchSource, ResearchSourceStatus
from controller.api.step import ResearchStep, step_name
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.loop.migration import read_step
from controller.ports import Clock, Event, StoredReport, TaskKey
from controller.store import names
from controller.store.kubernetes_client import REQUEST_TIMEOUT_SECONDS
from controller.store.kubernetes_lists import all_items
from controller.store.kubernetes_requests import CORE, RESEARCH, STRICT, Item, Requests, Resource
from controller.store.merge_patch import merge_patch
from controller.store.secret_values import secret_not_found, secret_value
from controller.store.validation import faults

_LOGGER: Final = logging.getLogger(__name__)

_STEP_CHUNK: Final = 50
"""How many steps are listed at once: a step may have 100 KiB, an answer should stay small."""

_STEPS: Final = Resource(RESEARCH, names.STEPS)
_CONFIG_MAPS: Final = Resource(CORE, "configmaps")
_SECRETS: Final = Resource(CORE, "secrets")
_EVENTS: Final = Resource(CORE, "events")

Stored = TypeVar("Stored", bound=ApiModel)


class KubernetesStore:
    """`TaskStore` over one API client, which the caller made (`connect`) and closes."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        self._requests = Requests(client, timeout_seconds=timeout_seconds)
        self._clock = clock

    async def get_task(self, key: TaskKey) -> ResearchTask:
        """Return the newest version of a task; see `TaskStore`."""
        return _read(ResearchTask, await self._get(names.TASKS, key.namespace, key.name))

    async def remove_task(self, task: ResearchTask) -> None:
        """Delete exactly this version of a task, its steps and report first; see `TaskStore`."""
        await self._requests.delete(
            f"delete the task {task.metadata.name}",
            Resource(RESEARCH, names.TASKS).path(task.metadata.namespace, task.metadata.name),
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "propagationPolicy": "Foreground",
                "preconditions": {
                    "uid": task.metadata.uid,
                    "resourceVersion": task.metadata.resource_version,
                },
            },
        )

    async def get_source(self, namespace: str, name: str) -> ResearchSource:
        """Return a source; see `TaskStore`."""
        return _read(ResearchSource, await self._get(names.SOURCES, namespace, name))

    async def get_model(self, namespace: str, name: str) -> ResearchModel:
        """Return a model; see `TaskStore`."""
        return _read(ResearchModel, await self._get(names.MODELS, namespace, name))

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        """Return one value of a Secret; see `TaskStore`."""
        try:
            stored = await self._requests.get(
                f"get the Secret {namespace}/{name}", _SECRETS.path(namespace, name)
            )
        except NotFoundError:
            raise secret_not_found(namespace, name) from None
        encoded: dict[str, str] = stored.get("data") or {}
        values = {each: b64decode(value) for each, value in encoded.items() if each == key}
        return secret_value(values, namespace, name, key)

    async def write_status(self, task: ResearchTask, status: ResearchTaskStatus) -> ResearchTask:
        """Replace the status of exactly this version of the task; see `TaskStore`."""
        return _read(ResearchTask, await self._patch_status(names.TASKS, task.metadata, status))

    async def write_source_status(
        self, source: ResearchSource, status: ResearchSourceStatus
    ) -> ResearchSource:
        """Replace the status of exactly this version of a source; see `TaskStore`."""
        stored = await self._patch_status(names.SOURCES, source.metadata, status)
        return _read(ResearchSource, stored)

    async def write_model_status(
        self, model: ResearchModel, status: ResearchModelStatus
    ) -> ResearchModel:
        """Replace the status of exactly this version of a model, as for a source.

        Raises:
            ConflictError: the stored version is another one.
            NotFoundError: the model is gone.
        """
        return _read(ResearchModel, await self._patch_status(names.MODELS, model.metadata, status))

    async def list_steps(
        self, task: ResearchTask, first: int, *, by_name: bool = False
    ) -> tuple[ResearchStep, ...]:
        """Return the stored steps of a task from index `first` on; see `TaskStore`.

        From 0 on, the steps are listed by the field `spec.taskUID`, for which the server looks at
        every step of the namespace. What follows is fetched by name until one is missing: the
        next step that another process made, or a foreign object that has taken its name.
        """
        found: list[ResearchStep] = []
        if first == 0 and not by_name:
            found = [_read_step(item) for item in await self._list_steps(task)]
            found.sort(key=lambda step: (step.spec.index, step.metadata.name))
        index = found[-1].spec.index + 1 if found else first
        while (item := await self._find_step(task, index)) is not None:
            found.append(_read_step(item))
            index += 1
        return tuple(found)

    async def create_step(self, step: ResearchStep) -> None:
        """Store a step, complete as it is; see `TaskStore`."""
        await self._requests.create(
            f"create the ResearchStep {step.metadata.name}",
            _STEPS.path(step.metadata.namespace),
            {
                "apiVersion": API_VERSION,
                "kind": "ResearchStep",
                "metadata": _creatable(step.metadata),
                "spec": step.spec.to_json(),
            },
            STRICT,
        )

    async def delete_step(self, task: ResearchTask, index: int) -> None:
        """Delete a step, if it is there; see `TaskStore`."""
        name = step_name(task.metadata.name, task.metadata.uid, index)
        with suppress(NotFoundError):
            await self._requests.delete(
                f"delete the ResearchStep {name}",
                _STEPS.path(task.metadata.namespace, name),
                {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"},
            )

    async def get_report(self, task: ResearchTask) -> StoredReport | None:
        """Return the report of this very task, None where there is none; see `TaskStore`."""
        try:
            stored = await self._get_config_map(task.metadata.namespace, names.report_name(task))
        except NotFoundError:
            return None
        metadata = _metadata(stored)
        names.require_own_report(task, metadata)
        return StoredReport(
            operation_id=metadata.annotations.get(names.OPERATION_ANNOTATION, ""),
            digest=metadata.annotations.get(names.DIGEST_ANNOTATION, ""),
            files=stored.get("data") or {},
        )

    async def put_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Create the task's report, or replace its own older one; see `TaskStore`."""
        try:
            await self._requests.create(
                f"create the ConfigMap {names.report_name(task)}",
                _CONFIG_MAPS.path(task.metadata.namespace),
                _config_map(task, report),
            )
        except AlreadyExistsError:
            await self._replace_report(task, report)
        except NotFoundError as error:
            raise ConflictError(f"the task is gone with its namespace: {error}") from error

    async def record_event(self, task: ResearchTask, event: Event) -> None:
        """Post an event, once a generation; a failure is logged, never raised."""
        try:
            await self._requests.create(
                f"create the event {event.reason} of the ResearchTask {task.metadata.name}",
                _EVENTS.path(task.metadata.namespace),
                self._core_event(task, event),
            )
        except AlreadyExistsError:
            pass  # told already
        except StoreError as error:
            _LOGGER.warning("an event is lost: %s", error)

    async def load_config_maps(
        self, namespace: str, wanted: Sequence[str]
    ) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
        """Return the texts of ConfigMaps by name and key, and the names of those missing.

        Raises:
            UnavailableError: no answer, or try again.
            RefusedError: a right is missing.
        """
        found: dict[str, dict[str, str]] = {}
        for name in wanted:
            try:
                stored = await self._get_config_map(namespace, name)
            except NotFoundError:
                continue
            found[name] = dict(stored.get("data") or {})
        return found, tuple(name for name in wanted if name not in found)

    async def _get(self, plural: str, namespace: str, name: str) -> Item:
        return await self._requests.get(
            f"get {plural} {namespace}/{name}", Resource(RESEARCH, plural).path(namespace, name)
        )

    async def _patch_status(self, plural: str, metadata: ObjectMeta, status: ApiModel) -> Item:
        """Send a merge patch whose `resourceVersion` makes it a compare-and-swap."""
        if not metadata.resource_version:  # the server would take it for "whatever is there"
            raise ConflictError(f"the version of {metadata.name} is not known: read it first")
        return await self._requests.merge_patch(
            f"write the status of {plural} {metadata.namespace}/{metadata.name}",
            Resource(RESEARCH, plural).path(metadata.namespace, metadata.name, "status"),
            {
                "metadata": {"resourceVersion": metadata.resource_version},
                "status": merge_patch(status),
            },
            STRICT,
        )

    async def _find_step(self, task: ResearchTask, index: int) -> Item | None:
        name = step_name(task.metadata.name, task.metadata.uid, index)
        try:
            return await self._get(names.STEPS, task.metadata.namespace, name)
        except NotFoundError:
            return None

    async def _list_steps(self, task: ResearchTask) -> tuple[Item, ...]:
        return await all_items(
            self._requests,
            f"list the steps of {task.metadata.name}",
            _STEPS.path(task.metadata.namespace),
            {"fieldSelector": f"spec.taskUID={task.metadata.uid}", "limit": str(_STEP_CHUNK)},
        )

    async def _get_config_map(self, namespace: str, name: str) -> Item:
        return await self._requests.get(
            f"get the ConfigMap {namespace}/{name}", _CONFIG_MAPS.path(namespace, name)
        )

    async def _replace_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Replace the report that is there, if it is the task's and stays as it was seen."""
        namespace, name = task.metadata.namespace, names.report_name(task)
        try:
            seen = _metadata(await self._get_config_map(namespace, name))
            names.require_own_report(task, seen)
            if names.is_written_by(seen, report):
                return
            await self._requests.replace(
                f"replace the ConfigMap {namespace}/{name}",
                _CONFIG_MAPS.path(namespace, name),
                _config_map(task, report, seen.resource_version),
            )
        except NotFoundError as error:
            raise ConflictError(f"the report was deleted in between: {error}") from error

    def _core_event(self, task: ResearchTask, event: Event) -> Item:
        now = format_time(self._clock.now())[: -len(".000Z")] + "Z"  # a core event has no fraction
        return {
            "metadata": {
                "name": names.event_name(task, event),
                "namespace": task.metadata.namespace,
            },
            "involvedObject": {
                "apiVersion": API_VERSION,
                "kind": "ResearchTask",
                "name": task.metadata.name,
                "namespace": task.metadata.namespace,
                "uid": task.metadata.uid,
                "resourceVersion": task.metadata.resource_version,
            },
            "type": event.type.value,
            "reason": event.reason,
            "message": names.event_message(event),
            "source": {"component": names.COMPONENT},
            "reportingComponent": names.COMPONENT,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def _read(model: type[Stored], item: Item) -> Stored:
    """Read a stored object. The CRD makes it fit the model, unless the two differ in version."""
    try:
        return model.model_validate(item)
    except ValidationError as error:
        raise RefusedError(
            f"the stored {_title(item)} cannot be read: {'; '.join(faults(error))}; "
            "install the CustomResourceDefinitions of this version"
        ) from error


def _read_step(item: Item) -> ResearchStep:
    try:
        return read_step(item)
    except ValidationError as error:
        raise JournalError(
            "UnreadableStep", f"the stored {_title(item)} is no step: {'; '.join(faults(error))}"
        ) from error


def _title(item: Item) -> str:
    metadata = item["metadata"]
    return f"{item['kind']} {metadata['namespace']}/{metadata['name']}"


def _creatable(metadata: ObjectMeta) -> Item:
    """Return the part of an object's metadata that its creator decides."""
    return metadata.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"name", "namespace", "labels", "annotations", "owner_references"},
    )


def _config_map(
    task: ResearchTask, report: StoredReport, resource_version: str | None = None
) -> Item:
    metadata: Item = {
        "name": names.report_name(task),
        "namespace": task.metadata.namespace,
        "labels": names.report_labels(task),
        "annotations": {
            names.OPERATION_ANNOTATION: report.operation_id,
            names.DIGEST_ANNOTATION: report.digest,
        },
        "ownerReferences": [names.owner_reference(task).to_json()],
    }
    if resource_version is not None:
        metadata["resourceVersion"] = resource_version
    return {"metadata": metadata, "data": dict(report.files)}


def _metadata(stored: Item) -> ObjectMeta:
    """Read the metadata of a ConfigMap into our own type."""
    return ObjectMeta.model_validate(stored["metadata"])
