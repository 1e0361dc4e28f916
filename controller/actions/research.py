"""Research without a model: plan, search, extract, refine, conclude; without a model.

The extractive policy writes queries from the question's own words and takes the best windows of
the text as quotes. It is deterministic to the byte: the same corpus and task give the same facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.actions.context import Context
from controller.api.errors import PermanentError
from controller.api.records import (
    Block,
    Evidence,
    ExtractRecord,
    Fact,
    FactStatus,
    Hit,
    PlanRecord,
    Query,
    Question,
    SearchRecord,
    SearchStatus,
    Span,
)
from controller.api.step import MAX_EVIDENCE_BYTES
from controller.evidence.queries import (
    first_query,
    passage_terms,
    plan_questions,
    refinements,
)
from controller.evidence.terms import weighed_terms
from controller.evidence.verification import Candidate, verify_fact
from controller.evidence.windows import Ranked, best_windows
from controller.loop.assessment import concluded
from controller.loop.intents import PlanArguments, QuestionArguments, SearchArguments
from controller.loop.recording import Found
from controller.loop.state import merged
from controller.loop.status import shortened
from controller.ports import Passage, SearchOutcome

QUOTES_PER_QUESTION: Final = 3
"""How many windows an `Extract` offers to the verifier."""

SCORE_SHARE_PERCENT: Final = 78
"""A window that scores less than this share of the best one is not offered: it would only follow
from the heading that it stands under. Chosen by eye on a dozen questions on Django."""


async def plan(context: Context, arguments: PlanArguments) -> Found:
    """Write the questions, if the task has none, and the first query of each."""
    if arguments.question_ids:
        questions = tuple(context.question(i) for i in arguments.question_ids)
    else:
        questions = plan_questions(context.situation.task.spec.topic)
    queries = tuple(
        Query(question_id=q.id, text=first_query(q.text, context.language)) for q in questions
    )
    return Found(
        summary=f"{len(queries)} queries for {len(questions)} questions",
        plan=PlanRecord(questions=questions, queries=queries),
    )


async def search(context: Context, arguments: SearchArguments) -> Found:
    """Put one query to one source; over a corpus the best passages are evidence at once."""
    question = context.question(arguments.question_id)
    outcome = await context.sources[arguments.source_name].search(
        arguments.query,
        limit=_limit(context, arguments.source_name),
        terms=weighed_terms(question.text, context.language),
    )
    evidence, dropped = _recorded(outcome.passages)
    record = SearchRecord(
        source_name=arguments.source_name,
        question_id=question.id,
        query=arguments.query,
        status=outcome.status,
        hits=tuple(_hits(outcome.passages)),
        total=outcome.total,
        corpus_digest=outcome.corpus_digest,
        documents=outcome.documents,
        term_weights=outcome.term_weights,
        blocks_dropped=dropped,
        warnings=tuple(shortened(w, 1024) for w in outcome.warnings[:8]),
    )
    return Found(summary=_search_summary(outcome), search=record, evidence=evidence)


async def extract(context: Context, arguments: QuestionArguments) -> Found:
    """Offer the best windows of a question's evidence to the verifier; keep its verdicts."""
    question = context.question(arguments.question_id)
    weights = context.weights(question.id)
    ranked = tuple(_ranked(context, question))
    windows = best_windows(question.text, ranked, weights, QUOTES_PER_QUESTION, context.language)
    least = max((w.score for w in windows), default=0) * SCORE_SHARE_PERCENT // 100
    facts = tuple(
        verify_fact(
            question,
            Candidate(window.document_id, window.text, window.start),
            context.findings.evidence,
            weights,
            context.language,
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


async def refine(context: Context, arguments: QuestionArguments) -> Found:
    """Write further queries for a question whose first ones brought no answer."""
    question = context.question(arguments.question_id)
    known = {q.text for q in context.findings.queries if q.question_id == question.id}
    weights = context.weights(question.id)
    best = next((r.blocks for r in _ranked(context, question)), ())
    added = passage_terms(question.text, best, weights, context.language)
    queries = tuple(
        Query(question_id=question.id, text=text)
        for text in refinements(question.text, weights, added, context.language)
        if text not in known
    )
    return Found(summary=f"{len(queries)} further queries", plan=PlanRecord(queries=queries))


async def conclude(context: Context, arguments: QuestionArguments) -> Found:
    """Say what the records answer: found, not found with a certificate, or unresolved and why."""
    question = context.question(arguments.question_id)
    answer = concluded(context.situation.task.spec, context.findings, question)
    reason = f" ({answer.reason})" if answer.reason else ""
    return Found(summary=f"{question.id} is {answer.state}{reason}", answer=answer)


def _limit(context: Context, source_name: str) -> int:
    if source_name not in context.sources:
        raise PermanentError("SourceNotFound", f"the task refers to no source {source_name}")
    return context.sources[source_name].max_results


def _recorded(passages: Iterable[Passage]) -> tuple[tuple[Evidence, ...], int]:
    """Return the passages' blocks by document, best first, as far as 48 KiB go; and the rest."""
    chosen: dict[str, Evidence] = {}
    size = dropped = 0
    for passage in passages:
        cost = sum(_size(block) for block in passage.blocks)
        if size + cost > MAX_EVIDENCE_BYTES:
            dropped += len(passage.blocks)
            continue
        size += cost
        found = Evidence(document=passage.document, blocks=passage.blocks)
        chosen[passage.document.id] = merged(chosen.get(passage.document.id), found)
    return tuple(chosen.values()), dropped


def _size(block: Block) -> int:
    return len(block.text.encode()) + sum(len(h.encode()) for h in block.heading_path)


def _hits(passages: Iterable[Passage]) -> Iterator[Hit]:
    for rank, passage in enumerate(passages):
        first, last = passage.blocks[0], passage.blocks[-1]
        yield Hit(
            locator=passage.document.locator,
            title=shortened(passage.document.title, 500),
            rank=rank,
            relevance=passage.relevance,
            document_id=passage.document.id,
            span=Span(start=first.start, end=last.end),
        )


def _ranked(context: Context, question: Question) -> Iterator[Ranked]:
    """Yield the recorded passages of a question's searches, the best of each search first."""
    blocks = {e.document.id: e.blocks for e in context.findings.evidence}
    seen: set[tuple[str, int, int]] = set()
    for record in context.findings.searches:
        if record.question_id != question.id:
            continue
        for hit in record.hits:
            if hit.document_id is None or hit.span is None:
                continue
            key = (hit.document_id, hit.span.start, hit.span.end)
            inside = tuple(
                b
                for b in blocks.get(hit.document_id, ())
                if hit.span.start <= b.start and b.end <= hit.span.end
            )
            if inside and key not in seen:
                seen.add(key)
                yield Ranked(hit.document_id, inside, hit.relevance)


def _distinct(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple({fact.id: fact for fact in facts}.values())


def _search_summary(outcome: SearchOutcome) -> str:
    partial = "" if outcome.status is SearchStatus.COMPLETE else f" ({outcome.status})"
    return (
        f"{len(outcome.passages)} of {outcome.total} passages in {outcome.documents} documents"
        f"{partial}"
    )
