"""Which model, if any, has a part in the next action, and the choice of that action.

A model changes hands for planning, queries, quotes, the choice among legal actions and the closing
summary. All else is code. The reservation in an intent says that a model carries it out; without
one the extractive policy does the same action.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.api.step import ActionName, StepDecision, Verdict
from controller.api.task import DecisionPolicy, OnModelFailure
from controller.loop.assessment import Need
from controller.loop.breakers import model_set_aside
from controller.loop.capacity import Capacity, Shown
from controller.loop.exchanges import MODEL_ACTIONS, request_for
from controller.loop.exchanges.propose import intent_of_proposal, is_still_legal, legal_actions
from controller.loop.intents import (
    Intent,
    PlanArguments,
    ProposeArguments,
    parse_arguments,
)
from controller.loop.policy import next_intent
from controller.loop.situation import Situation, remembered

_PROPOSE: Final = Intent(
    ActionName.PROPOSE,
    ProposeArguments(),
    StepDecision(verdict=Verdict.CONTINUE, reason="ProposalNeeded"),
)


@remembered
def model_in_use(situation: Situation) -> Capacity | None:
    """Return the model in use: the first one, the fallback after the switch, or none."""
    is_set_aside = model_set_aside(situation.task.spec, situation.state) is not None
    if not situation.models or is_set_aside:
        return None
    name = situation.models[-1 if situation.state.model.is_degraded else 0].name
    return capacity_of(situation, name)


def capacity_of(situation: Situation, name: str) -> Capacity | None:
    """Return a model of the task by its name, with what its calls have shown; None: no such."""
    shown = situation.state.model.calls_shown.get(name, Shown())
    return next((Capacity(t, shown) for t in situation.models if t.name == name), None)


@remembered
def chosen(situation: Situation) -> Intent | None:
    """Return the next action: the model's choice under `ModelProposed`, else the directed one.

    What a round carries over is verified again first, whoever picks the rest.
    """
    if situation.assessment.to_reverify or not _proposes(situation):
        directed = next_intent(situation.assessment)
        return with_model(situation, directed) if directed else None
    proposal = situation.state.model.proposal
    intent = intent_of_proposal(proposal, parse_arguments) if proposal else None
    if intent is not None and is_still_legal(situation, intent):
        return with_model(situation, intent)
    if not legal_actions(situation):
        return None
    return with_model(situation, _PROPOSE)


@remembered
def planning_turn(situation: Situation) -> Intent | None:
    """Return the planning turn that is due: each `planningInterval` steps, with a model alone."""
    interval = situation.task.spec.progress_policy.planning_interval
    since = situation.state.usage.steps - situation.state.model.planned_at
    views = situation.assessment.questions
    ids = tuple(v.question.id for v in views if v.is_workable and v.need is not Need.CONCLUDE)
    if situation.assessment.to_reverify or model_in_use(situation) is None:
        return None
    if not interval or since < interval or not ids or situation.state.retry is not None:
        return None  # an attempt that is to be repeated comes first
    decision = StepDecision(verdict=Verdict.CONTINUE, reason="PlanningInterval")
    arguments = PlanArguments(question_ids=ids, is_planning_turn=True)
    return with_model(situation, Intent(ActionName.PLAN, arguments, decision))


def with_model(situation: Situation, intent: Intent) -> Intent:
    """Return the intent with the worst case of its call, if a model carries it out."""
    capacity = model_in_use(situation)
    if capacity is None or intent.action not in MODEL_ACTIONS or _is_taken_over(situation, intent):
        return intent
    request = request_for(situation, intent, capacity)
    return replace(intent, reservation=capacity.reservation(request))


def _proposes(situation: Situation) -> bool:
    if situation.task.spec.decision_policy is not DecisionPolicy.MODEL_PROPOSED:
        return False
    return model_in_use(situation) is not None and not _is_taken_over(situation, _PROPOSE)


def _is_taken_over(situation: Situation, intent: Intent) -> bool:
    """Say whether the extractive policy does what the model has just failed at for good."""
    takes_over = (
        situation.task.spec.on_model_failure is OnModelFailure.EXTRACTIVE
        or intent.action is ActionName.DRAFT  # what is verified is published in any case
    )
    given_up = situation.state.model.given_up
    return takes_over and given_up == (intent.action, intent.arguments_json)
