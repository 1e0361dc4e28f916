"""The predicates of provenance: the source is known, the quote stands in it and can be seen there.

P0 and P1 are about where a quote comes from, P7 about whether it may be cited from there.

Each is a pure function from records to a verdict (docs/verification.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.api.base import digest_of
from controller.api.records import (
    BlockKind,
    Citation,
    Evidence,
    Fact,
    FactKind,
    MatchTier,
    Predicate,
    RejectReason,
    Verdict,
)
from controller.evidence.predicates import passages_of
from controller.evidence.quotes import (
    Location,
    RecordedBlocksError,
    Stretch,
    context_after,
    context_before,
    count_in,
    is_whole,
    recorded_blocks,
    stretch_around,
    stretches_of,
    tiers_of,
    where,
)
from controller.evidence.verdicts import failed, passed


def fact_id(question_id: str, claim: str, citations: Sequence[Citation]) -> str:
    """Return the id of a fact: `f-` and a digest over its question, claim and citations."""
    identity = {
        "question": question_id,
        "claim": claim,
        "citations": [citation.to_json() for citation in citations],
    }
    return "f-" + digest_of(identity).removeprefix("sha256:")[:12]


def check_recorded(document_id: str, evidence: Sequence[Evidence]) -> Verdict:
    """P0, of a document: the run has recorded it, and its blocks do not contradict each other."""
    documents = [e.document for e in evidence if e.document.id == document_id]
    if not documents:
        reason, detail = RejectReason.UNKNOWN_SOURCE, f"{document_id} is no document of this run"
        return failed(Predicate.P0, reason, detail)
    if len({document.text_digest for document in documents}) > 1:
        detail = f"{document_id} is recorded with different texts"
        return failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    try:
        stretches_of(recorded_blocks(evidence, document_id))
    except RecordedBlocksError as error:
        return failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, f"{document_id}: {error}")
    return passed(Predicate.P0)


def check_source(fact: Fact, evidence: Sequence[Evidence]) -> Verdict:
    """P0, of a stored fact: its documents are recorded with the texts that it names, its id holds.

    The id is a digest over question, claim and citations: a fact that was changed is no longer
    the one that was verified.
    """
    texts = {e.document.id: e.document.text_digest for e in evidence}
    for citation in fact.citations:
        recorded = check_recorded(citation.document_id, evidence)
        if not recorded.passed:
            return recorded
        if texts[citation.document_id] != citation.text_digest:
            detail = f"the citation names another text of {citation.document_id}"
            return failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    if fact.id != fact_id(fact.question_id, fact.claim, fact.citations):
        detail = f"{fact.id} is not the digest of its question, claim and citations"
        return failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    return passed(Predicate.P0)


def check_found(location: Location | None) -> Verdict:
    """P1, of a wording: it was found in the recorded text, as it is or in normal form."""
    if location is None:
        detail = "the wording is not in the recorded text"
        return failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, detail)
    return passed(Predicate.P1)


def check_quotes(fact: Fact, evidence: Sequence[Evidence]) -> Verdict:
    """P1, of a stored fact: each quote is the recorded slice, character for character.

    So are its context, its headings and lines, and the claim of a fact of kind `Quote`. A fact
    without a citation quotes nothing.
    """
    if not fact.citations:
        return failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, "the fact cites nothing")
    for citation in fact.citations:
        stretches = stretches_of(recorded_blocks(evidence, citation.document_id))
        documents = (e.document for e in evidence if e.document.id == citation.document_id)
        fault = _fault_of(citation, stretches, tiers_of(next(documents)))
        if fault:
            return failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, fault)
    if fact.kind is FactKind.QUOTE and [fact.claim] != [c.quote for c in fact.citations]:
        return failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, "the claim is not the quote")
    return passed(Predicate.P1)


def check_citable(fact: Fact, evidence: Sequence[Evidence]) -> Verdict:
    """P7: no cited text is hidden from a reader of its source, and nothing quarantined is reworded.

    A document in which a reader suspects orders to a model is quarantined. Its own characters can
    be cited; a claim about them cannot, since a model may have written it that obeyed.
    """
    for citation in fact.citations:
        for passage in passages_of([citation], evidence):
            if any(block.kind is BlockKind.HIDDEN for block in passage.blocks):
                detail = f"a reader of {citation.document_id} does not see the quote"
                return failed(Predicate.P7, RejectReason.HIDDEN_TEXT, detail)
        if fact.kind is FactKind.PARAPHRASE and is_quarantined(citation.document_id, evidence):
            detail = f"{citation.document_id} may give orders to a model: it can only be quoted"
            return failed(Predicate.P7, RejectReason.QUARANTINED, detail)
    return passed(Predicate.P7)


def is_quarantined(document_id: str, evidence: Iterable[Evidence]) -> bool:
    """Say whether a document was recorded as one that may give orders to a model."""
    return any(e.document.injection_suspected for e in evidence if e.document.id == document_id)


def _fault_of(
    citation: Citation, stretches: Sequence[Stretch], tiers: Sequence[MatchTier]
) -> str | None:
    """Return what is wrong with a stored citation, None if it is as the recorded blocks say."""
    start, end = citation.spans[0].start, citation.spans[0].end
    stretch = stretch_around(stretches, start, end)
    if stretch is None or len(citation.spans) != 1:
        return f"{start}:{end} is not one span of recorded text"
    text, quote = stretch.text, citation.quote
    counted = count_in(stretches, quote, citation.match_tier)
    # Later steps may have recorded the blocks around it: a context may have become longer, and
    # the quote may be known to occur more often.
    before, after = context_before(stretch, start), context_after(stretch, end)
    faults = {
        f"the recorded text at {start} is not the quote": stretch.slice(start, end) != quote,
        f"the quote at {start} cuts a word or a number": not is_whole(
            text, start - stretch.start, end - stretch.start
        ),
        f"no quote of the document is found as {citation.match_tier}": (
            citation.match_tier not in tiers
        ),
        f"the quote does not occur {citation.occurrences} times": not (
            1 <= citation.occurrences <= counted
        ),
        "the context before the quote is not the recorded text": not before.endswith(
            citation.context_before
        ),
        "the context after the quote is not the recorded text": not after.startswith(
            citation.context_after
        ),
        "the quote's headings or lines are not those of its block": (
            citation.where != where(stretch.blocks_of(start, end))
        ),
    }
    return next((fault for fault, is_so in faults.items() if is_so), None)
