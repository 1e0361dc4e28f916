"""The golden journals: runs that were recorded once, and must come out the same for ever.

Two things are checked of each: the recorded files replay as they are, and the run, made anew,
decides the same. `FIXPOINT_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them again.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest

from controller.api.reasons import TerminalReason
from controller.api.records import NoteKind
from controller.api.step import ActionName, Outcome, Verdict
from controller.loop.divergence import divergence
from controller.loop.migration import MigratedStep
from controller.loop.replay import decided_again, reduced
from tests.golden.files import UPDATE, journal_file, read, read_status, write
from tests.golden.scenarios import SCENARIOS, Manifest, make

CHANGED = "changed-policy"
AS_RECORDED = sorted(SCENARIOS.keys() - {CHANGED})

ENDINGS = {
    "complete": TerminalReason.GOAL_REACHED,
    "not-found": TerminalReason.SOURCES_EXHAUSTED,
    "exhausted": TerminalReason.STEP_BUDGET_EXHAUSTED,
    "reopened": TerminalReason.GOAL_REACHED,
    "interrupted": TerminalReason.GOAL_REACHED,
    "taken-over": TerminalReason.GOAL_REACHED,
    "fails-then-passes": TerminalReason.GOAL_REACHED,
    "unavailable": TerminalReason.SOURCES_UNAVAILABLE,
    "set-aside": TerminalReason.SOURCES_EXHAUSTED,
    "waiting": TerminalReason.GOAL_REACHED,
    "unfinished": None,
    "question-limit": TerminalReason.STEP_BUDGET_EXHAUSTED,
    "no-progress": TerminalReason.NO_PROGRESS,
    "deadline": TerminalReason.DEADLINE_EXCEEDED,
    "no-source-calls": TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED,
    "clarified": TerminalReason.GOAL_REACHED,
    "approved": TerminalReason.GOAL_REACHED,
    "second-round": TerminalReason.GOAL_REACHED,
    "third-round": TerminalReason.GOAL_REACHED,
    "older-format": TerminalReason.GOAL_REACHED,
    CHANGED: TerminalReason.GOAL_REACHED,
}


def content(record: Manifest) -> Manifest:
    """Return what a step says, its times, its place in the chain and its format apart."""
    spec = record["spec"]
    usage = {k: v for k, v in spec["usage"].items() if v and k != "durationMilliseconds"}
    return {
        **{k: spec.get(k) for k in ("action", "attempt", "outcome", "generation", "holder")},
        "arguments": spec.get("argumentsJSON", spec.get("arguments")),
        "error": (spec.get("error") or {}).get("class"),
        "decision": spec["decision"],
        "usage": usage,
        "found": spec["observation"]["digest"],
        "known": spec["fingerprint"],
    }


def standing(status: Manifest) -> Manifest:
    """Return how a run stands, its times apart."""
    usage = {k: v for k, v in status["usage"].items() if v and k != "activeSeconds"}
    kept = {k: status.get(k) for k in ("terminalReason", "questions", "quality")}
    return {**kept, "usage": usage}


def contents(journal: bytes) -> list[Manifest]:
    return [content(json.loads(line)) for line in journal.splitlines()]


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_run_made_anew_decides_as_the_golden_one(name: str, tmp_path: Path) -> None:
    made = await make(name, tmp_path)
    if os.environ.get(UPDATE):
        write(name, made)
    golden = contents(journal_file(name).read_bytes())
    pairs = enumerate(zip_longest(golden, contents(made.journal)))
    differences = (divergence(index, name, *pair) for index, pair in pairs)
    first = next((str(d) for d in differences if d is not None), None)
    assert first is None, f"run with {UPDATE}=1 to accept it"
    assert standing(made.status) == standing(read_status(name)), f"run with {UPDATE}=1 to accept it"


async def test_the_same_scenario_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = [await make("interrupted", folder) for folder in folders]
    assert one == two


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_status_is_the_fold_of_the_golden_journal(name: str) -> None:
    # S2.31
    golden = read(name)
    assert reduced(golden.task, golden.steps, golden.specs) is None
    assert golden.task.status.terminal_reason is ENDINGS[name]


@pytest.mark.parametrize("name", AS_RECORDED)
def test_a_golden_journal_replays_whole(name: str) -> None:
    golden = read(name)
    replayed = decided_again(golden.task, golden.steps, golden.specs)
    assert replayed.divergence is None, str(replayed.divergence)
    assert replayed.steps == len(golden.steps)
    assert replayed.carried_over == (golden.steps[0].spec.index > 0)
    again = golden.steps[replayed.carried_over :]  # what a first step carries over is taken as is
    assert replayed.decisions == len(again)
    assert replayed.unknown_spec == replayed.in_doubt == 0
    of_the_world = {ActionName.SEARCH, ActionName.PUBLISH}
    done = [s.spec for s in again if s.spec.outcome is Outcome.COMPLETED]
    assert replayed.actions == sum(
        s.action not in of_the_world and s.reverify is None for s in done
    )


def test_a_changed_policy_is_named_by_the_first_step_that_it_decides_otherwise() -> None:
    golden = read(CHANGED)
    found = decided_again(golden.task, golden.steps, golden.specs).divergence
    assert found is not None
    first = next(s.spec.index for s in golden.steps if s.spec.action is ActionName.CONCLUDE)
    assert (found.index, found.what) == (first, "decision.reason")
    assert (found.recorded, found.again) == ('"EnoughFacts"', '"QuestionReady"')


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_says_what_was_planned_done_observed_and_known_after_it(name: str) -> None:
    steps = [step.spec for step in read(name).steps]
    first = steps[0].index
    assert [s.index for s in steps] == list(range(first, first + len(steps)))
    assert (first > 0) == (name == "third-round")
    for before, step in pairwise(steps):
        assert step.previous_digest == before.digest
    for step in steps:
        assert step.decision.reason
        assert step.observation.summary
        assert step.fingerprint.startswith("sha256:")
        assert (step.decision.verdict is Verdict.CONTINUE) == (step.decision.ending is None)


def test_three_questions_use_up_their_own_steps_and_the_report_is_still_written() -> None:
    # S0.55, S0.56
    golden = read("question-limit")
    steps, status = [s.spec for s in golden.steps], golden.task.status
    assert Counter(s.question_id for s in steps) == {
        "frost": 6, "smoke": 6, "steam": 6, None: 3,
    }  # fmt: skip
    assert Counter(s.action.value for s in steps) == {
        "Plan": 1, "Search": 12, "Extract": 3, "Refine": 3, "Draft": 1, "Publish": 1,
    }  # fmt: skip
    shown = [(q.id, q.state.value, q.reason, q.steps, q.facts) for q in status.questions]
    assert shown == [
        ("frost", "Unresolved", "StepLimit", 6, 0),
        ("smoke", "Unresolved", "StepLimit", 6, 0),
        ("steam", "Unresolved", "StepLimit", 6, 0),
    ]
    assert status.usage is not None
    assert (status.usage.steps, status.usage.writes) == (19, 1)
    assert status.quality is not None
    assert status.quality.score == 0
    assert status.report is not None
    assert (status.report.statements, status.report.citations) == (0, 0)
    assert status.terminal_reason is TerminalReason.STEP_BUDGET_EXHAUSTED
    assert "maxStepsPerQuestion" in steps[-1].decision.message


def test_an_attempt_in_flight_when_the_process_died_is_charged_and_not_sent_again() -> None:
    golden = read("interrupted")
    searches = [s.spec for s in golden.steps if s.spec.action is ActionName.SEARCH]
    shown = [(s.outcome, s.attempt, s.holder, s.usage.source_calls) for s in searches]
    assert shown == [
        (Outcome.INTERRUPTED, 1, "operator-1", 1),
        (Outcome.COMPLETED, 2, "operator-2", 1),
    ]
    assert golden.task.status.usage is not None
    assert golden.task.status.usage.source_calls == 2
    assert golden.task.status.usage.interrupted == 1


def test_a_second_round_searches_for_what_is_gone_alone() -> None:
    steps = [s.spec for s in read("second-round").steps if s.spec.round == 1]
    assert [s.action.value for s in steps] == [
        "Reverify", "Reverify", "Plan", "Conclude", "Search", "Extract", "Conclude", "Draft",
        "Publish",
    ]  # fmt: skip
    assert steps[0].decision.reason == "SourceChanged"
    (record,) = (s.reverify for s in steps if s.reverify is not None)
    assert (len(record.facts), len(record.dropped)) == (1, 1)
    assert {s.question_id for s in steps if s.search is not None} == {"colour"}


def test_of_a_third_round_alone_the_totals_are_those_of_all_three() -> None:
    golden = read("third-round")
    status = golden.task.status
    assert {s.spec.round for s in golden.steps} == {2}
    assert status.usage is not None
    assert status.totals is not None
    assert (status.usage.writes, status.totals.writes) == (1, 3)
    assert golden.steps[0].spec.decision.reason == "RefreshInterval"


def notes(name: str) -> list[Any]:
    return [s.spec.note.kind for s in read(name).steps if s.spec.note is not None]


def test_what_moved_a_run_without_an_action_is_noted() -> None:
    assert notes("waiting") == [
        NoteKind.WAITING,
        NoteKind.WAITING_ENDED,
        NoteKind.SUSPENDED,
        NoteKind.RESUMED,
    ]
    assert notes("reopened") == [NoteKind.REOPENED]
    assert notes("deadline") == [NoteKind.WAITING]
    assert notes("approved") == [NoteKind.AWAITING_INPUT]
    assert [s.spec.action.value for s in read("clarified").steps][:2] == ["Ask", "Note"]


def test_an_older_format_is_read_in_todays_form_and_kept_in_its_own() -> None:
    lines = [json.loads(line) for line in journal_file("older-format").read_bytes().splitlines()]
    steps = read("older-format").steps
    assert {line["spec"]["formatVersion"] for line in lines} == {0}
    assert {step.spec.format_version for step in steps} == {1}
    assert all(isinstance(step, MigratedStep) for step in steps)
    assert [step.to_json() for step in steps] == lines
    assert [step.spec.digest for step in steps] == [line["spec"]["digest"] for line in lines]
