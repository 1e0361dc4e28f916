"""Ctrl-C in the middle of a run: a clean stop, and the same command goes on from there."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.desk import LAMP_MANUAL, Desk

ROOT = Path(__file__).resolve().parent.parent.parent


def many_questions(desk: Desk) -> None:
    """Give the desk a task that takes far longer than a signal."""
    settings = [f"GLOW_{number:02}" for number in range(20)]
    text = "".join(
        f"\n### {name}\n\nDefault: {number} lumens for the setting {name} of the lamp.\n"
        for number, name in enumerate(settings)
    )
    manual = desk.folder / "corpora" / "lamp" / "manual.md"
    manual.write_text(LAMP_MANUAL + text * 20, encoding="utf-8")
    desk.write_task(
        questions=[
            {"id": name.lower().replace("_", "-"), "text": f"What is the default of {name}?"}
            for name in settings
        ],
        budgets={"maxSteps": 200},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_stopped_run_leaves_nothing_in_doubt_and_goes_on(
    desk: Desk, number: signal.Signals
) -> None:
    many_questions(desk)
    command = [sys.executable, "-m", "controller.cli.main", "run", "-f", str(desk.task)]
    options = ["--corpus-root", str(desk.folder / "corpora"), "--store", str(desk.store)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.lstrip().startswith("3/200"):
                process.send_signal(number)
                break
        rest = process.stdout.read()
    assert process.returncode == 130, rest
    assert "stopped:    what is recorded is kept" in rest
    assert "Traceback" not in rest
    status = json.loads(stored_task(desk))["status"]
    assert "pending" not in status
    assert 3 <= status["journal"]["steps"] < 80

    said = desk.run("--log", desk.folder / "journal.jsonl")
    assert said.code == 0
    assert f"after step {status['journal']['steps']} of its journal" in said.out
    lines = (desk.folder / "journal.jsonl").read_text("utf-8").splitlines()
    steps = [json.loads(line)["spec"] for line in lines]
    searches = [step["argumentsJSON"] for step in steps if step["action"] == "Search"]
    assert len(searches) == len(set(searches))


def stored_task(desk: Desk) -> str:
    """Return the task as it is stored."""
    with closing(sqlite3.connect(desk.store)) as file:
        row = file.execute("SELECT body FROM objects WHERE kind = 'ResearchTask'").fetchone()
    return str(row[0])
