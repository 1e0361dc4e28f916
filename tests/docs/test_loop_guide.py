"""docs/loop-guide.md: its tables are those of the code, and each assumption has its test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from controller.api.base import json_name
from controller.api.step import ActionClass, ActionName
from controller.api.task import Budgets, PredicateName, ProgressPolicy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "loop-guide.md").read_text(encoding="utf-8")


def table(head: str) -> dict[str, list[str]]:
    """Return a table of the page by its first column, which is a name in code marks."""
    (body,) = re.findall(rf"^\| {head} \|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in body.splitlines()]
    return {row[0].strip("`"): row[1:] for row in rows}


# S1.35
def test_the_tables_of_the_contract_are_those_of_the_code() -> None:
    assert set(table("predicate")) == set(PredicateName)
    assert set(table("action")) == set(ActionName)
    assert set(table("budget")) == {json_name(name) for name in Budgets.model_fields}
    classes = {word for row in table("action").values() for word in re.findall(r"[A-Z]\w+", row[0])}
    assert classes == set(ActionClass)


# S1.35
def test_each_assumption_names_a_test_that_is_there() -> None:
    shown = [row[-1].strip("`") for row in table("assumption").values()]
    assert len(shown) >= 8
    for place in shown:
        file, _, name = place.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        tests = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
        assert name in tests, place


# S4.27
def test_the_defaults_that_are_compared_are_the_defaults() -> None:
    budgets, policy = Budgets(), ProgressPolicy()
    here = " ".join(re.findall(r"^\| (?:steps|money|errors|time) .*$", PAGE, re.MULTILINE))
    for name, value in (
        ("maxSteps", budgets.max_steps),
        ("maxStepsPerQuestion", budgets.max_steps_per_question),
        ("errorThreshold", policy.error_threshold),
        ("identicalFailureLimit", policy.identical_failure_limit),
        ("activeDeadlineSeconds", budgets.active_deadline_seconds),
    ):
        assert f"`{name}` {value}" in here
    assert budgets.max_cost_usd is None
