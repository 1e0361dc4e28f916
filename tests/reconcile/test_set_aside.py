"""Whole runs with a source that fails for ever beside one that does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.task import ResearchTask
from controller.cli.checking import check_report
from controller.loop.replay import decided_again, reduced
from controller.ports import TaskKey
from controller.sources.scripted import ScriptedSource
from tests.world import LAMP_MANUAL, World

GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
ABSENT = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}
BOTH = [{"name": "lamp"}, {"name": "wiki"}]
UNREACHABLE = RetryableError("Unreachable", "no route")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.references.sources["wiki"] = ScriptedSource("wiki", LAMP_MANUAL)
    yield made
    made.close()


def wiki(world: World) -> ScriptedSource:
    source = world.references.sources["wiki"]
    assert isinstance(source, ScriptedSource)
    return source


async def ended(world: World, **spec: Any) -> tuple[TaskKey, ResearchTask]:  # noqa: ANN401
    """Apply a task over both sources and take it as far as it goes, over every back-off."""
    key = world.apply(**{"questions": [GLOW, ABSENT], "sourceRefs": BOTH, **spec})
    operator = world.operator()
    for _ in range(30):
        await world.run(key, operator)
        task = await world.task(key)
        if task.status.terminal_reason is not None:
            await assert_it_replays(world, key)
            return key, task
        world.clock.advance(61)
    raise AssertionError("the run came to no end")


async def assert_it_replays(world: World, key: TaskKey) -> None:
    task, steps = await world.task(key), await world.steps(key)
    specs = {task.metadata.generation: task.spec}
    assert reduced(task, steps, specs) is None
    assert decided_again(task, steps, specs).divergence is None


def states(task: ResearchTask) -> list[tuple[str, str | None]]:
    return [(q.state, q.reason) for q in task.status.questions]


async def report_of(world: World, task: ResearchTask) -> dict[str, Any]:
    """Return `report.json`, checked against the journal as `fixpoint verify` does."""
    stored = await world.store.get_report(task)
    assert stored is not None
    steps = await world.steps(TaskKey("default", task.metadata.name))
    assert check_report(task, steps, stored).lies == ()
    report: dict[str, Any] = json.loads(stored.files["report.json"])
    assert ("## Sources set aside" in stored.files["report.md"]) == ("setAside" in report)
    return report


async def test_the_run_goes_on_with_the_other_source_and_proves_no_absence(world: World) -> None:
    wiki(world).failures = [UNREACHABLE] * 100
    _, task = await ended(world)
    assert task.status.terminal_reason is TerminalReason.SOURCES_EXHAUSTED
    assert states(task) == [("Answered", None), ("Unresolved", "SearchFailed")]
    assert len(wiki(world).searches) == 9  # three failures, each of three attempts
    degraded = task.status.condition(ConditionType.DEGRADED)
    assert degraded is not None
    assert degraded.reason == "Unreachable"
    assert "wiki (Unreachable, 3 in a row" in degraded.message
    report = await report_of(world, task)
    assert report["setAside"] == [
        {
            "sourceName": "wiki",
            "class": "Unreachable",
            "failures": 3,
            "message": "Search failed 3 times; the last error: no route",
        }
    ]


@pytest.mark.parametrize(
    "failure",
    [PermanentError("CredentialsRejected", "401"), PermanentError("QuotaExhausted", "none left")],
)
async def test_refused_credentials_set_a_source_aside_after_one_request(
    world: World, failure: ActionError
) -> None:
    wiki(world).failures = [failure] * 100
    _, task = await ended(world, questions=[GLOW])
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert len(wiki(world).searches) == 1
    degraded = task.status.condition(ConditionType.DEGRADED)
    assert degraded is not None
    assert degraded.reason == failure.error_class
    report = await report_of(world, task)
    assert [s["sourceName"] for s in report["setAside"]] == ["wiki"]


async def test_when_both_fail_from_the_start_the_sources_are_unavailable(world: World) -> None:
    for source in (world.lamp, wiki(world)):
        source.failures = [UNREACHABLE] * 100
    _, task = await ended(world)
    assert task.status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE
    assert (len(world.lamp.searches), len(wiki(world).searches)) == (3, 3)


async def test_with_the_last_source_the_run_ends_under_its_class(world: World) -> None:
    # The manual answers the first question, then refuses; the wiki never answers.
    wiki(world).failures = [UNREACHABLE] * 100
    key = world.apply(questions=[GLOW, ABSENT], sourceRefs=BOTH)
    operator = world.operator()
    while not world.lamp.searches:
        await operator.reconcile(key)
        world.clock.advance(5)
    world.lamp.failures = [PermanentError("QuotaExhausted", "none left")] * 100
    _, task = await ended(world)
    assert task.status.terminal_reason is TerminalReason.QUOTA_EXHAUSTED
    assert task.status.questions[0].state == "Answered"
    report = await report_of(world, task)
    assert [s["sourceName"] for s in report["setAside"]] == ["lamp", "wiki"]


async def test_a_reopening_asks_the_source_again(world: World) -> None:
    wiki(world).failures = [PermanentError("Gone", "no such page")] * 3
    key, task = await ended(world)
    assert task.status.is_true(ConditionType.DEGRADED)
    world.apply(questions=[GLOW, ABSENT], sourceRefs=BOTH, jobClass="again")
    before = len(wiki(world).searches)
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert states(task) == [("Answered", None), ("NotFound", None)]
    assert len(wiki(world).searches) > before
    assert task.status.condition(ConditionType.DEGRADED) is None
    assert "setAside" not in await report_of(world, task)


async def test_a_source_that_fails_twice_and_then_answers_is_kept(world: World) -> None:
    wiki(world).failures = [PermanentError("Gone", "no such page")] * 2
    _, task = await ended(world, questions=[GLOW])
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.condition(ConditionType.DEGRADED) is None
    assert "setAside" not in await report_of(world, task)
