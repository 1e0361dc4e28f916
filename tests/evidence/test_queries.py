"""Queries and questions without a model: always words of the question, always different."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from controller.evidence.queries import (
    MAXIMUM_QUERY_LENGTH,
    MAXIMUM_REFINEMENTS,
    first_query,
    passage_terms,
    plan_questions,
    refinements,
)
from controller.evidence.terms import content_terms
from tests.evidence.recorded import blocks_of, cases

QUESTION = "What is the default value of ATOMIC_REQUESTS?"
WEIGHTS = {"default": 1600, "value": 1900, "ATOMIC_REQUESTS": 7000}


@pytest.mark.parametrize(
    ("question", "query"),
    cases(
        {
            "content terms": (QUESTION, "default value ATOMIC_REQUESTS"),
            "stop words where there is nothing else": ("What is it?", "what is it"),
            "no word at all": (" ??? ", "???"),
            "Chinese is one run": (
                "DEBUG\u7684\u9ed8\u8ba4\u503c",
                "DEBUG \u7684\u9ed8\u8ba4\u503c",
            ),
            "two Chinese runs": (
                "\u4e8b\u52a1 \u9694\u79bb\u7ea7",
                "\u4e8b\u52a1 \u9694\u79bb\u7ea7",
            ),
        }
    ),
)
def test_the_first_query(question: str, query: str) -> None:
    assert first_query(question) == query


@pytest.mark.parametrize(
    ("question", "terms", "expected"),
    cases(
        {
            "name alone, then without the lightest terms": (
                QUESTION,
                (),
                ("ATOMIC_REQUESTS", "value ATOMIC_REQUESTS", "default ATOMIC_REQUESTS"),
            ),
            "with terms of the best passage": (
                QUESTION,
                ("transaction", "view", "autocommit", "more"),
                (
                    "ATOMIC_REQUESTS",
                    "default value ATOMIC_REQUESTS transaction view autocommit",
                    "value ATOMIC_REQUESTS",
                ),
            ),
            "two terms": ("Which default value?", (), ("value", "default", "which default value")),
            "a name by itself": (
                "What is ATOMIC_REQUESTS?",
                (),
                ("atomic requests", "ATOMIC_REQUEST", "ATOMIC_REQ"),
            ),
            "a word by itself": ("cursor", (), ("cursors", "curs")),
            "an inflected word by itself": ("cursors?", (), ("cursor", "curs")),
            "a short word by itself": ("What is get()?", (), ("gets", "what is get")),
            "a short word with a passage": ("C?", ("language",), ("c language", "cs")),
            "two characters": ("\u4e8b\u52a1", (), ("\u4e8b \u52a1",)),
            "no word at all": ("???", (), ()),
        }
    ),
)
def test_refinements(question: str, terms: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert refinements(question, WEIGHTS, terms) == expected


def test_the_terms_of_a_passage_are_its_own_rarest() -> None:
    blocks = blocks_of(
        "The default of a view is a view.", "A transaction is a transaction in a request."
    )
    assert passage_terms(QUESTION, blocks, {}) == ("view", "transaction", "request")
    assert passage_terms(QUESTION, blocks, {"request": 9})[0] == "request"


def test_the_template_questions_on_a_topic() -> None:
    planned = plan_questions("  Transactions in\nthe Django ORM. ")
    assert [question.text for question in planned] == [
        "What is Transactions in the Django ORM?",
        "How does Transactions in the Django ORM work, and what are its limits?",
        "What are the defaults and the requirements of Transactions in the Django ORM?",
    ]
    assert len({question.id for question in planned}) == 3
    assert plan_questions("x" * 500)[2].text.endswith("x?")


WORDS = st.sampled_from(
    [
        "what",
        "default",
        "value",
        "ATOMIC_REQUESTS",
        "get()",
        "transaction",
        "transactions",
        "\u4e8b\u52a1\u9694",
        "5.2",
        "?",
    ]
)


@given(st.one_of(st.text(max_size=500), st.lists(WORDS, max_size=12).map(" ".join)), st.booleans())
def test_queries_are_short_and_all_different(question: str, with_passage: bool) -> None:  # noqa: FBT001 - drawn
    terms = passage_terms(question, blocks_of("A savepoint inside another savepoint."), {})
    queries = [first_query(question), *refinements(question, {}, terms if with_passage else ())]
    assert len(queries) <= 1 + MAXIMUM_REFINEMENTS
    assert len({query.casefold() for query in queries}) == len(queries)
    assert all(len(query) <= MAXIMUM_QUERY_LENGTH for query in queries)
    assert all(queries[1:])


@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=12).map(" ".join)))
def test_a_question_of_two_terms_has_three_queries(question: str) -> None:
    assume(len(content_terms(question)) > 1)
    assert len(refinements(question, {})) >= 2


def test_a_query_that_is_too_long_ends_with_a_whole_word() -> None:
    words = " ".join(f"term{number}" for number in range(70))
    query = refinements(words, {}, ("supercalifragilistic", "x" * 60))[1]
    assert len(query) <= MAXIMUM_QUERY_LENGTH
    assert set(query.split()) <= {*words.split(), "supercalifragilistic"}
    assert len(first_query("y" * 600)) == MAXIMUM_QUERY_LENGTH
