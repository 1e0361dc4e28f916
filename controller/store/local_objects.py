"""Typed objects in the local file: what an API server does on create, update and status update.

All writes here happen inside `Database.writing`, which makes "read, compare, replace" one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from controller.api.base import ApiModel
from controller.api.errors import ConflictError, NotFoundError, RefusedError
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel
from controller.api.source import ResearchSource
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask
from controller.ports import Clock, EventType
from controller.store.local_database import Database, Row
from controller.store.local_rules import broken_rules
from controller.store.manifest import ConfigMap, StoredObject
from controller.store.validation import faults, invalid


class StoredEvent(ApiModel):
    """An event as it is stored, in the fields of Kubernetes' own."""

    metadata: ObjectMeta
    type: EventType
    reason: str
    message: str


Stored = TypeVar("Stored", ResearchTask, ResearchStep, ResearchModel, ResearchSource, ConfigMap)
Insertable = TypeVar(
    "Insertable",
    ResearchTask,
    ResearchStep,
    ResearchModel,
    ResearchSource,
    ConfigMap,
    StoredEvent,
)
WithStatus = TypeVar("WithStatus", ResearchTask, ResearchModel, ResearchSource)


class Objects:
    """The objects of one database."""

    def __init__(self, database: Database, clock: Clock, new_uid: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_uid = new_uid

    def find(self, model: type[Stored], namespace: str, name: str) -> Stored | None:
        """Return an object, None where there is none.

        Raises:
            RefusedError: what is stored cannot be read.
        """
        body = self._database.get(_kind(model), namespace, name)
        return None if body is None else parsed(model, body)

    def require(self, model: type[Stored], namespace: str, name: str) -> Stored:
        """Return an object.

        Raises:
            NotFoundError: it is not there.
            RefusedError: what is stored cannot be read.
        """
        found = self.find(model, namespace, name)
        if found is None:
            raise NotFoundError(f"there is no {model.__name__} {namespace}/{name}")
        return found

    def apply(self, declared: Stored) -> Stored:
        """Create what a user declared, or change what is there to it; inside a write.

        The spec or data is replaced as a whole, labels and annotations are added.

        Raises:
            UserError: the object breaks a rule.
            ConflictError: `declared` names a uid or version, and another one is there.
            NotFoundError: its owner is gone.
        """
        old = self.find(type(declared), declared.metadata.namespace, declared.metadata.name)
        if old is not None:
            return self.change(old, declared)
        if lines := broken_rules(declared, None):
            raise invalid(title(declared), lines)
        return self.insert(declared)

    def insert(self, new: Insertable) -> Insertable:
        """Store a new object with all that a store gives to one; inside a write.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: its owner is gone.
        """
        stored = new.model_copy(update={"metadata": self._new_metadata(new.metadata)})
        self._database.insert(
            Row(
                kind=_kind(type(new)),
                namespace=stored.metadata.namespace,
                name=stored.metadata.name,
                uid=stored.metadata.uid,
                body=stored.to_json(),
                owner_uid=self._owner_of(stored.metadata),
                task_uid=stored.spec.task_uid if isinstance(stored, ResearchStep) else "",
            )
        )
        return stored

    def change(self, old: Stored, declared: Stored) -> Stored:
        """Replace spec or data, add labels and annotations; inside a write.

        Raises:
            UserError: the new version breaks a rule.
            ConflictError: `declared` names a uid or version, and `old` has another.
        """
        _require_version(old, declared.metadata)
        content = "data" if isinstance(old, ConfigMap) else "spec"
        value = getattr(declared, content)
        moves_generation = content == "spec" and value != getattr(old, content)
        metadata = old.metadata.model_copy(
            update={
                "labels": old.metadata.labels | declared.metadata.labels,
                "annotations": old.metadata.annotations | declared.metadata.annotations,
                "generation": old.metadata.generation + moves_generation,
            }
        )
        new = old.model_copy(update={content: value, "metadata": metadata})
        if lines := broken_rules(new, old):
            raise invalid(title(new), lines)
        return self._replace(old, new)

    def write_status(self, seen: WithStatus, status: ApiModel) -> WithStatus:
        """Replace the status of the version that was seen, and nothing else; inside a write.

        Raises:
            NotFoundError: the object is gone.
            ConflictError: another version is stored.
            RefusedError: the status breaks a rule.
        """
        old = self.require(type(seen), seen.metadata.namespace, seen.metadata.name)
        if old.metadata.resource_version != seen.metadata.resource_version:
            raise ConflictError(
                f"{title(old)} has version {old.metadata.resource_version}, not "
                f"{seen.metadata.resource_version or 'an unknown one'}"
            )
        new = revalidated(old.model_copy(update={"status": status}))
        if lines := broken_rules(new, old):
            raise RefusedError(f"{title(new)}: {'; '.join(lines)}")
        return self._replace(old, new)

    def _replace(self, old: Stored, new: Stored) -> Stored:
        """Store a new version, unless it is the old one."""
        if new == old:
            return old
        version = self._database.next_version()
        metadata = new.metadata.model_copy(update={"resource_version": version})
        stored = new.model_copy(update={"metadata": metadata})
        self._database.replace(old.metadata.uid, stored.to_json())
        return stored

    def _new_metadata(self, declared: ObjectMeta) -> ObjectMeta:
        return ObjectMeta(
            name=declared.name,
            namespace=declared.namespace,
            uid=self._new_uid(),
            generation=1,
            resource_version=self._database.next_version(),
            creation_timestamp=self._clock.now(),
            labels=declared.labels,
            annotations=declared.annotations,
            owner_references=declared.owner_references,
        )

    def _owner_of(self, metadata: ObjectMeta) -> str:
        """Return the uid of the owner that an object goes with; empty without one.

        An owner that is gone refuses the object, which Kubernetes would take and then collect.
        """
        if not metadata.owner_references:
            return ""
        uid = metadata.owner_references[0].uid
        if not self._database.has_uid(uid):
            raise NotFoundError(f"the owner of {metadata.namespace}/{metadata.name} is gone")
        return uid


def _kind(model: type[ApiModel]) -> str:
    return "Event" if model is StoredEvent else model.__name__


def title(stored: StoredObject) -> str:
    """Return what to call an object in a message."""
    metadata = stored.metadata
    return f"the {type(stored).__name__} {metadata.namespace}/{metadata.name}"


def parsed(model: type[Stored], body: str) -> Stored:
    """Read a stored object.

    Raises:
        RefusedError: it cannot be read.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise RefusedError(
            f"a stored {model.__name__} cannot be read: {'; '.join(faults(error))}"
        ) from error


def revalidated(new: Stored) -> Stored:
    """Check an object as the API server would: a copy with changes is not checked by itself.

    Raises:
        RefusedError: it breaks a bound or a pattern.
    """
    try:
        return type(new).model_validate(new.to_json())
    except ValidationError as error:
        raise RefusedError(f"{title(new)}: {'; '.join(faults(error))}") from error


def _require_version(old: StoredObject, declared: ObjectMeta) -> None:
    for what in ("uid", "resource_version"):
        wanted, stored = getattr(declared, what), getattr(old.metadata, what)
        if wanted and wanted != stored:
            raise ConflictError(
                f"{title(old)} has the {what.replace('_', ' ')} {stored}, not {wanted}: remove "
                "it from the manifest, or read the object again"
            )
