"""When a soft check is due: before a question with claims in a model's words is concluded.

It is skipped where a call does not fit what is left, and not tried again where it has failed for
good: a hard check never is (S3.5, S4.25).
"""

from __future__ import annotations

from controller.api.step import ActionName, StepDecision, Verdict
from controller.loop.allowance import is_affordable
from controller.loop.exchanges.review import claims_to_review
from controller.loop.intents import Intent, QuestionArguments
from controller.loop.model_policy import chosen, model_in_use, planning_turn, with_model
from controller.loop.situation import Situation, remembered


def upcoming(situation: Situation) -> Intent | None:
    """Return what would be done now: a planning turn or soft check that is due, else the next."""
    return planning_turn(situation) or review_due(situation) or chosen(situation)


@remembered
def review_due(situation: Situation) -> Intent | None:
    """Return the soft check of the question that would be concluded now; None: there is none."""
    following = chosen(situation)
    question_id = following.question_id if following else None
    if following is None or question_id is None or following.action is not ActionName.CONCLUDE:
        return None
    if model_in_use(situation) is None or question_id in situation.state.model.unreviewed:
        return None
    if not claims_to_review(situation, question_id):
        return None
    decision = StepDecision(verdict=Verdict.CONTINUE, reason="ClaimsNotReviewed")
    arguments = QuestionArguments(question_id=question_id)
    intent = with_model(situation, Intent(ActionName.REVIEW, arguments, decision))
    is_possible = intent.reservation is not None and is_affordable(situation, intent)
    return intent if is_possible else None
