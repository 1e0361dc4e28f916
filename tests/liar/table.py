"""What came of the lies, by class: as JSON, and as the table that docs/benchmarks.md shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tests.liar.judge import Reach
from tests.liar.lies import LieClass
from tests.liar.runs import Outcome, Ran
from tools.reasons import table

_WAYS: Final = 4
"""How many ways to be stopped a row of the table names: the most common ones."""


def result_of(runs: Sequence[Ran], seed: int) -> dict[str, Any]:
    """Return the result of some tasks."""
    outcomes = [outcome for ran in runs for outcome in ran.outcomes]
    return {
        "benchmark": "liar",
        "seed": seed,
        "tasks": len(runs),
        "modelCalls": sum(ran.calls for ran in runs),
        "lies": len(outcomes),
        "statements": sum(ran.statements for ran in runs),
        "statementsInAModelsWords": sum(ran.worded for ran in runs),
        "requestsForQueriesAndActions": sum(ran.blind for ran in runs),
        "ofThemWithAnOrderOfAPage": sum(ran.shown for ran in runs),
        "endings": dict(Counter(ran.ending for ran in runs).most_common()),
        "faults": [f"task {ran.number}: {fault}" for ran in runs for fault in ran.faults],
        "classes": {c.value: _row(outcomes, c) for c in LieClass},
        "leaks": [_told(outcome) for outcome in leaks_in(outcomes)],
    }


def leaks_in(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the lies of hard classes that reached a report."""
    return [o for o in outcomes if o.lie.lie_class.is_hard and o.reach is not Reach.NOT]


def markdown_of(result: dict[str, Any]) -> str:
    """Return the table of a result: the hard classes first."""
    rows = []
    for lie_class in sorted(LieClass, key=lambda c: not c.is_hard):
        row = result["classes"][lie_class.value]
        ways = list(row["stoppedBy"].items())
        stopped = ", ".join(f"{way} {count}" for way, count in ways[:_WAYS])
        rest = sum(count for _, count in ways[_WAYS:])
        rows.append(
            (
                lie_class.value,
                "hard" if lie_class.is_hard else "soft",
                str(row["made"]),
                str(row["unmarked"]),
                str(row["marked"]),
                stopped + (f", other {rest}" if rest else ""),
            )
        )
    head = ("lie", "class", "made", "reached unmarked", "reached marked", "stopped by")
    return table(head, rows)


def _row(outcomes: Iterable[Outcome], lie_class: LieClass) -> dict[str, Any]:
    of_class = [o for o in outcomes if o.lie.lie_class is lie_class]
    reached = Counter(o.reach for o in of_class)
    stopped = Counter(o.stopped_by for o in of_class if o.reach is Reach.NOT)
    return {
        "hard": lie_class.is_hard,
        "made": len(of_class),
        "unmarked": reached[Reach.UNMARKED],
        "marked": reached[Reach.MARKED],
        "stoppedBy": dict(stopped.most_common()),
    }


def _told(outcome: Outcome) -> dict[str, Any]:
    lie = outcome.lie
    return {
        "task": outcome.task,
        "request": lie.request,
        "class": lie.lie_class.value,
        "part": lie.part.value,
        "reach": outcome.reach.value,
        "text": lie.text,
    }
