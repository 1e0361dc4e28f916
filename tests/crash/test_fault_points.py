"""The fault points: inert, unless the environment names one; then the process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controller import fault_points
from controller.api.step import ActionName
from controller.fault_points import VARIABLE, FaultPoint, during, reached

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-safety.md"

_PASSES = """
from controller.api.step import ActionName
from controller.fault_points import FaultPoint, reached
try:
    for action in (ActionName.PLAN, ActionName.SEARCH, ActionName.SEARCH):
        for point in FaultPoint:
            print(point.name, action, flush=True)
            reached(point, action)
finally:
    print("cleaned up", flush=True)
"""

_WAITS = """
import asyncio
from controller.api.step import ActionName
from controller.fault_points import during
async def main():
    with during(ActionName.SEARCH):
        print("never waits", flush=True)
    await asyncio.sleep(0)
    with during(ActionName.SEARCH):
        print("sent", flush=True)
        await asyncio.sleep(0)
        print("answered", flush=True)
asyncio.run(main())
"""


def run(program: str, value: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: v for name, v in os.environ.items() if name != VARIABLE}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment | ({VARIABLE: value} if value else {}),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_without_the_variable_every_point_is_passed() -> None:
    for point in FaultPoint:
        for action in ActionName:
            reached(point, action)
    with during(ActionName.SEARCH):
        pass
    done = run(_PASSES, None)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 3 * len(FaultPoint) + 1


def test_the_process_is_gone_at_the_named_passage_and_cleans_nothing_up() -> None:
    done = run(_PASSES, "K3:Search:2")
    assert done.returncode == -signal.SIGKILL
    lines = done.stdout.splitlines()
    assert lines[-1] == "K3 Search"
    assert lines.count("K3 Search") == 2


def test_another_signal_can_be_named() -> None:
    done = run(_PASSES, "K0:Plan:1:SIGTERM")
    assert done.returncode == -signal.SIGTERM
    assert done.stdout.splitlines() == ["K0 Plan"]


def test_during_is_the_first_wait_of_an_action_that_waits() -> None:
    done = run(_WAITS, "K2:Search:1")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.splitlines() == ["never waits", "sent"]


@pytest.mark.parametrize(
    "value",
    ["K8:Search:1", "K1:Fly:1", "K1:Search:0", "K1:Search", "K1:Search:1:SIGNONE", "K1:Search:x"],
)
def test_a_value_that_names_no_point_is_an_error(value: str) -> None:
    with pytest.raises(ValueError, match="names no fault point"):
        fault_points._armed(value)


def test_the_page_lists_every_point() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    for point in FaultPoint:
        assert f"| {point.name} | {point.value} |" in page
