"""Progress on a terminal: the task is drawn again with each step, above it the steps go by."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from controller.api.task import QuestionStatus, ResearchTask
from controller.cli.observer import StepView
from controller.cli.panels import task_view
from controller.cli.plain import PlainProgress
from controller.cli.terminal import Verbosity, visible

_FRAMES_PER_SECOND = 8


class LiveProgress:
    """Draws the task below the lines that `PlainProgress` writes."""

    def __init__(self, console: Console, verbosity: Verbosity) -> None:
        self._live = Live(console=console, refresh_per_second=_FRAMES_PER_SECOND, transient=True)
        self._lines = PlainProgress(console, verbosity)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def begun(self, task: ResearchTask) -> None:
        """Write the banner and begin to draw."""
        self._lines.begun(task)
        self._live.start()

    def step_recorded(self, task: ResearchTask, view: StepView) -> None:
        """Write the step's line."""
        self._lines.step_recorded(task, view)

    def question_settled(self, task: ResearchTask, question: QuestionStatus, number: int) -> None:
        """Write the question's line."""
        self._lines.question_settled(task, question, number)

    def looked(self, task: ResearchTask) -> None:
        """Draw the task as it is now."""
        title = Text(f"{task.metadata.name}: {visible(task.spec.topic)}", overflow="ellipsis")
        self._live.update(Panel(task_view(task), title=title, title_align="left"))

    def ended(self, task: ResearchTask) -> None:
        """Stop drawing; what was drawn is cleared, the lines stay."""
        self._live.stop()
        self._lines.ended(task)
