"""The tier `Layout`: a quote of a PDF file is found whatever its spaces and line ends became.

It is for texts of PDF files alone, and what is published are the stored characters all the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import Evidence, Extractor, FactStatus, MatchTier, RejectReason
from controller.evidence.normalisation import normalise
from controller.evidence.quotes import (
    ALL_TIERS,
    MINIMUM_LAYOUT_LENGTH,
    PDF,
    TEXT_TIERS,
    count_in,
    locate,
    stretches_of,
    tiers_of,
)
from controller.evidence.sentences import sentences
from controller.evidence.verification import Candidate, agrees, verify_again, verify_fact
from tests.evidence.recorded import DOCUMENT_ID, cases, evidence_of, question

HYPHEN = "\ufffe"
QUOTE = "The transformer is switched off when its housing is hotter than 85 degrees."
QUESTION = question("When is the transformer switched off?")

DAMAGED = {
    "a space lost": QUOTE.replace("is switched", "isswitched"),
    "a space too many": QUOTE.replace("transformer", "trans former"),
    "a hyphen at a line's end": QUOTE.replace("transformer", "trans-\nformer"),
    "pdfium's hyphen at a line's end, and a lost space": QUOTE.replace(
        "transformer is", f"trans{HYPHEN}\r\nformeris"
    ),
    "letters set apart": QUOTE.replace("degrees", "d e g r e e s"),
    "all of its spaces lost": QUOTE.replace(" ", ""),
}


def as_pdf(evidence: Evidence) -> Evidence:
    extractor = Extractor(name=PDF, version="1")
    document = evidence.document.model_copy(update={"extractor": extractor})
    return evidence.model_copy(update={"document": document})


def page_of(text: str) -> Evidence:
    return as_pdf(evidence_of(f"Safety first. {text} Then it is cold.", headings=("Transformer",)))


@pytest.mark.parametrize("damaged", cases(DAMAGED))
def test_a_quote_of_a_pdf_file_is_found_whatever_its_spaces_became(damaged: str) -> None:
    evidence = page_of(damaged)
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, QUOTE), [evidence], {})
    (citation,) = fact.citations
    assert citation.match_tier is MatchTier.LAYOUT
    assert citation.quote == fact.claim == damaged
    verdicts = verify_again(fact, QUESTION.text, [evidence], {})
    assert agrees(fact, verdicts)
    assert verdicts == fact.verdicts


@pytest.mark.parametrize("damaged", cases(DAMAGED))
def test_a_quote_of_any_other_file_is_not(damaged: str) -> None:
    evidence = evidence_of(f"Safety first. {damaged} Then it is cold.")
    assert tiers_of(evidence.document) == TEXT_TIERS
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, QUOTE), [evidence], {})
    assert fact.verdicts[-1].reason is RejectReason.QUOTE_NOT_FOUND


def test_what_stands_there_as_it_is_needs_no_layout() -> None:
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, QUOTE), [page_of(QUOTE)], {})
    assert fact.status is FactStatus.VERIFIED
    assert fact.citations[0].match_tier is MatchTier.EXACT


@pytest.mark.parametrize(
    ("quote", "text"),
    cases(
        {
            "a number changed": (QUOTE.replace("85", "58"), DAMAGED["a space lost"]),
            "a denial dropped": (QUOTE, DAMAGED["a space lost"].replace("isswitched", "isnot")),
            "a letter changed": (QUOTE.replace("housing", "mousing"), DAMAGED["a space lost"]),
            "another case": (QUOTE.lower(), DAMAGED["a space lost"]),
            "a sign lost at its edge": (
                "5 degrees is the temperature of the housing in winter",
                "At -5 degrees is thetemperature of the housing in winter.",
            ),
            "a word cut at its edge": (
                "atomic blocks are fine in every view of the application",
                "Non-atomic blocks are fine inevery view of the application.",
            ),
        }
    ),
)
def test_nothing_but_spaces_and_hyphens_may_differ(quote: str, text: str) -> None:
    assert locate(quote, text, tiers=ALL_TIERS) is None


@pytest.mark.parametrize(("last", "length"), [("nine one", 39), ("nine nine", 40)])
def test_a_quote_is_found_so_from_forty_characters_on(last: str, length: int) -> None:
    quote = f"one two three four five six seven eight {last}"
    assert len(normalise(quote).layout().text) == length
    found = locate(quote, quote.replace(" two ", "two "), tiers=ALL_TIERS)
    assert (found is not None) is (length >= MINIMUM_LAYOUT_LENGTH)


def test_occurrences_are_counted_in_this_tier_too() -> None:
    damaged = [DAMAGED["a space lost"], QUOTE, DAMAGED["a hyphen at a line's end"]]
    stretches = stretches_of(evidence_of(*damaged).blocks)
    assert count_in(stretches, QUOTE, MatchTier.LAYOUT) == 3
    assert count_in(stretches, QUOTE, MatchTier.EXACT) == 1


def test_a_stored_fact_of_this_tier_fails_where_its_document_is_no_pdf_file() -> None:
    evidence = page_of(DAMAGED["a space lost"])
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, QUOTE), [evidence], {})
    other = evidence.document.model_copy(update={"extractor": Extractor(name="text", version="1")})
    forged = evidence.model_copy(update={"document": other})
    verdict = verify_again(fact, QUESTION.text, [forged], {})[-1]
    assert verdict.reason is RejectReason.QUOTE_NOT_FOUND
    assert "Layout" in verdict.detail


def damaged_by(randomly: random.Random, text: str) -> str:
    """Return a text as a page may give it: spaces lost or doubled, words broken at line ends."""
    pieces = []
    for character in text:
        chance = randomly.random()
        if character == " " and chance < 0.1:
            continue
        if character.isalpha() and chance < 0.02:
            pieces.append(randomly.choice(["-\n", f"{HYPHEN}\n", " "]))
        pieces.append(character * (2 if character == " " and chance > 0.9 else 1))
    return "".join(pieces)


@given(st.lists(st.text("abcdeäß,.;é5", min_size=1, max_size=9), max_size=9), st.randoms())
def test_any_quote_is_found_in_any_damage_and_has_its_letters(
    words: list[str], randomly: random.Random
) -> None:
    quote = " ".join([QUOTE, *words, "in winter"])
    text = f"Before it. {damaged_by(randomly, quote)} after it."
    found = locate(quote, text, tiers=ALL_TIERS)
    assert found is not None
    shown = text[found.start : found.end]
    assert normalise(shown).layout().text == normalise(quote).layout().text


DOCS = Path(__file__).parents[2] / "docs"


def pages(paths: Sequence[Path]) -> list[str]:
    """Return the beginnings of some pages, one paragraph after the other."""
    return [
        " ".join(re.sub(r"[`*_|#\[\]]", "", path.read_text(encoding="utf-8")[:8000]).split())
        for path in paths
    ]


def letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text))


def test_a_quote_of_another_document_is_not_found() -> None:
    randomly = random.Random(7)  # noqa: S311 - the same negatives each time
    honest = pages(sorted(DOCS.glob("*.md")))
    damaged = [damaged_by(randomly, page) for page in honest]
    quotes = [
        (at, page[start:end])
        for at, page in enumerate(honest)
        for start, end in sentences(page)
        if 60 <= end - start <= 400
    ]
    looked_up = 0
    while looked_up < 400:
        at, quote = randomly.choice(quotes)
        other = randomly.randrange(len(honest))
        if other == at or letters(quote) in letters(honest[other]):
            continue
        looked_up += 1
        assert locate(quote, damaged[other], tiers=ALL_TIERS) is None, quote
    own = sum(locate(q, damaged[at], tiers=ALL_TIERS) is not None for at, q in quotes[::20])
    assert own * 10 >= len(quotes[::20]) * 6
