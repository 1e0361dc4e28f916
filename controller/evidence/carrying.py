"""Facts over rounds: each is located again in its document as it is now, and verified again.

A carried fact is never trusted. Its quote is searched for in the text that was read again, the
citation is made anew from the blocks that are recorded, and the verifier judges it as it judges
any other fact. What does not hold any more is dropped, with the reason (docs/rounds.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from controller.api.records import (
    MAX_EVIDENCE_BLOCKS,
    Block,
    Citation,
    Document,
    Evidence,
    Fact,
    FactKind,
    MatchTier,
    RejectReason,
    TermWeight,
)
from controller.api.rounds import DroppedFact, QuestionWeights, Rereading, ReverifyRecord
from controller.api.step import MAX_EVIDENCE_BYTES
from controller.evidence.provenance import fact_id
from controller.evidence.quotes import (
    CONTEXT_LENGTH,
    Stretch,
    cite,
    locate_in,
    recorded_blocks,
    stretch_around,
    stretches_of,
    tiers_of,
)
from controller.evidence.verification import verify_again, weights_by_term

MAX_CARRIED: Final = 128
"""How many facts of one document a round carries at most: as many as its record holds."""

MAX_DROPPED: Final = 256
"""How many facts of one document are named that do not hold any more."""

_NO_ROOM: Final = "there is no room to carry it, so it is researched again"


@dataclass(frozen=True)
class FormerFacts:
    """The verified facts of the round before that are not checked yet, with all they rest on.

    `evidence` is by document, `questions` has the texts of the task's questions and `weights`
    the recorded term weights, both by question.
    """

    facts: tuple[Fact, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    questions: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, tuple[TermWeight, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Carried:
    """What a step records of a document that was read again."""

    evidence: tuple[Evidence, ...] = ()
    facts: tuple[Fact, ...] = ()
    dropped: tuple[DroppedFact, ...] = ()
    weights: tuple[QuestionWeights, ...] = ()


@dataclass(frozen=True)
class DocumentNow:
    """A document and all of its blocks, as they are now."""

    document: Document
    blocks: tuple[Block, ...]


def carry(
    former: FormerFacts,
    document_id: str,
    now: DocumentNow | None,
    *,
    reverified: Sequence[ReverifyRecord],
    recorded: Sequence[Evidence],
    language: str = "en",
) -> Carried:
    """Return what still holds of the facts that come from a document, and what does not.

    A fact that cites several documents is judged with the last of them.

    Args:
        former: the facts that are not checked yet.
        document_id: the document, by the id that the facts know.
        now: the document as it was read again; None: it is not in its source any more.
        reverified: what the round has found of other documents.
        recorded: the evidence that the round has recorded so far.
        language: of the task, an ISO 639-1 code.
    """
    now_known = {r.document_id: _known_as(r) for r in reverified}
    now_known[document_id] = now.document.id if now else None
    judged = tuple(_judged(former.facts, document_id, now_known))
    chosen, left_out = _chosen(former.facts, document_id, now) if now else (None, frozenset())
    evidence = (*recorded, chosen) if chosen else tuple(recorded)
    facts: dict[str, Fact] = {}
    dropped: list[DroppedFact] = []
    for fact in judged:
        again = _again(fact, former, now_known, evidence, language)
        if isinstance(again, Fact) and len(facts) < MAX_CARRIED:
            facts[again.id] = again
        elif isinstance(again, Fact) or left_out & {c.quote for c in fact.citations}:
            dropped.append(_dropped(fact, None, _NO_ROOM))
        else:
            dropped.append(again)
    questions = dict.fromkeys(fact.question_id for fact in facts.values())
    return Carried(
        evidence=(chosen,) if chosen else (),
        facts=tuple(facts.values()),
        dropped=tuple(dropped[:MAX_DROPPED]),
        weights=tuple(
            QuestionWeights(question_id=q, term_weights=former.weights[q])
            for q in questions
            if former.weights.get(q)
        ),
    )


def cited(fact: Fact) -> frozenset[str]:
    """Return the ids of the documents that a fact cites."""
    return frozenset(citation.document_id for citation in fact.citations)


def _known_as(record: ReverifyRecord) -> str | None:
    """Return the id under which a document's evidence is recorded in this round."""
    return {
        Rereading.READ: record.read_as,
        Rereading.MISSING: None,
        Rereading.UNREACHABLE: record.document_id,
    }[record.rereading]


