"""The verifier: from a proposed quote to a fact, and from a stored fact to its verdicts again.

What an `Extract` step records and what `fixpoint verify` computes years later come from the same
function over the same records: a fact that was accepted for a reason that the journal does not
hold cannot exist (docs/verification.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.api.records import (
    Evidence,
    Fact,
    FactKind,
    FactStatus,
    Question,
    TermWeight,
    Verdict,
)
from controller.evidence.predicates import (
    check_anchors,
    check_coverage,
    check_focus,
    check_found,
    check_quotes,
    check_recorded,
    check_source,
    check_substance,
    fact_id,
    passages_of,
)
from controller.evidence.quotes import cite, locate_in, recorded_blocks, stretches_of

MAXIMUM_UNFOUND_CLAIM: Final = 1000
"""How much of a wording that was not found is kept, in characters."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quote that somebody proposes: from which document, in what words, and about where.

    `hint` is an offset of the document; the occurrence nearest to it is meant.
    """

    document_id: str
    wording: str
    hint: int | None = None
    claim: str | None = None


def weights_by_term(recorded: Iterable[TermWeight]) -> dict[str, int]:
    """Return recorded term weights as the mapping that predicates P4 and P6 take."""
    return {weight.term: weight.weight for weight in recorded}


def verify_fact(
    question: Question,
    candidate: Candidate,
    evidence: Sequence[Evidence],
    weights: Mapping[str, int],
    language: str = "en",
) -> Fact:
    """Return a candidate as a fact of kind `Quote`, verified or rejected, with all verdicts.

    Once the wording is found it is thrown away: claim and quote are the stored slice. What is not
    found has no citation, and its claim is the wording, cut to 1000 characters.

    Args:
        question: what the quote shall answer.
        candidate: the proposed quote.
        evidence: what the run has recorded of its documents.
        weights: recorded weights of the question's terms, by term.
        language: of the task, an ISO 639-1 code: it decides on stems and stop words.
    """
    document = next((e.document for e in evidence if e.document.id == candidate.document_id), None)
    recorded = check_recorded(candidate.document_id, evidence)
    if document is None or not recorded.passed:
        return _not_found(question, candidate, recorded)
    stretches = stretches_of(recorded_blocks(evidence, document.id))
    location = locate_in(stretches, candidate.wording, candidate.hint)
    if location is None:
        return _not_found(question, candidate, recorded, check_found(location))
    citation = cite(document, stretches, location)
    fact = Fact(
        id=fact_id(question.id, citation.quote, [citation]),
        question_id=question.id,
        kind=FactKind.QUOTE,
        claim=citation.quote,
        citations=(citation,),
        status=FactStatus.REJECTED,
        verdicts=(),
    )
    verdicts = verify_again(fact, question.text, evidence, weights, language)
    status = FactStatus.VERIFIED if all(v.passed for v in verdicts) else FactStatus.REJECTED
    return fact.model_copy(update={"status": status, "verdicts": verdicts})


def verify_again(
    fact: Fact,
    question_text: str,
    evidence: Sequence[Evidence],
    weights: Mapping[str, int],
    language: str = "en",
) -> tuple[Verdict, ...]:
    """Return the verdicts on a stored fact, computed from recorded evidence alone.

    They are in the predicates' order and end early where P0 or P1 leave nothing to judge. More
    evidence, recorded since, changes none of them.
    """
    verdicts = [check_source(fact, evidence)]
    if verdicts[0].passed:
        verdicts.append(check_quotes(fact, evidence))
    if not verdicts[-1].passed:
        return tuple(verdicts)
    passages = passages_of(fact.citations, evidence)
    return (
        *verdicts,
        check_substance(question_text, passages, language),
        check_anchors(fact.claim, passages),
        check_coverage(fact.claim, fact.kind, passages, weights, language),
        check_focus(question_text, passages, weights, language),
    )


def agrees(fact: Fact, again: Sequence[Verdict]) -> bool:
    """Say whether verdicts computed again are those that a stored fact was judged by."""
    verified = all(verdict.passed for verdict in again)
    return verified is (fact.status is FactStatus.VERIFIED) and (
        not fact.citations or tuple(again) == fact.verdicts
    )


def _not_found(question: Question, candidate: Candidate, *verdicts: Verdict) -> Fact:
    # A model may send half of a surrogate pair, which no record can hold.
    wording = candidate.wording.encode("utf-8", "replace").decode()
    claim = wording[:MAXIMUM_UNFOUND_CLAIM]
    return Fact(
        id=fact_id(question.id, claim, ()),
        question_id=question.id,
        kind=FactKind.QUOTE,
        claim=claim,
        citations=(),
        status=FactStatus.REJECTED,
        verdicts=verdicts,
    )
