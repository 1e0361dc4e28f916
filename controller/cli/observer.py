"""Who wants to know of a run, and the one that tells them: the same for both homes.

A `Follower` reads a task and its new steps from any store and tells observers what is new. It
knows nothing of terminals; they know nothing of stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from controller.api.reasons import ConditionType
from controller.api.records import QuestionState
from controller.api.step import ResearchStep
from controller.api.task import QuestionStatus, ResearchTask
from controller.gathering import is_settled
from controller.ports import TaskKey, TaskStore


@dataclass(frozen=True)
class StepView:
    """A step, and where it stands in its run.

    `used` counts the steps against `limit` up to this one, which closing steps and notes do not
    add to. `question_number` is the question's place in the task, from 1; `question_steps` is
    how many steps the question had up to this one.
    """

    step: ResearchStep
    used: int
    limit: int
    question_number: int | None = None
    question_steps: int = 0


class RunObserver(Protocol):
    """Is told of a run, in the order in which it happens."""

    def begun(self, task: ResearchTask) -> None:
        """The run is looked at for the first time."""
        ...

    def step_recorded(self, task: ResearchTask, view: StepView) -> None:
        """A step is in the journal."""
        ...

    def question_settled(self, task: ResearchTask, question: QuestionStatus, number: int) -> None:
        """A question left the state `Open`, or moved between two others."""
        ...

    def looked(self, task: ResearchTask) -> None:
        """The newest version of the task was read, and all that is new in it was told."""
        ...

    def ended(self, task: ResearchTask) -> None:
        """The run has ended for its present generation and request."""
        ...


class Follower:
    """Tells observers what is new about a task since the last look."""

    @classmethod
    async def from_now_on(
        cls, store: TaskStore, key: TaskKey, observers: Sequence[RunObserver]
    ) -> Self:
        """Follow a task without telling of the steps that it has already.

        Raises:
            NotFoundError: the task is not there.
        """
        follower = cls(store, key, observers)
        task = await store.get_task(key)
        follower._take(task)
        status = task.status
        follower._seen = status.journal.steps if status.journal else 0
        follower._used = status.usage.steps if status.usage else 0
        follower._question_steps = {q.id: q.steps for q in status.questions}
        follower._states = {q.id: q.state for q in status.questions}
        return follower

    def __init__(self, store: TaskStore, key: TaskKey, observers: Sequence[RunObserver]) -> None:
        """Follow a task from its first step."""
        self._store = store
        self._key = key
        self._observers = observers
        self._uid: str | None = None
        self._seen = 0
        self._used = 0
        self._question_steps: dict[str, int] = {}
        self._states: dict[str, QuestionState] = {}
        self._is_ended = False

    async def look(self) -> ResearchTask:
        """Read the task, tell what is new, and return it.

        Raises:
            NotFoundError: the task is not there, or not there any more.
            JournalError: a stored step cannot be read as one.
        """
        task = await self._store.get_task(self._key)
        self._take(task)
        journal = task.status.journal
        if journal is not None and journal.steps > self._seen:
            for step in await self._store.list_steps(task, self._seen):
                self._tell_step(task, step)
        self._tell_questions(task)
        for observer in self._observers:
            observer.looked(task)
        ended = is_settled(task)
        if ended and not self._is_ended:
            for observer in self._observers:
                observer.ended(task)
        self._is_ended = ended
        return task

    def _take(self, task: ResearchTask) -> None:
        """Begin anew with another task of the same name."""
        if task.metadata.uid == self._uid:
            return
        self._uid = task.metadata.uid
        self._seen = self._used = 0
        self._question_steps, self._states = {}, {}
        for observer in self._observers:
            observer.begun(task)

    def _tell_step(self, task: ResearchTask, step: ResearchStep) -> None:
        self._seen = step.spec.index + 1
        if step.spec.opening is not None:  # a round has a fresh allowance
            self._used, self._question_steps, self._states = 0, {}, {}
        self._used += step.spec.usage.steps
        question = step.spec.question_id
        if question is not None:
            self._question_steps[question] = self._question_steps.get(question, 0) + 1
        ids = [q.id for q in task.status.questions]
        view = StepView(
            step=step,
            used=self._used,
            limit=task.spec.budgets.max_steps,
            question_number=ids.index(question) + 1 if question in ids else None,
            question_steps=self._question_steps.get(question, 0) if question else 0,
        )
        for observer in self._observers:
            observer.step_recorded(task, view)

    def _tell_questions(self, task: ResearchTask) -> None:
        for number, question in enumerate(task.status.questions, 1):
            before = self._states.get(question.id, QuestionState.OPEN)
            self._states[question.id] = question.state
            if question.state not in (before, QuestionState.OPEN):
                for observer in self._observers:
                    observer.question_settled(task, question, number)


def activity(task: ResearchTask) -> str:
    """Return what a run does or waits for now, as its conditions say it."""
    for kind in (ConditionType.RECONCILING, ConditionType.SUCCEEDED):
        condition = task.status.condition(kind)
        if condition is not None:
            return f"{condition.reason}: {condition.message}"
    return "not looked at yet"
