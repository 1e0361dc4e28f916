"""The verifier over this project's own pages: no lie is taken for a quote, honest ones are found.

It is the small form of `python -m tests.bench.verifier_benchmark`, which needs Django's manual.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.verifier import measure
from tests.verifier.changes import NOISE, damaged, name_of, negation, number, shuffled
from tests.verifier.texts import Page, Sentence, pages_below, sentences_of

DOCS = Path(__file__).parents[2] / "docs"
COUNT = 300
SEED = 11


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return pages_below(DOCS)


@pytest.fixture(scope="module")
def said(pages: list[Page]) -> list[Sentence]:
    return list(sentences_of(pages))


def test_there_is_enough_to_quote(pages: list[Page], said: list[Sentence]) -> None:
    assert len(pages) > 15
    assert len(said) > 500


def test_a_sentence_of_another_document_is_never_found(
    pages: list[Page], said: list[Sentence]
) -> None:
    tally = measure.of_other_documents(pages, said, COUNT, SEED)
    assert (tally.tried.total(), tally.shown) == (COUNT, [])


def test_nor_is_it_where_the_documents_are_pdf_files(
    pages: list[Page], said: list[Sentence]
) -> None:
    tally = measure.of_other_pdf_files(pages, said, COUNT, SEED)
    assert (tally.tried.total(), tally.shown) == (COUNT, [])


def test_words_in_another_order_are_never_found(said: list[Sentence]) -> None:
    tally = measure.in_another_order(said, COUNT, SEED)
    assert (tally.tried.total(), tally.shown) == (COUNT, [])


def test_a_changed_number_negation_or_name_is_never_found(said: list[Sentence]) -> None:
    tally = measure.changed_quotes(said, COUNT, SEED)
    assert tally.tried == {"a number": 100, "a negation": 100, "a name": 100}
    assert tally.shown == []


def test_hardly_a_claim_with_such_a_change_is_verified(said: list[Sentence]) -> None:
    tally = measure.changed_claims(said, 150, SEED)
    assert tally.tried.total() == 150
    assert tally.accepted.total() * 100 <= 150 * 2, tally.shown


def test_honest_copies_are_found(said: list[Sentence]) -> None:
    tally = measure.honest_quotes(said, COUNT, SEED)
    refused = tally.tried.total() - tally.accepted.total()
    assert refused * 100 <= COUNT, tally.shown
    assert len(tally.tried) >= len(NOISE) - 3


def test_most_honest_quotes_of_pdf_files_are_found(pages: list[Page], said: list[Sentence]) -> None:
    tally = measure.honest_quotes_of_pdf_files(pages, said, 100, SEED)
    assert tally.accepted.total() >= 90
    assert tally.accepted["Layout"] > 20


# --- The changes do what they say ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_change_changes_what_it_says(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    text = "The gate of Philips is not open for 600 seconds, and it can be closed."
    name = name_of(["Philips", "Osram"])
    assert "600" not in (number(text, dice) or text).split()
    assert "Osram" in (name(text, dice) or "")
    denied = negation(text, dice) or text
    words = ("not", "never")
    assert sum(denied.split().count(w) for w in words) != sum(text.split().count(w) for w in words)
    assert sorted((shuffled(text, dice) or "").split()) == sorted(text.split())
    letters = [c for c in damaged(text, dice) if c.isalnum()]
    assert letters == [c for c in text if c.isalnum()]


def test_a_page_says_what_stands_in_it_and_nothing_else(pages: list[Page]) -> None:
    page = next(p for p in pages if p.blocks[0].text == "Verification")
    assert page.says("Nothing is published that the sources do not say")
    assert not page.says("Nothing is published that the sources say")
