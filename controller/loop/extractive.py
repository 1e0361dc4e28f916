"""The extractive policy's pure actions: what a run does without a model and without the world.

It writes queries from the question's own words and takes the best windows of the recorded text as
quotes. It is deterministic to the byte: the same journal and task give the same records, which is
what lets a replay perform these actions again (docs/replay.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from controller.api.records import (
    ExtractRecord,
    Fact,
    FactStatus,
    PlanRecord,
    Query,
    Question,
)
from controller.api.step import ActionName
from controller.evidence.draft import template_draft
from controller.evidence.queries import first_query, passage_terms, plan_questions, refinements
from controller.evidence.support import question_weights
from controller.evidence.verification import Candidate, verify_fact
from controller.evidence.windows import Ranked, Window, best_windows
from controller.loop.assessment import concluded
from controller.loop.found import Found
from controller.loop.intents import (
    DraftArguments,
    Intent,
    PlanArguments,
    QuestionArguments,
    ReverifyArguments,
)
from controller.loop.passages import ranked_passages
from controller.loop.rounds import opening
from controller.loop.situation import Situation

QUOTES_PER_QUESTION: Final = 3
"""How many windows of all sources an `Extract` offers to the verifier."""

SCORE_SHARE_PERCENT: Final = 78
"""A window that scores less than this share of the best one is not offered: it would only follow
from the heading that it stands under. Chosen by eye on a dozen questions on Django."""


def plan(situation: Situation, arguments: PlanArguments) -> Found:
    """Write the questions, if the task has none, and the first query of each."""
    if arguments.question_ids:
        questions = tuple(_question(situation, i) for i in arguments.question_ids)
    else:
        questions = plan_questions(situation.task.spec.topic)
    queries = tuple(first_query_of(q, _language(situation)) for q in questions)
    return Found(
        summary=f"{len(queries)} queries for {len(questions)} questions",
        plan=PlanRecord(questions=questions, queries=queries),
    )


def first_query_of(question: Question, language: str) -> Query:
    """Return the first query of a question: its own words."""
    return Query(question_id=question.id, text=first_query(question.text, language))


def extract(situation: Situation, arguments: QuestionArguments) -> Found:
    """Offer the best windows of a question's evidence to the verifier; keep its verdicts."""
    question = _question(situation, arguments.question_id)
    weights = _weights(situation, question.id)
    ranked = tuple(_ranked(situation, question))
    windows = _windows(situation, question, ranked, weights)
    least = max((w.score for w in windows), default=0) * SCORE_SHARE_PERCENT // 100
    facts = tuple(
        verify_fact(
            question,
            Candidate(window.document_id, window.text, window.start),
            situation.assessment.findings.evidence,
            weights,
            _language(situation),
        )
        for window in windows
        if window.score >= least
    )
    documents = dict.fromkeys(passage.document_id for passage in ranked)
    verified = sum(fact.status is FactStatus.VERIFIED for fact in facts)
    return Found(
        summary=f"{verified} of {len(facts)} quotes verified",
        extract=ExtractRecord(
            question_id=question.id, facts=_distinct(facts), document_ids=tuple(documents)[:64]
        ),
    )


def _windows(
    situation: Situation, question: Question, ranked: Sequence[Ranked], weights: Mapping[str, int]
) -> tuple[Window, ...]:
    """Return the best windows of all sources, and the best one of each source beside them.

    What two sources say alike is passed over as a repetition. But that another source says the
    same corroborates an answer, and that it says something else contests it.
    """
    language = _language(situation)
    evidence = situation.assessment.findings.evidence
    sources = {e.document.id: e.document.source_name for e in evidence}
    by_source: dict[str, list[Ranked]] = {}
    for passage in ranked:
        by_source.setdefault(sources[passage.document_id], []).append(passage)
    offered = (
        *best_windows(question.text, ranked, weights, QUOTES_PER_QUESTION, language),
        *(
            w
            for r in by_source.values()
            for w in best_windows(question.text, r, weights, 1, language)
        ),
    )
    return tuple({(w.document_id, w.start, w.end): w for w in offered}.values())


def refine(situation: Situation, arguments: QuestionArguments) -> Found:
    """Write further queries for a question whose first ones brought no answer."""
    question = _question(situation, arguments.question_id)
    known = {q.text for q in situation.assessment.findings.queries if q.question_id == question.id}
    weights = _weights(situation, question.id)
    best = next((r.blocks for r in _ranked(situation, question)), ())
    added = passage_terms(question.text, best, weights, _language(situation))
    queries = tuple(
        Query(question_id=question.id, text=text)
        for text in refinements(question.text, weights, added, _language(situation))
        if text not in known
    )
    return Found(summary=f"{len(queries)} further queries", plan=PlanRecord(queries=queries))


def conclude(situation: Situation, arguments: QuestionArguments) -> Found:
    """Say what the records answer: found, not found with a certificate, or unresolved and why."""
    question = _question(situation, arguments.question_id)
    answer = concluded(situation.task.spec, situation.assessment.findings, question)
    reason = f" ({answer.reason})" if answer.reason else ""
    return Found(summary=f"{question.id} is {answer.state}{reason}", answer=answer)


def draft(situation: Situation) -> Found:
    """Make statements of the verified facts."""
    statements = template_draft(situation.assessment.findings, _language(situation))
    return Found(summary=f"{len(statements)} statements", statements=statements)


def open_round(situation: Situation) -> Found:
    """Carry over what the next round needs of those before it."""
    record = opening(situation)
    count = len(record.documents)
    return Found(
        summary=f"round {situation.state.round + 1}: {count} documents to be read again",
        opening=record,
    )


def performed(situation: Situation, intent: Intent) -> Found | None:
    """Return what a pure action finds in a situation; None: the action needs the world."""
    match intent.arguments:
        case PlanArguments() as arguments:
            return plan(situation, arguments)
        case QuestionArguments() as arguments:
            return _on_question(situation, intent.action, arguments)
        case DraftArguments():
            return draft(situation)
        case ReverifyArguments(document_id=None):
            return open_round(situation)
    return None


def _on_question(
    situation: Situation, action: ActionName, arguments: QuestionArguments
) -> Found | None:
    if action is ActionName.EXTRACT:
        return extract(situation, arguments)
    if action is ActionName.REFINE:
        return refine(situation, arguments)
    return conclude(situation, arguments) if action is ActionName.CONCLUDE else None


def _language(situation: Situation) -> str:
    return situation.task.spec.language


def _question(situation: Situation, question_id: str) -> Question:
    findings = situation.assessment.findings
    return next(q for q in findings.questions if q.id == question_id)


def _weights(situation: Situation, question_id: str) -> dict[str, int]:
    return question_weights(situation.assessment.findings, question_id)


def _ranked(situation: Situation, question: Question) -> Iterator[Ranked]:
    return ranked_passages(situation.assessment.findings, question.id)


def _distinct(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple({fact.id: fact for fact in facts}.values())
