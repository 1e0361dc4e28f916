"""The verifier: from a proposed quote to a fact, and from a stored fact to its verdicts again.

What an `Extract` step records and what `fixpoint verify` computes years later come from the same
function over the same records: a fact that was accepted for a reason that the journal does not
hold cannot exist (docs/verification.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from controller.evidence.claims import MAXIMUM_CLAIM, one_line, says_the_same
from controller.evidence.normalisation import normalise
from controller.evidence.predicates import (
    Passage,
    check_anchors,
    check_claim,
    check_coverage,
    check_focus,
    check_polarity,
    check_substance,
    passages_of,
)
from controller.evidence.provenance import (
    check_citable,
    check_found,
    check_quotes,
    check_recorded,
    check_source,
    fact_id,
)
from controller.evidence.quotes import cite, locate_in, recorded_blocks, stretches_of, tiers_of

MAXIMUM_UNFOUND_CLAIM: Final = 1000
"""How much of a wording that was not found is kept, in characters."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quote that somebody proposes: from which document, in what words, and about where.

    `hint` is an offset of the document; the occurrence nearest to it is meant. `claim` is what the
    quote says in the proposer's own words; None: the quote speaks for itself.
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
    """Return a candidate as a fact, verified or rejected, with all verdicts.

    Once the wording is found it is thrown away: the quote is the stored slice. So is the claim of
    a fact of kind `Quote`. A claim that differs from the slice in normal form makes a `Paraphrase`:
    it is kept as it was given, on one line, without control and invisible characters. What is not
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
    location = locate_in(stretches, candidate.wording, candidate.hint, tiers_of(document))
    if location is None:
        return _not_found(question, candidate, recorded, check_found(location))
    citation = cite(document, stretches, location)
    worded = one_line(candidate.claim or "")
    is_quote = not worded or says_the_same(worded, citation.quote)
    claim = citation.quote if is_quote else _cut(worded)
    fact = Fact(
        id=fact_id(question.id, claim, [citation]),
        question_id=question.id,
        kind=FactKind.QUOTE if is_quote else FactKind.PARAPHRASE,
        claim=claim,
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
        _substance(fact, question_text, passages, language),
        check_anchors(fact.claim, passages, language),
        check_coverage(fact.claim, fact.kind, passages, weights, language),
        *_polarity(fact, passages, weights, language),
        check_focus(question_text, passages, weights, language),
        check_citable(fact, evidence),
    )


def _substance(
    fact: Fact, question_text: str, passages: Sequence[Passage], language: str
) -> Verdict:
    """P2, of the quotes and of the claim where it is worded."""
    verdict = check_substance(question_text, passages, language)
    if verdict.passed and fact.kind is FactKind.PARAPHRASE:
        return check_claim(fact.claim)
    return verdict


def _polarity(
    fact: Fact, passages: Sequence[Passage], weights: Mapping[str, int], language: str
) -> Iterator[Verdict]:
    """P5, of a claim that is worded; a quote has its own negations."""
    if fact.kind is FactKind.PARAPHRASE:
        yield check_polarity(fact.claim, passages, weights, language)


def agrees(fact: Fact, again: Sequence[Verdict]) -> bool:
    """Say whether verdicts computed again are those that a stored fact was judged by.

    A vetoed fact has passed, like a verified one: what took it away is no predicate.
    """
    passed = all(verdict.passed for verdict in again)
    return passed is (fact.status is not FactStatus.REJECTED) and (
        not fact.citations or tuple(again) == fact.verdicts
    )


def _cut(claim: str) -> str:
    """Return a claim at a length that a record can hold; one that is cut is too long for P2."""
    normal = normalise(claim).text
    return claim if len(normal) <= MAXIMUM_CLAIM else normal[:MAXIMUM_UNFOUND_CLAIM].strip()


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
