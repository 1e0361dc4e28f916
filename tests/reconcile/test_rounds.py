"""Rounds, whole runs in process: a task that has succeeded is looked at again."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.actions.publish import JSON_FILE
from controller.api.errors import RefusedError, RetryableError, StoreError
from controller.api.reasons import TerminalReason
from controller.api.step import ActionName, Outcome, ResearchStep
from controller.api.task import ResearchTask
from controller.cli.checking import check_report
from controller.gathering import is_settled
from controller.loop.replay import decided_again, reduced
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from tests.faults import FaultyStore, Moment
from tests.world import LAMP_MANUAL, World

GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
COLOUR = {"id": "colour", "text": "What is the default of GLOW_COLOUR?"}

REVERIFY, CONCLUDE = ActionName.REVERIFY, ActionName.CONCLUDE
DRAFT, PUBLISH = ActionName.DRAFT, ActionName.PUBLISH

TWO_FILES = {
    "file:level.txt": {"GLOW_LEVEL": LAMP_MANUAL["file:lamp.txt"]["GLOW_LEVEL"]},
    "file:colour.txt": {"GLOW_COLOUR": LAMP_MANUAL["file:lamp.txt"]["GLOW_COLOUR"]},
}


class RemoteSource(ScriptedSource):
    """The same corpus at somebody else's: each call is counted, and it has no digest."""

    is_remote = True


async def patiently(world: World, key: TaskKey) -> Reconciler:
    """Take a task to its end, over its waits for another attempt."""
    operator = world.operator()
    for _ in range(10):
        await world.run(key, operator)
        if is_settled(await world.task(key)):
            return operator
        world.clock.advance(5)
    raise AssertionError("it came to no end")


async def of_round(world: World, key: TaskKey, number: int) -> list[ResearchStep]:
    return [s for s in await world.steps(key) if s.spec.round == number]


def actions(steps: list[ResearchStep]) -> list[ActionName]:
    return [s.spec.action for s in steps]


async def changes(world: World, key: TaskKey) -> dict[str, Any]:
    report = await world.store.get_report(await world.task(key))
    assert report is not None
    found: dict[str, Any] = json.loads(report.files[JSON_FILE])["changes"]
    return found


async def test_an_unchanged_corpus_is_read_again_and_not_searched(world: World) -> None:
    key = world.apply()
    await world.run(key)
    searches = len(world.lamp.searches)
    world.apply(requested_at="monday")
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.round == 1
    assert task.status.last_handled_requested_at == "monday"
    assert actions(await of_round(world, key, 1)) == [
        REVERIFY,
        REVERIFY,
        CONCLUDE,
        DRAFT,
        PUBLISH,
    ]
    assert len(world.lamp.searches) == searches
    assert world.lamp.reads == ["file:lamp.txt"]


async def test_only_the_question_whose_fact_is_gone_is_researched(world: World) -> None:
    world.now_holds(TWO_FILES)
    key = world.apply(questions=[GLOW, COLOUR])
    await world.run(key)
    changed = {**TWO_FILES, "file:colour.txt": {"GLOW_COLOUR": "Default: cold white, 6500 kelvin."}}
    lamp = world.now_holds(changed)
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    steps = await of_round(world, key, 1)
    assert {s.spec.question_id for s in steps if s.spec.action is ActionName.SEARCH} == {"colour"}
    assert all("GLOW_LEVEL" not in search.query for search in lamp.searches)
    assert steps[0].spec.decision.reason == "SourceChanged"
    said = await changes(world, key)
    assert (said["factsHold"], said["factsGone"], said["factsNew"]) == (1, 1, 1)
    assert said["gone"][0]["reason"] == "QuoteNotFound"
    assert said["new"][0]["claim"] == "Default: cold white, 6500 kelvin."


