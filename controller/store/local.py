"""The store of `fixpoint run`: the same objects and the same refusals in one SQLite file.

It keeps what the loop relies on in Kubernetes: a uid and a version for each object, a
generation that moves with the spec alone, a status that is written apart from it, refusal of a
stale version, records that cannot change, and children that go with their owner (here at once).

SQLite is called directly in the asynchronous methods: a write takes about a millisecond, and a
write that has to wait for another process's holds up this one's loop for as long.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pydantic import SecretStr, TypeAdapter, ValidationError

from controller.api.errors import (
    AlreadyExistsError,
    ConflictError,
    JournalError,
    NotFoundError,
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
from controller.store.local_database import Database
from controller.store.local_objects import Objects, StoredEvent, parsed, revalidated
from controller.store.manifest import ConfigMap, DeclaredObject, read_manifest
from controller.store.secret_manifest import Secret
from controller.store.secret_values import secret_not_found, secret_value
from controller.store.validation import faults

_LOGGER: Final = logging.getLogger(__name__)

_OBJECT: Final = TypeAdapter(dict[str, Any])


def random_uid() -> str:
    """Return a uid as the API server makes them."""
    return str(uuid.uuid4())


class LocalStore:
    """`TaskStore` over one file, and what a user does with `kubectl` elsewhere.

    Beside what `TaskStore` says, any method may raise `UserError`: the file was damaged, or
    became unwritable, while it was open. A store belongs to the thread that opened it.
    """

    @classmethod
    def open(
        cls, path: Path, clock: Clock, *, new_uid: Callable[[], str] = random_uid
    ) -> LocalStore:
        """Open the file, and make it if it is not there; end with `close` or with `with`.

        Args:
            path: the file; its folder must exist. Beside it lie `-wal` and `-shm` while in use.
            clock: gives creation times and the times of events.
            new_uid: gives each new object a uid of its own.

        Raises:
            UserError: the file is damaged, not writable, another program's or a newer format.
            UnavailableError: another process holds it for too long.
        """
        return cls(Database.open(path), clock, new_uid)

    def __init__(self, database: Database, clock: Clock, new_uid: Callable[[], str]) -> None:
        """Take an open database. Use `open`."""
        self._database = database
        self._objects = Objects(database, clock, new_uid)
        self._secrets: dict[tuple[str, str], Secret] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._database.close()

    # What a user does.

    def apply(self, manifest: Mapping[str, Any]) -> DeclaredObject:
        """Create what a manifest declares, or change what is there to it; return it as stored.

        The spec is replaced as a whole; labels and annotations are added to those that are
        there, as with server-side apply. Nothing is written if nothing changes. A Secret is kept
        in memory alone.

        Raises:
            UserError: the manifest breaks a rule; one line for each.
            ConflictError: it names a uid or version, and another one is there.
            UnavailableError: the file cannot be written now.
        """
        declared = read_manifest(manifest)
        if isinstance(declared, Secret):
            self.keep_secret(declared)
            return declared
        with self._database.writing():
            return self._objects.apply(declared)  # type: ignore[type-var]  # is one of the union

    def keep_secret(self, secret: Secret) -> None:
        """Keep a Secret in memory as long as this store is open; it is never written to the file.

        Keys are added to those of a Secret of the same name, as with server-side apply.
        """
        name = secret.metadata.namespace, secret.metadata.name
        known = self._secrets.get(name)
        self._secrets[name] = secret.added_to(known) if known else secret

    def delete_task(self, key: TaskKey) -> None:
        """Remove a task with its steps, its report and its events.

        Raises:
            NotFoundError: it is not there.
            UnavailableError: the file cannot be written now.
        """
        with self._database.writing():
            task = self._objects.require(ResearchTask, key.namespace, key.name)
            self._database.delete_with_owned(task.metadata.uid)

    def delete_report(self, task: ResearchTask) -> None:
        """Remove a task's report; the loop writes it again when it next looks for it.

        Raises:
            NotFoundError: it is not there.
            UnavailableError: the file cannot be written now.
        """
        with self._database.writing():
            report = self._objects.require(
                ConfigMap, task.metadata.namespace, names.report_name(task)
            )
            self._database.delete_with_owned(report.metadata.uid)

    def tasks(self) -> tuple[ResearchTask, ...]:
        """Return all tasks, by namespace and name."""
        return tuple(parsed(ResearchTask, body) for body in self._database.all_of("ResearchTask"))

    def events(self, task: ResearchTask) -> tuple[Event, ...]:
        """Return what was told of a task, in order."""
        bodies = self._database.owned_by("Event", task.metadata.uid)
        stored = [StoredEvent.model_validate_json(body) for body in bodies]
        stored.sort(key=lambda event: int(event.metadata.resource_version))
        return tuple(Event(e.type, e.reason, e.message) for e in stored)

    # What the loop does: `TaskStore`.

    async def get_task(self, key: TaskKey) -> ResearchTask:
        """Return the newest version of a task; see `TaskStore`."""
        return self._objects.require(ResearchTask, key.namespace, key.name)

    async def remove_task(self, task: ResearchTask) -> None:
        """Delete exactly this task and all that it owns; see `TaskStore`."""
        with self._database.writing():
            stored = self._objects.require(
                ResearchTask, task.metadata.namespace, task.metadata.name
            )
            if stored.metadata.uid != task.metadata.uid:
                raise ConflictError(f"another task is called {task.metadata.name} now")
            self._database.delete_with_owned(task.metadata.uid)

    async def get_source(self, namespace: str, name: str) -> ResearchSource:
        """Return a source; see `TaskStore`."""
        return self._objects.require(ResearchSource, namespace, name)

    async def get_model(self, namespace: str, name: str) -> ResearchModel:
        """Return a model; see `TaskStore`."""
        return self._objects.require(ResearchModel, namespace, name)

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        """Return one value of a Secret that was given to this process; see `TaskStore`."""
        secret = self._secrets.get((namespace, name))
        if secret is None:
            raise secret_not_found(namespace, name)
        return secret_value(secret.values, namespace, name, key)

    async def write_status(self, task: ResearchTask, status: ResearchTaskStatus) -> ResearchTask:
        """Replace the status of exactly this version of the task; see `TaskStore`."""
        with self._database.writing():
            return self._objects.write_status(task, status)

    async def write_source_status(
        self, source: ResearchSource, status: ResearchSourceStatus
    ) -> ResearchSource:
        """Replace the status of exactly this version of a source; see `TaskStore`."""
        with self._database.writing():
            return self._objects.write_status(source, status)

    async def write_model_status(
        self, model: ResearchModel, status: ResearchModelStatus
    ) -> ResearchModel:
        """Replace the status of exactly this version of a model, as for a source.

        Raises:
            ConflictError: the stored version is another one.
            NotFoundError: the model is gone.
        """
        with self._database.writing():
            return self._objects.write_status(model, status)

    async def list_steps(
        self,
        task: ResearchTask,
        first: int,
        *,
        by_name: bool = False,  # noqa: ARG002 - as the port's: a list costs nothing here
    ) -> tuple[ResearchStep, ...]:
        """Return the stored steps of a task from index `first` on; see `TaskStore`.

        As in Kubernetes: all whose `spec.taskUID` fits, and by name until one is missing.
        """
        found: list[ResearchStep] = []
        if first == 0:
            found = [_parsed_step(body) for body in self._database.steps_of(task.metadata.uid)]
            found.sort(key=lambda step: (step.spec.index, step.metadata.name))
        index = found[-1].spec.index + 1 if found else first
        while True:
            name = step_name(task.metadata.name, task.metadata.uid, index)
            body = self._database.get("ResearchStep", task.metadata.namespace, name)
            if body is None:
                return tuple(found)
            found.append(_parsed_step(body))
            index += 1

    async def create_step(self, step: ResearchStep) -> None:
        """Store a step; see `TaskStore`. `NotFoundError` says here that its task is gone."""
        valid = revalidated(step)
        with self._database.writing():
            self._objects.insert(valid)

    async def delete_step(self, task: ResearchTask, index: int) -> None:
        """Delete a step, if it is there; see `TaskStore`."""
        name = step_name(task.metadata.name, task.metadata.uid, index)
        with self._database.writing():
            stored = self._objects.find(ResearchStep, task.metadata.namespace, name)
            if stored is not None and stored.spec.task_uid == task.metadata.uid:
                self._database.delete_with_owned(stored.metadata.uid)

    async def get_report(self, task: ResearchTask) -> StoredReport | None:
        """Return the report of this very task, None where there is none; see `TaskStore`."""
        stored = self._objects.find(ConfigMap, task.metadata.namespace, names.report_name(task))
        if stored is None:
            return None
        names.require_own_report(task, stored.metadata)
        annotations = stored.metadata.annotations
        return StoredReport(
            operation_id=annotations.get(names.OPERATION_ANNOTATION, ""),
            digest=annotations.get(names.DIGEST_ANNOTATION, ""),
            files=stored.data,
        )

    async def put_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Create the task's report, or replace its own older one; see `TaskStore`."""
        new = ConfigMap(
            metadata=ObjectMeta(
                name=names.report_name(task),
                namespace=task.metadata.namespace,
                labels=names.report_labels(task),
                annotations={
                    names.OPERATION_ANNOTATION: report.operation_id,
                    names.DIGEST_ANNOTATION: report.digest,
                },
                owner_references=(names.owner_reference(task),),
            ),
            data=dict(report.files),
        )
        with self._database.writing():
            old = self._objects.find(ConfigMap, new.metadata.namespace, new.metadata.name)
            if old is None:
                try:
                    self._objects.insert(new)
                except NotFoundError as error:
                    raise ConflictError(str(error)) from error
            else:
                names.require_own_report(task, old.metadata)
                if not names.is_written_by(old.metadata, report):
                    self._objects.change(old, new)

    async def record_event(self, task: ResearchTask, event: Event) -> None:
        """Store an event, once a generation; a failure is logged, never raised."""
        try:
            with self._database.writing():
                self._objects.insert(
                    StoredEvent(
                        metadata=ObjectMeta(
                            name=names.event_name(task, event),
                            namespace=task.metadata.namespace,
                            owner_references=(names.owner_reference(task),),
                        ),
                        type=event.type,
                        reason=event.reason,
                        message=names.event_message(event),
                    )
                )
        except AlreadyExistsError:
            pass  # told already
        except StoreError as error:
            _LOGGER.warning("an event is lost: %s", error)

    async def load_config_maps(
        self, namespace: str, wanted: Sequence[str]
    ) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
        """Return the texts of ConfigMaps by name and key, and the names of those missing.

        There are none but those that the user's own manifests declare (`apply`).
        """
        found: dict[str, dict[str, str]] = {}
        for name in wanted:
            stored = self._objects.find(ConfigMap, namespace, name)
            if stored is not None:
                found[name] = dict(stored.data)
        return found, tuple(name for name in wanted if name not in found)


def _parsed_step(body: str) -> ResearchStep:
    try:
        return read_step(_OBJECT.validate_json(body))
    except ValidationError as error:
        raise JournalError(
            "UnreadableStep", f"a stored step is no step: {'; '.join(faults(error))}"
        ) from error
