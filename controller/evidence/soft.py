"""What the hard predicates cannot rule of a worded claim, so that a model should read it again.

A soft check may only take something away (docs/verification.md): where it is needed and not made,
the claim still stands, as far as the predicates bear it out.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.api.records import Evidence, Fact, FactKind
from controller.evidence.closeness import (
    EvidenceSentence,
    claim_sentences,
    closest,
    evidence_sentences,
)
from controller.evidence.polar_words import has_table
from controller.evidence.polarity import Reading, read
from controller.evidence.predicates import passages_of
from controller.evidence.terms import content_terms
from controller.evidence.tokens import Words, stem, stop_words, tokenise

_NEGATOR = "\0"


def needs_soft_check(fact: Fact, evidence: Sequence[Evidence], language: str = "en") -> bool:
    """Say whether a fact's claim may say more than its quote in a way that no predicate sees.

    Args:
        fact: a fact that has passed; one of kind `Quote` needs no check.
        evidence: what the run has recorded of its documents.
        language: of the task, an ISO 639-1 code.
    """
    if fact.kind is FactKind.QUOTE:
        return False
    pieces = [passage.pieces() for passage in passages_of(fact.citations, evidence)]
    return is_open(fact.claim, pieces, language)


def is_open(claim: str, pieces: Sequence[Sequence[str]], language: str = "en") -> bool:
    """Say whether a wording leaves open whether it says what its evidence says.

    It does not where its language has tables, and each of its sentences has only words of its
    evidence, in the order of its closest sentence, with the same hedges, and with each antonym on
    the one side that the sentence knows.

    Args:
        claim: the wording.
        pieces: the cited slices, each with the headings above it.
        language: of the task, an ISO 639-1 code.
    """
    among = evidence_sentences(pieces, language)
    if not among or not has_table(language):
        return True
    known = Words([text for piece in pieces for text in piece], language)
    if not all(known.has(term) for term in content_terms(claim, language)):
        return True
    return any(
        _differs(sentence, near, language)
        for sentence in claim_sentences(claim)
        for near in closest(sentence, among, {}, language)
    )


def _differs(sentence: str, near: EvidenceSentence, language: str) -> bool:
    """Say whether a claim's sentence hedges, counts or orders otherwise than its closest one."""
    claimed, said = read(sentence, language), read(near.text, language)
    return (
        claimed.hedges != said.hedges
        or len(claimed.negators) != len(said.negators)
        or _is_between(claimed, said)
        or not _follows(_order(claimed, said, language), _order(said, claimed, language))
    )


def _is_between(claimed: Reading, said: Reading) -> bool:
    """Say whether a pair of antonyms may have changed places, or is in one of both only."""
    taken, _ = said.turned(claimed.pairs)
    return len(taken) != len(claimed.pairs)


def _order(one: Reading, other: Reading, language: str) -> list[str]:
    """Return the words that two sentences share, and the negators, in the order of the first."""
    negators = set(one.negators)
    stopped = stop_words(language)
    order = []
    for at, word in enumerate(one.words):
        if at in negators:
            order.append(_NEGATOR)
        else:
            stems = (stem(t, language) for t in tokenise(word) if t not in stopped)
            order += [s for s in stems if s in other.stems]
    return order


def _follows(claimed: Sequence[str], said: Sequence[str]) -> bool:
    """Say whether a claim's words stand in the evidence in the same order, some left out."""
    left = iter(said)
    return all(word in left for word in claimed)