def _judged(
    facts: Iterable[Fact], document_id: str, now_known: Mapping[str, str | None]
) -> Iterator[Fact]:
    """Yield the facts of a document whose other documents, if any, have been looked at."""
    for fact in facts:
        documents = cited(fact)
        if document_id in documents and documents <= now_known.keys():
            yield fact


def _chosen(
    facts: Iterable[Fact], document_id: str, now: DocumentNow
) -> tuple[Evidence | None, frozenset[str]]:
    """Return the blocks around the quotes that are still there, and the quotes without room.

    A step has room for 48 KiB of evidence.
    """
    stretches, tiers = stretches_of(now.blocks), tiers_of(now.document)
    kept: dict[tuple[int, int], Block] = {}
    left_out: set[str] = set()
    size = 0
    for citation in (c for f in facts for c in f.citations if c.document_id == document_id):
        around = [b for b in _around(citation, stretches, tiers) if (b.start, b.end) not in kept]
        cost = sum(_size(block) for block in around)
        if size + cost <= MAX_EVIDENCE_BYTES and len(kept) + len(around) <= MAX_EVIDENCE_BLOCKS:
            size += cost
            kept |= {(b.start, b.end): b for b in around}
        else:
            left_out.add(citation.quote)
    blocks = tuple(kept[key] for key in sorted(kept))
    chosen = Evidence(document=now.document, blocks=blocks) if blocks else None
    return chosen, frozenset(left_out)


def _around(
    citation: Citation, stretches: Sequence[Stretch], tiers: Sequence[MatchTier]
) -> tuple[Block, ...]:
    """Return the blocks of a quote and of its context, where it stands now."""
    location = locate_in(stretches, citation.quote, citation.spans[0].start, tiers)
    if location is None:
        return ()
    stretch = stretch_around(stretches, location.start, location.end)
    assert stretch is not None
    return stretch.blocks_of(location.start - CONTEXT_LENGTH, location.end + CONTEXT_LENGTH)


def _size(block: Block) -> int:
    return len(block.text.encode()) + sum(len(h.encode()) for h in block.heading_path)


def _again(
    fact: Fact,
    former: FormerFacts,
    now_known: Mapping[str, str | None],
    evidence: Sequence[Evidence],
    language: str,
) -> Fact | DroppedFact:
    """Return a fact as it holds now, or why it does not."""
    question = former.questions[fact.question_id]
    weights = weights_by_term(former.weights.get(fact.question_id, ()))
    if all(now_known[document_id] == document_id for document_id in cited(fact)):
        verdicts = verify_again(fact, question, evidence, weights, language)
        if all(verdict.passed for verdict in verdicts):
            return fact.model_copy(update={"verdicts": verdicts})
    citations: list[Citation] = []
    for citation in fact.citations:
        known_as = now_known[citation.document_id]
        if known_as is None:
            detail = "the document is not in its source any more"
            return _dropped(fact, RejectReason.UNKNOWN_SOURCE, detail)
        moved = _moved(citation, known_as, evidence)
        if moved is None:
            detail = "the quote is not in the document as it is now"
            return _dropped(fact, RejectReason.QUOTE_NOT_FOUND, detail)
        citations.append(moved)
    claim = citations[0].quote if fact.kind is FactKind.QUOTE else fact.claim
    made = fact.model_copy(
        update={
            "id": fact_id(fact.question_id, claim, citations),
            "claim": claim,
            "citations": tuple(citations),
        }
    )
    verdicts = verify_again(made, question, evidence, weights, language)
    failed = next((v for v in verdicts if not v.passed), None)
    if failed is not None:
        return _dropped(fact, failed.reason, failed.detail)
    return made.model_copy(update={"verdicts": verdicts})


def _moved(citation: Citation, document_id: str, evidence: Sequence[Evidence]) -> Citation | None:
    """Return the citation of the same quote where it is recorded now."""
    document = next((e.document for e in evidence if e.document.id == document_id), None)
    if document is None:
        return None
    stretches = stretches_of(recorded_blocks(evidence, document_id))
    location = locate_in(stretches, citation.quote, citation.spans[0].start, tiers_of(document))
    return cite(document, stretches, location) if location else None


def _dropped(fact: Fact, reason: RejectReason | None, detail: str) -> DroppedFact:
    return DroppedFact(
        fact_id=fact.id,
        question_id=fact.question_id,
        claim=fact.claim,
        reason=reason,
        detail=detail,
    )
