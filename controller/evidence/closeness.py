"""Which sentence of the evidence a sentence of a claim is about: the closest one (P3, P5).

Closeness is a share of words. What a lie would change, numbers and values, has no part in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final

from controller.evidence.anchors import NUMBER_WORDS
from controller.evidence.normalisation import normalise
from controller.evidence.sentences import sentences
from controller.evidence.terms import content_terms, is_identifier, weight_of
from controller.evidence.tokens import Words

_VALUE_WORDS: Final = "true false none null nil yes no on off enabled disabled"
VALUE_WORDS: Final = frozenset((*_VALUE_WORDS.split(), *NUMBER_WORDS))
"""Words that a sentence may say of anything; they do not say what it is about."""

_CLAUSE: Final = re.compile(
    r"(?:;|,? so that\b|,? because\b|, (?:which|since|as|so)\b| - )"
    r"(?! ?(?:not|no|never|only|but|however|although|though|without)\b)"
    r"|,? (?:unless|except)\b",
    re.IGNORECASE,
)
"""Where a clause begins that is said for itself; none that takes back what stands before it, but
for exceptions, which count wherever they stand."""

MAXIMUM_CLAUSES: Final = 6
"""A sentence of more clauses is taken as a whole."""


@dataclass(frozen=True)
class EvidenceSentence:
    """A sentence of a cited slice, with the headings above it."""

    text: str
    headings: tuple[str, ...]
    language: str

    @cached_property
    def words(self) -> Words:
        """The words of the sentence alone."""
        return Words([self.text], self.language)

    @cached_property
    def known(self) -> Words:
        """The words that it is understood by: its own and those of its headings."""
        return Words([self.text, *self.headings], self.language)

    @cached_property
    def terms(self) -> int:
        """How many content terms it has."""
        return len(content_terms(self.text, self.language))


def claim_sentences(claim: str) -> tuple[str, ...]:
    """Return the sentences of a claim."""
    return tuple(claim[start:end] for start, end in sentences(claim))


def evidence_sentences(
    pieces: Iterable[Sequence[str]], language: str = "en"
) -> tuple[EvidenceSentence, ...]:
    """Return the sentences of cited slices, each piece a slice and the headings above it.

    A question says nothing by itself: it is one with the sentence after it.
    """
    found = []
    for quote, *headings in pieces:
        start = 0
        spans = sentences(quote)
        for at, (begin, end) in enumerate(spans):
            if at == 0 or not quote[start : spans[at - 1][1]].endswith("?"):
                start = begin
            if not quote[start:end].endswith("?") or at == len(spans) - 1:
                found.append(EvidenceSentence(quote[start:end], tuple(headings), language))
    return tuple(found)


def plain_terms(sentence: str, language: str = "en") -> tuple[str, ...]:
    """Return the content terms of a sentence that are no name, number or value.

    They say what is said of a thing; which thing it is, is often said sentences before.
    """
    return tuple(
        term
        for term in content_terms(sentence, language)
        if not is_identifier(term, language)
        and not any(c.isdigit() for c in term)
        and term.casefold() not in VALUE_WORDS
    )


def closest(
    claimed: str,
    among: Sequence[EvidenceSentence],
    weights: Mapping[str, int],
    language: str = "en",
) -> tuple[EvidenceSentence, ...]:
    """Return the sentences that a claim's sentence is closest to: one, or two; none of none.

    The one has the greatest weighted share of its terms, headings included; the other of its
    plain terms. They differ where a name stands in one sentence and what is said of it in another.
    Of equal ones the sentence counts that says the least else, then the first.
    """
    if not among:
        return ()
    plain = plain_terms(claimed, language)
    said = [
        term
        for term in content_terms(claimed, language)
        if not any(c.isdigit() for c in term) and term.casefold() not in VALUE_WORDS
    ]

    def by_all(sentence: EvidenceSentence) -> tuple[int, int, int]:
        return (_found(said, sentence.known, weights), of_plain(sentence), -sentence.terms)

    def of_plain(sentence: EvidenceSentence) -> int:
        return _found(plain, sentence.words, weights)

    def by_plain(sentence: EvidenceSentence) -> tuple[int, int, int]:
        return (of_plain(sentence), _found(said, sentence.known, weights), -sentence.terms)

    return tuple(dict.fromkeys((max(among, key=by_all), max(among, key=by_plain))))


def narrowest(claimed: str, near: EvidenceSentence, language: str = "en") -> str:
    """Return the clauses of a sentence that have all that a claim's sentence takes from it.

    What a clause after `so that` or `because` denies is not denied by the clause before it. They
    are the fewest that have every term of the claim that the sentence has, so that a claim over
    two clauses is held against both.
    """
    text = normalise(near.text).text
    edges = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)]
    clauses = [text[start:end] for start, end in pairwise(edges)]
    wanted = [term for term in content_terms(claimed, language) if near.words.has(term)]
    if len(clauses) > MAXIMUM_CLAUSES:
        return text
    runs = (
        "".join(chosen) for size in range(1, len(clauses)) for chosen in combinations(clauses, size)
    )
    return next((run for run in runs if _has_all(run, wanted, language)), text)


def _has_all(run: str, terms: Iterable[str], language: str) -> bool:
    words = Words([run], language)
    return all(words.has(term) for term in terms)


def closest_by_plain_terms(
    claimed: str, among: Sequence[EvidenceSentence], language: str = "en"
) -> EvidenceSentence:
    """Return the sentence that says of something what a claim's sentence says of it."""
    return closest(claimed, among, {}, language)[-1]


def says_more(
    other: EvidenceSentence, than: EvidenceSentence, claimed: str, language: str = "en"
) -> bool:
    """Say whether a sentence has a plain term of the claim that another one lacks."""
    terms = plain_terms(claimed, language)
    return any(other.words.has(term) and not than.words.has(term) for term in terms)


def _found(terms: Iterable[str], words: Words, weights: Mapping[str, int]) -> int:
    return sum(weight_of(term, weights) for term in terms if words.has(term))
