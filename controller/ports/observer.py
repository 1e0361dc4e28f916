"""Who is told of what a reconciler does."""

from __future__ import annotations

from typing import Protocol

from controller.api.step import ResearchStepSpec
from controller.api.task import ResearchTask
from controller.ports.store import Collision


class LoopObserver(Protocol):
    """Is told what a reconciler does, as it does it; it must neither wait nor raise."""

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """This process has recorded a step; told once, also if the store's answer was lost."""
        ...

    def step_adopted(self, step: ResearchStepSpec) -> None:
        """A step was found recorded that no status had been folded from yet."""
        ...

    def attempt_superseded(self, step: ResearchStepSpec) -> None:
        """This process made an attempt, and another process had recorded a step in its place."""
        ...

    def run_ended(self, task: ResearchTask) -> None:
        """A run has ended; `task` is as it was stored with its ending."""
        ...

    def collided(self, collision: Collision) -> None:
        """A write was refused because somebody else had written."""
        ...


class Unobserved:
    """A `LoopObserver` that does nothing with what it is told."""

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def step_adopted(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def attempt_superseded(self, step: ResearchStepSpec) -> None:
        """Do nothing."""

    def run_ended(self, task: ResearchTask) -> None:
        """Do nothing."""

    def collided(self, collision: Collision) -> None:
        """Do nothing."""
