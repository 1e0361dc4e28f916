"""What the demonstration shows while its tasks run: their steps going by, and how they stand."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from controller.api.reasons import ConditionType
from controller.api.records import QuestionState
from controller.api.task import QuestionStatus, ResearchTask
from controller.cli import wording
from controller.cli.observer import StepView, activity
from controller.cli.panels import SYMBOLS, conditions, model_lines
from controller.cli.terminal import is_live, visible, write

_NAME_WIDTH: Final = 13
_FRAMES_PER_SECOND: Final = 8
_BAR_WIDTH: Final = 16


class DemoView:
    """Draws all tasks below their lines; without a terminal there are the lines alone."""

    def __init__(self, console: Console, *, plain: bool) -> None:
        self._console = console
        self._is_live = is_live(console) and not plain
        self._live = Live(console=console, refresh_per_second=_FRAMES_PER_SECOND, transient=True)
        self._tasks: dict[str, ResearchTask] = {}

    def __enter__(self) -> Self:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def say(self, line: str) -> None:
        """Write a line above what is drawn."""
        write(self._console, line, _NAME_WIDTH + 1)

    def begun(self, task: ResearchTask) -> None:
        """Say that the task is there."""
        count = len(task.spec.questions)
        budget = task.spec.budgets.max_steps
        self._say_of(task, f"{count} questions, {budget} steps: {visible(task.spec.topic)}")

    def step_recorded(self, task: ResearchTask, view: StepView) -> None:
        """Write the step's line."""
        self._say_of(task, wording.step_line(view))

    def question_settled(self, task: ResearchTask, question: QuestionStatus, number: int) -> None:
        """Write the question's line."""
        self._say_of(task, wording.question_line(task, question, number))

    def looked(self, task: ResearchTask) -> None:
        """Draw the task as it is now."""
        self._tasks[task.metadata.name] = task
        if self._is_live:
            self._live.update(Group(*(_drawn(found) for found in self._tasks.values())))

    def ended(self, task: ResearchTask) -> None:
        """Write how it ended."""
        finished = task.status.condition(ConditionType.FINISHED)
        message = f": {finished.message}" if finished else ""
        self._say_of(task, f"Finished, {task.status.terminal_reason}{message}")
        if told := wording.model_use(task):
            self._say_of(task, f"model: {told}")

    def _say_of(self, task: ResearchTask, line: str) -> None:
        self.say(f"{task.metadata.name:<{_NAME_WIDTH}} {line}")


def _drawn(task: ResearchTask) -> RenderableType:
    """Return a task in a few lines: budget, questions, its model, conditions, what it does now."""
    status = task.status
    used = status.usage.steps if status.usage else 0
    limit = task.spec.budgets.max_steps
    score = status.quality.score if status.quality else 0
    standing = {question.id: question.state for question in status.questions}
    questions = [standing.get(q.id, QuestionState.OPEN) for q in task.spec.questions]
    states = Text()
    for state in questions:
        symbol, style = SYMBOLS[state]
        states.append(f"{symbol} ", style=style)
    done = sum(state is not QuestionState.OPEN for state in questions)
    bars = Table.grid(padding=(0, 1))
    bars.add_row(
        states,
        Text(f"{done}/{len(questions)}"),
        ProgressBar(total=limit, completed=used, width=_BAR_WIDTH),
        Text(f"{used}/{limit} steps"),
        ProgressBar(total=100, completed=score, width=_BAR_WIDTH),
        Text(f"quality {score} %"),
    )
    now = Text(visible(activity(task)), style="dim", no_wrap=True, overflow="ellipsis")
    rule = Rule(Text(task.metadata.name), align="left")
    return Group(rule, bars, *model_lines(task), conditions(task), now)