async def test_the_facts_of_a_document_that_is_gone_do_not_hold(world: World) -> None:
    world.now_holds(TWO_FILES)
    key = world.apply(questions=[GLOW, COLOUR], qualityThreshold=50, goal={"minFacts": 1})
    await world.run(key)
    world.now_holds({"file:level.txt": TWO_FILES["file:level.txt"]})
    await world.run(key)
    said = await changes(world, key)
    assert (said["factsHold"], said["factsGone"]) == (1, 1)
    assert said["gone"][0]["reason"] == "UnknownSource"
    assert [(q["questionId"], q["stateBefore"]) for q in said["questions"]] == [
        ("colour", "Answered")
    ]


async def test_a_quote_that_has_moved_is_cited_where_it_stands_now(world: World) -> None:
    key = world.apply()
    await world.run(key)
    moved = {"Preface": "This manual was revised.", **LAMP_MANUAL["file:lamp.txt"]}
    world.now_holds({"file:lamp.txt": moved})
    await world.run(key)
    report = await world.store.get_report(await world.task(key))
    assert report is not None
    (reference,) = json.loads(report.files[JSON_FILE])["references"]
    assert reference["spans"][0]["start"] == len("This manual was revised.") + 1
    said = await changes(world, key)
    assert (said["factsHold"], said["factsGone"], said["factsNew"]) == (1, 0, 0)
    assert world.lamp.searches == []


async def test_what_cannot_be_reached_is_carried_unchecked(world: World) -> None:
    key = world.apply()
    await world.run(key)
    world.lamp.failures = [RetryableError("Unreachable", "no route") for _ in range(3)]
    world.apply(requested_at="monday")
    await patiently(world, key)
    said = await changes(world, key)
    assert (said["factsHold"], said["factsUnchecked"]) == (0, 1)
    assert "no route" in said["unchecked"][0]["why"]
    status = (await world.task(key)).status
    assert status.round == 1  # the source is there: it gives no reason for another round
    assert status.terminal_reason is TerminalReason.GOAL_REACHED
    assert [s.spec.outcome for s in await of_round(world, key, 1)][1:4] == [
        Outcome.RETRY_SCHEDULED,
        Outcome.RETRY_SCHEDULED,
        Outcome.COMPLETED,
    ]
    await holds(world, key)
    world.apply(requested_at="tuesday")
    await world.run(key)
    said = await changes(world, key)
    assert (said["factsHold"], said["factsUnchecked"]) == (1, 0)


async def test_facts_of_a_missing_source_are_checked_once_it_is_there(world: World) -> None:
    key = world.apply()
    await world.run(key)
    del world.references.sources["lamp"]
    world.apply(requested_at="monday")
    await patiently(world, key)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.sources == ("?",)
    assert (await changes(world, key))["factsUnchecked"] == 1
    await holds(world, key)
    world.references.sources["lamp"] = world.lamp
    await world.run(key)
    assert (await world.task(key)).status.round == 2
    said = await changes(world, key)
    assert (said["factsHold"], said["factsUnchecked"]) == (1, 0)


# S1.23, S1.24
async def test_a_round_begins_when_the_interval_has_passed_and_not_before(world: World) -> None:
    key = world.apply(refreshIntervalSeconds=600)
    operator = world.operator()
    await world.run(key, operator)
    task = await world.task(key)
    ended_at = (await world.steps(key))[-1].spec.end_time
    assert task.status.next_wake_up_time == ended_at + timedelta(seconds=600)
    assert task.status.wake_up_reason == "Refresh"
    world.clock.advance(500)
    requeue = await operator.reconcile(key)
    assert requeue.after is not None
    assert 90 < requeue.after < 101
    assert (await world.task(key)).metadata.resource_version == task.metadata.resource_version
    world.clock.advance(100)
    await world.run(key, operator)
    assert (await world.task(key)).status.round == 1
    assert (await of_round(world, key, 1))[0].spec.decision.reason == "RefreshInterval"


async def test_the_earlier_of_refresh_and_expiry_wins(world: World) -> None:
    key = world.apply(refreshIntervalSeconds=600, ttlSecondsAfterFinished=300)
    operator = world.operator()
    await world.run(key, operator)
    assert (await world.task(key)).status.wake_up_reason == "Expired"
    world.clock.advance(700)
    await world.run(key, operator)
    assert world.store.tasks() == ()


