"""What a report says of questions without an answer: why there is none, and what may bring one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.api.records import AnswerReason, QuestionState
from controller.evidence.findings import Findings, standing
from controller.evidence.report_format import MissingAnswer

GO_ON: Final = "Add a source that covers it, or reword the question."
"""What may bring an answer that the sources do not have."""

_WHY_MISSING: Final[dict[AnswerReason, tuple[str, str]]] = {
    AnswerReason.CONTESTED: ("The sources disagree.", "Read what each of them says."),
    AnswerReason.SEARCH_FAILED: (
        "A search failed, so nothing can be said of what that source holds.",
        "Mend the source, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    AnswerReason.HITS_UNREAD: (
        "Passages that a search found were not read.",
        "Ask a narrower question, or raise spec.budgets.maxSteps.",
    ),
    AnswerReason.SOURCE_PARTIAL: (
        "A source answered in part only, so an absence cannot be proven.",
        "Mend what the source's status names, or add another source.",
    ),
    AnswerReason.TOO_FEW_QUERIES: (
        "Too few different queries were asked of the newest state of a source to prove an absence.",
        "Reword the question, so that it gives more terms to search for.",
    ),
    AnswerReason.TOO_FEW_ORIGINS: (
        "What was verified comes from fewer distinct origins than spec.goal.minOrigins.",
        "Add a source of another origin, or lower spec.goal.minOrigins.",
    ),
    AnswerReason.LOW_CONFIDENCE: (
        "Its words occur in the sources, but no passage answers it for certain.",
        "Reword the question in the words of the sources, or add a source that covers it.",
    ),
    AnswerReason.VETOED: (
        "What passed every predicate was taken away by a soft check.",
        "Read the vetoed facts in the journal, or add a source that covers it.",
    ),
    AnswerReason.STEP_LIMIT: (
        "The steps for one question are used up.",
        "Raise spec.budgets.maxStepsPerQuestion.",
    ),
    AnswerReason.RUN_ENDED: ("The run ended before it was concluded.", ""),
}

_NOT_FOUND: Final = "The sources were searched and do not say it."


def missing_answers(findings: Findings, remedy: str) -> Iterator[MissingAnswer]:
    """Yield the questions that are not answered; `remedy` is that of the run's ending."""
    for question in findings.questions:
        state, reason = standing(findings, question)
        if state is QuestionState.ANSWERED:
            continue
        why, what_to_do = (
            (_NOT_FOUND, GO_ON)
            if state is QuestionState.NOT_FOUND
            else _WHY_MISSING[reason or AnswerReason.RUN_ENDED]
        )
        yield MissingAnswer(question_id=question.id, why=why, what_to_do=what_to_do or remedy)
