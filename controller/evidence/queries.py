"""Queries and questions that are written without a model.

A certificate of absence needs three different queries for each source, so that one unlucky choice
of words proves nothing: every question with two terms or more has at least two refinements, and a
question with one term falls back on that term's forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from controller.api.records import Block, Question
from controller.evidence.normalisation import normalise
from controller.evidence.terms import (
    content_terms,
    key_terms,
    parts_of,
    weight_of,
)
from controller.evidence.tokens import is_unspaced, stem, tokenise

MAXIMUM_REFINEMENTS: Final = 3
MAXIMUM_QUERY_LENGTH: Final = 500
PASSAGE_TERMS: Final = 3
"""How many terms of the best passage widen a query."""

_SHORTEST_STEM: Final = 3

QUESTION_TEMPLATES: Final[dict[str, str]] = {
    "what-is": "What is {topic}?",
    "how-and-limits": "How does {topic} work, and what are its limits?",
    "defaults-and-requirements": "What are the defaults and the requirements of {topic}?",
}
"""The questions on a topic for which none were asked, by their ids."""


def first_query(question: str, language: str = "en") -> str:
    """Return a question's content terms as a query; a question without a word is its own."""
    return _query(content_terms(question, language)) or question.strip()[:MAXIMUM_QUERY_LENGTH]


def refinements(
    question: str,
    weights: Mapping[str, int],
    passage_terms: Sequence[str] = (),
    language: str = "en",
) -> tuple[str, ...]:
    """Return at most three further queries, different from the first one and from each other.

    In this order: the key terms alone; the terms of the best passage added; the term that says
    least left out, then the one that says second least. A question with one term only is varied:
    the words inside a name, the stem, singular or plural, the first two thirds (of Chinese, the
    single characters), the question's own words. At least two refinements exist for a question
    of two terms, and for one of a single term that has four letters or stands among other words.

    Args:
        question: what is asked.
        weights: recorded weights of the question's terms, by term.
        passage_terms: what `passage_terms` says of the best passage; none where nothing was found.
        language: of the task, an ISO 639-1 code.
    """
    terms = content_terms(question, language)
    known = {first_query(question, language).casefold()}
    chosen: list[str] = []
    variations = [
        key_terms(question, language),
        (*terms, *passage_terms[:PASSAGE_TERMS]),
        *(_without_one(terms, weights) if len(terms) > 1 else _forms(terms, language)),
        tokenise(normalise(question).text),
    ]
    for words in variations:
        query = _query(words)
        if query and query.casefold() not in known and len(chosen) < MAXIMUM_REFINEMENTS:
            known.add(query.casefold())
            chosen.append(query)
    return tuple(chosen)


def _without_one(terms: Sequence[str], weights: Mapping[str, int]) -> Iterator[Sequence[str]]:
    """Yield the terms without the lightest one, then without the second lightest, and so on."""
    for left_out in sorted(terms, key=lambda term: weight_of(term, weights)):
        yield [term for term in terms if term != left_out]


def _forms(terms: Sequence[str], language: str) -> Iterator[Sequence[str]]:
    """Yield other forms of the one term that there is."""
    for term in terms:
        yield parts_of(term)
        yield (stem(term.lower(), language),)
        if is_unspaced(term[-1]):
            yield tuple(term)
            continue
        plural = "S" if term.isupper() else "s"
        yield (term[:-1] if term.endswith(plural) else term + plural,)
        yield (term[: max(_SHORTEST_STEM, len(term) * 2 // 3)],)


def passage_terms(
    question: str, blocks: Iterable[Block], weights: Mapping[str, int], language: str = "en"
) -> tuple[str, ...]:
    """Return the terms of a passage that a question lacks: rarest first, then most frequent.

    Where no weight is recorded for them, the frequency in the passage and the order decide.
    """
    asked = {stem(term.lower(), language) for term in content_terms(question, language)}
    counted = Counter(term for block in blocks for term in content_terms(block.text, language))
    added = [term for term in counted if stem(term.lower(), language) not in asked]
    return tuple(sorted(added, key=lambda term: (-weights.get(term, 0), -counted[term])))


def _query(words: Iterable[str]) -> str:
    query = " ".join(_joined(words))
    if len(query) <= MAXIMUM_QUERY_LENGTH:
        return query
    return query[: MAXIMUM_QUERY_LENGTH + 1].rpartition(" ")[0] or query[:MAXIMUM_QUERY_LENGTH]


def _joined(words: Iterable[str]) -> Iterator[str]:
    """Yield words with overlapping pairs of characters joined to the run that they came from."""
    run = ""
    for word in words:
        if run and is_unspaced(word[0]) and is_unspaced(run[-1]) and run[-1] == word[0]:
            run += word[1:]
            continue
        if run:
            yield run
        run = word
    if run:
        yield run


def plan_questions(topic: str) -> tuple[Question, ...]:
    """Return the three template questions on a topic: what, how and its limits, what it needs."""
    subject = " ".join(topic.split()).rstrip("?.!")
    room = MAXIMUM_QUERY_LENGTH - max(len(text) for text in QUESTION_TEMPLATES.values())
    return tuple(
        Question(id=identity, text=text.format(topic=subject[:room].rstrip()))
        for identity, text in QUESTION_TEMPLATES.items()
    )