# S1.24
@pytest.mark.parametrize("state", ["Suspended", "Cancelled"])
async def test_a_task_that_is_not_to_run_gets_no_round(world: World, state: str) -> None:
    key = world.apply()
    await world.run(key)
    before = await world.steps(key)
    world.apply(desiredState=state)
    world.now_holds(TWO_FILES)
    await world.run(key)
    assert await world.steps(key) == before


async def test_a_task_that_failed_gets_no_round(world: World) -> None:
    key = world.apply(budgets={"maxSteps": 2}, refreshIntervalSeconds=600)
    await world.run(key)
    before = await world.steps(key)
    world.now_holds(TWO_FILES)
    world.clock.advance(1000)
    await world.run(key)
    assert await world.steps(key) == before
    assert (await world.task(key)).status.next_wake_up_time is None


async def test_usage_begins_anew_and_totals_go_on(world: World) -> None:
    key = world.apply()
    await world.run(key)
    first = (await world.task(key)).status.usage
    world.apply(requested_at="monday")
    await world.run(key)
    status = (await world.task(key)).status
    assert first is not None
    assert status.usage is not None
    assert status.totals is not None
    assert status.usage.steps == 2  # a document read again, and a conclusion
    assert status.totals.steps == first.steps + 2
    assert status.totals.writes == 2


async def test_a_question_that_was_not_found_is_searched_for_again(world: World) -> None:
    absent = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}
    key = world.apply(questions=[GLOW, absent])
    await world.run(key)
    frost = {"file:frost.txt": {"FROST_LEVEL": "Default: 3 ice crystals on each lamp's glass."}}
    world.now_holds({**LAMP_MANUAL, **frost})
    await world.run(key)
    said = await changes(world, key)
    assert (said["factsHold"], said["factsNew"]) == (1, 1)
    (moved,) = said["questions"]
    assert (moved["questionId"], moved["stateBefore"], moved["state"]) == (
        "absent",
        "NotFound",
        "Answered",
    )


async def test_planned_questions_are_carried(world: World) -> None:
    key = world.apply(questions=[], topic="GLOW_LEVEL", qualityThreshold=0)
    await world.run(key)
    task = await world.task(key)
    if task.status.terminal_reason is not TerminalReason.GOAL_REACHED:
        world.apply(
            questions=[], topic="GLOW_LEVEL", qualityThreshold=0,
            goal={"requireEveryQuestion": "None"},
        )  # fmt: skip
        await world.run(key)
        task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    world.now_holds({**LAMP_MANUAL, "file:other.txt": {"Other": "This page says nothing."}})
    await world.run(key)
    after = await world.task(key)
    assert after.status.round == 1
    assert [(q.id, q.text) for q in after.status.questions] == [
        (q.id, q.text) for q in task.status.questions
    ]


async def test_an_approved_draft_that_says_the_same_stays_approved(world: World) -> None:
    key = world.apply(approval={"mode": "Required"})
    await world.run(key)
    awaiting = (await world.task(key)).status.awaiting
    assert awaiting is not None
    decision = {"digest": awaiting.approval_digest, "verdict": "Approved"}
    world.apply(approval={"mode": "Required", "decision": decision})
    await world.run(key)
    world.apply(requested_at="monday", approval={"mode": "Required", "decision": decision})
    await world.run(key)
    status = (await world.task(key)).status
    assert (status.round, status.terminal_reason) == (1, TerminalReason.GOAL_REACHED)


async def test_a_round_that_runs_out_of_steps_goes_on_where_it_stopped(world: World) -> None:
    world.now_holds(TWO_FILES)
    key = world.apply(questions=[GLOW, COLOUR])
    await world.run(key)
    world.apply(requested_at="monday", questions=[GLOW, COLOUR], budgets={"maxSteps": 1})
    await world.run(key)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
    world.apply(requested_at="monday", questions=[GLOW, COLOUR], budgets={"maxSteps": 20})
    await world.run(key)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert world.lamp.reads == ["file:level.txt", "file:colour.txt"]


