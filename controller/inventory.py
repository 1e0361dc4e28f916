"""What the watch has shown of each task: a few words a task, never its body.

A finished task costs memory only, and little of it. The words are enough to say which events are
news, who refers to what, and whose report should be there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from controller.api.base import MONEY_PATTERN
from controller.api.model_call import micro_usd
from controller.api.reasons import TerminalReason
from controller.api.task import NOT_LOOKED_AT, DesiredState, request_of, source_mark
from controller.loop.seal import is_sealed
from controller.ports import TaskKey
from controller.readiness import ReferenceKey, ReferenceKind

_MONEY: Final = re.compile(MONEY_PATTERN)


class SeenTask(NamedTuple):
    """One version of a task, as far as it is kept.

    `marks` is what a task that succeeded found its sources to hold, in their order: it is looked
    at again when one of them holds something else.
    """

    resource_version: int
    uid: str
    sources: tuple[str, ...]
    model: str | None
    is_settled: bool
    has_report: bool
    wake_up_time: datetime | None = None
    is_cancelled: bool = False
    marks: tuple[str, ...] = ()
    cost_micro_usd: int = 0

    def refers_to(self, key: ReferenceKey) -> bool:
        """Say whether the task refers to a source or model of its own namespace."""
        if key.kind is ReferenceKind.SOURCE:
            return key.name in self.sources
        return key.name == self.model


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """What the watch says of a task: that it is as in `seen`, is being deleted, or is gone."""

    key: TaskKey
    seen: SeenTask
    is_deleting: bool
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ReferenceEvent:
    """What the watch says of a source or model; `version` moves with its spec only."""

    key: ReferenceKey
    version: tuple[str, int]
    is_gone: bool


class Inventory:
    """The tasks that the watch has shown and not taken back."""

    def __init__(self) -> None:
        self._tasks: dict[TaskKey, SeenTask] = {}
        self._cost_micro_usd = 0

    @property
    def cost_micro_usd(self) -> int:
        """What the tasks have cost together, over all their rounds."""
        return self._cost_micro_usd

    def __len__(self) -> int:
        """Return how many tasks there are."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[TaskKey]:
        """Iterate over the keys of the tasks."""
        return iter(self._tasks)

    def get(self, key: TaskKey) -> SeenTask | None:
        """Return what is known of a task."""
        return self._tasks.get(key)

    def put(self, key: TaskKey, seen: SeenTask) -> None:
        """Keep the newest version of a task."""
        before = self._tasks.get(key)
        self._cost_micro_usd += seen.cost_micro_usd - (before.cost_micro_usd if before else 0)
        self._tasks[key] = seen

    def remove(self, key: TaskKey) -> None:
        """Forget a task."""
        before = self._tasks.pop(key, None)
        self._cost_micro_usd -= before.cost_micro_usd if before else 0

    def running_with(self, reference: ReferenceKey) -> list[TaskKey]:
        """Return the tasks that have not ended and refer to a source or model."""
        return [
            key
            for key, seen in self._tasks.items()
            if key.namespace == reference.namespace
            and not seen.is_settled
            and seen.refers_to(reference)
        ]

    def outdated_by(self, reference: ReferenceKey, digest: str) -> list[TaskKey]:
        """Return the tasks that succeeded on something else than a source holds now."""
        now = {source_mark(digest), NOT_LOOKED_AT}
        return [
            key
            for key, seen in self._tasks.items()
            if key.namespace == reference.namespace
            and seen.is_settled
            and any(
                name == reference.name and mark not in now
                for name, mark in zip(seen.sources, seen.marks, strict=False)
            )
        ]

    def with_report(self) -> dict[TaskKey, str]:
        """Return the uids of the tasks that have ended and whose report should be there."""
        return {
            key: seen.uid
            for key, seen in self._tasks.items()
            if seen.is_settled and seen.has_report
        }


def task_event(kind: str | None, body: Mapping[str, Any]) -> TaskEvent:
    """Read a watch event of a task; the body is JSON as the API server sends it."""
    metadata = body["metadata"]
    return TaskEvent(
        key=TaskKey(sys.intern(metadata["namespace"]), metadata["name"]),
        seen=_seen(metadata, body.get("spec") or {}, body.get("status") or {}),
        is_deleting="deletionTimestamp" in metadata,
        is_gone=kind == "DELETED",
    )


def reference_event(
    kind: str | None, reference: ReferenceKind, body: Mapping[str, Any]
) -> ReferenceEvent:
    """Read a watch event of a source or model."""
    metadata = body["metadata"]
    return ReferenceEvent(
        key=ReferenceKey(metadata["namespace"], reference, metadata["name"]),
        version=(metadata["uid"], metadata["generation"]),
        is_gone=kind == "DELETED",
    )


def version_number(resource_version: str) -> int:
    """Return a version as the number that orders it (Kubernetes 1.35 and later promise that)."""
    return int(resource_version) if resource_version.isdecimal() else 0


def _seen(
    metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
) -> SeenTask:
    model = (spec.get("modelRef") or {}).get("name")
    return SeenTask(
        resource_version=version_number(metadata["resourceVersion"]),
        uid=metadata["uid"],
        sources=tuple(sys.intern(ref["name"]) for ref in spec.get("sourceRefs") or ()),
        model=None if model is None else sys.intern(model),
        is_settled=_is_settled(metadata, status),
        has_report=bool(status.get("report")),
        is_cancelled=spec.get("desiredState") == DesiredState.CANCELLED,
        wake_up_time=_time(status.get("nextWakeUpTime")),
        marks=_marks(spec, status),
        cost_micro_usd=_cost(status),
    )


def _marks(spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[str, ...]:
    """Read what a task found its sources to hold, if it is looked at again when that changes."""
    is_running = spec.get("desiredState", DesiredState.RUNNING) == DesiredState.RUNNING
    if status.get("terminalReason") != TerminalReason.GOAL_REACHED or not is_running:
        return ()
    return tuple(map(sys.intern, status.get("sources") or ()))


def _cost(status: Mapping[str, Any]) -> int:
    """Read what a task has cost; an amount that somebody else has written counts as nothing."""
    amount = (status.get("totals") or status.get("usage") or {}).get("costUSD", "0")
    return micro_usd(amount) if _MONEY.fullmatch(str(amount)) else 0


def _time(text: str | None) -> datetime | None:
    """Read a time of a status; what cannot be read wakes nobody up."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def _is_settled(metadata: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Say of JSON whether a task has ended and its status is the operator's own."""
    requested_at = request_of(metadata.get("annotations") or {})
    return (
        status.get("terminalReason") is not None
        and status.get("observedGeneration") == metadata["generation"]
        and status.get("lastHandledRequestedAt") == requested_at
        and is_sealed(status)
    )
