"""What `fixpoint replay` replays, from a store or from files, and how it came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from controller.api.errors import UserError
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask, ResearchTaskSpec, ResearchTaskStatus
from controller.cli.documents import TaskFile, read_task_file
from controller.cli.journal_file import read_journal_file
from controller.loop.divergence import ReplayDivergence
from controller.loop.replay import Replayed, decided_again, reduced
from controller.ports import TaskKey, TaskStore
from controller.store.validation import faults, invalid


@dataclass(frozen=True)
class Replayable:
    """A task, its journal and what is known of its spec, by generation."""

    task: ResearchTask
    steps: tuple[ResearchStep, ...]
    specs: dict[int, ResearchTaskSpec]
    torn: str | None = None


@dataclass(frozen=True)
class Result:
    """How a replay came out: what it did, and the first difference of each of its two modes."""

    replayed: Replayed
    status: str
    divergences: tuple[ReplayDivergence, ...]


async def from_store(store: TaskStore, key: TaskKey, others: Sequence[Path]) -> Replayable:
    """Return a task and its journal as they are stored.

    Args:
        store: where they are.
        key: the task's name.
        others: files with the task as it was at other generations.

    Raises:
        NotFoundError: the task is not there.
        UserError: a file cannot be used.
    """
    task = await store.get_task(key)
    steps = await store.list_steps(task, 0)
    files = [read_task_file(path) for path in others]
    specs = {_generation(file, None): file.task.spec for file in files}
    return Replayable(task, steps, {**specs, task.metadata.generation: task.spec})


def from_files(journal: Path, tasks: Sequence[Path]) -> Replayable:
    """Return a journal from a file, and its task from other files.

    A task's generation is that of its metadata; without one it is the newest of the journal. Its
    status is used if it is there, as `kubectl get --output yaml` writes it.

    Raises:
        UserError: a file cannot be used.
        JournalError: a line of the journal is no step that can be read.
    """
    if not tasks:
        raise UserError("--journal needs the task that it belongs to; name its file with --task")
    found = read_journal_file(journal)
    newest = max((step.spec.generation for step in found.steps), default=1)
    only = newest if len(tasks) == 1 else None
    files = {_generation(file, only): file for file in map(read_task_file, tasks)}
    if len(files) < len(tasks):
        raise UserError("two files of --task have the same metadata.generation; correct one")
    generation = max(files)
    task = _completed(files[generation], generation, found.steps)
    specs = {number: file.task.spec for number, file in files.items()}
    return Replayable(task, found.steps, specs, found.torn)


def replayed(found: Replayable) -> Result:
    """Replay a journal in both modes.

    Raises:
        JournalError: it does not fold.
    """
    again = decided_again(found.task, found.steps, found.specs)
    difference = reduced(found.task, found.steps, found.specs)
    status = "differs from the fold of the journal" if difference else "is the fold of the journal"
    if found.task.status == ResearchTaskStatus():
        status = "none to compare with"
    divergences = (d for d in (again.divergence, difference) if d is not None)
    return Result(again, status, tuple(divergences))


def _generation(file: TaskFile, otherwise: int | None) -> int:
    generation = file.task.metadata.generation or otherwise
    if generation is None:
        raise UserError(
            f"the task of {file.path} has no metadata.generation; add the one that it had when "
            "it was this task"
        )
    return generation


def _completed(file: TaskFile, generation: int, steps: Sequence[ResearchStep]) -> ResearchTask:
    """Return the task of a file with what only its journal and its status know of it."""
    task = file.task
    if steps and steps[0].spec.task_name != task.metadata.name:
        raise UserError(
            f"{file.path} declares the task {task.metadata.name}, the journal is that of "
            f"{steps[0].spec.task_name}; name the task's own file with --task"
        )
    uid = task.metadata.uid or (steps[0].spec.task_uid if steps else "")
    metadata = task.metadata.model_copy(update={"uid": uid, "generation": generation})
    return ResearchTask(metadata=metadata, spec=task.spec, status=_status(file))


def _status(file: TaskFile) -> ResearchTaskStatus:
    try:
        return ResearchTaskStatus.model_validate(file.task_manifest.get("status") or {})
    except ValidationError as error:
        raise invalid(
            f"the status of the ResearchTask {file.task.metadata.name}",
            faults(error, ResearchTaskStatus, "status"),
        ) from error
