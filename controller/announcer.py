"""Tells what a reconciler does: log lines for operators, events for users, numbers for machines.

Only what has been stored is told. A log line names the task, the step and the reason, and repeats
summaries and conditions; what a source or a question says is never part of it.
"""

from __future__ import annotations

import logging
from typing import Final

from controller.api.errors import AlreadyExistsError, ConflictError, RefusedError
from controller.api.step import ResearchStepSpec
from controller.api.task import ResearchTask
from controller.events import events_of, transition
from controller.ports import Collision, Event, EventType, LoopObserver, TaskKey, TaskStore

_LOGGER: Final = logging.getLogger(__name__)


STATUS_REFUSED: Final = "StatusRefused"
"""The reason of the event that stands in for a status that cannot be written."""


class Announcer:
    """Tells of the runs that one process works on."""

    def __init__(self, *, store: TaskStore, holder: str, observer: LoopObserver) -> None:
        """Make an announcer.

        Args:
            store: takes the events.
            holder: the name of this process.
            observer: takes what is counted.
        """
        self._store = store
        self._holder = holder
        self._observer = observer

    def step_recorded(self, task: ResearchTask, step: ResearchStepSpec) -> None:
        """Tell of a step that the store has confirmed."""
        _log_step(task, step, step.observation.summary)
        self._observer.step_recorded(step)

    def step_adopted(self, task: ResearchTask, step: ResearchStepSpec) -> None:
        """Tell of a recorded step that no status was folded from: an answer or process was lost."""
        _log_step(task, step, f"adopted: {step.observation.summary}")
        self._observer.step_adopted(step)
        if step.holder == self._holder:
            self._observer.step_recorded(step)

    def collided(
        self,
        key: TaskKey,
        error: ConflictError | AlreadyExistsError,
        unrecorded: ResearchStepSpec | None,
    ) -> None:
        """Tell of a write that was refused because somebody else had written.

        Args:
            key: the task.
            error: how the store refused it.
            unrecorded: the attempt that was to be recorded, if the write was that of a step.
        """
        _LOGGER.info("%s: gathering again: %s", key, error, extra=_fields(key))
        if isinstance(error, ConflictError):
            self._observer.collided(Collision.CONFLICT)
            return
        self._observer.collided(Collision.ALREADY_EXISTS)
        if unrecorded is not None:
            self._observer.attempt_superseded(unrecorded)

    def report_restored(self, key: TaskKey) -> None:
        """Tell of a report that was deleted and is written again."""
        _LOGGER.info("%s: the report was gone; it is written again", key, extra=_fields(key))

    async def status_refused(self, task: ResearchTask, error: RefusedError) -> None:
        """Tell of a status that the API server does not take: it can show nothing of itself (T20).

        The turn fails, is logged and taken again, later each time; no action is repeated.
        """
        message = f"the status cannot be written, so the run stands still: {error}"
        await self._store.record_event(task, Event(EventType.WARNING, STATUS_REFUSED, message))

    def status_restored(self, key: TaskKey) -> None:
        """Tell of an ended task's status that somebody had changed, and that is right again."""
        _LOGGER.warning(
            "%s: somebody had changed the status; it is made from the journal again",
            key,
            extra=_fields(key),
        )

    def status_kept(self, key: TaskKey, error: RefusedError) -> None:
        """Tell of a changed status that the rules of its schema do not let anybody mend."""
        _LOGGER.error(
            "%s: somebody has changed the status, and it cannot be made again: %s",
            key,
            error,
            extra=_fields(key),
        )

    def task_removed(self, key: TaskKey) -> None:
        """Tell of a task that was kept for its time after its end, and is deleted."""
        _LOGGER.info(
            "%s: kept for its time after it had finished; it is deleted", key, extra=_fields(key)
        )

    async def fallback_skipped(self, task: ResearchTask, message: str) -> None:
        """Tell of a fallback model that cannot be used: the run goes on without one."""
        key = _key(task)
        _LOGGER.info("%s: no fallback model: %s", key, message, extra=_fields(key))
        event = Event(EventType.WARNING, "FallbackModelSkipped", message)
        await self._store.record_event(task, event)

    async def status_written(self, before: ResearchTask, after: ResearchTask) -> None:
        """Tell of a transition between two stored versions of a task, if there is one."""
        moved = transition(before.status, after.status)
        if moved is not None:
            key = _key(after)
            _LOGGER.info(
                "%s: %s: %s",
                key,
                moved.reason,
                moved.message,
                extra=_fields(key, reason=moved.reason, succeeded=moved.status),
            )
            if after.status.terminal_reason is not None:
                self._observer.run_ended(after)
        for event in events_of(before, after.status):
            await self._store.record_event(after, event)


def _log_step(task: ResearchTask, step: ResearchStepSpec, summary: str) -> None:
    key = _key(task)
    failure = {"errorClass": step.error.error_class} if step.error else {}
    _LOGGER.info(
        "%s: step %d %s %s: %s",
        key,
        step.index,
        step.action,
        step.outcome,
        summary,
        extra=_fields(
            key,
            step=step.index,
            action=step.action,
            outcome=step.outcome,
            reason=step.decision.reason,
            durationMilliseconds=step.usage.duration_milliseconds,
            **failure,
        ),
    )


def _key(task: ResearchTask) -> TaskKey:
    return TaskKey(task.metadata.namespace, task.metadata.name)


def _fields(key: TaskKey, **fields: str | int) -> dict[str, dict[str, str | int]]:
    """Return what a line says to machines, as `controller.logs` takes it."""
    return {"fields": {"namespace": key.namespace, "name": key.name, **fields}}
