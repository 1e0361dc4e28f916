"""Research: plan, search, extract, refine, conclude; without a model.

All but `Search` only compute: the extractive policy that does it is part of the pure loop, so
that a replay can perform the same actions again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.actions.context import Context
from controller.api.errors import PermanentError
from controller.api.records import (
    Block,
    Evidence,
    Hit,
    SearchRecord,
    SearchStatus,
    Span,
)
from controller.api.step import MAX_EVIDENCE_BYTES
from controller.evidence.terms import weighed_terms
from controller.loop import extractive
from controller.loop.found import Found
from controller.loop.intents import PlanArguments, QuestionArguments, SearchArguments
from controller.loop.state import merged
from controller.loop.status import shortened
from controller.ports import Passage, SearchOutcome


async def plan(context: Context, arguments: PlanArguments) -> Found:
    """Write the questions, if the task has none, and the first query of each."""
    return extractive.plan(context.situation, arguments)


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
    return extractive.extract(context.situation, arguments)


async def refine(context: Context, arguments: QuestionArguments) -> Found:
    """Write further queries for a question whose first ones brought no answer."""
    return extractive.refine(context.situation, arguments)


async def conclude(context: Context, arguments: QuestionArguments) -> Found:
    """Say what the records answer: found, not found with a certificate, or unresolved and why."""
    return extractive.conclude(context.situation, arguments)


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


def _search_summary(outcome: SearchOutcome) -> str:
    partial = "" if outcome.status is SearchStatus.COMPLETE else f" ({outcome.status})"
    return (
        f"{len(outcome.passages)} of {outcome.total} passages in {outcome.documents} documents"
        f"{partial}"
    )
