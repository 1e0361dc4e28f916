"""`make demo` itself: everything that it promises holds, and nothing is left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MARK = "FIXPOINT_DEMO_TEST"


@pytest.mark.controlplane
def test_the_demonstration_is_as_it_promises_and_leaves_nothing_behind() -> None:
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "demo", "--plain"],
        cwd=ROOT,
        env=os.environ | {MARK: mark},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    outcomes = re.findall(r"^([✓✗]) (.+)$", done.stdout, re.MULTILINE)
    assert len(outcomes) == 17
    assert {sign for sign, _ in outcomes} == {"✓"}
    assert re.search(r"^small-budget +False +StepBudgetExhausted", done.stdout, re.MULTILINE)
    assert "> Default: 0\n" in done.stdout
    assert left_behind(mark) == []


def left_behind(mark: str) -> list[str]:
    """Return the processes that the demonstration started, or they did, and that still run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            environment = process.environ()
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if environment.get(MARK) == mark:
            found.append(" ".join(process.info["cmdline"]))
    return found
