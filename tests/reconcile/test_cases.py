"""Situations that other agent runners fell into, as whole runs; each cites its case."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, cast

import pytest

from controller.api.errors import RefusedError, RetryableError
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import SearchStatus
from controller.api.step import ActionName, Outcome
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.loop.replay import reduced
from controller.ports import Event, StoredReport, TaskKey, TaskStore
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSearch, ScriptedSource
from tests.world import LAMP_MANUAL, World

GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
ABSENT = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}


async def ended(world: World, key: TaskKey) -> ResearchTask:
    """Take a task as far as it goes; its status must be the fold of its journal."""
    await world.run(key)
    task = await world.task(key)
    assert reduced(task, await world.steps(key), {task.metadata.generation: task.spec}) is None
    return task


class TestTheSameAnswerForEver:
    """A source that answers every query in part, so that no search counts as complete."""

    async def run(self, world: World, *, grows: bool) -> ResearchTask:
        source = ScriptedSource("lamp", LAMP_MANUAL, status=SearchStatus.PARTIAL, is_remote=True)

        async def grow(search: ScriptedSearch) -> None:
            number = len(source.searches)
            entries[f"file:{number}.txt"] = {f"Entry {number}": f"See {search.query.split()[-1]}."}
            source.hold({**entries, **LAMP_MANUAL})

        entries: dict[str, dict[str, str]] = {}

        source.before_search = grow if grows else None
        world.references.sources["lamp"] = source
        key = world.apply(questions=[ABSENT], progressPolicy={"maxStalledSteps": 2})
        return await ended(world, key)

    async def test_the_same_hits_again_and_again_are_no_progress(self, world: World) -> None:
        # T01
        task = await self.run(world, grows=False)
        assert task.status.terminal_reason is TerminalReason.NO_PROGRESS

    async def test_a_result_that_grows_each_time_is_progress(self, world: World) -> None:
        # T01, the counter-case
        task = await self.run(world, grows=True)
        assert task.status.terminal_reason is TerminalReason.SOURCES_EXHAUSTED
        assert task.status.usage is not None
        assert task.status.usage.source_calls >= 3


class RefusingStore:
    """Passes every call on; refuses every status, as a server does that finds it too large."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self.refuses = False
        self.refused = 0
        self.events: list[tuple[ResearchTask, Event]] = []

    @property
    def port(self) -> TaskStore:
        """The store as the port that it stands for."""
        return cast("TaskStore", self)

    async def write_status(self, task: ResearchTask, status: ResearchTaskStatus) -> ResearchTask:
        """Write a status, or refuse it."""
        if self.refuses:
            self.refused += 1
            raise RefusedError("the status is too large")
        return await self._store.write_status(task, status)

    async def record_event(self, task: ResearchTask, event: Event) -> None:
        """Keep an event, and pass it on."""
        self.events.append((task, event))
        await self._store.record_event(task, event)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        return getattr(self._store, name)


async def test_a_status_that_is_refused_repeats_no_action(world: World) -> None:
    # T20
    store = RefusingStore(world.store)
    operator = Reconciler(
        store=store.port, references=world.references, clock=world.clock, holder="operator-0"
    )
    key = world.apply(questions=[GLOW])
    while not world.lamp.searches:
        await operator.reconcile(key)
        pending = (await world.task(key)).status.pending
        store.refuses = pending is not None and pending.action is ActionName.SEARCH
        if store.refuses:
            break
    for _ in range(5):
        with pytest.raises(RefusedError):
            await operator.reconcile(key)
    told = [event for _, event in store.events if event.reason == "StatusRefused"]
    assert len(told) == 5  # the API server keeps one of a generation: they have the same name
    assert "the status is too large" in told[0].message
    assert store.refused == 5  # one write a turn, and the queue backs off between turns
    assert len(world.lamp.searches) == 1
    store.refuses = False
    await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert len(world.lamp.searches) == 1


