"""The journal as a file of JSON lines: one for each step, as it is stored (S2.29)."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from controller.api.base import canonical_json
from controller.api.errors import UserError
from controller.api.step import ResearchStep
from controller.api.task import QuestionStatus, ResearchTask
from controller.cli.observer import StepView


def line_of(step: ResearchStep) -> str:
    """Return the line of a step, with its newline."""
    return canonical_json(step.to_json()) + "\n"


class JournalLog:
    """Writes each step that it is told of; a file that is there is replaced."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            UserError: it cannot be written.
        """
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise UserError(
                f"the log {path} cannot be written: {error.strerror}; name another with --log"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, step: ResearchStep) -> None:
        """Write one step, so that it can be read at once."""
        self._file.write(line_of(step))
        self._file.flush()

    def begun(self, task: ResearchTask) -> None:
        """Nothing to write."""

    def step_recorded(self, task: ResearchTask, view: StepView) -> None:  # noqa: ARG002
        """Write the step."""
        self.write(view.step)

    def question_settled(self, task: ResearchTask, question: QuestionStatus, number: int) -> None:
        """Nothing to write: the steps say it."""

    def looked(self, task: ResearchTask) -> None:
        """Nothing to write."""

    def ended(self, task: ResearchTask) -> None:
        """Nothing to write."""