async def rounds(world: World, key: TaskKey, count: int, **spec: Any) -> None:  # noqa: ANN401
    """Let a task have so many rounds after its first."""
    for number in range(count):
        world.apply(requested_at=f"request-{number}", **spec)
        await world.run(key)


@pytest.mark.parametrize("limit", [1, 2])
async def test_rounds_beyond_the_limit_are_deleted_and_the_rest_stands_alone(
    world: World, limit: int
) -> None:
    key = world.apply(historyLimit=limit)
    await world.run(key)
    await rounds(world, key, 3, historyLimit=limit)
    steps = await world.steps(key)
    assert {s.spec.round for s in steps} == set(range(4 - limit, 4))
    assert steps[0].spec.opening is not None
    task = await world.task(key)
    assert task.status.journal is not None
    assert task.status.journal.steps == steps[-1].spec.index + 1
    assert task.status.totals is not None
    assert task.status.totals.writes == 4
    await holds(world, key)


async def holds(world: World, key: TaskKey) -> None:
    """Check that a journal bears its report out, replays, and that the report can be made again."""
    task, steps = await world.task(key), await world.steps(key)
    report = await world.store.get_report(task)
    assert report is not None
    assert check_report(task, steps, report).lies == ()
    specs = {task.metadata.generation: task.spec}
    assert reduced(task, steps, specs) is None
    assert decided_again(task, steps, specs).divergence is None
    world.store.delete_report(task)
    await world.operator().restore_report(key)
    assert await world.store.get_report(task) == report


async def second_round(world: World, key: TaskKey, operator: Reconciler) -> None:
    """Let a second round happen, with a fresh process after each failure."""
    for _ in range(100):
        operator.observe(key, "")
        try:
            requeue = await operator.reconcile(key)
        except StoreError:
            operator = world.operator()
            continue
        if requeue.after != 0 and is_settled(await world.task(key)):
            return
    raise AssertionError("it is still busy")


# S1.2, S1.12, S4.38
@pytest.mark.parametrize("moment", Moment)
async def test_a_crash_at_any_write_of_a_round_repeats_nothing_and_leaves_no_hole(
    tmp_path: Path, moment: Moment
) -> None:
    seen: set[tuple[ActionName, ...]] = set()
    for at in range(1, 100):
        folder = tmp_path / f"{moment}-{at}"
        folder.mkdir()
        world = World(folder)
        world.now_holds(TWO_FILES)
        key = world.apply(questions=[GLOW, COLOUR], historyLimit=1)
        await world.run(key)
        first = await world.steps(key)
        world.apply(requested_at="monday", questions=[GLOW, COLOUR], historyLimit=1)
        store = FaultyStore(world.store, at, moment)
        operator = Reconciler(
            store=store.port,
            references=world.references,
            clock=world.clock,
            holder="operator-0",
        )
        await second_round(world, key, operator)
        steps = await world.steps(key)
        assert steps[0].spec.index == len(first)
        assert {s.spec.round for s in steps} == {1}
        assert world.lamp.reads == ["file:level.txt", "file:colour.txt"] or store.is_hit
        seen.add(tuple(s.spec.action for s in steps))
        await holds(world, key)
        world.close()
        if not store.is_hit:
            break
    else:
        raise AssertionError("the run never ended without a fault")
    assert seen == {(REVERIFY, REVERIFY, REVERIFY, CONCLUDE, CONCLUDE, DRAFT, PUBLISH)}


async def test_a_round_cut_short_in_its_deletion_is_passed_over(world: World) -> None:
    key = world.apply()
    await world.run(key)
    await rounds(world, key, 1)
    task = await world.task(key)
    whole = await world.steps(key)
    for index in range(3):
        await world.store.delete_step(task, index)
    assert len(await world.steps(key)) == len(whole) - 3
    await holds(world, key)
    await rounds(world, key, 2, historyLimit=1)
    assert {s.spec.round for s in await world.steps(key)} == {2}


