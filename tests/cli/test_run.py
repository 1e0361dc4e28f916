"""`fixpoint run`: what it says, what it writes, how it ends, and that it goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from controller.api.step import ResearchStep
from controller.loop.run_state import initial
from controller.loop.state import fold
from tests.cli.desk import Desk

GOLDEN = Path(__file__).with_name("golden") / "lamp.txt"


def normalised(text: str, folder: Path) -> str:
    """Replace what another run, or another ranking, gives otherwise: times, digests, hits."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"\b\d+(\.\d+)? m?s\b(?= of|;|$|, attempt)", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"\b\d+ of TIME", "N of TIME", text)
    text = re.sub(r"\b\d+ of \d+ (passages|quotes)", r"N of N \1", text)
    return re.sub(r"\bsha256:[0-9a-f]+", "DIGEST", text)


# S0.48, S0.49, S0.50, S0.51, S0.52, S0.53, S0.54, S0.64, S0.67, S2.18, S2.20
def test_a_run_says_what_it_will_do_each_step_and_how_it_ended(desk: Desk) -> None:
    said = desk.run()
    assert said.code == 0
    assert said.err == ""
    assert normalised(said.out, desk.folder) == GOLDEN.read_text("utf-8")


# S0.36
def test_the_report_is_written_as_it_is_stored(desk: Desk) -> None:
    desk.run()
    assert (desk.report / "report.md").read_text("utf-8") == desk.ask("report").out
    assert (desk.report / "report.json").read_text("utf-8") == desk.ask("report", "--json").out
    assert json.loads(desk.ask("report", "--json").out)["ending"]["reason"] == "GoalReached"


def test_a_run_that_has_ended_is_told_of_again_and_not_repeated(desk: Desk) -> None:
    first = desk.run("--log", desk.folder / "first.jsonl")
    second = desk.run("--log", desk.folder / "second.jsonl")
    assert second.code == first.code == 0
    assert "after step 16 of its journal" in second.out
    assert "Search" not in second.out
    logs = [(desk.folder / name).read_text("utf-8") for name in ("first.jsonl", "second.jsonl")]
    assert logs[0] == logs[1]


# S0.53, S2.17, S2.20, S2.21, S2.33
def test_a_raised_budget_goes_on_where_the_smaller_one_ended(desk: Desk) -> None:
    small = desk.run("--max-steps", "3", "--log", desk.folder / "small.jsonl")
    assert small.code == 2
    assert "StepBudgetExhausted" in small.out
    assert re.search(r"^next: +Raise spec.budgets.maxSteps", small.out, re.MULTILINE)
    large = desk.run("--log", desk.folder / "large.jsonl")
    assert large.code == 0
    assert "after step 5 of its journal" in large.out
    before = (desk.folder / "small.jsonl").read_text("utf-8")
    after = (desk.folder / "large.jsonl").read_text("utf-8")
    assert after.startswith(before)
    assert len(after) > len(before)


# S2.17, S2.29
def test_the_log_is_the_journal_and_folds(desk: Desk) -> None:
    desk.run("--log", "journal.jsonl")
    lines = (desk.folder / "journal.jsonl").read_text("utf-8").splitlines()
    steps = [ResearchStep.model_validate_json(line) for line in lines]
    state = initial("lamp", steps[0].spec.task_uid, "The lamp")
    for step in steps:
        state = fold(state, step)
    assert state.closed
    assert state.next_index == len(lines)


# S0.35
def test_the_topic_of_the_environment_beats_that_of_the_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_TOPIC", "Lamps of \N{GREEK CAPITAL LETTER OMEGA} \N{SPARKLES}")
    said = desk.run()
    assert "the topic is that of the variable RESEARCH_TOPIC" in said.out
    assert re.search(r"^topic: +Lamps of Ω ✨$", said.out, re.MULTILINE)
    assert desk.ask("report").out.startswith("# Lamps of Ω ✨\n")


def test_fresh_begins_anew(desk: Desk) -> None:
    desk.run("--max-steps", "3")
    said = desk.run("--fresh")
    assert said.code == 0
    assert "going on" not in said.out
    assert re.search(r"^ +1/60 +Plan", said.out, re.MULTILINE)


