"""One line a transition, with task, step and reason; never what sources or questions say."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from controller.api.errors import PermanentError, RetryableError
from controller.logs import JsonFormatter
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from tests.faults import FaultyStore, Moment
from tests.world import World

CANARY: Final = "CANARY_7F3A"

MANUAL: Final = {
    "file:lamp.txt": {
        "GLOW_LEVEL": f"The default of GLOW_LEVEL is 40 lumens {CANARY} at the lowest position.",
        "Safety": f"The lamp switches itself off {CANARY} when its housing is hotter.",
    }
}
QUESTIONS: Final = [
    {"id": "glow", "text": f"What is the default of GLOW_LEVEL {CANARY}?"},
    {"id": "absent", "text": f"What is the default of FROST_LEVEL without {CANARY}?"},
]


@pytest.fixture
def world(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[World]:
    caplog.set_level(logging.INFO)
    made = World(tmp_path)
    yield made
    made.close()


def entries(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return what was logged, as a collector reads it."""
    return [json.loads(JsonFormatter().format(record)) for record in caplog.records]


async def test_each_step_and_each_transition_is_one_line(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    key = world.apply()
    await world.run(key)
    logged = entries(caplog)
    assert {(entry["namespace"], entry["name"]) for entry in logged} == {key}
    assert [entry["reason"] for entry in logged if "step" not in entry] == [
        "Running",
        "GoalReached",
    ]
    steps = [s.spec for s in await world.steps(key)]
    assert [
        (e["step"], e["action"], e["outcome"], e["reason"], e["durationMilliseconds"])
        for e in logged
        if "step" in e
    ] == [
        (s.index, s.action, s.outcome, s.decision.reason, s.usage.duration_milliseconds)
        for s in steps
    ]
    assert (
        caplog.messages[1] == f"default/task: step 0 Plan Completed: {steps[0].observation.summary}"
    )
    assert caplog.messages[-1].startswith("default/task: GoalReached: every goal predicate holds")


async def test_a_failure_is_logged_with_its_class(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.lamp.failures = [RetryableError("Unreachable", "no route")]
    key = world.apply()
    await world.run(key)
    (failed,) = [e for e in entries(caplog) if "errorClass" in e]
    assert (failed["outcome"], failed["errorClass"]) == ("RetryScheduled", "Unreachable")
    assert "BackingOff" in [e["reason"] for e in entries(caplog)]


async def test_a_step_whose_answer_was_lost_is_logged_as_adopted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    store = FaultyStore(world.store, 2, Moment.AFTER)
    operator = Reconciler(
        store=store.port, references=world.references, clock=world.clock, holder="operator-0"
    )
    key = world.apply()
    await operator.reconcile(key)
    with pytest.raises(Exception, match="the answer was lost"):
        await operator.reconcile(key)
    await world.run(key, operator)
    steps = [e for e in entries(caplog) if "step" in e]
    assert "adopted: " in steps[0]["message"]
    assert [e["step"] for e in steps] == list(range(len(steps)))


async def test_no_line_holds_what_sources_and_questions_say(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.references.sources["lamp"] = source = ScriptedSource("lamp", MANUAL)
    key = world.apply(topic=f"The lamp {CANARY}", questions=QUESTIONS, guidance=CANARY)
    await world.run(key)
    report = await world.store.get_report(await world.task(key))
    assert report is not None
    assert CANARY in report.files["report.md"], "the run must have seen it"
    for error in (PermanentError("Tls", "bad certificate"), RetryableError("Unreachable", "")):
        source.failures = [error]
        await world.run(world.apply(f"fails-{error.error_class.lower()}", questions=QUESTIONS))
    await world.run(world.apply("exhausted", questions=QUESTIONS, budgets={"maxSteps": 3}))
    assert len(caplog.records) > 30
    for entry in entries(caplog):
        assert CANARY.casefold() not in json.dumps(entry, ensure_ascii=False).casefold()


async def test_a_report_that_is_written_again_is_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    world.store.delete_report(await world.task(key))
    await operator.restore_report(TaskKey("default", "task"))
    assert "the report was gone" in caplog.messages[-1]
    assert entries(caplog)[-1]["name"] == "task"
