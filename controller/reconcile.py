"""One reconcile: gather, fold, decide, act, record. The imperative shell around a pure core.

At most one action a turn. The status write that folds step n also stores the intent of step n+1,
so a step costs two writes; nothing is written while nothing changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from controller.actions.attempt import attempt, interrupted
from controller.actions.context import Context
from controller.actions.publish import rebuilt_report
from controller.announcer import Announcer
from controller.api.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    RefusedError,
)
from controller.api.reasons import RunningReason
from controller.api.step import ActionClass, ActionName
from controller.api.task import Pending, ResearchTask, ResearchTaskStatus
from controller.fault_points import FaultPoint, reached
from controller.gathering import AT_ONCE, ON_CHANGE, Requeue, Run, Runs, is_settled, rest_of
from controller.loop.decide import decide
from controller.loop.doubt import left_until
from controller.loop.pace import Pace
from controller.loop.recording import (
    Record,
    intent_of,
    is_same_intent,
    pending_of,
    record,
    stored_form,
)
from controller.loop.rounds import is_round_over
from controller.loop.situation import (
    Act,
    Decision,
    End,
    Interrupt,
    Remove,
    Situation,
    Spend,
    Wait,
)
from controller.loop.status import build_status
from controller.ports import (
    Clock,
    LoopObserver,
    NoSlot,
    Pacing,
    ReferenceResolver,
    References,
    Slot,
    TaskKey,
    TaskStore,
    Unobserved,
    Unpaced,
)
from controller.retention import delete_old_rounds

_QUEUED_SECONDS: Final = 30.0
"""How often it is looked whether a task that waits for the others may go on."""


_SLOT_SECONDS: Final = 1.0
"""How often a review, a draft or a summary looks for a free slot, unless it is told of one."""


class Reconciler:
    """Takes tasks towards their goals, one bounded action a turn.

    One turn of a task must end before its next begins; the queue sees to that.
    """

    def __init__(
        self,
        *,
        store: TaskStore,
        references: ReferenceResolver,
        clock: Clock,
        holder: str,
        observer: LoopObserver | None = None,
        may_live: Callable[[str], bool] | None = None,
        spend: Callable[[], Spend | None] | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        """Make a reconciler.

        Args:
            store: tasks, journals and reports.
            references: finds what a task refers to.
            clock: gives the times that are recorded.
            holder: the name of this process.
            observer: is told what is done.
            may_live: says of another holder whether it may be alive; None: nobody else is.
            spend: says what all tasks have cost and may; None: there is no ceiling.
            pacing: says how fast models may be asked; None: there is no limit.
        """
        self._may_live = may_live or (lambda _: False)
        self._spend = spend or (lambda: None)
        self._pacing: Pacing = pacing or Unpaced()
        self._announcer = Announcer(store=store, holder=holder, observer=observer or Unobserved())
        self._store = store
        self._references = references
        self._clock = clock
        self._holder = holder
        self._runs = Runs(
            store=store, references=references, clock=clock, announcer=self._announcer
        )
        self._is_draining = False

    def drain(self) -> None:
        """From now on record what ends, and store no further intent: nothing stays in doubt."""
        self._is_draining = True

    def observe(self, key: TaskKey, resource_version: str) -> bool:
        """Take note of a version that the watch has seen; say whether it is news."""
        return self._runs.observe(key, resource_version)

    def knows(self, key: TaskKey) -> bool:
        """Say whether a run of this task is remembered: this process has not seen it end."""
        return self._runs.get(key) is not None

    def forget(self, key: TaskKey) -> None:
        """Drop what is known of a task."""
        self._runs.forget(key)
        self._pacing.leave(key)

    async def reconcile(self, key: TaskKey) -> Requeue:
        """Do one turn of a task.

        Raises:
            StoreError: the store did not answer or refused, or somebody else writes all the
                time; the same turn can be done again, later.
        """
        try:
            return await self._turn(key)
        except NotFoundError:
            self.forget(key)
            return ON_CHANGE
        except (ConflictError, AlreadyExistsError) as error:
            # Someone else stepped, or this process did before a crash: read, adopt, decide again.
            run = self._runs.get(key)
            attempted = run.unrecorded.step if run and run.unrecorded else None
            self._announcer.collided(key, error, attempted)
            if self._runs.collides_again(key):
                raise
            return AT_ONCE
        except BaseException:
            self._runs.mark_stale(key)
            raise

    def interrupt(self, key: TaskKey) -> None:
        """Stop the action that a task is in, for its owner has cancelled it; effects end first."""
        run = self._runs.get(key)
        pending = run.task.status.pending if run else None
        if run and run.action and pending and pending.action is not ActionName.PUBLISH:
            run.action.cancel()

    async def restore_report(self, key: TaskKey) -> None:
        """Write the report of a finished task again, if it is not there (S1.24)."""
        task = await self._store.get_task(key)
        if not is_settled(task) or await self._store.get_report(task) is not None:
            return
        steps = await self._store.list_steps(task, 0)
        report = rebuilt_report(task, steps)
        if report is not None:
            await self._store.put_report(task, report)
            self._announcer.report_restored(key)

    async def _turn(self, key: TaskKey) -> Requeue:
        if self._is_draining and not self.knows(key):
            return ON_CHANGE
        run = await self._runs.gather(key)
        if isinstance(run, Requeue):
            return run
        references = await self._references.resolve(run.task)
        if references.skipped is not None and not run.told_of_fallback:
            run.told_of_fallback = True
            await self._announcer.fallback_skipped(run.task, references.skipped)
        if run.unrecorded is not None:
            await self._record(run, run.unrecorded, references)
            return AT_ONCE
        situation = self._situation(run, references)
        decision = decide(situation)
        if not (isinstance(decision, Wait) and decision.reason is RunningReason.QUEUED):
            self._pacing.leave(key)
        if isinstance(decision, Act | Interrupt):
            return await self._advance(run, situation, decision, references)
        return await self._rest(run, situation, decision, references)

    async def _advance(
        self, run: Run, situation: Situation, decision: Act | Interrupt, references: References
    ) -> Requeue:
        """Take the step that was decided, once its intent is stored under this process's name."""
        if self._is_draining:
            return await self._withdraw(run, situation, decision)
        pending = pending_of(situation, decision.intent)
        if decision.intent.opens_round:
            # A record of what is known: nothing is done, so nothing can be left in doubt.
            situation = replace(situation, pending=pending)
        elif isinstance(decision, Act) and not is_same_intent(situation.pending, pending):
            await self._write_status(run, situation, decision, pending)
            return AT_ONCE
        slot = self._slot(run, decision)
        if slot is None:
            return Requeue(_SLOT_SECONDS)
        try:
            run.unrecorded = await self._act(run, situation, decision, references)
        finally:
            slot.release(run.unrecorded.step.model_call if run.unrecorded else None)
        if run.unrecorded is None:
            run.is_fresh = False
            return AT_ONCE
        await self._record(run, run.unrecorded, references)
        return AT_ONCE

    def _situation(self, run: Run, references: References) -> Situation:
        pending = run.task.status.pending
        is_foreign = pending is not None and pending.holder != self._holder
        return Situation(
            task=run.task,
            state=run.state,
            assessment=run.assessment(),
            now=self._clock.now(),
            holder=self._holder,
            pending=pending,
            holder_may_live=pending is not None and is_foreign and self._may_live(pending.holder),
            missing=references.missing,
            remote_sources=frozenset(n for n, s in references.sources.items() if s.is_remote),
            models=tuple(model.terms for model in references.models),
            spend=self._spend(),
            paces=self._paces(run.task, references),
            journal_error=run.journal_error,
            source_digests=references.digests,
        )

    def _slot(self, run: Run, decision: Act | Interrupt) -> Slot | None:
        """Take a slot for a call to a model; None: the closing summary found none, and waits."""
        reserved = decision.intent.reservation
        if reserved is None or isinstance(decision, Interrupt):
            return NoSlot()
        key = _key_of(run.task)
        slot = self._pacing.take(key, reserved)
        if slot is None:
            self._pacing.wait(key, reserved.model)
        return slot

    def _paces(self, task: ResearchTask, references: References) -> dict[str, Pace]:
        names = [model.terms.name for model in references.models]
        found = {name: self._pacing.pace(_key_of(task), name) for name in names}
        return {name: pace for name, pace in found.items() if pace is not None}

    async def _act(
        self,
        run: Run,
        situation: Situation,
        decision: Act | Interrupt,
        references: References,
    ) -> Record | None:
        """Make one attempt; None: it was stopped before it came to anything that costs."""
        pending = situation.pending
        assert pending is not None
        if isinstance(decision, Interrupt):
            return record(situation, pending, interrupted(decision.intent, self._clock.now()))
        models = {model.terms.name: model for model in references.models}
        context = Context(situation, pending, references.sources, self._store, models)
        reached(FaultPoint.K4, pending.action)
        run.action = asyncio.ensure_future(attempt(context, intent_of(pending), self._clock))
        try:
            attempted = await run.action
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            if situation.action_class(decision.intent) is not ActionClass.PAID:
                return None
            attempted = interrupted(decision.intent, self._clock.now())
        finally:
            run.action = None
        reached(FaultPoint.K3, pending.action)
        return record(situation, pending, attempted)

    async def _record(self, run: Run, record: Record, references: References) -> None:
        """Store the step; then, in one write, its fold and the intent of the next step."""
        step = stored_form(run.task.metadata, record.step)
        await self._store.create_step(step)
        reached(FaultPoint.K6, record.step.action)
        self._announcer.step_recorded(run.task, record.step)
        run.stepped(record)
        # The intent that this step fulfilled is no longer pending for what is decided next.
        after = replace(self._situation(run, references), pending=None)
        decision = decide(after)
        wants_more = isinstance(decision, Act) and not self._is_draining
        pending = pending_of(after, decision.intent) if isinstance(decision, Act) else None
        await self._write_status(run, after, decision, pending if wants_more else None)

    async def _withdraw(self, run: Run, situation: Situation, decision: Act | Interrupt) -> Requeue:
        """Take back an intent that this process has stored and not begun: it is in no doubt."""
        if situation.pending is not None and situation.pending.holder == self._holder:
            await self._write_status(run, situation, decision, None)
        return ON_CHANGE

    async def _rest(
        self, run: Run, situation: Situation, decision: Decision, references: References
    ) -> Requeue:
        """Show a wait or an ending, if it is not shown yet."""
        if isinstance(decision, Remove):
            return await self._remove(run, situation)
        until = left_until(situation)
        if until is not None and isinstance(decision, Wait):
            run.is_fresh = False  # nothing is written: the status is the other process's now
            return Requeue((until - situation.now) / timedelta(seconds=1))
        status = build_status(situation, decision, None)
        if status != run.task.status and is_settled(run.task):
            if not await self._restore_status(run, status):
                return ON_CHANGE
        elif status != run.task.status:
            await self._write_status(run, situation, decision, None)
        if is_settled(run.task):
            self.forget(_key_of(run.task))
            return rest_of(run.task, situation.now) or AT_ONCE
        if not isinstance(decision, Wait):
            return ON_CHANGE
        return self._wait(situation, decision, references)

    def _wait(self, situation: Situation, decision: Wait, references: References) -> Requeue:
        waits = [] if references.look_again_seconds is None else [references.look_again_seconds]
        if decision.reason is RunningReason.QUEUED:
            waits.append(_QUEUED_SECONDS)  # nobody tells that another task was deleted
            for model in situation.paces:
                self._pacing.wait(_key_of(situation.task), model)
        if decision.until is not None:
            waits.append(max(0.0, (decision.until - situation.now) / timedelta(seconds=1)))
        return Requeue(min(waits, default=None))

    async def _restore_status(self, run: Run, status: ResearchTaskStatus) -> bool:
        """Write the status of an ended task again, as the journal says it; say whether it is.

        A rule of the schema may keep what somebody else has written: it is told, and left.
        """
        key = _key_of(run.task)
        try:
            run.task = await self._store.write_status(run.task, status)
        except RefusedError as error:
            self.forget(key)
            self._announcer.status_kept(key, error)
            return False
        self._announcer.status_restored(key)
        return True

    async def _remove(self, run: Run, situation: Situation) -> Requeue:
        """Delete a task that was kept for its time, if it still stands as it was decided on."""
        key = _key_of(run.task)
        live = await self._store.get_task(key)
        if live.metadata.resource_version == run.task.metadata.resource_version:
            await self._store.remove_task(situation.task)
            self._announcer.task_removed(key)
        self._runs.mark_stale(key)
        return ON_CHANGE

    async def _write_status(
        self, run: Run, situation: Situation, decision: Decision, pending: Pending | None
    ) -> None:
        status = build_status(situation, decision, pending)
        before = run.task
        if isinstance(decision, End) and is_round_over(situation):
            await delete_old_rounds(self._store, before)
        if pending is not None:
            reached(FaultPoint.K0, pending.action)
        elif isinstance(decision, End) and run.state.last is not None:
            reached(FaultPoint.K7, run.state.last.action)
        try:
            run.task = await self._store.write_status(before, status)
        except RefusedError as error:
            await self._announcer.status_refused(before, error)
            raise
        if pending is not None:
            reached(FaultPoint.K1, pending.action)
        run.collisions = 0
        await self._announcer.status_written(before, run.task)


def _is_being_cancelled() -> bool:
    """Say whether it is this very work that is cancelled, and not only the action within it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _key_of(task: ResearchTask) -> TaskKey:
    return TaskKey(task.metadata.namespace, task.metadata.name)
