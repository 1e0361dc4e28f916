"""What the loop needs of the world, as protocols: a clock, a store, sources.

`reconcile` and `actions` know these and nothing behind them; `operator` and `cli` choose the
implementations. Every method may raise the errors that its docstring names, no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from pydantic import SecretStr

from controller.api.model import ResearchModel
from controller.api.model_call import ModelCall, ModelTerms, Reservation
from controller.api.records import Block, Document, Hit, SearchStatus, TermWeight
from controller.api.source import ResearchSource, ResearchSourceStatus
from controller.api.step import ResearchStep, ResearchStepSpec
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.pace import Pace
from controller.loop.situation import MissingReference


class Clock(Protocol):
    """Wall-clock time for what is recorded; the loop itself never reads a clock."""

    def now(self) -> datetime:
        """Return the time now, in UTC."""
        ...


@dataclass(frozen=True)
class Passage:
    """A search result over a corpus: consecutive blocks under one heading path of a document.

    `relevance` is the engine's score relative to the best result, in thousandths (1..1000).
    """

    document: Document
    blocks: tuple[Block, ...]
    relevance: int


@dataclass(frozen=True)
class SearchOutcome:
    """What one query to one source brought, best first: passages, or hits that are to be read.

    A source that is searched whole returns `passages`; `total` counts all that match, `documents`
    is how many documents it searched, and `term_weights` has one entry for each term asked for.
    A remote source returns `hits`, and counts what it can.
    """

    status: SearchStatus
    passages: tuple[Passage, ...] = ()
    hits: tuple[Hit, ...] = ()
    total: int = 0
    documents: int = 0
    term_weights: tuple[TermWeight, ...] = ()
    corpus_digest: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceObservation:
    """What a source holds now; a remote source tells neither its digest nor its size.

    `warnings` names files that were left out, and why.
    """

    digest: str | None = None
    documents: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reread:
    """A document as a source holds it now, with all of its blocks; None: it holds it no more.

    `corpus_digest` is what the source held when it was read, where that has a digest. `partial`
    says what of the document could not be read, for people; an answer may stand there.
    """

    document: Document | None
    blocks: tuple[Block, ...] = ()
    corpus_digest: str | None = None
    partial: str | None = None


class Source(Protocol):
    """A place to look, made from a `ResearchSource`."""

    @property
    def name(self) -> str:
        """The name of the `ResearchSource`."""
        ...

    @property
    def max_results(self) -> int:
        """How many passages a search may return, from the source's spec."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether a search is a call to somebody else: counted, and charged if in doubt."""
        ...

    async def observe(self) -> SourceObservation:
        """Return the digest and size of what the source holds now, made ready to be searched.

        Raises:
            SourceNotReadyError: with the reason that `Ready=False` and the task show.
        """
        ...

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Search for a query's words; also weigh `terms` (words, identifiers or phrases).

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """
        ...

    async def read(self, locator: str) -> Reread:
        """Read one document, by where it is: a hit, or what was cited before.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """
        ...


class Model(Protocol):
    """A model, made from a `ResearchModel`: one attempt is one request, and nothing is hidden."""

    @property
    def terms(self) -> ModelTerms:
        """What it can take and what it costs."""
        ...

    @property
    def sampling(self) -> Sampling:
        """How it is asked, for the record."""
        ...

    async def probe(self) -> str | None:
        """Ask the endpoint whether it is there, without a call that is charged.

        Returns:
            a warning for people, None where nothing is odd; nothing waits for it, and no error
            is raised.
        """
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request, and only one; whatever comes back is the answer.

        Raises:
            RetryableError: another attempt may succeed; the class is one of docs/models.md.
            PermanentError: no attempt will.
        """
        ...


@dataclass(frozen=True)
class Sampling:
    """How a model is asked: the name that its endpoint knows it by, and what steers the dice.

    `seed` is None where none is sent.
    """

    requested_model: str
    temperature: str
    seed: int | None


@dataclass(frozen=True)
class References:
    """What a task refers to, ready to be used; or the deepest cause why it is not.

    `models` has the task's model first, then its fallback if that can be used.
    `look_again_seconds` is set while what is missing may come back without anybody telling.
    `digests` is what the sources hold now, by name, where that is known. `skipped` says why the
    fallback model cannot be used, if the task has one: nothing waits for it.
    """

    sources: Mapping[str, Source]
    missing: MissingReference | None = None
    look_again_seconds: float | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    skipped: str | None = None
    models: tuple[Model, ...] = ()


class ReferenceResolver(Protocol):
    """Finds what a task refers to."""

    async def resolve(self, task: ResearchTask) -> References:
        """Return the task's sources, observed and ready, or what is missing."""
        ...


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


class Pacing(Protocol):
    """Says how fast models may be asked, over all tasks of the process."""

    def pace(self, key: TaskKey, model: str) -> Pace | None:
        """Return what the limits of a model leave for a task; None: it has none."""
        ...

    def wait(self, key: TaskKey, model: str) -> None:
        """Take note that a task waits for a model, and may be told when it is free."""
        ...

    def leave(self, key: TaskKey) -> None:
        """Take note that a task waits for no model any more."""
        ...

    def take(self, key: TaskKey, reserved: Reservation) -> Slot | None:
        """Count a call as under way, at once; None: the model cannot be asked now."""
        ...


class Slot(Protocol):
    """A call that counts as under way."""

    def release(self, call: ModelCall | None) -> None:
        """Count the call as ended, with what it was charged; None: nothing was sent."""
        ...


class NoSlot:
    """A `Slot` that nothing counts."""

    def release(self, call: ModelCall | None) -> None:
        """Do nothing."""


class Unpaced:
    """A `Pacing` without limits."""

    def pace(self, key: TaskKey, model: str) -> None:
        """Return that nothing is limited."""

    def wait(self, key: TaskKey, model: str) -> None:
        """Do nothing."""

    def leave(self, key: TaskKey) -> None:
        """Do nothing."""

    def take(self, key: TaskKey, reserved: Reservation) -> Slot:  # noqa: ARG002 - as the port's
        """Return a slot that counts nothing."""
        return NoSlot()


class LoopObserver(Protocol):
    """Is told what a reconciler does, as it does it; it must neither wait nor raise."""

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """This process has recorded a step; told once, also if the store's answer was lost."""
        ...

    def step_adopted(self, step: ResearchStepSpec) -> None:
        """A step was found recorded that no status had been folded from yet."""
        ...

    def attempt_superseded(self, step: ResearchStepSpec) -> None:
        """This process made an attempt, and another process had recorded a step in its place."""
        ...

    def run_ended(self, task: ResearchTask) -> None:
        """A run has ended; `task` is as it was stored with its ending."""
        ...

    def collided(self, collision: Collision) -> None:
        """A write was refused because somebody else had written."""
        ...


class Unobserved:
    """A `LoopObserver` that does nothing with what it is told."""

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def step_adopted(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def attempt_superseded(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def run_ended(self, task: ResearchTask) -> None:
        """Do nothing."""

    def collided(self, collision: Collision) -> None:
        """Do nothing."""


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
