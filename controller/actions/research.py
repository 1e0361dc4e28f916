"""Research: plan, search, read, extract, refine, conclude; without a model.

All but `Search` and `Read` only compute: the extractive policy that does it is part of the pure
loop, so that a replay can perform the same actions again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.actions.context import Context
from controller.api.errors import PermanentError
from controller.api.records import (
    Document,
    Evidence,
    Hit,
    RankedPlace,
    ReadRecord,
    SearchRecord,
    SearchStatus,
    Span,
)
from controller.api.step import MAX_EVIDENCE_BYTES
from controller.evidence.passages import Selection, recorded_size, select
from controller.evidence.terms import weighed_terms
from controller.loop import extractive
from controller.loop.found import Found
from controller.loop.intents import (
    PlanArguments,
    QuestionArguments,
    ReadArguments,
    SearchArguments,
)
from controller.loop.reading import BARS_ABSENCE, closed
from controller.loop.state import merged
from controller.loop.status import shortened
from controller.ports import Passage, SearchOutcome, Source

MAX_HITS: Final = 50
"""How many hits a search records, and passages a read, at most."""


async def plan(context: Context, arguments: PlanArguments) -> Found:
    """Write the questions, if the task has none, and the first query of each."""
    return extractive.plan(context.situation, arguments)


async def search(context: Context, arguments: SearchArguments) -> Found:
    """Put one query to one source; over a corpus the best passages are evidence at once."""
    question = context.question(arguments.question_id)
    source = _source(context, arguments.source_name)
    outcome = await source.search(
        arguments.query,
        limit=source.max_results,
        terms=weighed_terms(question.text, context.language),
    )
    evidence, dropped = _recorded(outcome.passages)
    record = SearchRecord(
        source_name=arguments.source_name,
        question_id=question.id,
        query=arguments.query,
        status=outcome.status,
        hits=(*_hits(outcome.passages), *outcome.hits)[:MAX_HITS],
        total=outcome.total,
        corpus_digest=outcome.corpus_digest,
        documents=outcome.documents,
        term_weights=outcome.term_weights,
        blocks_dropped=dropped,
        warnings=tuple(shortened(w, 1024) for w in outcome.warnings[:8]),
    )
    return Found(summary=_search_summary(outcome), search=record, evidence=evidence)


async def read(context: Context, arguments: ReadArguments) -> Found:
    """Read one hit; the passages that have most of the question's words are evidence.

    A document that cannot be read is closed for the round, and its source is asked on.

    Raises:
        ActionError: the source did not answer.
    """
    question = context.question(arguments.question_id)
    source = _source(context, arguments.source_name)
    try:
        document = await source.read(arguments.locator)
    except PermanentError as error:
        if error.error_class not in BARS_ABSENCE:
            raise
        return closed(arguments, error.error_class, str(error))
    if document.document is None:
        return closed(arguments, "DocumentMissing", f"{arguments.locator} is not there any more")
    chosen = select(
        question.text,
        document.blocks,
        passages=min(source.max_results, MAX_HITS),
        size=MAX_EVIDENCE_BYTES,
        language=context.language,
    )
    record = ReadRecord(
        source_name=arguments.source_name,
        question_id=question.id,
        locator=arguments.locator,
        document_id=document.document.id,
        passages=tuple(
            RankedPlace(start=p.blocks[0].start, end=p.blocks[-1].end, relevance=p.relevance)
            for p in chosen.passages
        ),
        blocks_dropped=chosen.blocks_dropped,
        absent_terms=chosen.absent_terms,
        bars_absence=document.partial is not None,
        message=shortened(document.partial or "", 1024),
    )
    return Found(
        summary=f"{len(chosen.passages)} passages of {document.document.title}",
        read=record,
        evidence=_selected(document.document, chosen),
    )


async def extract(context: Context, arguments: QuestionArguments) -> Found:
    """Offer the best windows of a question's evidence to the verifier; keep its verdicts."""
    return extractive.extract(context.situation, arguments)


async def refine(context: Context, arguments: QuestionArguments) -> Found:
    """Write further queries for a question whose first ones brought no answer."""
    return extractive.refine(context.situation, arguments)


async def conclude(context: Context, arguments: QuestionArguments) -> Found:
    """Say what the records answer: found, not found with a certificate, or unresolved and why."""
    return extractive.conclude(context.situation, arguments)


def _source(context: Context, source_name: str) -> Source:
    if source_name not in context.sources:
        raise PermanentError("SourceNotFound", f"the task refers to no source {source_name}")
    return context.sources[source_name]


def _selected(document: Document, chosen: Selection) -> tuple[Evidence, ...]:
    """Return the evidence of a document that was read; none, where nothing in it was chosen."""
    evidence: Evidence | None = None
    for passage in chosen.passages:
        evidence = merged(evidence, Evidence(document=document, blocks=passage.blocks))
    return () if evidence is None else (evidence,)


def _recorded(passages: Iterable[Passage]) -> tuple[tuple[Evidence, ...], int]:
    """Return the passages' blocks by document, best first, as far as 48 KiB go; and the rest."""
    chosen: dict[str, Evidence] = {}
    size = dropped = 0
    for passage in passages:
        cost = sum(map(recorded_size, passage.blocks))
        if size + cost > MAX_EVIDENCE_BYTES:
            dropped += len(passage.blocks)
            continue
        size += cost
        found = Evidence(document=passage.document, blocks=passage.blocks)
        chosen[passage.document.id] = merged(chosen.get(passage.document.id), found)
    return tuple(chosen.values()), dropped


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


def _search_summary(outcome: SearchOutcome) -> str:
    partial = "" if outcome.status is SearchStatus.COMPLETE else f" ({outcome.status})"
    if outcome.hits:
        return f"{len(outcome.hits)} hits{partial}"
    return (
        f"{len(outcome.passages)} of {outcome.total} passages in {outcome.documents} documents"
        f"{partial}"
    )
