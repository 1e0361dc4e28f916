"""Progress as plain lines, one as soon as it is known: for log files, pipes and screen readers."""

from __future__ import annotations

from functools import partial

from rich.console import Console

from controller.api.records import AnswerReason
from controller.api.task import QuestionStatus, ResearchTask
from controller.cli import wording
from controller.cli.observer import StepView, activity
from controller.cli.terminal import Verbosity, labelled, write


class PlainProgress:
    """Writes a line for each step and settled question, and one when a run waits."""

    def __init__(self, console: Console, verbosity: Verbosity) -> None:
        self._verbosity = verbosity
        self._write = partial(write, console)
        self._activity = ""

    def begun(self, task: ResearchTask) -> None:
        """Write the banner."""
        if self._verbosity < Verbosity.MILESTONES:
            return
        for line in wording.banner(task):
            self._write(line)

    def step_recorded(self, task: ResearchTask, view: StepView) -> None:
        """Write the step's line; at verbosity 3 also what it decided and found."""
        if self._verbosity >= Verbosity.STEPS or (
            self._verbosity is Verbosity.MILESTONES and wording.is_milestone(view)
        ):
            self._write(wording.step_line(view), wording.STEP_INDENT)
        if self._verbosity >= Verbosity.DEBUG:
            for line in wording.step_details(task, view):
                self._write(f"{'':{wording.STEP_INDENT}}{line}", wording.STEP_INDENT)

    def question_settled(self, task: ResearchTask, question: QuestionStatus, number: int) -> None:
        """Write the question's line."""
        if self._verbosity >= Verbosity.MILESTONES:
            self._write(wording.question_line(task, question, number))

    def looked(self, task: ResearchTask) -> None:
        """Write what the run waits for, once; a run at work is seen by its steps."""
        now = activity(task)
        waits = task.status.pending is None and task.status.terminal_reason is None
        if waits and now != self._activity and self._verbosity >= Verbosity.MILESTONES:
            self._write(labelled("waiting", now))
        self._activity = now if waits else ""

    def ended(self, task: ResearchTask) -> None:
        """Write how many questions an early end left open (S0.9); the summary is the caller's."""
        left = sum(q.reason is AnswerReason.RUN_ENDED for q in task.status.questions)
        if left and self._verbosity >= Verbosity.MILESTONES:
            self._write(f"{left} of {len(task.status.questions)} questions were not concluded")
