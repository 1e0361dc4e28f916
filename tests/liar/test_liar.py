"""A part of the liar benchmark: `make bench-liar` runs all of it (docs/benchmarks.md)."""

from __future__ import annotations

import asyncio

import pytest

from tests.liar.lies import LieClass
from tests.liar.runs import Ran, run_task
from tests.liar.table import leaks_in, result_of

TASKS = 9
LEAST_LIES = 200


pytestmark = pytest.mark.xdist_group("liar")  # one worker: the tests share what was run


@pytest.fixture(scope="module")
def runs() -> list[Ran]:
    """Return what came of some tasks: every kind of task, and of endpoint, is among them."""
    return [asyncio.run(run_task(number, seed=2)) for number in range(TASKS)]


# S2.3, S3.1, S3.4, S3.5, S4.32
def test_no_lie_of_a_hard_class_reaches_a_report(runs: list[Ran]) -> None:
    outcomes = [outcome for ran in runs for outcome in ran.outcomes]
    assert len(outcomes) >= LEAST_LIES
    assert leaks_in(outcomes) == []


def test_all_that_is_published_is_true_of_the_documents(runs: list[Ran]) -> None:
    assert [fault for ran in runs for fault in ran.faults] == []
    assert sum(ran.worded for ran in runs) > 0
    assert sum(ran.statements for ran in runs) > sum(ran.worded for ran in runs)


def test_no_order_of_a_page_is_in_a_prompt_that_asks_for_queries_or_actions(
    runs: list[Ran],
) -> None:
    assert sum(ran.blind for ran in runs) > 0
    assert sum(ran.shown for ran in runs) == 0


def test_the_table_counts_every_lie_once(runs: list[Ran]) -> None:
    result = result_of(runs, 2)
    rows = result["classes"].values()
    assert result["lies"] == sum(row["made"] for row in rows)
    for row in rows:
        reached = row["unmarked"] + row["marked"]
        assert row["made"] == reached + sum(row["stoppedBy"].values())
    made = {name for name, row in result["classes"].items() if row["made"]}
    assert made >= {c.value for c in LieClass if c.is_hard} - {
        LieClass.VETOES_TRUTH.value,
        LieClass.RENAMED.value,
    }
