"""What a run remembers of the model's part in it: a fold of the steps, like all else.

The proposal that waits to be carried out, what the model was shown, what went wrong lately (the
lessons that the next prompt tells), and the two switches that are thrown once a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controller.api.records import NoteKind, PassagePlace, ProposalRecord, Statement
from controller.api.step import ActionName, Outcome, ResearchStepSpec
from controller.loop.intents import PlanArguments

MAX_LESSONS: Final = 5
"""How many failures the next prompt tells of: the newest."""

PROPOSED: Final = "Proposed"
"""The reason of a step that carries out what a model proposed."""

_SETTLED: Final = frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.REJECTED})
"""The outcomes after which an action is not tried again as it is."""


@dataclass(frozen=True)
class Lesson:
    """A failure of the model that a prompt tells of: what was tried, and what was wrong."""

    action: ActionName
    error_class: str
    message: str


@dataclass(frozen=True)
class Memory:
    """What the loop remembers of the model's part in a round.

    `planned_at` is the number of steps at the last planning turn. `given_up` is the action and its
    arguments that the model failed at for good: where the extractive policy takes over, it does
    that step. `longest_answers` is in tokens, by model. `named_fields` are what the model has asked
    the user for.
    """

    proposal: ProposalRecord | None = None
    planned_at: int = 0
    is_degraded: bool = False
    given_up: tuple[ActionName, str] | None = None
    lessons: tuple[Lesson, ...] = ()
    shown: Mapping[str, frozenset[PassagePlace]] = field(default_factory=dict)
    longest_answers: Mapping[str, int] = field(default_factory=dict)
    closing_summary: tuple[Statement, ...] | None = None
    is_summed_up: bool = False
    named_fields: tuple[str, ...] = ()

    def after(self, spec: ResearchStepSpec, steps: int) -> Memory:
        """Return the memory after a step; `steps` is the number of counted steps with it."""
        if spec.note is not None:
            is_switched = spec.note.kind is NoteKind.DEGRADED
            is_fresh = spec.note.kind is NoteKind.REOPENED
            return replace(
                self,
                is_degraded=self.is_degraded or is_switched,
                proposal=None if is_fresh else self.proposal,
                given_up=None if is_fresh else self.given_up,
                closing_summary=None if is_fresh else self.closing_summary,
            )
        return replace(
            self,
            proposal=self._proposal(spec),
            planned_at=steps if _is_planning_turn(spec) else self.planned_at,
            given_up=_given_up(spec),
            lessons=self._lessons(spec),
            shown=self._shown(spec),
            longest_answers=self._longest_answers(spec),
            named_fields=self._named_fields(spec),
            is_summed_up=self.is_summed_up or spec.action is ActionName.SUMMARIZE,
            closing_summary=spec.closing_summary or self.closing_summary,
        )

    def without_questions(self, ids: Iterable[str]) -> Memory:
        """Forget what was shown for questions that are other questions now."""
        gone = set(ids)
        return replace(self, shown={i: p for i, p in self.shown.items() if i not in gone})

    def _proposal(self, spec: ResearchStepSpec) -> ProposalRecord | None:
        if spec.proposal is not None:
            return spec.proposal
        return None if spec.outcome in _SETTLED else self.proposal

    def _lessons(self, spec: ResearchStepSpec) -> tuple[Lesson, ...]:
        if spec.model_call is None or spec.error is None:
            return self.lessons
        lesson = Lesson(spec.action, spec.error.error_class, spec.error.message)
        return (*self.lessons, lesson)[-MAX_LESSONS:]

    def _shown(self, spec: ResearchStepSpec) -> Mapping[str, frozenset[PassagePlace]]:
        extract = spec.extract
        if extract is None or extract.passages is None:
            return self.shown
        before = self.shown.get(extract.question_id, frozenset())
        return {**self.shown, extract.question_id: before | set(extract.passages)}

    def _named_fields(self, spec: ResearchStepSpec) -> tuple[str, ...]:
        if spec.ask is None or spec.decision.reason != PROPOSED:
            return self.named_fields
        return tuple(dict.fromkeys((*self.named_fields, *spec.ask.fields)))

    def _longest_answers(self, spec: ResearchStepSpec) -> Mapping[str, int]:
        call, reserved = spec.model_call, spec.reservation
        if call is None or reserved is None or call.is_usage_unknown:
            return self.longest_answers
        model = reserved.model
        longest = max(self.longest_answers.get(model, 0), call.completion_tokens)
        return {**self.longest_answers, model: longest}


def _is_planning_turn(spec: ResearchStepSpec) -> bool:
    if spec.action is not ActionName.PLAN or spec.outcome not in _SETTLED:
        return False
    return PlanArguments.model_validate_json(spec.arguments).is_planning_turn is True


def _given_up(spec: ResearchStepSpec) -> tuple[ActionName, str] | None:
    is_spent = spec.reservation is not None and spec.outcome in {Outcome.FAILED, Outcome.REJECTED}
    return (spec.action, spec.arguments) if is_spent else None
