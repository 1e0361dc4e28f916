"""Which model, if any, has a part in the next action, and the choice of that action.

A model changes hands for planning, queries, quotes, the choice among legal actions and the closing
summary. All else is code. The reservation in an intent says that a model carries it out; without
one the extractive policy does the same action.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from controller.api.model_call import ModelTerms
from controller.api.step import ActionName, StepDecision, Verdict
from controller.api.task import DecisionPolicy, OnModelFailure
from controller.loop.accounting import reservation
from controller.loop.assessment import Need
from controller.loop.breakers import model_set_aside
from controller.loop.exchange import ModelRequest
from controller.loop.intents import (
    Intent,
    PlanArguments,
    ProposeArguments,
    parse_arguments,
)
from controller.loop.policy import next_intent
from controller.loop.prompts import request_of
from controller.loop.proposals import (
    intent_of_proposal,
    is_still_legal,
    legal_actions,
    propose_request,
)
from controller.loop.situation import Situation, remembered

MODEL_ACTIONS: Final = frozenset(
    {
        ActionName.PLAN,
        ActionName.REFINE,
        ActionName.EXTRACT,
        ActionName.PROPOSE,
        ActionName.SUMMARIZE,
    }
)
"""The actions that a model carries out where the task has one."""

MODEL_ONLY: Final = frozenset({ActionName.PROPOSE, ActionName.SUMMARIZE})
"""Those that there are for a model alone: without one they are not decided."""


_PROPOSE: Final = Intent(
    ActionName.PROPOSE,
    ProposeArguments(),
    StepDecision(verdict=Verdict.CONTINUE, reason="ProposalNeeded"),
)


@remembered
def active_terms(situation: Situation) -> ModelTerms | None:
    """Return the model in use: the first one, the fallback after the switch, or none."""
    is_set_aside = model_set_aside(situation.task.spec, situation.state) is not None
    if not situation.models or is_set_aside:
        return None
    return situation.models[-1 if situation.state.model.is_degraded else 0]


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
    if situation.assessment.to_reverify or active_terms(situation) is None:
        return None
    if not interval or since < interval or not ids:
        return None
    decision = StepDecision(verdict=Verdict.CONTINUE, reason="PlanningInterval")
    arguments = PlanArguments(question_ids=ids, is_planning_turn=True)
    return with_model(situation, Intent(ActionName.PLAN, arguments, decision))


def upcoming(situation: Situation) -> Intent | None:
    """Return what would be done now: the planning turn that is due, else the next action."""
    return planning_turn(situation) or chosen(situation)


def with_model(situation: Situation, intent: Intent) -> Intent:
    """Return the intent with the worst case of its call, if a model carries it out."""
    terms = active_terms(situation)
    if terms is None or intent.action not in MODEL_ACTIONS or _is_taken_over(situation, intent):
        return intent
    longest = situation.state.model.longest_answers.get(terms.name, 0)
    request = request_for(situation, intent, terms)
    return replace(intent, reservation=reservation(terms, request, longest))


def request_for(situation: Situation, intent: Intent, terms: ModelTerms) -> ModelRequest:
    """Return what the model is asked for an action: the same bytes whenever it is made."""
    if intent.action is ActionName.PROPOSE:
        return propose_request(situation, terms.max_output_tokens)
    return request_of(situation, intent.action, intent.arguments, terms)


def _proposes(situation: Situation) -> bool:
    if situation.task.spec.decision_policy is not DecisionPolicy.MODEL_PROPOSED:
        return False
    return active_terms(situation) is not None and not _is_taken_over(situation, _PROPOSE)


def _is_taken_over(situation: Situation, intent: Intent) -> bool:
    """Say whether the extractive policy does what the model has just failed at for good."""
    takes_over = situation.task.spec.on_model_failure is OnModelFailure.EXTRACTIVE
    given_up = situation.state.model.given_up
    return takes_over and given_up == (intent.action, intent.arguments_json)
