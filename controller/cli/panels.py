"""A task drawn for a terminal: its questions, budgets and conditions at one moment."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from controller.api.meta import ConditionStatus
from controller.api.records import QuestionState
from controller.api.task import QuestionStatus, ResearchTask
from controller.cli import wording
from controller.cli.observer import activity
from controller.cli.terminal import count, visible

SYMBOLS: Final = {
    QuestionState.OPEN: ("·", "dim"),
    QuestionState.ANSWERED: ("✓", "green"),
    QuestionState.NOT_FOUND: ("∅", "cyan"),
    QuestionState.UNRESOLVED: ("?", "yellow"),
}
"""A sign for each state of a question, and its colour; the state is always named beside it."""

_BAR_WIDTH: Final = 20


def task_view(task: ResearchTask) -> RenderableType:
    """Return a task as a terminal shows it: what is known, what it cost, what it does now."""
    now = Text(visible(activity(task)), style="dim", no_wrap=True, overflow="ellipsis")
    return Group(_questions(task), _bars(task), *model_lines(task), conditions(task), now)


def model_lines(task: ResearchTask) -> list[Text]:
    """Return the line of what a task's models have used; none for a task without a model."""
    told = wording.model_use(task)
    return [Text(f"model  {told}", no_wrap=True, overflow="ellipsis")] if told else []


def conditions(task: ResearchTask) -> Text:
    """Return the conditions, those that are true in bold."""
    line = Text()
    for condition in task.status.conditions:
        style = {
            ConditionStatus.TRUE: "bold",
            ConditionStatus.FALSE: "dim",
            ConditionStatus.UNKNOWN: "",
        }[condition.status]
        line.append(f"{condition.type}={condition.status} ", style=style)
    return line


def _questions(task: ResearchTask) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    current = task.status.pending.question_id if task.status.pending else None
    for question in task.status.questions:
        symbol, style = SYMBOLS[question.state]
        is_current = question.id == current
        table.add_row(
            Text("▸" if is_current else symbol, style="bold" if is_current else style),
            Text(visible(question.text), style="bold" if is_current else ""),
            Text(_state(question), style=style),
            Text(count(question.facts, "fact"), style="dim"),
        )
    return table


def _state(question: QuestionStatus) -> str:
    return f"{question.state} ({question.reason})" if question.reason else str(question.state)


def _bars(task: ResearchTask) -> Table:
    status, budgets = task.status, task.spec.budgets
    used = status.usage.steps if status.usage else 0
    seconds = status.usage.active_seconds if status.usage else 0
    score = status.quality.score if status.quality else 0
    done = sum(q.state is not QuestionState.OPEN for q in status.questions)
    table = Table.grid(padding=(0, 1))
    _bar(table, "steps", used, budgets.max_steps, f"{used} of {budgets.max_steps}")
    _bar(table, "questions", done, len(status.questions), f"{done} of {len(status.questions)}")
    _bar(table, "quality", score, 100, f"{score} % of {task.spec.quality_threshold} %")
    _bar(
        table,
        "active time",
        seconds,
        budgets.active_deadline_seconds,
        f"{seconds} of {budgets.active_deadline_seconds} s",
    )
    return table


def _bar(table: Table, label: str, used: int, limit: int, text: str) -> None:
    bar = ProgressBar(total=max(limit, 1), completed=used, width=_BAR_WIDTH)
    table.add_row(Text(label), bar, Text(text, style="dim"))
