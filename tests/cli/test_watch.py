"""`fixpoint watch`: the same lines as the run's, and the same exit code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.desk import Desk

ROOT = Path(__file__).resolve().parent.parent.parent


def step_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(r" +(\d+/\d+|-)  [A-Z]", line)]


def test_a_finished_task_is_told_from_its_first_step(desk: Desk) -> None:
    ran = desk.run("--max-steps", "3")
    watched = desk.ask("watch")
    assert watched.code == ran.code == 2
    assert step_lines(watched.out) == step_lines(ran.out)
    assert "going on" not in watched.out
    assert re.search(r"^next: +Raise spec.budgets.maxSteps", watched.out, re.MULTILINE)


# S2.10
def test_a_task_is_followed_while_another_process_runs_it(desk: Desk) -> None:
    desk.write_task(desiredState="Suspended")
    assert desk.run().code == 4
    with subprocess.Popen(
        [sys.executable, "-m", "controller.cli.main", "watch", "lamp", "--store", str(desk.store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    ) as watcher:
        assert watcher.stdout is not None
        waits = next(line for line in watcher.stdout if line.startswith("waiting:"))
        assert "Suspended" in waits
        desk.write_task(desiredState="Running")
        ran = desk.run()
        rest = watcher.stdout.read()
    assert watcher.returncode == ran.code == 0
    assert step_lines(rest) == step_lines(ran.out)
    assert "ended:      GoalReached" in rest


def test_nothing_is_said_at_verbosity_0(desk: Desk) -> None:
    desk.run("--max-steps", "3")
    said = desk.ask("watch", "--verbosity", "0")
    assert (said.code, said.out, said.err) == (2, "", "")
