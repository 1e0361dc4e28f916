"""The verifier: hard predicates that decide, with no model, whether a candidate is a fact.

Each predicate is a pure function from what the journal records to a verdict, so that the verdict
in a step and the one that `fixpoint verify` computes years later are the same. Where there is
nothing to compare, the check fails. docs/verification.md explains P0 to P6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from controller.api.base import digest_of
from controller.api.records import (
    Block,
    BlockKind,
    Citation,
    Evidence,
    Fact,
    FactKind,
    FactStatus,
    Predicate,
    Question,
    RejectReason,
    TermWeight,
    Verdict,
)
from controller.evidence.anchors import missing_anchors
from controller.evidence.normalisation import normalise
from controller.evidence.quotes import (
    RecordedBlocksError,
    Stretch,
    cite,
    context_after,
    context_before,
    count_in,
    cuts_a_token_at,
    locate_in,
    recorded_blocks,
    stretch_around,
    stretches_of,
    where,
)
from controller.evidence.terms import (
    bare_name,
    content_terms,
    key_terms,
    weighed_terms,
    weight_of,
)
from controller.evidence.tokens import Words, is_dense, stem, stop_words, tokenise

MINIMUM_LENGTH: Final = 25
"""P2: the least length of a quote in normal form."""

MINIMUM_DENSE_LENGTH: Final = 10
"""P2: the least length where a character is a word or a syllable (Chinese, Japanese, Korean)."""

MAXIMUM_LENGTH: Final = 600
"""P2: the greatest length of a quote in normal form."""

MINIMUM_TOKENS: Final = 4
"""P2: the least number of tokens of a quote."""

COVERAGE: Final = {FactKind.QUOTE: Fraction(1), FactKind.PARAPHRASE: Fraction(3, 5)}
"""P4: the least share of a claim's term weight that its evidence has, by the kind of the fact."""

FOCUS: Final = Fraction(1, 2)
"""P6: the least share of the question's term weight in a quote and its headings."""

UNQUOTABLE: Final = frozenset({BlockKind.NAVIGATION, BlockKind.CONSENT, BlockKind.HIDDEN})
"""P2: kinds of blocks that are never quoted."""

MAXIMUM_UNFOUND_CLAIM: Final = 1000
"""How much of a wording that was not found is kept, in characters."""

_MAXIMUM_DETAIL: Final = 256


@dataclass(frozen=True, slots=True)
class Candidate:
    """A quote that somebody proposes: from which document, in what words, and about where.

    `hint` is an offset of the document; the occurrence nearest to it is meant.
    """

    document_id: str
    wording: str
    hint: int | None = None


@dataclass(frozen=True, slots=True)
class _Passage:
    """A cited slice and the blocks that it touches."""

    quote: str
    blocks: tuple[Block, ...]

    def pieces(self) -> tuple[str, ...]:
        """Return what the slice may be understood by: itself and its headings."""
        headings = dict.fromkeys(h for block in self.blocks for h in block.heading_path)
        return (self.quote, *headings)


def weights_by_term(recorded: Iterable[TermWeight]) -> dict[str, int]:
    """Return recorded term weights as the mapping that predicates P4 and P6 take."""
    return {weight.term: weight.weight for weight in recorded}


def fact_id(question_id: str, claim: str, citations: Sequence[Citation]) -> str:
    """Return the id of a fact: a digest over its question, its claim and all its citations."""
    identity = {
        "question": question_id,
        "claim": claim,
        "citations": [citation.to_json() for citation in citations],
    }
    return "f-" + digest_of(identity).removeprefix("sha256:")[:12]


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
    source, stretches = _check_recorded(candidate.document_id, evidence)
    if not source.passed:
        return _not_found(question, candidate, [source])
    location = locate_in(stretches, candidate.wording, candidate.hint)
    if location is None:
        return _not_found(question, candidate, [source, check_found(candidate.wording)])
    document = next(e.document for e in evidence if e.document.id == candidate.document_id)
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
    passages = [_passage(citation, evidence) for citation in fact.citations]
    pieces = [piece for passage in passages for piece in passage.pieces()]
    return (
        *verdicts,
        check_substance(question_text, passages, language),
        check_anchors(fact.claim, pieces),
        check_coverage(fact.claim, fact.kind, pieces, weights, language),
        check_focus(question_text, pieces, weights, language),
    )


def agrees(fact: Fact, again: Sequence[Verdict]) -> bool:
    """Say whether verdicts computed again are those that a stored fact was judged by."""
    verified = all(verdict.passed for verdict in again)
    return verified is (fact.status is FactStatus.VERIFIED) and (
        not fact.citations or tuple(again) == fact.verdicts
    )
