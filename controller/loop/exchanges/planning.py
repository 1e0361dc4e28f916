"""`Plan` and `Refine` by a model: queries, and from a topic alone the questions as well.

A model adds queries, and never replaces the question's own words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller.api.errors import ModelMistakeError
from controller.api.records import PlanRecord, Query, Question
from controller.api.step import ActionName
from controller.evidence.queries import MAXIMUM_QUERY_LENGTH
from controller.loop import extractive
from controller.loop.answers import MAX_QUERIES, Queries, Questions, WrittenQuery
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges.framing import asking, question_lines
from controller.loop.exchanges.parsing import Answered, names_address, parsed, storable
from controller.loop.found import Found
from controller.loop.intents import PlanArguments, QuestionArguments
from controller.loop.situation import Situation
from controller.prompts import PLAN, PLAN_TOPIC, PLANNING_TURN, REFINE

MAX_QUERIES_TOLD: Final = 12
"""How many queries of a question `Refine` is told of: the newest."""


def plan_request(
    situation: Situation, arguments: PlanArguments, capacity: Capacity
) -> ModelRequest:
    """Ask for queries for questions, or for questions and queries on the topic."""
    ids = arguments.question_ids
    if not ids:
        return asking(situation, capacity, ActionName.PLAN, PLAN_TOPIC, {}, answer=Questions)
    template = PLANNING_TURN if arguments.is_planning_turn else PLAN
    values = {"questions": question_lines(situation, ids)}
    return asking(
        situation,
        capacity,
        ActionName.PLAN,
        template,
        values,
        answer=Queries,
        names={"question": ids},
    )


def refine_request(
    situation: Situation, arguments: QuestionArguments, capacity: Capacity
) -> ModelRequest:
    """Ask for further queries for a question that the first ones did not answer."""
    known = _known_queries(situation, arguments)
    values = {
        "questions": question_lines(situation, (arguments.question_id,)),
        "queries": "; ".join(list(known)[-MAX_QUERIES_TOLD:]),
    }
    names = {"question": (arguments.question_id,)}
    return asking(
        situation, capacity, ActionName.REFINE, REFINE, values, answer=Queries, names=names
    )


def planned(situation: Situation, arguments: PlanArguments, answered: Answered) -> Found:
    """Return the questions and queries of an answer; the question's own words are always asked.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    if not arguments.question_ids:
        return _planned_topic(situation, answered)
    written = _queries(parsed(Queries, answered.reply).queries, frozenset(arguments.question_ids))
    if arguments.is_planning_turn:
        return _plan_found((), written)
    own = extractive.plan(situation, arguments).plan
    assert own is not None
    return _plan_found(own.questions, (*own.queries, *written))


def refined(situation: Situation, arguments: QuestionArguments, answered: Answered) -> Found:
    """Return further queries for a question; those of the extractive policy are asked as well.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    known = _known_queries(situation, arguments)
    written = _queries(parsed(Queries, answered.reply).queries, frozenset({arguments.question_id}))
    own = extractive.refine(situation, arguments).plan
    assert own is not None
    return _plan_found((), tuple(q for q in (*written, *own.queries) if q.text not in known))


def _planned_topic(situation: Situation, answered: Answered) -> Found:
    written_down = parsed(Questions, answered.reply).questions
    items = [i for i in written_down if _is_usable(storable(i.question))][:5]
    if not items:
        raise ModelMistakeError("InvalidOutput", "the answer is not as asked: no question in it")
    questions = tuple(
        Question(id=f"question-{at}", text=storable(item.question)[:500])
        for at, item in enumerate(items, start=1)
    )
    language = situation.task.spec.language
    own = tuple(extractive.first_query_of(question, language) for question in questions)
    written = tuple(
        Query(question_id=question.id, text=text)
        for question, item in zip(questions, items, strict=True)
        for query in item.queries[:3]
        if _is_usable(text := storable(query)[:MAXIMUM_QUERY_LENGTH])
    )
    return _plan_found(questions, (*own, *written))


def _known_queries(situation: Situation, arguments: QuestionArguments) -> dict[str, None]:
    queries = situation.assessment.findings.queries
    return dict.fromkeys(q.text for q in queries if q.question_id == arguments.question_id)


def _plan_found(questions: tuple[Question, ...], queries: tuple[Query, ...]) -> Found:
    distinct = tuple(dict.fromkeys(queries))[:64]
    return Found(
        summary=f"{len(distinct)} queries",
        plan=PlanRecord(questions=questions, queries=distinct),
    )


def _queries(items: Iterable[WrittenQuery], ids: frozenset[str]) -> tuple[Query, ...]:
    """Return the queries that are for the questions asked about; others are nobody's."""
    return tuple(
        Query(question_id=item.question, text=text)
        for item in list(items)[:MAX_QUERIES]
        if item.question in ids and _is_usable(text := storable(item.query)[:MAXIMUM_QUERY_LENGTH])
    )


def _is_usable(text: str) -> bool:
    """Say whether a question or query is words to look for."""
    return bool(text) and not names_address(text)
