"""Which transitions users are told about, in which words, and how many writes that costs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from controller.api.errors import PermanentError, RetryableError, StoreError
from controller.api.meta import Condition, ConditionStatus
from controller.api.reasons import ConditionType, RunningReason, TerminalReason
from controller.api.step import ActionName, Outcome
from controller.api.task import REQUESTED_AT, LastStep, ResearchTask, ResearchTaskStatus
from controller.events import EVENT_REASONS, events_of
from controller.ports import EventType, TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from controller.store import names
from tests.faults import WRITES, FaultyStore, Moment
from tests.situations import NOW, task
from tests.world import LAMP_MANUAL, World

ROOT: Final = Path(__file__).resolve().parents[2]
NEW: Final = ResearchTaskStatus()
HAND_OFF: Final = {"queue": "research-desk", "message": "Ask Ann: the manual may be outdated."}


def status(
    reason: RunningReason | TerminalReason, last: LastStep | None = None, *, started: bool = True
) -> ResearchTaskStatus:
    """Return a status whose `Succeeded` has a reason, as far as events look at it."""
    ending = reason if isinstance(reason, TerminalReason) else None
    known = {None: ConditionStatus.UNKNOWN, TerminalReason.GOAL_REACHED: ConditionStatus.TRUE}
    succeeded = Condition(
        type=ConditionType.SUCCEEDED,
        status=known.get(ending, ConditionStatus.FALSE),
        observed_generation=1,
        last_transition_time=NOW,
        reason=reason,
        message="as it was decided",
    )
    return ResearchTaskStatus(
        conditions=(succeeded,),
        terminal_reason=ending,
        start_time=NOW if started else None,
        last_step=last,
    )


def last(index: int, outcome: Outcome = Outcome.COMPLETED) -> LastStep:
    return LastStep(
        name=f"lamp-{index}", action=ActionName.SEARCH, outcome=outcome, transition_reason="Test"
    )


RUNNING = status(RunningReason.RUNNING)
UNSTARTED = status(RunningReason.RUNNING, started=False)
SUSPENDED = status(RunningReason.SUSPENDED)
WAITING = status(RunningReason.WAITING_FOR_REFERENCE)
BACKING_OFF = status(RunningReason.BACKING_OFF)
AWAITING = status(RunningReason.AWAITING_INPUT)
EXHAUSTED = status(TerminalReason.STEP_BUDGET_EXHAUSTED)
REACHED = status(TerminalReason.GOAL_REACHED)

TRANSITIONS: dict[str, tuple[ResearchTaskStatus, ResearchTaskStatus, list[str]]] = {
    "the first intent is no news": (NEW, UNSTARTED, []),
    "the first step is": (UNSTARTED, RUNNING, ["Normal TaskStarted"]),
    "a further step is not": (
        status(RunningReason.RUNNING, last(1)),
        status(RunningReason.RUNNING, last(2)),
        [],
    ),
    "a failed step is not": (
        status(RunningReason.RUNNING, last(1)),
        status(RunningReason.RUNNING, last(2, Outcome.FAILED)),
        [],
    ),
    "an interrupted step is, once": (
        status(RunningReason.RUNNING, last(1)),
        status(RunningReason.RUNNING, last(2, Outcome.INTERRUPTED)),
        ["Warning StepInterrupted"],
    ),
    "and not again while it is the newest": (
        status(RunningReason.RUNNING, last(2, Outcome.INTERRUPTED)),
        status(RunningReason.BACKING_OFF, last(2, Outcome.INTERRUPTED)),
        ["Warning BackingOff"],
    ),
    "a run comes to wait for a retry": (RUNNING, BACKING_OFF, ["Warning BackingOff"]),
    "it waits on": (BACKING_OFF, BACKING_OFF, []),
    "it tries again": (BACKING_OFF, RUNNING, []),
    "a run comes to wait for a source": (RUNNING, WAITING, ["Warning WaitingForReference"]),
    "the source is there": (WAITING, RUNNING, []),
    "a person is asked": (RUNNING, AWAITING, ["Normal AwaitingInput"]),
    "the person has answered": (AWAITING, RUNNING, []),
    "a run is suspended": (RUNNING, SUSPENDED, ["Normal Suspended"]),
    "it is resumed": (SUSPENDED, RUNNING, ["Normal Resumed"]),
    "it is resumed, and its source is missing": (
        SUSPENDED,
        WAITING,
        ["Normal Resumed", "Warning WaitingForReference"],
    ),
    "a run is being cancelled": (RUNNING, status(RunningReason.CANCELLING), []),
    "and is cancelled": (
        status(RunningReason.CANCELLING),
        status(TerminalReason.CANCELLED),
        ["Warning Cancelled"],
    ),
    "a suspended run is cancelled": (
        SUSPENDED,
        status(TerminalReason.CANCELLED),
        ["Warning Cancelled"],
    ),
    "the goal is reached": (RUNNING, REACHED, ["Normal GoalReached"]),
    "it is reached in the first write": (
        NEW,
        REACHED,
        ["Normal TaskStarted", "Normal GoalReached"],
    ),
    "an ended run is observed again": (REACHED, REACHED, []),
    "an ended run goes on": (EXHAUSTED, RUNNING, ["Normal Resumed"]),
    "a run that succeeded gets another round": (
        REACHED,
        RUNNING.model_copy(update={"round": 1}),
        ["Normal RoundStarted"],
    ),
    "an ended run turns out to be corrupt": (
        REACHED,
        status(TerminalReason.JOURNAL_CORRUPT),
        ["Warning JournalCorrupt"],
    ),
}


# S2.10
@pytest.mark.parametrize(
    ("before", "after", "expected"), TRANSITIONS.values(), ids=TRANSITIONS.keys()
)
def test_a_transition_has_exactly_these_events(
    before: ResearchTaskStatus, after: ResearchTaskStatus, expected: list[str]
) -> None:
    of = task().model_copy(update={"status": before})
    assert [f"{e.type.value} {e.reason}" for e in events_of(of, after)] == expected


# S3.6
@pytest.mark.parametrize("reason", TerminalReason)
def test_only_an_ending_that_is_no_success_is_a_warning_with_the_hand_off(
    reason: TerminalReason,
) -> None:
    of = task(handOff=HAND_OFF).model_copy(update={"status": RUNNING})
    (event,) = events_of(of, status(reason))
    assert event.reason == reason
    if reason is TerminalReason.GOAL_REACHED:
        assert (event.type, event.message) == (EventType.NORMAL, "as it was decided")
        return
    assert event.type is EventType.WARNING
    assert event.message == (
        "Hand-off to research-desk: Ask Ann: the manual may be outdated. — as it was decided"
    )


def test_a_hand_off_without_words_names_the_queue() -> None:
    of = task(handOff={"queue": "research-desk"}).model_copy(update={"status": RUNNING})
    (event,) = events_of(of, EXHAUSTED)
    assert event.message == "Hand-off to research-desk — as it was decided"


@pytest.mark.parametrize("character", ["a", "漢", "🜁"])
def test_the_hand_off_is_told_however_long_the_message_is(character: str) -> None:
    of = task(handOff=HAND_OFF).model_copy(update={"status": RUNNING})
    (condition,) = EXHAUSTED.conditions
    long = condition.model_copy(update={"message": character * 1024})
    (event,) = events_of(of, EXHAUSTED.model_copy(update={"conditions": (long,)}))
    told = names.event_message(event)
    assert told.startswith("Hand-off to research-desk: Ask Ann: the manual may be outdated. — ")
    assert told.endswith("…")


def test_every_reason_that_the_transitions_have_is_in_the_list_of_all() -> None:
    shown = {line.split()[1] for *_, lines in TRANSITIONS.values() for line in lines}
    assert shown <= set(EVENT_REASONS)
    assert set(EVENT_REASONS) - shown <= set(TerminalReason)


def test_the_documentation_has_every_event_and_its_type() -> None:
    page = (ROOT / "docs" / "observability.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (Normal|Warning) \|", page, re.MULTILINE))
    assert set(EVENT_REASONS) - set(TerminalReason) < set(rows) <= set(EVENT_REASONS)
    shown = {line for *_, lines in TRANSITIONS.values() for line in lines}
    assert {f"{kind} {reason}" for reason, kind in rows.items()} <= shown


# Whole runs: the store's own list of what was told, in its order.

GLOW: Final = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
ABSENT: Final = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}


async def told(world: World, key: TaskKey) -> list[str]:
    events = world.store.events(await world.task(key))
    return [f"{e.type.value} {e.reason}" for e in events]


async def a_plain_run(world: World) -> TaskKey:
    key = world.apply(questions=[GLOW, ABSENT])
    await world.run(key)
    return key


async def a_run_that_is_exhausted_and_goes_on(world: World) -> TaskKey:
    key = world.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 3})
    await world.run(key)
    world.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 60})
    await world.run(key)
    return key


async def a_run_that_waits(world: World) -> TaskKey:
    key = world.apply(sourceRefs=[{"name": "later"}])
    operator = world.operator()
    await world.run(key, operator)
    world.references.sources["later"] = ScriptedSource("later", LAMP_MANUAL)
    await world.run(key, operator)
    return key


async def a_run_that_begins_suspended(world: World) -> TaskKey:
    key = world.apply(desiredState="Suspended")
    operator = world.operator()
    await world.run(key, operator)
    world.apply(desiredState="Running")
    await world.run(key, operator)
    return key


async def a_run_whose_source_fails_once(world: World) -> TaskKey:
    world.lamp.failures = [RetryableError("Unreachable", "no route")]
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    world.clock.advance(5)
    await world.run(key, operator)
    return key


async def a_run_that_is_cancelled(world: World) -> TaskKey:
    key = world.apply(desiredState="Cancelled")
    await world.run(key)
    return key


async def a_run_that_asks_a_person(world: World) -> TaskKey:
    questions = [{"id": "glow", "text": "What is the default of {setting}?"}]
    key = world.apply(questions=questions)
    operator = world.operator()
    await world.run(key, operator)
    world.apply(questions=questions, clarifications=[{"field": "setting", "answer": "GLOW_LEVEL"}])
    await world.run(key, operator)
    return key


async def a_run_whose_process_dies_in_a_remote_search(world: World) -> TaskKey:
    world.references.sources["lamp"] = RemoteSource("lamp", LAMP_MANUAL)
    key = world.apply()
    operator = world.operator()
    while True:
        await operator.reconcile(key)
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.SEARCH:
            break
    successor = world.operator()
    await world.run(key, successor)
    world.clock.advance(5)
    await world.run(key, successor)
    return key


async def a_run_that_fails_again_on_request(world: World) -> TaskKey:
    world.lamp.failures = [PermanentError("Tls", "bad certificate") for _ in range(2)]
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    manifest = (await world.task(key)).to_json()
    metadata = {"name": key.name, "namespace": key.namespace, "annotations": {REQUESTED_AT: "2"}}
    world.store.apply(
        {
            "apiVersion": "research.fixpoint.dev/v1alpha1",
            "kind": "ResearchTask",
            "metadata": metadata,
            "spec": manifest["spec"],
        }
    )
    await world.run(key, operator)
    return key


class RemoteSource(ScriptedSource):
    """A source that is somebody else's: a search in doubt is charged."""

    is_remote = True