class UnreadableReports:
    """Passes every call on; whether a report is there cannot be known, and writes are counted."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self.writes = 0

    @property
    def port(self) -> TaskStore:
        """The store as the port that it stands for."""
        return cast("TaskStore", self)

    async def get_report(self, task: ResearchTask) -> StoredReport | None:
        """Refuse to say."""
        raise RefusedError(f"the report of {task.metadata.name} may not be read")

    async def put_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Count the write."""
        self.writes += 1
        await self._store.put_report(task, report)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        return getattr(self._store, name)


async def test_an_effect_that_cannot_be_asked_for_is_not_repeated(world: World) -> None:
    # T17 (c), five processes in a row
    key = world.apply(questions=[GLOW])
    first = world.operator()
    while True:
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.PUBLISH:
            break
        await first.reconcile(key)
    store = UnreadableReports(world.store)
    for number in range(5):
        operator = Reconciler(
            store=store.port,
            references=world.references,
            clock=world.clock,
            holder=f"operator-{number + 2}",
        )
        await world.run(key, operator)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.AMBIGUOUS_EFFECT
    assert store.writes == 0


class TestDowntime:
    """400 s of a run of 600 s are used; then 300 s pass."""

    async def half_done(self, world: World, **spec: Any) -> TaskKey:  # noqa: ANN401
        world.lamp.failures = [RetryableError("RateLimited", "wait", 400)]
        key = world.apply(budgets={"activeDeadlineSeconds": 600}, **spec)
        await world.run(key)
        world.clock.advance(400)
        return key

    async def test_an_operator_that_is_down_counts(self, world: World) -> None:
        # E3
        key = await self.half_done(world)
        world.clock.advance(300)
        calls = len(world.lamp.searches)
        operator = world.operator()
        await operator.reconcile(key)
        pending = (await world.task(key)).status.pending
        assert pending is not None
        assert pending.decision.ending is TerminalReason.DEADLINE_EXCEEDED
        await world.run(key, operator)
        assert (await world.task(key)).status.terminal_reason is TerminalReason.DEADLINE_EXCEEDED
        assert len(world.lamp.searches) == calls

    async def test_suspended_time_does_not(self, world: World) -> None:
        # E3
        key = await self.half_done(world)
        world.apply(budgets={"activeDeadlineSeconds": 600}, desiredState="Suspended")
        await world.run(key)
        world.clock.advance(300)
        world.apply(budgets={"activeDeadlineSeconds": 600})
        await world.run(key)
        assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED

    async def test_nor_does_time_that_waits_for_a_person(self, world: World) -> None:
        # E3
        key = await self.half_done(world)
        asks: dict[str, Any] = {"budgets": {"activeDeadlineSeconds": 600}, "guidance": "for {area}"}
        world.apply(**asks)
        await world.run(key)
        assert (await world.task(key)).status.is_true(ConditionType.AWAITING_INPUT)
        world.clock.advance(300)
        world.apply(**asks, clarifications=[{"field": "area", "answer": "home"}])
        await world.run(key)
        assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED


# S1.35
async def test_a_clock_that_goes_back_refunds_no_time(world: World) -> None:
    key, operator = world.apply(budgets={"activeDeadlineSeconds": 600}), world.operator()
    while not world.lamp.searches:
        await operator.reconcile(key)
        world.clock.advance(100)
    before = (await world.task(key)).status.usage
    assert before is not None
    assert before.active_seconds >= 100
    world.clock.advance(-3600)
    await world.run(key, operator)
    status = (await world.task(key)).status
    assert status.terminal_reason is TerminalReason.GOAL_REACHED
    assert status.usage is not None
    assert status.usage.active_seconds >= before.active_seconds
    assert all(s.spec.active_milliseconds >= 0 for s in await world.steps(key))


async def test_a_wake_up_that_is_delivered_twice_is_one_step(world: World) -> None:
    # E16
    world.lamp.failures = [RetryableError("Unreachable", "no route")] * 2
    key, operator = world.apply(), world.operator()
    await world.run(key, operator)
    before = len(await world.steps(key))
    world.clock.advance(1)
    for _ in range(2):
        operator.observe(key, "999999999")
        await operator.reconcile(key)
    # The intent of the second attempt was stored before; what follows on it waits again.
    assert len(await world.steps(key)) - before == 1
    await operator.reconcile(key)
    assert len(await world.steps(key)) - before == 1
    assert len(world.lamp.searches) == 2


