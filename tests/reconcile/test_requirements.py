"""Whole runs, looked at for one requirement each; docs/requirements.md says what a number asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from controller.api.base import canonical_json
from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.meta import ConditionStatus
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import FactStatus
from controller.api.step import ActionName, Outcome
from controller.api.task import PredicateMet, ResearchTaskStatus
from controller.loop.replay import reduced
from controller.ports import SearchOutcome, TaskKey
from controller.sources.scripted import ScriptedSource
from tests.world import LAMP_MANUAL, World

GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
COLOUR = {"id": "colour", "text": "What is the default of GLOW_COLOUR?"}
ABSENT = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}


async def ended(world: World, **spec: Any) -> tuple[TaskKey, ResearchTaskStatus]:  # noqa: ANN401
    """Apply a task and take it as far as it goes, over every back-off."""
    key = world.apply(**spec)
    operator = world.operator()
    for _ in range(20):
        await world.run(key, operator)
        status = (await world.task(key)).status
        if status.terminal_reason is not None:
            return key, status
        world.clock.advance(61)
    raise AssertionError("the run came to no end")


# S0.1, S0.4, S0.7
async def test_a_turn_is_one_step_at_most_and_a_question_is_worked_on_until_it_is_closed(
    world: World,
) -> None:
    key, operator, taken = world.apply(questions=[GLOW, ABSENT, COLOUR]), world.operator(), 0
    for _ in range(200):
        requeue = await operator.reconcile(key)
        now = len(await world.steps(key))
        assert now - taken in {0, 1}
        taken = now
        if requeue.after is None:
            break
    asked = [s.spec.question_id for s in await world.steps(key) if s.spec.question_id]
    assert [question for question, _ in groupby(asked)] == ["glow", "absent", "colour"]


# S0.8, S0.19, S1.21
async def test_questions_and_quality_are_those_of_the_fold(world: World) -> None:
    key, status = await ended(world, questions=[GLOW, ABSENT])
    task = await world.task(key)
    assert reduced(task, await world.steps(key), {1: task.spec}) is None
    assert status.quality is not None
    assert [(p.name, p.current, p.target, p.met) for p in status.quality.predicates] == [
        ("QualityThreshold", 80, 70, PredicateMet.TRUE),
        ("MinFacts", 1, 1, PredicateMet.TRUE),
        ("EveryQuestionResolved", 2, 2, PredicateMet.TRUE),
    ]


# S0.9
async def test_a_goal_that_does_not_need_every_question_ends_the_run_at_once(world: World) -> None:
    goal = {"requireEveryQuestion": "None"}
    _, status = await ended(world, questions=[GLOW, ABSENT], goal=goal, qualityThreshold=50)
    assert status.terminal_reason is TerminalReason.GOAL_REACHED
    assert [q.state for q in status.questions] == ["Answered", "Open"]
    assert [q.steps for q in status.questions] == [3, 0]


# S0.16
async def test_what_was_read_beside_the_question_is_stored_nowhere(world: World) -> None:
    manual = {"file:lamp.txt": {**LAMP_MANUAL["file:lamp.txt"], "Attic": "MARKER-OF-THE-ATTIC"}}
    world.references.sources["lamp"] = ScriptedSource("lamp", manual)
    key, _ = await ended(world)
    task = await world.task(key)
    report = await world.store.get_report(task)
    assert report is not None
    stored = [task, *await world.steps(key)]
    texts = [canonical_json(stored_one.to_json()) for stored_one in stored]
    assert any("40 lumens" in text for text in texts)
    assert not any("MARKER" in text for text in (*texts, *report.files.values()))


# S0.14, S4.31
async def test_every_extracted_fact_has_its_verdict_in_the_same_step(world: World) -> None:
    key, status = await ended(world, questions=[GLOW, ABSENT])
    steps = [s.spec for s in await world.steps(key)]
    found = [fact for step in steps if step.extract for fact in step.extract.facts]
    assert {fact.status for fact in found} <= {FactStatus.VERIFIED, FactStatus.REJECTED}
    rejected = sum(fact.status is FactStatus.REJECTED for fact in found)
    assert status.usage is not None
    assert status.usage.verifier_rejections == rejected > 0
    cited = {i for step in steps for s in step.statements or () for i in s.fact_ids}
    assert cited
    assert cited <= {fact.id for fact in found if fact.status is FactStatus.VERIFIED}


# S4.18, S4.22
@pytest.mark.parametrize("spec", [{}, {"budgets": {"maxSteps": 2}}, {"questions": [ABSENT]}])
async def test_each_step_says_why_it_was_taken_and_each_ending_why(
    world: World, spec: dict[str, Any]
) -> None:
    key, status = await ended(world, **spec)
    steps = [s.spec for s in await world.steps(key)]
    assert all(s.decision.reason and s.observation.summary and s.generation for s in steps)
    endings = {s.decision.ending for s in steps} - {None}
    assert endings == {status.terminal_reason}
    succeeded = status.condition(ConditionType.SUCCEEDED)
    assert succeeded is not None
    assert succeeded.message


# S2.8
async def test_a_run_has_not_succeeded_before_its_report_is_written(world: World) -> None:
    key, operator = world.apply(), world.operator()
    for _ in range(100):
        requeue = await operator.reconcile(key)
        task = await world.task(key)
        succeeded = task.status.condition(ConditionType.SUCCEEDED)
        assert succeeded is not None
        if requeue.after is None:
            assert succeeded.status is ConditionStatus.TRUE
            return
        written = await world.store.get_report(task) is not None
        assert succeeded.status is ConditionStatus.UNKNOWN or written
    raise AssertionError("the run came to no end")


class TestBudgets:
    # S0.22, S1.9
    async def test_one_step_is_exactly_one(self, world: World) -> None:
        key, status = await ended(world, budgets={"maxSteps": 1})
        assert status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
        actions = [s.spec.action for s in await world.steps(key)]
        assert actions == [ActionName.PLAN, ActionName.DRAFT, ActionName.PUBLISH]
        assert status.usage is not None
        assert status.usage.steps == 1

    # S1.40
    async def test_a_goal_reached_by_the_last_step_is_reached(self, world: World) -> None:
        _, status = await ended(world, budgets={"maxSteps": 4})
        assert status.terminal_reason is TerminalReason.GOAL_REACHED
        assert status.usage is not None
        assert status.usage.steps == 4

    # S1.9, S4.11
    @pytest.mark.parametrize("limit", [0, 1, 2])
    async def test_a_remote_source_sees_no_call_beyond_the_budget(
        self, world: World, limit: int
    ) -> None:
        world.lamp.is_remote = True
        _, status = await ended(world, questions=[ABSENT], budgets={"maxSourceCalls": limit})
        assert status.terminal_reason is TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED
        assert len(world.lamp.searches) == limit
        assert status.usage is not None
        assert status.usage.source_calls == limit

    # S1.18, S1.34, S4.35
    @pytest.mark.parametrize(
        ("own", "whole"), [(1, 900), (120, 1)], ids=["its own limit", "what the task has left"]
    )
    async def test_a_step_that_never_returns_is_ended_by_the_earlier_deadline(
        self, world: World, own: int, whole: int
    ) -> None:
        class Silent(ScriptedSource):
            async def search(
                self, query: str, *, limit: int, terms: Sequence[str]
            ) -> SearchOutcome:
                await asyncio.Event().wait()
                return await super().search(query, limit=limit, terms=terms)

        world.references.sources["lamp"] = Silent("lamp", LAMP_MANUAL)
        key, status = await ended(
            world,
            progressPolicy={"stepTimeoutSeconds": own, "maxActionRetries": 0},
            budgets={"activeDeadlineSeconds": whole},
        )
        search = next(s.spec for s in await world.steps(key) if s.spec.action == "Search")
        assert search.error is not None
        assert (search.outcome, search.error.error_class) == (Outcome.FAILED, "Timeout")
        assert status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE


class TestFailures:
    # S1.19
    async def test_a_retry_says_when_and_why(self, world: World) -> None:
        world.lamp.failures = [RetryableError("Unreachable", "no route")]
        key = world.apply()
        await world.run(key)
        status = (await world.task(key)).status
        assert status.wake_up_reason == "BackingOff"
        assert status.next_wake_up_time is not None
        assert 0 < (status.next_wake_up_time - world.clock.time).total_seconds() <= 1
        succeeded = status.condition(ConditionType.SUCCEEDED)
        assert succeeded is not None
        assert "Unreachable: no route" in succeeded.message
        assert "attempt 2 of 3" in succeeded.message

    # S0.58, S0.66, S3.14
    async def test_a_spent_retry_names_action_attempts_and_error(self, world: World) -> None:
        world.lamp.failures = [RetryableError("Unreachable", f"no route {n}") for n in range(3)]
        key, _ = await ended(world)
        searches = [s.spec for s in await world.steps(key) if s.spec.action == "Search"]
        assert len({s.arguments for s in searches}) == 1
        errors = [s.error.message for s in searches if s.error]
        assert errors[:2] == ["no route 0", "no route 1"]
        assert errors[2] == "Search failed 3 times; the last error: no route 2"

    # S4.1
    async def test_a_source_that_fails_twenty_times_is_left_alone_long_before(
        self, world: World
    ) -> None:
        world.lamp.failures = [RetryableError("Unreachable", "no route") for _ in range(20)]
        _, status = await ended(world, questions=[GLOW, ABSENT, COLOUR])
        assert status.terminal_reason is TerminalReason.SOURCES_UNAVAILABLE
        assert len(world.lamp.searches) == 3

    # S0.3, S4.12
    @pytest.mark.parametrize(
        ("failure", "reason"),
        [
            (RetryableError("Unreachable", "no route"), TerminalReason.SOURCES_UNAVAILABLE),
            (RetryableError("Timeout", "slow", 3), TerminalReason.SOURCES_UNAVAILABLE),
            (PermanentError("Tls", "bad certificate"), TerminalReason.SOURCES_UNAVAILABLE),
            (PermanentError("Gone", "no such page"), TerminalReason.SOURCES_UNAVAILABLE),
        ],
    )
    async def test_every_failure_ends_in_a_reason_and_a_report(
        self, world: World, failure: ActionError, reason: TerminalReason
    ) -> None:
        world.lamp.failures = [failure] * 20
        key, status = await ended(world)
        assert status.terminal_reason is reason
        assert await world.store.get_report(await world.task(key)) is not None


# S1.23
@pytest.mark.parametrize(
    "spec",
    [
        {"budgets": {"maxSteps": 2}},
        {"questions": [ABSENT], "progressPolicy": {"maxStalledSteps": 1}},
        {"questions": [ABSENT]},
        {"desiredState": "Cancelled"},
        {"questions": [{"id": name, "text": "What is it?"} for name in ("one", "two")]},
    ],
    ids=["StepBudgetExhausted", "NoProgress", "SourcesExhausted", "Cancelled", "InvalidSpec"],
)
async def test_a_failure_is_a_fixed_point_too(
    world: World, spec: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    key, status = await ended(world, **spec)
    assert request.node.callspec.id == status.terminal_reason
    version = (await world.task(key)).metadata.resource_version
    for _ in range(3):
        world.clock.advance(100_000)
        assert (await world.operator().reconcile(key)).after is None
    assert (await world.task(key)).metadata.resource_version == version


# S3.18
@pytest.mark.parametrize(
    ("wordings", "reason"),
    [
        (
            [
                "What is the default of GLOW_LEVEL?",
                "Which default does GLOW_LEVEL have?",
                "GLOW_LEVEL: what is its default?",
                "What is GLOW_LEVEL's default?",
            ],
            TerminalReason.GOAL_REACHED,
        ),
        (
            [
                "What is the default of FROST_LEVEL?",
                "Which default does FROST_LEVEL have?",
                "FROST_LEVEL: what is its default?",
                "What is FROST_LEVEL's default?",
            ],
            TerminalReason.SOURCES_EXHAUSTED,
        ),
    ],
)
async def test_other_words_for_the_same_question_end_alike(
    world: World, wordings: list[str], reason: TerminalReason
) -> None:
    for number, text in enumerate(wordings):
        _, status = await ended(world, name=f"task-{number}", questions=[{"id": "q", "text": text}])
        assert status.terminal_reason is reason, text


# S0.15, S1.5
@pytest.mark.parametrize("reason", TerminalReason)
def test_every_terminal_reason_is_the_ending_of_a_whole_run(reason: TerminalReason) -> None:
    """A reason that is added needs a run of this folder that ends with it."""
    folder = Path(__file__).parent
    texts = "".join(file.read_text("utf-8") for file in folder.glob("test_*.py"))
    named = rf'"{reason.value}"|TerminalReason\.{reason.name}\b'
    assert re.search(named, texts)