# S1.12
async def test_a_paid_reading_in_flight_is_charged_and_made_anew(world: World) -> None:
    world.lamp = RemoteSource("lamp", LAMP_MANUAL)
    world.references.sources["lamp"] = world.lamp
    key = world.apply()
    await world.run(key)
    world.apply(requested_at="monday")
    operator = world.operator()
    for _ in range(100):
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is REVERIFY:
            break
        operator.observe(key, "")
        await operator.reconcile(key)
    after = world.operator()
    await world.run(key, after)
    world.clock.advance(5)
    await world.run(key, after)
    status = (await world.task(key)).status
    assert status.terminal_reason is TerminalReason.GOAL_REACHED
    assert status.usage is not None
    assert (status.usage.interrupted, status.usage.source_calls) == (1, 2)
    await holds(world, key)


async def test_a_store_that_refuses_a_deletion_ends_no_task(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(FaultyStore):
        async def delete_step(self, task: ResearchTask, index: int) -> None:
            raise RefusedError(f"a policy keeps step {index} of {task.metadata.name}")

    key = world.apply(historyLimit=1)
    await world.run(key)
    world.apply(requested_at="monday", historyLimit=1)
    operator = Reconciler(
        store=Refusing(world.store, 10_000, Moment.BEFORE).port,
        references=world.references,
        clock=world.clock,
        holder="operator-0",
    )
    await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert {s.spec.round for s in await world.steps(key)} == {0, 1}
    assert "old rounds are kept: a policy keeps step 0" in caplog.text


# S2.10
async def test_each_round_is_told_of(world: World) -> None:
    key = world.apply()
    await world.run(key)
    await rounds(world, key, 2)
    events = world.store.events(await world.task(key))
    assert [event.reason for event in events] == [
        "TaskStarted",
        "GoalReached",
        "RoundStarted",
        "GoalReached",
        "RoundStarted",
        "GoalReached",
    ]


# S1.23
async def test_a_finished_round_is_not_touched_again(world: World) -> None:
    key = world.apply()
    operator = world.operator()
    await world.run(key, operator)
    world.now_holds(TWO_FILES)
    await world.run(key, operator)
    version = (await world.task(key)).metadata.resource_version
    for _ in range(3):
        world.clock.advance(1000)
        assert await world.run(key, world.operator()) == 1
    assert (await world.task(key)).metadata.resource_version == version


async def test_withheld_statements_are_not_given_away_by_what_has_changed(world: World) -> None:
    key = world.apply()
    await world.run(key)
    level = {"GLOW_LEVEL": "Default: 50 lumens at the lowest dimmer position."}
    world.now_holds({"file:lamp.txt": level})
    world.apply(requested_at="monday", approval={"mode": "Required", "expireAfterSeconds": 60})
    operator = world.operator()
    await world.run(key, operator)
    world.clock.advance(100)
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.APPROVAL_EXPIRED
    report = await world.store.get_report(task)
    assert report is not None
    assert "50 lumens" not in report.files[JSON_FILE]
    assert (await changes(world, key))["factsNew"] == 1
    assert check_report(task, await world.steps(key), report).lies == ()


# S2.27
@pytest.mark.parametrize("lie", [{"factsHold": 2}, {"factsUnchecked": 1}, {"gone": []}])
async def test_a_lie_about_what_has_changed_is_found(world: World, lie: dict[str, Any]) -> None:
    key = world.apply()
    await world.run(key)
    level = {"GLOW_LEVEL": "Default: 50 lumens at the lowest dimmer position."}
    world.now_holds({"file:lamp.txt": level})
    await world.run(key)
    task = await world.task(key)
    report = await world.store.get_report(task)
    assert report is not None
    content = json.loads(report.files[JSON_FILE])
    content["changes"] |= lie
    forged = replace(report, files={**report.files, JSON_FILE: json.dumps(content)})
    lies = check_report(task, await world.steps(key), forged).lies
    assert "the report: the journal gives another 'changes' (ContentAgrees)" in lies