async def test_a_budget_that_ends_before_anything_was_found_leaves_a_summary(world: World) -> None:
    # E17
    key = world.apply(
        questions=[GLOW],
        budgets={"maxSteps": 1},
        handOff={"queue": "research-desk", "message": "look it up by hand"},
    )
    task = await ended(world, key)
    assert task.status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
    report = await world.store.get_report(task)
    assert report is not None
    text, content = report.files["report.md"], json.loads(report.files["report.json"])
    assert "Handed off to research-desk: look it up by hand" in text
    assert content["missing"][0]["questionId"] == "glow"
    assert "maxSteps" in content["missing"][0]["whatToDo"]
    assert "references" not in content or content["references"] == []


class TestBudgetsThatChange:
    async def until_search(self, world: World, operator: Reconciler, key: TaskKey) -> None:
        while not any(s.spec.action == "Search" for s in await world.steps(key)):
            await operator.reconcile(key)

    async def test_a_raised_budget_is_seen_during_the_run(self, world: World) -> None:
        # E19
        key, operator = world.apply(budgets={"maxSteps": 3}), world.operator()
        await self.until_search(world, operator, key)
        world.apply(budgets={"maxSteps": 30})
        await world.run(key, operator)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
        assert [s.spec.generation for s in await world.steps(key)] == [1, 1, 2, 2, 2, 2]

    async def test_one_lowered_below_what_is_spent_is_exhausted_at_once(self, world: World) -> None:
        # E19
        key, operator = world.apply(), world.operator()
        await self.until_search(world, operator, key)
        world.apply(budgets={"maxSteps": 1})
        await world.run(key, operator)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
        assert "2 of spec.budgets.maxSteps 1" in (await world.steps(key))[-1].spec.decision.message
        actions = [(s.spec.action, s.spec.generation) for s in await world.steps(key)]
        assert actions == [("Plan", 1), ("Search", 1), ("Draft", 2), ("Publish", 2)]


class StaleStore:
    """Passes every call on; every third read of a task gives the version before the newest."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self._versions: list[ResearchTask] = []
        self._reads = 0
        self.stale = 0

    @property
    def port(self) -> TaskStore:
        """The store as the port that it stands for."""
        return cast("TaskStore", self)

    async def get_task(self, key: TaskKey) -> ResearchTask:
        """Return the newest version, or now and then the one before it."""
        newest = await self._store.get_task(key)
        if not self._versions or self._versions[-1] != newest:
            self._versions.append(newest)
        self._reads += 1
        if self._reads % 3 == 0 and len(self._versions) > 1:
            self.stale += 1
            return self._versions[-2]
        return newest

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        return getattr(self._store, name)


async def test_a_stale_copy_of_the_task_repeats_no_step(world: World) -> None:
    # E20, S1.37
    store = StaleStore(world.store)
    operator = Reconciler(
        store=store.port, references=world.references, clock=world.clock, holder="operator-0"
    )
    key = world.apply(questions=[GLOW, ABSENT])
    for _ in range(300):
        operator.observe(key, "999999999")
        await operator.reconcile(key)
    assert store.stale > 5
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    steps = [s.spec for s in await world.steps(key)]
    assert [s.index for s in steps] == list(range(len(steps)))
    assert all(s.outcome is Outcome.COMPLETED for s in steps)
    done = Counter((s.action, s.arguments) for s in steps)
    assert set(done.values()) == {1}


async def test_a_finished_task_is_never_written_whoever_looks_at_it(world: World) -> None:
    # E20: a status that is written because it was written would move the version.
    key = world.apply(questions=[GLOW])
    task = await ended(world, key)
    operator = world.operator()
    for _ in range(60):
        world.clock.advance(1)
        operator.observe(key, "999999999")
        await operator.reconcile(key)
    assert (await world.task(key)).metadata.resource_version == task.metadata.resource_version
