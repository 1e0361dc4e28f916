"""docs/experiments.md shows what the experiments print."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.experiments.drill import CASES, drill
from tests.experiments.sweep import sweep

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")


# S1.3, S3.19
@pytest.mark.parametrize("experiment", [sweep, drill], ids=["sweep", "drill"])
async def test_the_page_shows_what_comes_out(experiment: Callable[[], Awaitable[str]]) -> None:
    name = experiment.__name__
    (shown,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", PAGE, re.DOTALL)
    assert await experiment() == shown


def test_a_drill_has_ten_cases() -> None:
    # S3.19
    assert len(CASES) == 10


# S1.3
async def test_a_larger_budget_never_brings_less_and_is_never_passed() -> None:
    rows = [line.strip("| ").split(" | ") for line in (await sweep()).splitlines()[2:]]
    for budget, ending, steps, *_ in rows:
        assert int(steps) <= int(budget)
        assert ending in {"StepBudgetExhausted", "GoalReached"}
    found = [int(answered) + int(absent) for _, _, _, answered, absent, _ in rows]
    assert found == sorted(found)
