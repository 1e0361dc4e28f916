"""What both stores call things: resources, the report's ConfigMap, events and owners.

A name that is a function of what it stands for makes a repeated write meet the first one, so
these functions take no clock and no randomness.
"""

from __future__ import annotations

from typing import Final

from controller.api.base import API_VERSION, GROUP, digest_of_text
from controller.api.errors import AlreadyExistsError
from controller.api.meta import ObjectMeta, OwnerReference
from controller.api.task import ResearchTask
from controller.ports import Event, StoredReport

TASKS: Final = "researchtasks"
STEPS: Final = "researchsteps"
MODELS: Final = "researchmodels"
SOURCES: Final = "researchsources"

TASK_LABEL: Final = f"{GROUP}/task"
"""The label of a report's ConfigMap; its value is the task's name."""

OPERATION_ANNOTATION: Final = f"{GROUP}/operation-id"
"""The annotation that says which `Publish` wrote a report."""

DIGEST_ANNOTATION: Final = f"{GROUP}/report-digest"
"""The annotation that carries a report's digest."""

COMPONENT: Final = "fixpoint"
"""The component that reports events."""

MAX_EVENT_BYTES: Final = 1024
"""How long the message of an event may be, in bytes of UTF-8."""


def report_name(task: ResearchTask) -> str:
    """Return the name of the ConfigMap that holds a task's report."""
    return f"{task.metadata.name}-report"


def report_labels(task: ResearchTask) -> dict[str, str]:
    """Return the labels of a report's ConfigMap."""
    return {TASK_LABEL: task.metadata.name}


def event_name(task: ResearchTask, event: Event) -> str:
    """Return the only name that this event can have for a generation, request and round."""
    name = f"{task.metadata.uid}.{event.reason}.{task.metadata.generation}".lower()
    if task.status.round:
        name = f"{name}.{task.status.round}"
    return name if task.request is None else f"{name}.{digest_of_text(task.request)[7:15]}"


def event_message(event: Event) -> str:
    """Return an event's message, cut at a character to `MAX_EVENT_BYTES`, with an ellipsis."""
    encoded = event.message.encode()
    if len(encoded) <= MAX_EVENT_BYTES:
        return event.message
    ellipsis = "…"
    room = MAX_EVENT_BYTES - len(ellipsis.encode())
    return encoded[:room].decode(errors="ignore") + ellipsis


def owner_reference(task: ResearchTask) -> OwnerReference:
    """Return the reference that makes garbage collection remove an object with its task."""
    return OwnerReference(
        api_version=API_VERSION,
        kind="ResearchTask",
        name=task.metadata.name,
        uid=task.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def is_written_by(metadata: ObjectMeta, report: StoredReport) -> bool:
    """Say whether a stored report was written by the very operation that would write it now."""
    return metadata.annotations.get(OPERATION_ANNOTATION) == report.operation_id


def require_own_report(task: ResearchTask, report: ObjectMeta) -> None:
    """Check that the ConfigMap of a report's name belongs to this very task.

    Raises:
        AlreadyExistsError: it belongs to someone else, or to a former task of that name.
    """
    if any(owner.uid == task.metadata.uid for owner in report.owner_references):
        return
    raise AlreadyExistsError(
        f"the ConfigMap {report.namespace}/{report.name} does not belong to the ResearchTask "
        f"{task.metadata.name} with uid {task.metadata.uid}: a report never replaces the object "
        f"of another owner; rename it, or remove it with "
        f"`kubectl delete configmap {report.name} --namespace={report.namespace}`"
    )
