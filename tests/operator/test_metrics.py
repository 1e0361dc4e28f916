"""What is counted, after whole runs in process; and that no user can make a series."""

from __future__ import annotations

import ast
import asyncio
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from controller.api.errors import PermanentError, RetryableError, UserError
from controller.api.reasons import TerminalReason
from controller.api.records import (
    ExtractRecord,
    Fact,
    FactKind,
    FactStatus,
    Predicate,
    RejectReason,
    Verdict,
)
from controller.api.step import ActionName, Outcome
from controller.api.task import ConsecutiveErrors, ResearchTask, Usage
from controller.metrics import ERROR_CLASSES, Metrics, new_registry
from controller.ports import StoredReport, TaskKey, TaskStore
from controller.queue import WorkQueue
from controller.reconcile import Reconciler
from controller.settings import checked_job_classes
from controller.sources.scripted import ScriptedSource
from tests.faults import FaultyStore, Moment
from tests.situations import task
from tests.steps import step
from tests.world import LAMP_MANUAL, World

ROOT: Final = Path(__file__).resolve().parents[2]
GLOW: Final = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
ABSENT: Final = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


class Counted:
    """Metrics in a registry of their own, and operators that they observe."""

    def __init__(self, world: World | None = None, job_classes: Sequence[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, job_classes=job_classes)
        self._world = world
        self._numbers = itertools.count(1)

    def operator(self, store: TaskStore | None = None) -> Reconciler:
        assert self._world is not None
        return Reconciler(
            store=store or self._world.store,
            references=self._world.references,
            clock=self._world.clock,
            holder=f"counted-{next(self._numbers)}",
            observer=self.metrics,
        )

    def value(self, name: str, **labels: str) -> float:
        """Return one series; one that is not there is a mistake of the test."""
        found = self.registry.get_sample_value(name, labels)
        assert found is not None, f"{name} {labels} is no series"
        return found

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the series of a name that are not 0, by their labels' values."""
        return {
            tuple(sample.labels.values()): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name and sample.value
        }

    def series(self) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        return {
            (sample.name, tuple(sorted(sample.labels.items())))
            for family in self.registry.collect()
            for sample in family.samples
        }


async def test_a_run_is_counted_step_by_step_and_once_at_its_end(world: World) -> None:
    counted = Counted(world)
    key = world.apply()
    await world.run(key, counted.operator())
    actions = ("Plan", "Search", "Extract", "Conclude", "Draft", "Publish")
    assert counted.values("fixpoint_steps_total") == {(a, "Completed"): 1 for a in actions}
    assert counted.values("fixpoint_step_duration_seconds_count") == {(a,): 1 for a in actions}
    assert counted.values("fixpoint_runs_ended_total") == {("GoalReached", "Directed", "none"): 1}
    status = (await world.task(key)).status
    assert status.usage is not None
    assert counted.value("fixpoint_run_steps_sum", succeeded="true") == status.usage.steps == 4
    assert counted.value("fixpoint_run_active_seconds_count", succeeded="true") == 1
    assert counted.value("fixpoint_run_steps_count", succeeded="false") == 0
    for quiet in (
        "fixpoint_resumes_total",
        "fixpoint_interrupted_attempts_total",
        "fixpoint_adopted_steps_total",
        "fixpoint_source_calls_total",
        "fixpoint_duplicate_effects_total",
    ):
        assert counted.value(quiet) == 0


async def test_a_run_that_goes_on_counts_each_of_its_endings(world: World) -> None:
    counted = Counted(world)
    key = world.apply(budgets={"maxSteps": 3})
    await world.run(key, counted.operator())
    world.apply(budgets={"maxSteps": 60})
    await world.run(key, counted.operator())
    assert counted.values("fixpoint_runs_ended_total") == {
        ("StepBudgetExhausted", "Directed", "none"): 1,
        ("GoalReached", "Directed", "none"): 1,
    }
    assert counted.value("fixpoint_resumes_total") == 1


async def test_an_ended_run_that_is_observed_again_is_not_counted_again(world: World) -> None:
    counted = Counted(world)
    key = world.apply()
    await world.run(key, counted.operator())
    world.apply(jobClass="weekly")
    await world.run(key, counted.operator())
    assert (await world.task(key)).status.observed_generation == 2
    assert sum(counted.values("fixpoint_runs_ended_total").values()) == 1


@pytest.mark.parametrize(
    ("job_class", "label"), [(None, "none"), ("weekly", "weekly"), ("somebodys-own", "other")]
)
async def test_a_job_class_counts_as_itself_only_if_the_operator_knows_it(
    world: World, job_class: str | None, label: str
) -> None:
    counted = Counted(world, job_classes=["weekly", "daily"])
    key = world.apply(**({} if job_class is None else {"jobClass": job_class}))
    await world.run(key, counted.operator())
    assert counted.values("fixpoint_runs_ended_total") == {("GoalReached", "Directed", label): 1}


async def test_no_run_makes_a_series_or_names_anything(world: World) -> None:
    counted = Counted(world)
    before = counted.series()
    world.lamp.failures = [PermanentError("ClassOfTomorrow", "x") for _ in range(2)]
    operator = counted.operator()
    specs: dict[str, dict[str, Any]] = {
        "task-secret": {"jobClass": "secret-class"},
        "second-secret": {"questions": [{**GLOW, "id": "secret-question"}, ABSENT]},
        "third-secret": {"budgets": {"maxSteps": 2}},
    }
    for name, spec in specs.items():
        await world.run(world.apply(name, **spec), operator)
    assert counted.series() == before
    page, content_type = counted.metrics.page()
    assert b"secret" not in page
    assert b"lamp" not in page
    assert content_type.startswith("text/plain; version=0.0.4")
    families = {f.name for f in text_string_to_metric_families(page.decode())}
    assert "fixpoint_runs_ended" in families


async def test_what_a_breaker_trips_on_is_counted_by_class(world: World) -> None:
    counted = Counted(world)
    world.lamp.failures = [RetryableError("Unreachable", "no route") for _ in range(3)]
    key = world.apply()
    operator = counted.operator()
    for _ in range(3):
        await world.run(key, operator)
        world.clock.advance(5)
    assert counted.values("fixpoint_steps_total")["Search", "RetryScheduled"] == 2
    assert counted.values("fixpoint_steps_total")["Search", "Failed"] == 1
    assert counted.values("fixpoint_breaker_trips_total") == {("Unreachable",): 1}
    assert counted.values("fixpoint_run_steps_count") == {("false",): 1}


BREAKERS: dict[str, tuple[TerminalReason, list[tuple[str, int]], str | None]] = {
    "the class that came most often in a row": (
        TerminalReason.ERROR_THRESHOLD_REACHED,
        [("Timeout", 1), ("Unreachable", 3)],
        "Unreachable",
    ),
    "a class that is an ending itself": (
        TerminalReason.QUOTA_EXHAUSTED,
        [("QuotaExhausted", 1)],
        "QuotaExhausted",
    ),
    "a class that this version does not know": (
        TerminalReason.REPEATED_FAILURE,
        [("ClassOfTomorrow", 2)],
        "other",
    ),
    "no breaker, though there were errors": (TerminalReason.GOAL_REACHED, [("Timeout", 2)], None),
    "a budget, though there were errors": (
        TerminalReason.STEP_BUDGET_EXHAUSTED,
        [("Timeout", 2)],
        None,
    ),
}


@pytest.mark.parametrize(("reason", "errors", "expected"), BREAKERS.values(), ids=BREAKERS.keys())
def test_a_breaker_trip_is_one_of(
    reason: TerminalReason, errors: list[tuple[str, int]], expected: str | None
) -> None:
    counted = Counted()
    counted.metrics.run_ended(
        ended(
            reason,
            consecutive_errors=tuple(
                ConsecutiveErrors(subject=f"source/{n}", error_class=name, count=count)
                for n, (name, count) in enumerate(errors)
            ),
        )
    )
    trips = counted.values("fixpoint_breaker_trips_total")
    assert trips == ({} if expected is None else {(expected,): 1})


@pytest.mark.parametrize("reason", TerminalReason)
def test_every_terminal_reason_has_its_series(reason: TerminalReason) -> None:
    counted = Counted()
    labels = {"reason": reason.value, "decision_policy": "Directed", "job_class": "none"}
    assert counted.value("fixpoint_runs_ended_total", **labels) == 0
    counted.metrics.run_ended(ended(reason))
    assert counted.value("fixpoint_runs_ended_total", **labels) == 1


def ended(reason: TerminalReason, **changes: Any) -> ResearchTask:  # noqa: ANN401
    """Return a task that has ended."""
    of = task()
    update = {"terminal_reason": reason, "usage": Usage(steps=3), **changes}
    return of.model_copy(update={"status": of.status.model_copy(update=update)})


def test_a_rejected_fact_counts_for_the_first_predicate_that_did_not_hold() -> None:
    counted = Counted()
    counted.metrics.step_recorded(
        step(
            action=ActionName.EXTRACT,
            extract=ExtractRecord(
                question_id="glow",
                facts=(
                    fact(),
                    fact(RejectReason.QUOTE_NOT_FOUND),
                    fact(RejectReason.QUOTE_TOO_SHORT, RejectReason.OFF_QUESTION),
                    fact(RejectReason.QUOTE_TOO_SHORT),
                ),
            ),
        )
    )
    assert counted.values("fixpoint_verifier_rejections_total") == {
        ("QuoteNotFound",): 1,
        ("QuoteTooShort",): 2,
    }


def fact(*rejected: RejectReason) -> Fact:
    failed = (Verdict(predicate=Predicate.P2, passed=False, reason=r) for r in rejected)
    return Fact(
        id="f-0123456789ab",
        question_id="glow",
        kind=FactKind.QUOTE,
        claim="a claim",
        citations=(),
        status=FactStatus.REJECTED if rejected else FactStatus.VERIFIED,
        verdicts=(Verdict(predicate=Predicate.P0, passed=True), *failed),
    )


async def test_calls_to_remote_sources_and_interrupted_attempts_are_counted(world: World) -> None:
    counted = Counted(world)
    world.references.sources["lamp"] = RemoteSource("lamp", LAMP_MANUAL)
    key = world.apply()
    first = counted.operator()
    while True:
        await first.reconcile(key)
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.SEARCH:
            break
    successor = counted.operator()
    await world.run(key, successor)
    world.clock.advance(5)
    await world.run(key, successor)
    usage = (await world.task(key)).status.usage
    assert usage is not None
    assert counted.value("fixpoint_interrupted_attempts_total") == usage.interrupted == 1
    assert counted.value("fixpoint_source_calls_total") == usage.source_calls == 2
    assert counted.values("fixpoint_steps_total")["Search", Outcome.INTERRUPTED] == 1


class RemoteSource(ScriptedSource):
    """A source that is somebody else's: a search in doubt is charged."""

    is_remote = True


async def test_a_lost_answer_is_one_adopted_step_and_changes_no_other_number(
    world: World,
) -> None:
    counted = Counted(world)
    store = FaultyStore(world.store, 2, Moment.AFTER)  # the first step
    operator = counted.operator(store.port)
    key = world.apply()
    await operator.reconcile(key)
    with pytest.raises(Exception, match="the answer was lost"):
        await operator.reconcile(key)
    await world.run(key, operator)
    assert counted.value("fixpoint_adopted_steps_total") == 1
    assert sum(counted.values("fixpoint_steps_total").values()) == len(await world.steps(key))
    assert sum(counted.values("fixpoint_runs_ended_total").values()) == 1


async def test_an_ending_is_counted_also_if_the_answer_to_its_write_was_lost(world: World) -> None:
    counted = Counted(world)
    key = world.apply()
    undisturbed = len(await run_of(world, "undisturbed"))
    # Two writes a step, the first intent and the report: the last one is the ending's.
    store = FaultyStore(world.store, 2 * undisturbed + 2, Moment.AFTER)
    operator = counted.operator(store.port)
    with pytest.raises(Exception, match="the answer was lost"):
        await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert counted.values("fixpoint_runs_ended_total") == {}
    await world.run(key, operator)
    assert sum(counted.values("fixpoint_runs_ended_total").values()) == 1


async def run_of(world: World, name: str) -> Sequence[object]:
    key = world.apply(name)
    await world.run(key)
    return await world.steps(key)


async def test_a_step_of_another_process_is_adopted_and_not_counted_as_ours(world: World) -> None:
    counted, others = Counted(world), Counted(world)
    key = world.apply()
    operators = [counted.operator(), others.operator()]
    for turn in range(100):
        await operators[turn % 2].reconcile(key)
    steps = sum(sum(each.values("fixpoint_steps_total").values()) for each in (counted, others))
    assert steps == len(await world.steps(key))
    conflicts = counted.values("fixpoint_api_conflicts_total")
    assert conflicts.keys() <= {("Conflict",), ("AlreadyExists",)}
    assert sum(conflicts.values()) > 0


class SlowReports:
    """A store whose first write of a report begins when a test says so."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store
        self.is_asked = asyncio.Event()
        self.may_write = asyncio.Event()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        return getattr(self._store, name)

    async def put_report(self, task: ResearchTask, report: StoredReport) -> None:
        """Wait, and then write."""
        self.is_asked.set()
        await self.may_write.wait()
        await self._store.put_report(task, report)


async def test_a_report_that_two_processes_published_is_seen(world: World) -> None:
    counted = Counted(world)
    store = SlowReports(world.store)
    operator = counted.operator(store)
    key = world.apply()
    slow = asyncio.create_task(world.run(key, operator))
    await store.is_asked.wait()
    await world.run(key, world.operator())
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    store.may_write.set()
    await slow
    assert counted.value("fixpoint_api_conflicts_total", kind="AlreadyExists") == 1
    assert counted.value("fixpoint_duplicate_effects_total") == 1
    assert counted.value("fixpoint_steps_total", action="Publish", outcome="Completed") == 0


async def test_a_conflict_is_counted_by_its_kind(world: World) -> None:
    counted = Counted(world)
    key = world.apply()
    operator = counted.operator()
    await operator.reconcile(key)
    world.apply(jobClass="weekly")  # nobody has told the operator
    while (await operator.reconcile(key)).after == 0:
        pass
    assert counted.value("fixpoint_api_conflicts_total", kind="Conflict") == 1
    assert counted.value("fixpoint_api_conflicts_total", kind="AlreadyExists") == 0


async def test_a_queue_shows_its_workers_and_what_waits_for_them() -> None:
    counted = Counted()
    may_end = asyncio.Event()

    async def work(_: TaskKey) -> None:
        await may_end.wait()

    queue = WorkQueue(work, workers=2, jitter=lambda: 1.0, clock=lambda: 0.0)
    counted.metrics.watch_queue("tasks", queue)

    def shown() -> tuple[float, ...]:
        names = ("fixpoint_workers", "fixpoint_busy_workers", "fixpoint_queue_depth")
        return tuple(counted.value(name, queue="tasks") for name in names)

    assert shown() == (2, 0, 0)
    running = asyncio.create_task(queue.run())
    for name in ("a", "b", "c"):
        queue.add(TaskKey("team", name))
    queue.add_after(TaskKey("team", "later"), 60)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert shown() == (2, 2, 1)
    may_end.set()
    await queue.drain(5)
    await running
    assert shown() == (2, 0, 0)


def test_a_turn_is_measured() -> None:
    counted = Counted()
    with counted.metrics.reconciling():
        pass
    with pytest.raises(KeyError), counted.metrics.reconciling():
        raise KeyError("a turn that fails is measured as well")
    assert counted.value("fixpoint_reconcile_duration_seconds_count") == 2


def test_two_registries_know_nothing_of_each_other() -> None:
    first, second = new_registry(), new_registry()
    Metrics(first)
    ours = Metrics(second)
    ours.run_ended(ended(TerminalReason.GOAL_REACHED))
    labels = {"reason": "GoalReached", "decision_policy": "Directed", "job_class": "none"}
    assert first.get_sample_value("fixpoint_runs_ended_total", labels) == 0
    assert second.get_sample_value("fixpoint_runs_ended_total", labels) == 1
    page = ours.page()[0].decode()
    assert "process_resident_memory_bytes" in page
    assert "_created" not in page


@pytest.mark.parametrize("name", ["other", "none", "", "Weekly", "a b", "-a", "a" * 64, "a\n"])
def test_a_job_class_that_would_mean_something_else_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="cannot be a job class"):
        checked_job_classes(["weekly", name])


def test_job_classes_are_taken_once() -> None:
    assert checked_job_classes(["weekly", "a", "weekly", "a" * 63]) == ("weekly", "a", "a" * 63)


def raised_classes(source: str) -> Iterator[str]:
    """Yield the classes of errors that a module's actions raise."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Name(
                    id="RetryableError"
                    | "PermanentError"
                    | "ModelMistakeError"
                    | "RejectedProposalError"
                ),
                args=[name, *_],
            ):
                match name:
                    case ast.Constant(value=str(text)):
                        yield text
                    case ast.Attribute(value=ast.Name(id="TerminalReason"), attr=member):
                        yield TerminalReason[member].value


def test_every_class_of_error_that_an_action_raises_has_a_label() -> None:
    raised = {
        name
        for path in (ROOT / "controller").rglob("*.py")
        for name in raised_classes(path.read_text("utf-8"))
    }
    assert len(raised) >= 5
    assert raised <= ERROR_CLASSES, "name it in controller.metrics.ERROR_CLASSES"


def test_the_alerts_of_the_documentation_use_what_there_is() -> None:
    page = (ROOT / "docs" / "observability.md").read_text("utf-8")
    rules = "\n".join(re.findall(r"```promql\n(.*?)```", page, re.DOTALL))
    used = set(re.findall(r"\bfixpoint_[a-z_]+", rules))
    assert len(used) >= 6
    counted = Counted()
    counted.metrics.watch_queue("tasks", WorkQueue(_never, workers=1, jitter=lambda: 0.0))
    assert used <= {name for name, _ in counted.series()}
    for reason in re.findall(r'reason=~?"([A-Za-z|]+)"', rules):
        assert set(reason.split("|")) <= set(TerminalReason)


async def _never(_: TaskKey) -> None:
    raise AssertionError("nothing is worked on")
