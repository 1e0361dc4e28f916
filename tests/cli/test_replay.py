"""`fixpoint replay`: from a store or from files, 0 if all agrees, 1 at a difference, 6 at a lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.desk import Desk
from tests.cli.test_verify import edit, evidence
from tests.golden.files import journal_file, read_status, task_files

ROOT = Path(__file__).resolve().parents[2]


def files_of(name: str, *, generations: int = 9) -> list[str | Path]:
    """Return the options that name a golden run's files, of its newest generations."""
    options: list[str | Path] = ["--journal", journal_file(name)]
    for file in task_files(name)[-generations:]:
        options += ["--task", file]
    return options


# S1.11, S1.32
def test_a_run_in_a_store_replays(desk: Desk) -> None:
    desk.run()
    said = desk.ask("replay")
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "task:       default/lamp\n"
        "journal:    16 steps, digests hold\n"
        "status:     is the fold of the journal\n"
        "decisions:  16 of 16 made again\n"
        "actions:    9 performed again, compared byte for byte\n"
        "replayed:   everything comes out as it is recorded\n"
    )


# S1.11, S4.23
def test_an_exported_journal_replays_with_the_task_file_that_was_run(desk: Desk) -> None:
    desk.run()
    file = desk.folder / "journal.jsonl"
    desk.ask("trace", "-o", file)
    said = desk.fixpoint("replay", "--journal", file, "--task", desk.task)
    assert said.code == 0
    assert "decisions:  16 of 16 made again\n" in said.out
    assert "status:     none to compare with\n" in said.out


def test_a_task_file_with_a_status_is_compared_too(desk: Desk) -> None:
    task = yaml.safe_load(task_files("complete")[0].read_text("utf-8"))
    task["status"] = read_status("complete")
    file = desk.folder / "with-status.yaml"
    file.write_text(yaml.safe_dump(task), encoding="utf-8")
    options = ("--journal", journal_file("complete"), "--task", file)
    assert "is the fold of the journal" in desk.fixpoint("replay", *options).out
    task["status"]["usage"]["steps"] += 1
    file.write_text(yaml.safe_dump(task), encoding="utf-8")
    said = desk.fixpoint("replay", *options)
    assert said.code == 1
    assert "status.usage.steps: recorded 12, again 11" in said.out
    task["status"]["usage"]["steps"] = "many"
    file.write_text(yaml.safe_dump(task), encoding="utf-8")
    said = desk.fixpoint("replay", *options)
    assert said.code == 5
    assert "status.usage.steps" in said.err


def test_a_changed_policy_exits_with_1_and_names_the_step(desk: Desk) -> None:
    said = desk.fixpoint("replay", *files_of("changed-policy"))
    assert said.code == 1
    assert (
        "DIVERGED:   ReplayDivergence at step 3: decision.reason: "
        'recorded "EnoughFacts", again "QuestionReady"\n'
    ) in said.out
    assert "everything comes out" not in said.out


def test_older_generations_are_left_out_unless_their_task_is_given(desk: Desk) -> None:
    alone = desk.fixpoint("replay", *files_of("reopened", generations=1))
    assert alone.code == 0
    assert "decisions:  11 of 16 made again\n" in alone.out
    assert "left out:   5 steps of generations whose spec\n" in alone.out
    both = desk.fixpoint("replay", *files_of("reopened"))
    assert both.code == 0
    assert "decisions:  16 of 16 made again\n" in both.out
    assert "left out" not in both.out


def test_a_stored_task_that_was_changed_replays_with_its_older_file(desk: Desk) -> None:
    desk.write_task(budgets={"maxSteps": 3})
    older = desk.folder / "older.yaml"
    task = yaml.safe_load(desk.task.read_text("utf-8"))
    task["metadata"]["generation"] = 1
    older.write_text(yaml.safe_dump(task), encoding="utf-8")
    assert desk.run().code == 2
    desk.write_task()
    assert desk.run().code == 0
    assert "left out:   5 steps" in desk.ask("replay").out
    said = desk.ask("replay", "--task", older)
    assert said.code == 0
    assert "left out" not in said.out


