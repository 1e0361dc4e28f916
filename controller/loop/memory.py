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
from controller.loop.capacity import Shown
from controller.loop.intents import PlanArguments

MAX_LESSONS: Final = 5
"""How many failures the next prompt tells of: the newest."""

MAX_ANSWER: Final = 400
"""How much of a refused answer the next prompt shows, in characters."""

PROPOSED: Final = "Proposed"
"""The reason of a step that carries out what a model proposed."""

_SETTLED: Final = frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.REJECTED})
"""The outcomes after which an action is not tried again as it is."""


@dataclass(frozen=True)
class Lesson:
    """A failure of the model that a prompt tells of: what was tried, answered, and was wrong."""

    action: ActionName
    error_class: str
    message: str
    answer: str | None = None


@dataclass(frozen=True)
class Memory:
    """What the loop remembers of the model's part in a round.

    `planned_at` is the number of steps at the last planning turn. `given_up` is the action and its
    arguments that the model failed at for good: where the extractive policy takes over, it does
    that step. `calls_shown` is what each model's calls have shown of its size. `named_fields` are
    what the model has asked the user for. `reviewed` are the facts that a soft check has looked at,
    `unreviewed` the questions at which it failed for good.
    """

    proposal: ProposalRecord | None = None
    planned_at: int = 0
    is_degraded: bool = False
    given_up: tuple[ActionName, str] | None = None
    lessons: tuple[Lesson, ...] = ()
    shown: Mapping[str, frozenset[PassagePlace]] = field(default_factory=dict)
    calls_shown: Mapping[str, Shown] = field(default_factory=dict)
    closing_summary: tuple[Statement, ...] | None = None
    is_summed_up: bool = False
    named_fields: tuple[str, ...] = ()
    reviewed: frozenset[str] = frozenset()
    unreviewed: frozenset[str] = frozenset()

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
            calls_shown=self._calls_shown(spec),
            named_fields=self._named_fields(spec),
            is_summed_up=self.is_summed_up or spec.action is ActionName.SUMMARIZE,
            closing_summary=spec.closing_summary or self.closing_summary,
            reviewed=self.reviewed | set(spec.review.fact_ids if spec.review else ()),
            unreviewed=self.unreviewed | _review_given_up(spec),
        )

    def without_questions(self, ids: Iterable[str]) -> Memory:
        """Forget what was shown for questions that are other questions now."""
        gone = set(ids)
        return replace(self, shown={i: p for i, p in self.shown.items() if i not in gone})

    def _proposal(self, spec: ResearchStepSpec) -> ProposalRecord | None:
        if spec.proposal is not None:
            return spec.proposal
        is_between = spec.outcome not in _SETTLED or spec.action is ActionName.REVIEW
        return self.proposal if is_between else None

    def _lessons(self, spec: ResearchStepSpec) -> tuple[Lesson, ...]:
        if spec.model_call is None or spec.error is None:
            return self.lessons
        answer = (spec.model_call.answer or "")[:MAX_ANSWER] or None
        lesson = Lesson(spec.action, spec.error.error_class, spec.error.message, answer)
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

    def _calls_shown(self, spec: ResearchStepSpec) -> Mapping[str, Shown]:
        call, reserved = spec.model_call, spec.reservation
        if call is None or reserved is None or call.is_usage_unknown:
            return self.calls_shown
        before = self.calls_shown.get(reserved.model, Shown())
        return {**self.calls_shown, reserved.model: before.after(call)}


def _is_planning_turn(spec: ResearchStepSpec) -> bool:
    if spec.action is not ActionName.PLAN or spec.outcome not in _SETTLED:
        return False
    return PlanArguments.model_validate_json(spec.arguments).is_planning_turn is True


def _review_given_up(spec: ResearchStepSpec) -> frozenset[str]:
    is_spent = spec.action is ActionName.REVIEW and spec.outcome is Outcome.FAILED
    return frozenset({spec.question_id}) if is_spent and spec.question_id else frozenset()


def _given_up(spec: ResearchStepSpec) -> tuple[ActionName, str] | None:
    is_spent = spec.reservation is not None and spec.outcome in {Outcome.FAILED, Outcome.REJECTED}
    return (spec.action, spec.arguments) if is_spent else None
