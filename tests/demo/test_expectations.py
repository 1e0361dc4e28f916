"""The demonstration's expectations can fail: each names what was found instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.base import API_VERSION
from controller.cli.main import main
from controller.clock import SystemClock
from controller.store.local import LocalStore
from demo.expectations import (
    ABSENT,
    Ended,
    Outcome,
    budget_exhausted,
    budgets_held,
    ended_for_a_reason,
    goal_reached,
    usage_is_the_journals,
    usage_is_the_servers,
    went_on,
)

ROOT = Path(__file__).resolve().parent.parent.parent

TEXT = """\
## GLOW_LEVEL

Default: 40 lumens at the lowest dimmer position of the lamp.

## Safety

The lamp switches itself off when its housing is hotter than 85 degrees.
"""

QUESTIONS = [
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": ABSENT, "text": "What is the default of GLOW_FLAVOUR?"},
]


class Lamp:
    """Runs of one task over a small corpus, as the store has them afterwards."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "lamp").mkdir()
        (folder / "lamp" / "manual.md").write_text(TEXT, encoding="utf-8")

    def run(self, max_steps: int = 60, questions: list[dict[str, str]] = QUESTIONS) -> Ended:
        """Run the task on from where it is, and return it."""
        spec: dict[str, Any] = {
            "topic": "The lamp",
            "questions": questions,
            "sourceRefs": [{"name": "lamp"}],
            "budgets": {"maxSteps": max_steps},
        }
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "ResearchTask",
            "metadata": {"name": "lamp"},
            "spec": spec,
        }
        file, store = self._folder / "task.yaml", self._folder / "store.db"
        file.write_text(yaml.safe_dump(manifest), encoding="utf-8")
        report = self._folder / "report"
        main(["run", "-f", str(file), "--store", str(store), "--output", str(report)])
        with LocalStore.open(store, SystemClock()) as opened:
            (task,) = opened.tasks()
            steps = asyncio.run(opened.list_steps(task, 0))
            return Ended(task, steps, asyncio.run(opened.get_report(task)))


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lamp:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Lamp(tmp_path)


def unmet(outcomes: Iterable[Outcome]) -> dict[str, str]:
    return {o.expectation: o.found for o in outcomes if not o.is_met}


def test_a_task_that_went_on_meets_everything(lamp: Lamp) -> None:
    small = lamp.run(max_steps=3)
    assert unmet(budget_exhausted(small, 3)) == {}
    large = lamp.run()
    assert unmet(goal_reached(large)) == {}
    assert unmet(went_on(small.steps, large)) == {}


def test_a_success_is_no_exhaustion(lamp: Lamp) -> None:
    found = unmet(budget_exhausted(lamp.run(), 3))
    assert list(found) == [
        "lamp: ends as StepBudgetExhausted, Succeeded=False",
        "lamp: not a step above 3 was taken",
    ]
    assert next(iter(found.values())) == "GoalReached, Succeeded=True, Finished=True"


def test_an_exhaustion_is_no_success(lamp: Lamp) -> None:
    assert unmet(goal_reached(lamp.run(max_steps=3))) == {
        "lamp: ends as GoalReached, Succeeded=True": (
            "StepBudgetExhausted, Succeeded=False, Finished=True"
        ),
        "lamp: 1 questions are Answered": "glow Open",
        f"lamp: {ABSENT} is NotFound": "Open",
        "lamp: a certificate proves that absence": "no certificate",
    }


def test_a_question_that_is_answered_is_not_absent(lamp: Lamp) -> None:
    questions = [*QUESTIONS[:1], {"id": ABSENT, "text": "When does the lamp switch itself off?"}]
    assert unmet(goal_reached(lamp.run(questions=questions))) == {
        f"lamp: {ABSENT} is NotFound": "Answered",
        "lamp: a certificate proves that absence": "no certificate",
    }


def test_a_lost_report_is_no_partial_report(lamp: Lamp) -> None:
    ended = replace(lamp.run(max_steps=3), stored=None)
    assert unmet(budget_exhausted(ended, 3)) == {
        "lamp: a partial report says what is verified and what is missing": (
            "0 quotes, 0 questions missing"
        )
    }


CHANGES: dict[str, tuple[Callable[[Ended], Ended], str]] = {
    "a step is gone": (
        lambda ended: replace(ended, steps=ended.steps[1:]),
        "lamp: the 5 steps from before are kept as they were",
    ),
    "a search is there twice": (
        lambda ended: replace(ended, steps=(*ended.steps, ended.steps[1])),
        "lamp: nothing was searched twice",
    ),
}


@pytest.mark.parametrize(("change", "expectation"), CHANGES.values(), ids=CHANGES.keys())
def test_a_journal_that_is_not_gone_on_with_is_found(
    lamp: Lamp, change: Callable[[Ended], Ended], expectation: str
) -> None:
    before = lamp.run(max_steps=3).steps
    assert list(unmet(went_on(before, change(lamp.run())))) == [expectation]


def with_usage(ended: Ended, **usage: object) -> Ended:
    """Return a task whose status shows something else as used."""
    status = ended.task.status.model_copy(
        update={"usage": ended.usage.model_copy(update=usage)},
    )
    return replace(ended, task=ended.task.model_copy(update={"status": status}))


def test_a_task_without_a_model_has_used_none(lamp: Lamp) -> None:
    ended = lamp.run()
    outcomes = [ended_for_a_reason(ended), budgets_held(ended), usage_is_the_journals(ended)]
    assert unmet([*outcomes, usage_is_the_servers([ended], 0)]) == {}


USAGES: dict[str, tuple[dict[str, object], Callable[[Ended], Outcome]]] = {
    "too many steps": ({"steps": 61}, budgets_held),
    "too many calls": ({"model_calls": 31}, budgets_held),
    "too many tokens": ({"prompt_tokens": 200_001}, budgets_held),
    "money": ({"cost_usd": "0.01"}, budgets_held),
    "tokens of no step": ({"completion_tokens": 1}, usage_is_the_journals),
    "tokens that the server knows not": (
        {"completion_tokens": 1},
        lambda ended: usage_is_the_servers([ended], 0),
    ),
    "a call whose usage is not known": (
        {"unknown_usage_calls": 1},
        lambda ended: usage_is_the_servers([ended], 0),
    ),
}


@pytest.mark.parametrize(("usage", "expectation"), USAGES.values(), ids=USAGES.keys())
def test_an_account_that_is_wrong_is_found(
    lamp: Lamp, usage: dict[str, object], expectation: Callable[[Ended], Outcome]
) -> None:
    assert not expectation(with_usage(lamp.run(max_steps=3), **usage)).is_met


def test_an_ending_without_a_report_is_found(lamp: Lamp) -> None:
    assert not ended_for_a_reason(replace(lamp.run(), stored=None)).is_met


def test_the_three_tasks_ask_the_same_questions() -> None:
    files = sorted((ROOT / "demo" / "tasks").glob("*.yaml"))
    specs = [yaml.safe_load(file.read_text("utf-8"))["spec"] for file in files]
    assert [file.stem for file in files] == ["answers", "raised-budget", "small-budget"]
    assert specs[0]["questions"] == specs[1]["questions"] == specs[2]["questions"]
    assert [s.get("budgets", {}).get("maxSteps") for s in specs] == [None, 3, 3]
    assert ABSENT in [q["id"] for q in specs[0]["questions"]]
