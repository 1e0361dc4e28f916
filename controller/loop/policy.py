"""The directed policy: which legal action comes next. Questions are worked on one by one.

In a later round, carried facts are verified again first. Legal, in this order, each once its need
is there: `Plan`, `Search`, `Read`, `Extract`, `Conclude`, `Refine`. The next question is chosen
from the assessment, never from process memory, so that a fresh process chooses the same
(requirement S0.5).
"""

from __future__ import annotations

from controller.api.rounds import CarriedDocument
from controller.api.step import ActionName, StepDecision, Verdict
from controller.loop.assessment import Assessment, Need, QuestionView
from controller.loop.intents import (
    Arguments,
    Intent,
    PlanArguments,
    QuestionArguments,
    ReadArguments,
    ReverifyArguments,
    SearchArguments,
)

_REASONS = {
    Need.PLAN: "QueriesNeeded",
    Need.SEARCH: "QueryNotSearched",
    Need.READ: "HitNotRead",
    Need.EXTRACT: "EvidenceNotUsed",
    Need.CONCLUDE: "QuestionReady",
    Need.REFINE: "NoQueryLeft",
}


def next_intent(assessment: Assessment) -> Intent | None:
    """Return the next action, None where nothing legal is left.

    Carried facts are checked before anything else is done in a round.
    """
    if assessment.to_reverify:
        return _reverify(assessment.round, assessment.to_reverify[0])
    workable = [view for view in assessment.questions if view.is_workable]
    if not assessment.questions:
        return _intent(Need.PLAN, PlanArguments())
    if unplanned := [v.question.id for v in workable if v.need is Need.PLAN]:
        return _intent(Need.PLAN, PlanArguments(question_ids=tuple(unplanned)))
    return _inner(workable[0]) if workable else None


def _reverify(number: int, document: CarriedDocument) -> Intent:
    arguments = ReverifyArguments(
        round=number, document_id=document.id, source_name=document.source_name
    )
    decision = StepDecision(verdict=Verdict.CONTINUE, reason="FactsCarried")
    return Intent(ActionName.REVERIFY, arguments, decision)


def _inner(view: QuestionView) -> Intent:
    """Return the next action on one question: the inner loop."""
    question_id = view.question.id
    if view.need is Need.SEARCH:
        query, source_name = view.unsearched[0]
        return _intent(
            Need.SEARCH,
            SearchArguments(question_id=question_id, source_name=source_name, query=query.text),
        )
    if view.need is Need.READ:
        hit = view.unread[0]
        return _intent(
            Need.READ,
            ReadArguments(
                question_id=question_id, source_name=hit.source_name, locator=hit.locator
            ),
        )
    return _intent(view.need, QuestionArguments(question_id=question_id))


def _intent(need: Need, arguments: Arguments) -> Intent:
    decision = StepDecision(verdict=Verdict.CONTINUE, reason=_REASONS[need])
    return Intent(ActionName(need.value), arguments, decision)