RUNS: dict[Callable[[World], Awaitable[TaskKey]], list[str]] = {
    a_plain_run: ["Normal TaskStarted", "Normal GoalReached"],
    a_run_that_is_exhausted_and_goes_on: [
        "Normal TaskStarted",
        "Warning StepBudgetExhausted",
        "Normal Resumed",
        "Normal GoalReached",
    ],
    a_run_that_waits: [
        "Normal TaskStarted",
        "Warning WaitingForReference",
        "Normal GoalReached",
    ],
    a_run_that_begins_suspended: [
        "Normal TaskStarted",
        "Normal Suspended",
        "Normal Resumed",
        "Normal GoalReached",
    ],
    a_run_whose_source_fails_once: [
        "Normal TaskStarted",
        "Warning BackingOff",
        "Normal GoalReached",
    ],
    a_run_that_asks_a_person: [
        "Normal TaskStarted",
        "Normal AwaitingInput",
        "Normal GoalReached",
    ],
    a_run_that_is_cancelled: ["Normal TaskStarted", "Warning Cancelled"],
    a_run_whose_process_dies_in_a_remote_search: [
        "Normal TaskStarted",
        "Warning StepInterrupted",
        "Warning BackingOff",
        "Normal GoalReached",
    ],
    a_run_that_fails_again_on_request: [
        "Normal TaskStarted",
        "Warning SourcesUnavailable",
        "Normal Resumed",
        "Warning SourcesUnavailable",
    ],
}


