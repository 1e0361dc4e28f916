"""What a model's answer is worth: typed content, or the class of its mistake. Pure.

Nothing that a model says is believed: quotes go through the verifier, sentences through the check
of statements, proposals through the table of what is legal. `length` always wins: what was cut off
is not used, even if it happens to parse (S2.13). A mistake is fed back and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from controller.api.errors import ModelMistakeError, PermanentError
from controller.api.model_call import CallFlag, ModelCall, ModelTerms
from controller.api.records import (
    ExtractRecord,
    Fact,
    FactStatus,
    PlanRecord,
    Query,
    Question,
    Statement,
)
from controller.evidence.queries import MAXIMUM_QUERY_LENGTH
from controller.evidence.support import Support, question_weights
from controller.evidence.verification import Candidate, verify_fact
from controller.loop import extractive
from controller.loop.exchange import ModelReply
from controller.loop.intents import PlanArguments, QuestionArguments
from controller.loop.passages import place_of
from controller.loop.prompts import named, portion, unshown
from controller.loop.recording import Found
from controller.loop.situation import Situation

MAX_QUERIES: Final = 12
"""How many queries of one answer are taken, and how many quotes."""


class _Content(BaseModel):
    """An answer that a schema was sent with; endpoints do not always keep to it."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


Content = TypeVar("Content", bound=_Content)


class _QueryItem(_Content):
    question: str
    query: str


class _Queries(_Content):
    queries: list[_QueryItem]


class _QuestionItem(_Content):
    question: str = Field(min_length=1)
    queries: list[str]


class _Questions(_Content):
    questions: list[_QuestionItem] = Field(min_length=1)


class _QuoteItem(_Content):
    passage: str
    quote: str


class _Quotes(_Content):
    quotes: list[_QuoteItem]


class _SentenceItem(_Content):
    sentence: str
    facts: list[str]


class _Sentences(_Content):
    sentences: list[_SentenceItem]


def check_complete(reply: ModelReply) -> None:
    """Check that a reply is a whole answer of the model's own.

    Raises:
        PermanentError: the model or a filter refused; that is never asked again verbatim.
        ModelMistakeError: it is cut off or empty.
    """
    if reply.refusal:
        raise PermanentError("Refused", f"the model refused: {_one_line(reply.refusal)}")
    if reply.finish_reason == "content_filter":
        raise PermanentError("ContentFiltered", "a content filter stopped the answer")
    if reply.finish_reason == "length":
        raise ModelMistakeError(
            "OutputTruncated", "the answer was cut off at the output cap; answer shorter"
        )
    if not reply.calls and not (reply.text or "").strip():
        raise ModelMistakeError("EmptyResponse", "the answer was empty")


def planned(situation: Situation, arguments: PlanArguments, reply: ModelReply) -> Found:
    """Return the questions and queries of an answer; the question's own words are always asked.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    if not arguments.question_ids:
        return _planned_topic(situation, reply)
    ids = frozenset(arguments.question_ids)
    written = _queries(_parsed(_Queries, reply).queries, ids)
    if arguments.is_planning_turn:
        return _plan_found((), written)
    own = extractive.plan(situation, arguments).plan
    assert own is not None
    return _plan_found(own.questions, (*own.queries, *written))


def refined(situation: Situation, arguments: QuestionArguments, reply: ModelReply) -> Found:
    """Return further queries for a question; those of the extractive policy are asked as well.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    known = {
        q.text
        for q in situation.assessment.findings.queries
        if q.question_id == arguments.question_id
    }
    written = _queries(_parsed(_Queries, reply).queries, frozenset({arguments.question_id}))
    own = extractive.refine(situation, arguments).plan
    assert own is not None
    added = (q for q in (*written, *own.queries) if q.text not in known)
    return _plan_found((), tuple(added))


