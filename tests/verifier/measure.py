"""How many lies the verifier takes for quotes, and how many honest quotes it refuses.

What is a lie is judged by `Page.says`, which shares no code with the verifier: a text of which the
words stand in the document is none, however it came about.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from controller.api.records import FactKind, Question
from controller.evidence.quotes import ALL_TIERS, TEXT_TIERS, locate_in
from controller.evidence.verification import Candidate, verify_fact
from tests.verifier.changes import (
    NOISE,
    Change,
    damaged,
    name_of,
    names_in,
    negation,
    number,
    shuffled,
)
from tests.verifier.texts import Page, Sentence, as_pdf

MAX_SHOWN = 20


@dataclass
class Tally:
    """How many were tried and how many were accepted, by kind; and the first few to look at."""

    tried: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)

    def count(self, kind: str, text: str, *, is_accepted: bool, show: bool) -> None:
        """Count one."""
        self.tried[kind] += 1
        self.accepted[kind] += is_accepted
        if is_accepted is show and len(self.shown) < MAX_SHOWN:
            self.shown.append(f"{kind}: {text}")


def _drawn(sentences: Sequence[Sentence], dice: random.Random) -> Iterator[Sentence]:
    while True:
        yield dice.choice(sentences)


def of_other_documents(
    pages: Sequence[Page], sentences: Sequence[Sentence], count: int, seed: int
) -> Tally:
    """Look sentences up in documents that do not say them: all must be refused."""
    return _elsewhere(pages, pages, sentences, count, seed)


def of_other_pdf_files(
    pages: Sequence[Page], sentences: Sequence[Sentence], count: int, seed: int
) -> Tally:
    """Look sentences up in documents that do not say them, as PDF files give these."""
    return _elsewhere(pages, broken(pages, seed), sentences, count, seed)


def broken(pages: Sequence[Page], seed: int) -> list[Page]:
    """Return pages as PDF files may give them."""
    dice = random.Random(seed)  # noqa: S311 - the same damage each time
    return [as_pdf(page, (damaged(b.text, dice) for b in page.blocks)) for page in pages]


def _elsewhere(
    pages: Sequence[Page],
    as_read: Sequence[Page],
    sentences: Sequence[Sentence],
    count: int,
    seed: int,
) -> Tally:
    dice, tally = random.Random(seed), Tally()  # noqa: S311
    tiers = TEXT_TIERS if as_read is pages else ALL_TIERS
    for sentence in _drawn(sentences, dice):
        if tally.tried.total() == count:
            return tally
        other = dice.choice(pages)
        if not other.says(sentence.text):
            found = locate_in(as_read[other.number].stretches, sentence.text, tiers=tiers)
            tally.count("another document", sentence.text, is_accepted=found is not None, show=True)
    raise AssertionError("there is no end of sentences")


def in_another_order(sentences: Sequence[Sentence], count: int, seed: int) -> Tally:
    """Look sentences up in their own document, their words shuffled: all must be refused."""
    return _changed(sentences, {"another order": shuffled}, count, seed, _quoted)


def changed_quotes(sentences: Sequence[Sentence], count: int, seed: int) -> Tally:
    """Look sentences with one thing changed up in their own document: all must be refused."""
    return _changed(sentences, _lies(sentences), count, seed, _quoted)


def changed_claims(sentences: Sequence[Sentence], count: int, seed: int) -> Tally:
    """Offer sentences with one thing changed as claims about their own quotes."""
    return _changed(sentences, _lies(sentences), count, seed, _claimed)


def _lies(sentences: Sequence[Sentence]) -> dict[str, Change]:
    names = names_in([sentence.text for sentence in sentences])
    return {"a number": number, "a negation": negation, "a name": name_of(names)}


def _changed(
    sentences: Sequence[Sentence],
    changes: dict[str, Change],
    count: int,
    seed: int,
    accepts: Callable[[Sentence, str], bool],
) -> Tally:
    """Change sentences, each kind in turn, and count what is accepted of it."""
    dice, tally = random.Random(seed), Tally()  # noqa: S311
    kinds = list(changes)
    for sentence in _drawn(sentences, dice):
        if tally.tried.total() == count:
            return tally
        kind = kinds[tally.tried.total() % len(kinds)]
        lie = changes[kind](sentence.text, dice)
        if lie is not None and not sentence.page.says(lie):
            tally.count(kind, lie, is_accepted=accepts(sentence, lie), show=True)
    raise AssertionError("there is no end of sentences")


def _quoted(sentence: Sentence, text: str) -> bool:
    return locate_in(sentence.page.stretches, text) is not None


def _claimed(sentence: Sentence, text: str) -> bool:
    """Say whether a claim about a quote is verified; its question is what the quote says."""
    alone = Page(sentence.page.number, (sentence.block,))
    question = Question(id="q", text=sentence.text[:500])
    candidate = Candidate(alone.evidence().document.id, sentence.text, sentence.start, text)
    fact = verify_fact(question, candidate, [alone.evidence()], {})
    failed = {v.reason for v in fact.verdicts if not v.passed}
    return fact.kind is FactKind.PARAPHRASE and not failed - {"QuoteEchoesQuestion"}


def honest_quotes(sentences: Sequence[Sentence], count: int, seed: int) -> Tally:
    """Look sentences with the noise of a copy up in their own document: all should be found."""
    dice, tally = random.Random(seed), Tally()  # noqa: S311
    kinds = list(NOISE)
    while tally.tried.total() < count:
        sentence = dice.choice(sentences)
        kind = kinds[tally.tried.total() % len(kinds)]
        copy = NOISE[kind](sentence.text, dice)
        if copy is None:  # nothing in it can have this noise
            kind, copy = "as it is", sentence.text
        found = locate_in(sentence.page.stretches, copy, sentence.start)
        tally.count(kind, copy, is_accepted=found is not None, show=False)
    return tally


def honest_quotes_of_pdf_files(
    pages: Sequence[Page], sentences: Sequence[Sentence], count: int, seed: int
) -> Tally:
    """Look sentences up in their own document as a PDF file gives it: for information."""
    dice, tally = random.Random(seed), Tally()  # noqa: S311
    as_read = broken(pages, seed)
    while tally.tried.total() < count:
        sentence = dice.choice(sentences)
        stretches = as_read[sentence.page.number].stretches
        found = locate_in(stretches, sentence.text, tiers=ALL_TIERS)
        kind = found.tier.value if found else "not found"
        tally.count(kind, sentence.text, is_accepted=found is not None, show=False)
    return tally