@pytest.mark.parametrize(
    ("run", "expected"), RUNS.items(), ids=lambda v: getattr(v, "__name__", "")
)
async def test_a_run_has_exactly_these_events(
    world: World, run: Callable[[World], Awaitable[TaskKey]], expected: list[str]
) -> None:
    key = await run(world)
    assert await told(world, key) == expected


class CountingStore:
    """Passes every call on to a real store, and counts those that write."""

    def __init__(self, store: Any) -> None:  # noqa: ANN401 - any store
        self._store = store
        self.writes: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        if name in {*WRITES, "record_event"}:
            self.writes[name] += 1
        return getattr(self._store, name)


async def test_a_plain_run_writes_four_times_beside_two_a_step(world: World) -> None:
    store = CountingStore(world.store)
    key = world.apply(questions=[GLOW, ABSENT])
    operator = Reconciler(
        store=store,
        references=world.references,
        clock=world.clock,
        holder="operator-0",
    )
    await world.run(key, operator)
    steps = len(await world.steps(key))
    assert store.writes == {
        "create_step": steps,
        "write_status": steps + 1,
        "put_report": 1,
        "record_event": 2,
    }
    assert store.writes.total() == 2 * steps + 4


@pytest.mark.parametrize("moment", Moment)
async def test_an_event_is_told_also_if_the_answer_to_its_write_was_lost(
    tmp_path: Path, moment: Moment
) -> None:
    for at in range(1, 100):
        with a_world(tmp_path / f"{moment}-{at}") as world:
            store = FaultyStore(world.store, at, moment)
            operator = Reconciler(
                store=store.port,
                references=world.references,
                clock=world.clock,
                holder="operator-0",
            )
            key = world.apply()
            await until_it_rests(operator, key)
            assert await told(world, key) == ["Normal TaskStarted", "Normal GoalReached"]
            if not store.is_hit:
                return
    raise AssertionError("the run never ended without a fault")


@contextmanager
def a_world(folder: Path) -> Iterator[World]:
    folder.mkdir()
    world = World(folder)
    try:
        yield world
    finally:
        world.close()


async def until_it_rests(operator: Reconciler, key: TaskKey) -> None:
    for _ in range(300):
        try:
            requeue = await operator.reconcile(key)
        except StoreError:
            continue
        if requeue.after is None:
            return
    raise AssertionError("it is still busy")


def test_events_of_a_request_differ_from_those_before_it() -> None:
    def name(of: ResearchTask) -> str:
        (event,) = events_of(of.model_copy(update={"status": RUNNING}), EXHAUSTED)
        return names.event_name(of, event)

    assert len({name(task()), name(task(request="1")), name(task(request="2"))}) == 3