VERBOSITY = {
    "0 says nothing": ("0", 0, 0),
    "1 tells of milestones": ("1", 1, 0),
    "2 tells of each step": ("2", 16, 0),
    "3 tells what each step decided": ("3", 16, 16),
}


# S0.34
@pytest.mark.parametrize(("level", "steps", "decisions"), VERBOSITY.values(), ids=VERBOSITY.keys())
def test_verbosity(desk: Desk, level: str, steps: int, decisions: int) -> None:
    said = desk.run("--verbosity", level)
    assert said.code == 0
    assert len(re.findall(r"^ +(?:\d+/60|-)  [A-Z]", said.out, re.MULTILINE)) == steps
    assert len(re.findall(r"^ +decided: ", said.out, re.MULTILINE)) == decisions
    assert (said.out == "") is (level == "0")


ENDINGS = {
    "the goal holds": ({}, 0, "GoalReached"),
    "a budget is used up": ({"budgets": {"maxSteps": 2}}, 2, "StepBudgetExhausted"),
    "a question's own budget is used up": (
        {"budgets": {"maxStepsPerQuestion": 2}},
        2,
        "StepBudgetExhausted",
    ),
    "the sources do not say it": (
        {"questions": [{"id": "absent", "text": "What is the default of GLOW_FLAVOUR?"}]},
        3,
        "SourcesExhausted",
    ),
    "a question is asked twice": (
        {"questions": [{"id": i, "text": "What is the default?"} for i in ("one", "two")]},
        5,
        "InvalidSpec",
    ),
    "a person is asked": ({"approval": {"mode": "Required"}}, 4, "approve or deny the draft"),
    "it was cancelled": ({"desiredState": "Cancelled"}, 7, "Cancelled"),
    "it is suspended": ({"desiredState": "Suspended"}, 4, "set it to Running"),
}


# S2.22
@pytest.mark.parametrize(("spec", "code", "word"), ENDINGS.values(), ids=ENDINGS.keys())
def test_the_exit_code_says_how_a_run_ended(
    desk: Desk, spec: dict[str, object], code: int, word: str
) -> None:
    desk.write_task(**spec)
    said = desk.run()
    assert said.code == code
    assert word in said.out


def test_a_suspended_run_goes_on_when_it_is_resumed(desk: Desk) -> None:
    desk.write_task(desiredState="Suspended")
    assert desk.run().code == 4
    desk.write_task(desiredState="Running")
    assert desk.run().code == 0


def test_a_file_may_hold_the_corpus_itself(desk: Desk) -> None:
    desk.task.write_text(
        desk.task.read_text("utf-8")
        + """\
---
apiVersion: research.fixpoint.dev/v1alpha1
kind: ResearchSource
metadata: {name: lamp}
spec: {type: Corpus, corpus: {configMapRefs: [{name: manual}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: manual}
data:
  lamp.md: |
    ## GLOW_LEVEL
    Default: 41 lumens at the lowest dimmer position of the lamp.
    ## Safety
    The lamp switches itself off when its housing is hotter than 85 degrees.
""",
        encoding="utf-8",
    )
    said = desk.run()
    assert said.code == 0
    assert "note:" not in said.out
    assert "41 lumens" in desk.ask("report").out


# S0.36
def test_the_usual_store_and_folders_need_no_options(desk: Desk) -> None:
    assert desk.fixpoint("run", "-f", "task.yaml", "--corpus-root", "corpora").code == 0
    assert (desk.folder / "state" / "fixpoint" / "tasks.db").is_file()
    assert (desk.folder / "lamp-report" / "report.md").is_file()
    assert desk.fixpoint("verify", "lamp", "--local").code == 0
    assert desk.fixpoint("report", "-f", "task.yaml", "--local").out.startswith("# The lamp")


def test_control_characters_of_a_question_do_not_reach_the_terminal(desk: Desk) -> None:
    desk.write_task(questions=[{"id": "bell", "text": "What \x1b[31mis\x07 the GLOW_LEVEL?"}])
    said = desk.run()
    assert "\x1b" not in said.out
    assert "\x07" not in said.out
    assert "What \N{REPLACEMENT CHARACTER}[31mis\N{REPLACEMENT CHARACTER} the" in said.out
