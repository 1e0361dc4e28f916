"""Every wrong command line and file is one clear message, exit code 5 and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import Desk

SOURCE = """
---
apiVersion: research.fixpoint.dev/v1alpha1
kind: ResearchSource
metadata: {name: lamp}
"""

COMMAND_LINES = {
    "nothing at all shows the help": ([], ""),
    "an unknown command": (["bogus"], "No such command 'bogus'"),
    "an unknown option": (["run", "--bogus"], "No such option: --bogus"),
    "a missing option": (["run"], "Missing option '--file'"),
    "a number out of bounds": (["run", "-f", "task.yaml", "--max-steps", "0"], "'--max-steps'"),
    "no number": (["run", "-f", "task.yaml", "--verbosity", "loud"], "'--verbosity'"),
    "no task": (["report"], "name one task: either NAME or --file FILE"),
    "two tasks": (["report", "lamp", "-f", "task.yaml"], "name one task"),
    "two homes": (["verify", "lamp", "--local", "--store", "x.db"], "exclude each other"),
    "no such file": (["run", "-f", "none.yaml"], "none.yaml cannot be read"),
    "no such store": (["verify", "lamp", "--store", "none.db"], "there is no store none.db"),
    "a file that is no store": (["report", "lamp", "--store", "task.yaml"], "no SQLite database"),
    "no such kubeconfig": (["watch", "lamp", "--kubeconfig", "none"], "none does not exist"),
    "no such corpus root": (
        ["run", "-f", "task.yaml", "--corpus-root", "none"],
        "the corpus root none is no folder",
    ),
    "no folder for the store": (
        ["run", "-f", "task.yaml", "--store", "none/x.db"],
        "the folder of the store none/x.db does not exist",
    ),
    "no folder for the log": (
        ["run", "-f", "task.yaml", "--corpus-root", "corpora", "--log", "none/x"],
        "the log none/x cannot be written",
    ),
}


# S2.7, S2.22
@pytest.mark.parametrize(("arguments", "text"), COMMAND_LINES.values(), ids=COMMAND_LINES.keys())
def test_a_wrong_command_line(desk: Desk, arguments: list[str], text: str) -> None:
    said = desk.fixpoint(*arguments)
    assert said.code == 5
    assert text in said.err
    assert said.err.count("error: ") == bool(text)
    assert "Traceback" not in said.err


FILES = {
    "no YAML": ("a: [1,\n", ["is no valid YAML: line 2"]),
    "a key twice": (
        "metadata: {name: a}\nspec:\n  topic: a\n  topic: b\n",
        ["line 4", "the key topic stands there twice"],
    ),
    "no UTF-8": (b"\xff\xfe", ["is not UTF-8 text"]),
    "a list": ("- a\n", ["document 1 of", "must be an object"]),
    "no document": ("", ["exactly one ResearchTask and holds none"]),
    "an unknown kind": ("kind: Pod\n", ["kind: must be one of ResearchTask"]),
    "only a source": (
        SOURCE + "spec: {type: Corpus, corpus: {directory: lamp}}\n",
        ["holds none; add one"],
    ),
}


@pytest.mark.parametrize(("content", "texts"), FILES.values(), ids=FILES.keys())
def test_a_wrong_file(desk: Desk, content: str | bytes, texts: list[str]) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (desk.folder / "wrong.yaml").write_bytes(data)
    said = desk.fixpoint("run", "-f", "wrong.yaml")
    assert said.code == 5
    for text in texts:
        assert text in said.err
    assert "Traceback" not in said.err


def test_a_misspelt_field_is_named_with_the_right_one(desk: Desk) -> None:
    desk.write_task(budgets={"maxStep": 3})
    said = desk.run()
    assert said.code == 5
    assert "spec.budgets.maxStep: is not a known field; did you mean maxSteps?" in said.err


def test_two_tasks_in_a_file_are_refused(desk: Desk) -> None:
    text = desk.task.read_text("utf-8")
    desk.task.write_text(f"{text}---\n{text}", encoding="utf-8")
    said = desk.run()
    assert said.code == 5
    assert "exactly one ResearchTask and holds lamp, lamp" in said.err


def test_an_undefined_source_is_named_with_the_yaml_that_adds_it(desk: Desk) -> None:
    desk.write_task(sourceRefs=[{"name": "candle"}])
    said = desk.run()
    assert said.code == 5
    assert "the ResearchSource candle" in said.err
    yaml_to_add = said.err[said.err.index("---\n") :]
    (desk.folder / "corpora" / "wax").mkdir()
    (desk.folder / "corpora" / "wax" / "a.txt").write_text("The candle burns.\n", encoding="utf-8")
    text = desk.task.read_text("utf-8") + yaml_to_add.replace("directory: candle", "directory: wax")
    desk.task.write_text(text, encoding="utf-8")
    assert desk.run().code in {0, 3}


def test_a_source_without_documents_is_said_before_a_step_is_taken(desk: Desk) -> None:
    (desk.folder / "corpora" / "lamp" / "manual.md").unlink()
    said = desk.run()
    assert said.code == 5
    assert "NoDocuments" in said.err
    assert "Plan" not in said.out


def test_another_topic_for_the_same_task_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run()
    monkeypatch.setenv("RESEARCH_TOPIC", "Another lamp")
    said = desk.run()
    assert said.code == 5
    assert "spec.topic: topic may not be changed" in said.err


def test_a_task_that_is_not_there_is_named(desk: Desk) -> None:
    desk.run()
    said = desk.fixpoint("report", "candle", "--store", desk.store)
    assert said.code == 5
    assert said.err == "error: there is no ResearchTask default/candle\n"


def test_a_report_that_is_not_there_yet_says_how_to_wait(desk: Desk) -> None:
    desk.write_task(desiredState="Suspended")
    desk.run()
    said = desk.ask("report")
    assert said.code == 1
    assert f"follow it with `fixpoint watch lamp --store {desk.store}`" in said.err
    assert desk.ask("verify").code == 1


def test_a_folder_that_cannot_be_written_is_named(desk: Desk) -> None:
    desk.report.write_text("a file is in the way", encoding="utf-8")
    said = desk.run()
    assert said.code == 5
    assert f"the report cannot be written to {desk.report}" in said.err
    assert desk.ask("verify").code == 0
    assert desk.ask("report", "-o", desk.folder).code == 5


def test_a_report_goes_to_a_file(desk: Desk, tmp_path: Path) -> None:
    desk.run()
    assert desk.ask("report", "-o", tmp_path / "r.md").out == ""
    assert (tmp_path / "r.md").read_text("utf-8") == desk.ask("report").out
