"""The store: tasks, journals, reports, events, and what tasks refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from pydantic import SecretStr

from controller.api.model import ResearchModel
from controller.api.source import ResearchSource, ResearchSourceStatus
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask, ResearchTaskStatus


class TaskKey(NamedTuple):
    """The name of a task; its uid says which object of that name it is."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class EventType(StrEnum):
    """Kubernetes' two kinds of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class Event:
    """A transition worth telling people about; the same one is told once a generation."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True)
class StoredReport:
    """A report at its destination: files by name, and the operation that wrote them."""

    operation_id: str
    digest: str
    files: Mapping[str, str]


class Collision(StrEnum):
    """How a store refuses a write because somebody else has written."""

    CONFLICT = "Conflict"
    ALREADY_EXISTS = "AlreadyExists"


class TaskStore(Protocol):
    """Tasks, their journals, their reports and what they refer to: Kubernetes or a local file.

    Every method may raise `UnavailableError` (no answer, or try again) and `RefusedError`
    (a rule of the schema or a missing right), beside what it names.
    """

    async def get_task(self, key: TaskKey) -> ResearchTask:
        """Return the newest version of a task.

        Raises:
            NotFoundError: it is not there.
        """
        ...

    async def list_steps(
        self, task: ResearchTask, first: int, *, by_name: bool = False
    ) -> tuple[ResearchStep, ...]:
        """Return the stored steps of a task from index `first` on, by index.

        `by_name`: step `first` is there if there is any, so that a store need not look further
        where it is not. Steps are returned as they are stored, and so is a foreign object that has
        taken the name of the next one; whether they fold is the journal's business.

        Raises:
            JournalError: a stored step cannot be read as one.
        """
        ...

    async def create_step(self, step: ResearchStep) -> None:
        """Store a step, all or nothing.

        Raises:
            AlreadyExistsError: a step of that name is there.
            NotFoundError: the namespace is gone.
        """
        ...

    async def delete_step(self, task: ResearchTask, index: int) -> None:
        """Delete the step of this index of a task, if it is there: its round is kept no longer."""
        ...

    async def write_status(self, task: ResearchTask, status: ResearchTaskStatus) -> ResearchTask:
        """Replace the status of exactly this version of the task; return the new version.

        Raises:
            ConflictError: the stored version is another one.
            NotFoundError: the task is gone.
        """
        ...

    async def remove_task(self, task: ResearchTask) -> None:
        """Delete exactly this task (by uid), and all that it owns with it.

        Raises:
            NotFoundError: it is gone.
            ConflictError: another task has its name now.
        """
        ...

    async def get_source(self, namespace: str, name: str) -> ResearchSource:
        """Return a source.

        Raises:
            NotFoundError: it is not there.
        """
        ...

    async def write_source_status(
        self, source: ResearchSource, status: ResearchSourceStatus
    ) -> ResearchSource:
        """Replace the status of exactly this version of a source; return the new version.

        Raises:
            ConflictError: the stored version is another one.
            NotFoundError: the source is gone.
        """
        ...

    async def get_model(self, namespace: str, name: str) -> ResearchModel:
        """Return a model.

        Raises:
            NotFoundError: it is not there.
        """
        ...

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        """Return one value of a Secret: one line of printable ASCII, its line's end taken off.

        Raises:
            NotFoundError: the Secret or the key in it is not there.
            RefusedError: the value is empty, has several lines or cannot be sent in a header.
        """
        ...

    async def get_report(self, task: ResearchTask) -> StoredReport | None:
        """Return the report of this very task (by uid), None where there is none.

        Raises:
            AlreadyExistsError: an object of that name belongs to someone else.
        """
        ...

    async def put_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Create the task's report, or replace its own older one; one of this operation stays.

        Raises:
            AlreadyExistsError: an object of that name belongs to someone else.
            ConflictError: someone replaced it in between.
        """
        ...

    async def record_event(self, task: ResearchTask, event: Event) -> None:
        """Tell people of a transition; the same event of a generation only once."""
        ...
