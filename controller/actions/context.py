"""What an action may use: the situation it was decided in, and the ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.api.model_call import ModelCall
from controller.api.records import Question
from controller.api.task import Pending
from controller.evidence.findings import Findings
from controller.evidence.support import question_weights
from controller.loop.situation import Situation
from controller.ports import Model, Source, TaskStore


@dataclass
class Meter:
    """What the attempt's call to a model is to be charged, at any time; None: nothing was sent."""

    call: ModelCall | None = None


@dataclass(frozen=True)
class Context:
    """One action's view of the world. Nothing of it survives the action (requirement S0.10)."""

    situation: Situation
    pending: Pending
    sources: Mapping[str, Source]
    store: TaskStore
    models: Mapping[str, Model] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)

    @property
    def language(self) -> str:
        """The language of the task's questions."""
        return self.situation.task.spec.language

    @property
    def findings(self) -> Findings:
        """The records that count now."""
        return self.situation.assessment.findings

    def question(self, question_id: str) -> Question:
        """Return a question of the task."""
        return next(q for q in self.findings.questions if q.id == question_id)

    def weights(self, question_id: str) -> dict[str, int]:
        """Return the term weights that are recorded for a question."""
        return question_weights(self.findings, question_id)
