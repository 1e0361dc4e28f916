"""Whole runs in process: the ways in which a run ends, and what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from controller.api.errors import PermanentError, RetryableError
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import NoteKind, QuestionState
from controller.api.step import ActionName, Outcome
from controller.api.task import REQUESTED_AT
from controller.loop.run_state import initial
from controller.loop.state import fold
from controller.ports import SearchOutcome
from controller.sources.scripted import ScriptedSource
from tests.world import LAMP_MANUAL, World

ABSENT = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}
GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}


# S0.37, S1.28, S2.26
async def test_an_answered_task_reaches_its_goal(world: World) -> None:
    key = world.apply(questions=[GLOW, ABSENT])
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.is_true(ConditionType.SUCCEEDED)
    assert [q.state for q in task.status.questions] == [
        QuestionState.ANSWERED,
        QuestionState.NOT_FOUND,
    ]
    report = await world.store.get_report(task)
    assert report is not None
    assert "40 lumens" in report.files["report.md"]
    certificate = json.loads(report.files["report.json"])["questions"][1]["certificate"]
    assert len({q["text"] for q in certificate["queries"]}) >= 3


# S0.2, S0.60
async def test_the_journal_has_every_phase_in_order(world: World) -> None:
    key = world.apply()
    await world.run(key)
    actions = [s.spec.action for s in await world.steps(key)]
    assert actions == [
        ActionName.PLAN,
        ActionName.SEARCH,
        ActionName.EXTRACT,
        ActionName.CONCLUDE,
        ActionName.DRAFT,
        ActionName.PUBLISH,
    ]


# S1.24, S1.26, S2.26, S4.38
async def test_an_exhausted_run_goes_on_where_it_stopped(world: World) -> None:
    key = world.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 3})
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
    assert task.status.usage is not None
    assert task.status.usage.steps == 3
    report = await world.store.get_report(task)
    assert report is not None
    assert "40 lumens" in report.files["report.md"]
    before = await world.steps(key)
    world.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 60})
    await world.run(key)
    after = await world.steps(key)
    assert after[: len(before)] == before
    note = after[len(before)].spec.note
    assert note is not None
    assert note.kind is NoteKind.REOPENED
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert world.lamp.searches.count(world.lamp.searches[0]) == 1


# S1.23, S1.24, E20
async def test_a_finished_task_is_not_touched_again(world: World) -> None:
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    version = (await world.task(key)).metadata.resource_version
    for _ in range(3):
        operator.observe(key, "")
        assert (await operator.reconcile(key)).after is None
    assert await world.run(key, world.operator()) == 1
    assert (await world.task(key)).metadata.resource_version == version


async def test_a_reopening_that_changes_nothing_writes_status_only(world: World) -> None:
    key = world.apply()
    await world.run(key)
    steps = await world.steps(key)
    world.apply(jobClass="weekly")
    await world.run(key)
    task = await world.task(key)
    assert task.metadata.generation == 2
    assert task.status.observed_generation == 2
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert await world.steps(key) == steps


# S0.19, S1.15
async def test_status_is_the_fold_of_the_journal(world: World) -> None:
    key = world.apply(questions=[GLOW, ABSENT])
    await world.run(key)
    task = await world.task(key)
    state = initial("task", task.metadata.uid, "The lamp")
    for step in await world.steps(key):
        state = fold(state, step)
    assert task.status.journal is not None
    assert task.status.journal.digest == state.digest
    assert task.status.journal.steps == state.next_index
    assert task.status.usage is not None
    assert task.status.usage.steps == state.usage.steps


# S2.28
async def test_only_absent_answers_exhaust_the_sources(world: World) -> None:
    key = world.apply(questions=[ABSENT])
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.SOURCES_EXHAUSTED
    assert task.status.quality is not None
    assert task.status.quality.score == 60
    assert task.status.questions[0].state is QuestionState.NOT_FOUND


# S0.15, S1.5, S3.3
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"desiredState": "Cancelled"}, TerminalReason.CANCELLED),
        (
            {"questions": [{"id": name, "text": "What is it?"} for name in ("one", "two")]},
            TerminalReason.INVALID_SPEC,
        ),
        ({"budgets": {"maxStepsPerQuestion": 2}}, TerminalReason.STEP_BUDGET_EXHAUSTED),
    ],
)
async def test_an_ending_leaves_a_report_that_names_it(
    world: World, spec: dict[str, Any], reason: TerminalReason
) -> None:
    key = world.apply(**spec)
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is reason
    for kind in (ConditionType.FINISHED, ConditionType.SUCCEEDED, ConditionType.STALLED):
        condition = task.status.condition(kind)
        assert condition is not None
        assert condition.reason == reason
    report = await world.store.get_report(task)
    assert report is not None
    assert json.loads(report.files["report.json"])["ending"]["reason"] == reason


# S0.6, S1.9
async def test_the_deadline_ends_a_run_that_waits(world: World) -> None:
    key = world.apply(sourceRefs=[{"name": "nowhere"}])
    operator = world.operator()
    await world.run(key, operator)
    task = await world.task(key)
    accepted = task.status.condition(ConditionType.ACCEPTED)
    assert accepted is not None
    assert (accepted.status, accepted.reason) == ("False", "SourceNotFound")
    assert "nowhere" in accepted.message
    world.clock.advance(1000)
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.DEADLINE_EXCEEDED
    succeeded = task.status.condition(ConditionType.SUCCEEDED)
    assert succeeded is not None
    assert "nowhere" in succeeded.message


# S0.6
async def test_waiting_goes_on_when_the_source_appears(world: World) -> None:
    key = world.apply(sourceRefs=[{"name": "later"}])
    operator = world.operator()
    await world.run(key, operator)
    world.references.sources["later"] = ScriptedSource("later", LAMP_MANUAL)
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    kinds = [s.spec.note.kind for s in await world.steps(key) if s.spec.note]
    assert kinds == [NoteKind.WAITING, NoteKind.WAITING_ENDED]


# S4.24
async def test_suspended_time_is_not_active_time(world: World) -> None:
    key = world.apply(desiredState="Suspended")
    operator = world.operator()
    await world.run(key, operator)
    assert (await world.task(key)).status.is_true(ConditionType.SUSPENDED)
    world.clock.advance(5000)
    world.apply(desiredState="Running")
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.usage is not None
    assert task.status.usage.active_seconds < 10


# S1.9, E3
async def test_a_stopped_operator_counts_as_active_time(world: World) -> None:
    key = world.apply(budgets={"activeDeadlineSeconds": 600})
    operator = world.operator()
    for _ in range(3):
        await operator.reconcile(key)
    world.clock.advance(700)
    searched = len(world.lamp.searches)
    await world.run(key, world.operator())
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.DEADLINE_EXCEEDED
    assert len(world.lamp.searches) == searched


# S0.12, S0.32, S0.66, S1.33, S4.7
async def test_a_failed_search_is_retried_and_then_counts(world: World) -> None:
    world.lamp.failures = [RetryableError("Unreachable", "no route") for _ in range(3)]
    key = world.apply()
    operator = world.operator()
    for _ in range(3):
        await world.run(key, operator)
        world.clock.advance(5)
    outcomes = [s.spec.outcome for s in await world.steps(key) if s.spec.action == "Search"]
    assert outcomes == [Outcome.RETRY_SCHEDULED, Outcome.RETRY_SCHEDULED, Outcome.FAILED]
    attempts = [s.spec.attempt for s in await world.steps(key) if s.spec.action == "Search"]
    assert attempts == [1, 2, 3]
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE


# S1.24
async def test_what_failed_is_tried_again_on_request(world: World) -> None:
    world.lamp.failures = [PermanentError("Tls", "bad certificate")]
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE
    manifest = (await world.task(key)).to_json()
    world.store.apply(
        {
            "apiVersion": "research.fixpoint.dev/v1alpha1",
            "kind": "ResearchTask",
            "metadata": {
                "name": "task",
                "namespace": "default",
                "annotations": {REQUESTED_AT: "again"},
            },
            "spec": manifest["spec"],
        }
    )
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.last_handled_requested_at == "again"


# S0.3, S4.12, S4.14, S4.19, E18
async def test_a_defect_of_an_action_ends_the_run_and_never_the_operator(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Defective(ScriptedSource):
        async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
            raise ZeroDivisionError(f"a defect: {query}, {limit}, {terms}")

    world.references.sources["lamp"] = Defective("lamp", LAMP_MANUAL)
    key = world.apply()
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.INTERNAL_ERROR
    assert await world.store.get_report(task) is not None
    assert "a defect" in caplog.text


async def test_a_topic_without_questions_is_planned(world: World) -> None:
    key = world.apply(questions=[], topic="GLOW_LEVEL")
    await world.run(key)
    task = await world.task(key)
    assert len(task.status.questions) == 3
    assert task.status.terminal_reason is not None


async def test_a_deleted_report_is_written_again_byte_for_byte(world: World) -> None:
    key = world.apply(questions=[GLOW, ABSENT])
    operator = world.operator()
    await world.run(key, operator)
    task = await world.task(key)
    report = await world.store.get_report(task)
    world.store.delete_report(task)
    assert await world.store.get_report(task) is None
    await operator.restore_report(key)
    assert await world.store.get_report(task) == report


@pytest.mark.parametrize(
    "text",
    ["Tell me the default of GLOW_LEVEL.", "How large is GLOW_LEVEL by default, roughly?"],
)
async def test_a_question_worded_otherwise_is_never_certified_as_absent(
    world: World, text: str
) -> None:
    # S3.18: the words of the question are in the manual, so "not found" cannot be proven.
    key = world.apply(questions=[{"id": "glow", "text": text}])
    await world.run(key)
    question = (await world.task(key)).status.questions[0]
    assert question.state is not QuestionState.NOT_FOUND
    if question.state is QuestionState.UNRESOLVED:
        assert question.reason == "LowConfidence"