def test_a_torn_tail_is_told_of_once_and_the_rest_replays(desk: Desk) -> None:
    file = desk.folder / "torn.jsonl"
    file.write_bytes(journal_file("complete").read_bytes()[:-40])
    said = desk.fixpoint("replay", "--journal", file, "--task", task_files("complete")[0])
    assert said.code == 0
    assert said.out.count("torn:       line 13 is torn after ") == 1
    assert "decisions:  12 of 12 made again\n" in said.out


UNTRUSTED = {
    "a changed byte": (lambda data: data.replace(b"40 lumens", b"41 lumens", 1), "StepChanged"),
    "a line left out": (lambda data: b"".join(data.splitlines(keepends=True)[1:]), "MissingStep"),
    "a line that is no step": (lambda data: b"{}\n" + data, "UnreadableStep"),
    "a newer format": (
        lambda data: data.replace(b'"formatVersion":1', b'"formatVersion":2', 1),
        "FormatVersion",
    ),
}


@pytest.mark.parametrize(("change", "error_class"), UNTRUSTED.values(), ids=UNTRUSTED.keys())
def test_a_journal_that_cannot_be_trusted_exits_with_6(
    desk: Desk, change: object, error_class: str
) -> None:
    assert callable(change)
    file = desk.folder / "changed.jsonl"
    file.write_bytes(change(journal_file("complete").read_bytes()))
    said = desk.fixpoint("replay", "--journal", file, "--task", task_files("complete")[0])
    assert said.code == 6
    assert error_class in said.err
    assert "Traceback" not in said.err


def test_a_changed_step_in_a_store_exits_with_6(desk: Desk) -> None:
    desk.run()
    edit(desk, "ResearchStep", "lamp-%-00001", evidence)
    said = desk.ask("replay")
    assert said.code == 6
    assert "StepChanged" in said.err


COMMAND_LINES = {
    "no task for a journal": (["--journal", "j.jsonl"], "--journal needs the task"),
    "a journal and a name": (["lamp", "--journal", "j.jsonl"], "--journal reads a file alone"),
    "no such journal": (["--journal", "none", "--task", "task.yaml"], "none cannot be read"),
    "nothing at all": ([], "name one task"),
}


@pytest.mark.parametrize(("arguments", "text"), COMMAND_LINES.values(), ids=COMMAND_LINES.keys())
def test_a_wrong_command_line(desk: Desk, arguments: list[str], text: str) -> None:
    said = desk.fixpoint("replay", *arguments)
    assert said.code == 5
    assert text in said.err


def test_the_task_of_another_journal_is_refused(desk: Desk) -> None:
    said = desk.fixpoint("replay", "--journal", journal_file("complete"), "--task", desk.task)
    assert said.code == 5
    assert "declares the task lamp, the journal is that of task" in said.err


def test_two_files_of_one_generation_are_refused_and_so_is_one_of_none(desk: Desk) -> None:
    file = task_files("reopened")[0]
    journal = ("--journal", journal_file("reopened"))
    said = desk.fixpoint("replay", *journal, "--task", file, "--task", file)
    assert (said.code, "the same metadata.generation" in said.err) == (5, True)
    said = desk.fixpoint("replay", *journal, "--task", file, "--task", desk.task)
    assert (said.code, "has no metadata.generation" in said.err) == (5, True)


# S0.20, S1.10, S1.32
def test_a_fresh_process_without_caches_makes_the_same_decisions(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "4711",
    }
    done = subprocess.run(
        [sys.executable, "-m", "controller.cli.main", "replay", *files_of("complete")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "decisions:  13 of 13 made again\n" in done.stdout
    assert "actions:    7 performed again" in done.stdout


def test_an_empty_journal_replays(desk: Desk) -> None:
    file = desk.folder / "empty.jsonl"
    file.write_bytes(b"")
    said = desk.fixpoint("replay", "--journal", file, "--task", desk.task)
    assert said.code == 0
    assert "journal:    0 steps, digests hold\n" in said.out


def test_a_journal_of_another_object_of_the_same_name_is_not_this_tasks(desk: Desk) -> None:
    task = yaml.safe_load(task_files("complete")[0].read_text("utf-8"))
    task["metadata"]["uid"] = "99999999-0000-0000"
    file = desk.folder / "another.yaml"
    file.write_text(json.dumps(task), encoding="utf-8")
    said = desk.fixpoint("replay", "--journal", journal_file("complete"), "--task", file)
    assert said.code == 6
    assert "ForeignStep" in said.err
