"""Gathers what a turn needs: the newest version of a task, and the fold of its steps.

State is the journal. What is remembered of a run between turns is a cache: any error, and any news
from somebody else, has it read again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.announcer import Announcer
from controller.api.errors import JournalError
from controller.api.task import NEVER_OBSERVED, ResearchTask, ResearchTaskSpec
from controller.loop.assessment import Assessment, assess
from controller.loop.journal import kept
from controller.loop.recording import Attempt, Record
from controller.loop.rounds import is_kept_true, is_outdated
from controller.loop.run_state import RunState, initial
from controller.loop.seal import is_sealed
from controller.loop.state import apply, fold
from controller.ports import Clock, ReferenceResolver, TaskKey, TaskStore

_MAX_COLLISIONS: Final = 3
"""Writes refused in a row, after which a task waits like one whose store does not answer."""


@dataclass(frozen=True)
class Requeue:
    """When to look at a task again: after some seconds, or None: when something changes."""

    after: float | None


AT_ONCE: Final = Requeue(0)
ON_CHANGE: Final = Requeue(None)


@dataclass
class Run:
    """What this process knows of a run that has not ended: a cache of store and journal.

    `unrecorded` is an attempt that was made and whose record the store has not confirmed: it is
    recorded before anything else, and never made again. `told_of_fallback`: an event has said that
    the fallback model cannot be used.
    """

    task: ResearchTask
    state: RunState
    is_fresh: bool = True
    journal_error: JournalError | None = None
    unrecorded: Record | None = None
    collisions: int = 0
    told_of_fallback: bool = False
    action: asyncio.Task[Attempt] | None = None
    _assessed: tuple[RunState, ResearchTaskSpec, Assessment] | None = None

    def assessment(self) -> Assessment:
        """Return what the spec makes of the state; it is computed once for each pair of them."""
        spec = self.task.spec
        if (
            self._assessed is None
            or self._assessed[0] is not self.state
            or self._assessed[1] != spec
        ):
            self._assessed = (self.state, spec, assess(spec, self.state))
        return self._assessed[2]

    def stepped(self, record: Record) -> None:
        """Take note of a step of this process that is stored: what it means is known already.

        It was sealed as the continuation of this very state, so that is not checked again.
        """
        self.unrecorded = None
        self.state = apply(self.state, record.step)
        self._assessed = (self.state, record.spec, record.assessment)


class Runs:
    """The runs that this process works on, by the names of their tasks."""

    def __init__(
        self,
        *,
        store: TaskStore,
        references: ReferenceResolver,
        clock: Clock,
        announcer: Announcer,
    ) -> None:
        self._store = store
        self._references = references
        self._clock = clock
        self._announcer = announcer
        self._runs: dict[TaskKey, Run] = {}

    def get(self, key: TaskKey) -> Run | None:
        """Return what is known of a run; None: nothing."""
        return self._runs.get(key)

    def observe(self, key: TaskKey, resource_version: str) -> bool:
        """Take note of a version that the watch has seen; say whether it is news."""
        run = self._runs.get(key)
        if run is None:
            return True
        if not _is_newer(resource_version, run.task.metadata.resource_version):
            return False
        run.is_fresh = False
        return True

    def forget(self, key: TaskKey) -> None:
        """Drop what is known of a task."""
        self._runs.pop(key, None)

    def mark_stale(self, key: TaskKey) -> None:
        """Have a task read again before anything is decided for it."""
        if key in self._runs:
            self._runs[key].is_fresh = False

    def collides_again(self, key: TaskKey) -> bool:
        """Count a collision; say whether there were too many in a row to go on at once."""
        self.mark_stale(key)
        run = self._runs.get(key)
        if run is None:
            return False
        run.collisions += 1
        return run.collisions > _MAX_COLLISIONS

    async def gather(self, key: TaskKey) -> Run | Requeue:
        """Return the newest version of a task and the fold of its steps, or when to look again.

        Raises:
            StoreError: the store did not answer or refused.
            NotFoundError: the task is gone.
        """
        run = self._runs.get(key)
        if run is not None and run.is_fresh:
            return run
        task = await self._store.get_task(key)
        if run is not None and run.task.metadata.uid == task.metadata.uid:
            # The answer to a write of ours may have been lost: what it showed is told all the same.
            await self._announcer.status_written(run.task, task)
        wait = rest_of(task, self._clock.now())
        if wait is not None and not await self._is_outdated(task):
            self.forget(key)
            return wait
        if run is None or run.task.metadata.uid != task.metadata.uid:
            name, uid = task.metadata.name, task.metadata.uid
            run = Run(task, initial(name, uid, task.spec.topic))
        run.task = task
        await self._fold(run)
        run.is_fresh = True
        self._runs[key] = run
        return run

    async def _is_outdated(self, task: ResearchTask) -> bool:
        """Say whether a source holds something else than a task that succeeded found in it."""
        if not is_kept_true(task):
            return False
        return is_outdated(task, (await self._references.resolve(task)).digests)

    async def _fold(self, run: Run) -> None:
        run.journal_error = None
        shown = run.task.status.journal.steps if run.task.status.journal else 0
        # Of a status that has counted steps, the schema keeps the counts: one that says nothing at
        # all is a new task's, or was wiped before the first step was counted.
        is_new = run.task.status.observed_generation == NEVER_OBSERVED
        try:
            steps = await self._store.list_steps(run.task, run.state.next_index, by_name=is_new)
            for step in steps if run.state.last else kept(steps):
                run.state = fold(run.state, step)
                if step.spec.index >= shown:
                    self._announcer.step_adopted(run.task, step.spec)
                run.unrecorded = None
        except JournalError as error:
            run.journal_error = error
            return
        folded = run.state.next_index
        if shown > folded:
            run.journal_error = JournalError(
                "MissingStep", f"status was folded from {shown} steps, {folded} are there"
            )


def is_settled(task: ResearchTask) -> bool:
    """Say whether a task has ended for its present generation and request."""
    status = task.status
    return (
        status.terminal_reason is not None
        and status.observed_generation == task.metadata.generation
        and status.last_handled_requested_at == task.request
    )


def rest_of(task: ResearchTask, now: datetime) -> Requeue | None:
    """Return when a task that needs nothing now is to be looked at again; None: now."""
    if task.metadata.deletion_timestamp is not None:
        return ON_CHANGE
    if not is_settled(task) or not is_sealed(task.status.to_json()):
        return None
    wake_up = task.status.next_wake_up_time
    if wake_up is None:
        return ON_CHANGE
    return Requeue((wake_up - now) / timedelta(seconds=1)) if wake_up > now else None


def _is_newer(version: str, known: str) -> bool:
    """Say whether a version follows on one that is known: versions of a kind are integers.

    Where they are not (an API server older than 1.35 promises nothing), any other one is news.
    """
    if version.isdecimal() and known.isdecimal():
        return int(version) > int(known)
    return version != known