def extracted(
    situation: Situation,
    arguments: QuestionArguments,
    reply: ModelReply,
    *,
    terms: ModelTerms,
    call: ModelCall,
) -> Found:
    """Offer the quotes of an answer to the verifier; keep its verdicts.

    Where the endpoint may have cut the prompt, nothing of the answer is accepted (E7).

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    proposed = _parsed(_Quotes, reply).quotes[:MAX_QUERIES]
    question = next(
        v.question for v in situation.assessment.questions if v.question.id == arguments.question_id
    )
    shown = portion(situation, question.id, terms)
    is_cut = CallFlag.SUSPECTED_TRUNCATION in call.flags
    facts = () if is_cut else _facts(situation, question, proposed, named(shown))
    verified = sum(fact.status is FactStatus.VERIFIED for fact in facts)
    cut = "; the endpoint counted far fewer tokens than were sent" if is_cut else ""
    return Found(
        summary=f"{verified} of {len(proposed)} quotes verified{cut}",
        extract=ExtractRecord(
            question_id=question.id,
            facts=facts,
            document_ids=tuple(dict.fromkeys(p.document_id for p in shown)),
            passages=tuple(place_of(p) for p in shown),
            remaining=unshown(situation, question.id, shown),
        ),
    )


def summarised(situation: Situation, reply: ModelReply) -> Found:
    """Return the sentences of a closing summary that their facts support; the rest is dropped.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    proposed = _parsed(_Sentences, reply).sentences[:16]
    findings = situation.assessment.findings
    names = {f"f{at}": fact for at, fact in enumerate(findings.verified(), start=1)}
    support = Support(findings, situation.task.spec.language)
    kept = tuple(
        statement
        for statement in (_sentence(item, names) for item in proposed)
        if statement is not None and support.is_supported(statement)
    )
    return Found(summary=f"{len(kept)} of {len(proposed)} sentences hold", closing_summary=kept)


def _planned_topic(situation: Situation, reply: ModelReply) -> Found:
    items = _parsed(_Questions, reply).questions[:5]
    questions = tuple(
        Question(id=f"question-{at}", text=_storable(item.question)[:500])
        for at, item in enumerate(items, start=1)
    )
    language = situation.task.spec.language
    own = tuple(extractive.first_query_of(question, language) for question in questions)
    written = tuple(
        Query(question_id=question.id, text=text)
        for question, item in zip(questions, items, strict=True)
        for query in item.queries[:3]
        if (text := _storable(query)[:MAXIMUM_QUERY_LENGTH])
    )
    return _plan_found(questions, (*own, *written))


def _plan_found(questions: tuple[Question, ...], queries: tuple[Query, ...]) -> Found:
    distinct = tuple(dict.fromkeys(queries))[:64]
    return Found(
        summary=f"{len(distinct)} queries",
        plan=PlanRecord(questions=questions, queries=distinct),
    )


def _queries(items: Iterable[_QueryItem], ids: frozenset[str]) -> tuple[Query, ...]:
    """Return the queries that are for the questions asked about; others are nobody's."""
    return tuple(
        Query(question_id=item.question, text=text)
        for item in list(items)[:MAX_QUERIES]
        if item.question in ids and (text := _storable(item.query)[:MAXIMUM_QUERY_LENGTH])
    )


def _facts(
    situation: Situation,
    question: Question,
    proposed: Iterable[_QuoteItem],
    passages: Mapping[str, Any],
) -> tuple[Fact, ...]:
    findings = situation.assessment.findings
    weights = question_weights(findings, question.id)
    language = situation.task.spec.language
    facts = (
        verify_fact(question, candidate, findings.evidence, weights, language)
        for candidate in _candidates(proposed, passages)
    )
    return tuple({fact.id: fact for fact in facts}.values())


def _candidates(proposed: Iterable[_QuoteItem], passages: Mapping[str, Any]) -> Iterator[Candidate]:
    for item in proposed:
        passage = passages.get(item.passage)
        wording = _storable(item.quote)
        if passage is None:  # a name that was never given: rejected as an unknown source
            yield Candidate(item.passage, wording)
        else:
            yield Candidate(passage.document_id, wording, passage.blocks[0].start)


def _sentence(item: _SentenceItem, facts: Mapping[str, Fact]) -> Statement | None:
    """Return a sentence as a statement; None: it names no fact, or one that does not exist."""
    cited = [facts.get(name) for name in dict.fromkeys(item.facts)]
    known = [fact for fact in cited if fact is not None]
    text = _storable(item.sentence)
    if not known or len(known) != len(cited) or not text:
        return None
    ids = tuple(fact.id for fact in known[:16])
    return Statement(question_id=known[0].question_id, text=text[:2000], fact_ids=ids)


def _parsed(content: type[Content], reply: ModelReply) -> Content:
    """Return an answer as what was asked for; a schema that was sent proves nothing (E9)."""
    try:
        return content.model_validate(json.loads(reply.text or ""))
    except (ValidationError, ValueError, RecursionError) as error:
        detail = _first_fault(error)
        raise ModelMistakeError("InvalidOutput", f"the answer is not as asked: {detail}") from error


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'answer'}: {first['msg']}"
    return f"no JSON: {error}"


def _storable(text: str) -> str:
    """Return a model's text as a record can hold it: no half characters, no zero bytes."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd").strip()


def _one_line(text: str) -> str:
    return " ".join(_storable(text).split())[:300]
