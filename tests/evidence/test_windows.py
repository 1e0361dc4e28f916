"""Windows: sentences that answer, chosen the same everywhere, always quotable."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import BlockKind, FactStatus, Predicate
from controller.evidence.sentences import sentences
from controller.evidence.verification import Candidate, verify_fact
from controller.evidence.windows import (
    MAXIMUM_WINDOW,
    NEVER_OFFERED,
    WINDOWS_PER_DOCUMENT,
    Ranked,
    best_windows,
)
from tests.evidence.recorded import DOCUMENT_ID, blocks_of, cases, evidence_of, question

QUESTION = "What is the default value of ATOMIC_REQUESTS?"
HEADINGS = ("Settings", "DATABASES", "ATOMIC_REQUESTS")
WEIGHTS = {"default": 1600, "value": 1900, "ATOMIC_REQUESTS": 7000}


def ranked(
    *pieces: str | tuple[BlockKind, str],
    headings: tuple[str, ...] = HEADINGS,
    document_id: str = DOCUMENT_ID,
    relevance: int = 1000,
) -> Ranked:
    return Ranked(document_id, blocks_of(*pieces, headings=headings), relevance)


def texts(asked: str, *passages: Ranked, limit: int = 3) -> list[str]:
    return [window.text for window in best_windows(asked, passages, WEIGHTS, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    cases(
        {
            "full stops": ("One is here. Two is there.", ["One is here.", "Two is there."]),
            "closing quotes and brackets": (
                'He said "no." (So.) Yes!',
                ['He said "no."', "(So.)", "Yes!"],
            ),
            "a small letter goes on": (
                "Use a . b instead. then go",
                ["Use a . b instead. then go"],
            ),
            "abbreviations go on": (
                "See e.g. Django, i.e. The one.",
                ["See e.g. Django, i.e. The one."],
            ),
            "initials go on": ("By J. Doe. Next.", ["By J. Doe.", "Next."]),
            "numbers go on": ("It is 3.5 now. Later 4.", ["It is 3.5 now.", "Later 4."]),
            "an ellipsis goes on": (
                "SELECT ... FOR UPDATE. Then\u2026 Nothing.",
                ["SELECT ... FOR UPDATE.", "Then\u2026 Nothing."],
            ),
            "questions and exclamations": ("Really? yes! no", ["Really?", "yes!", "no"]),
            "blank lines": ("One\n \nTwo\nthree", ["One", "Two\nthree"]),
            "Chinese stops": (
                "\u4e00\u3002\u300c\u4e8c\u3002\u300d\u4e09\uff1f\u56db",
                ["\u4e00\u3002", "\u300c\u4e8c\u3002\u300d", "\u4e09\uff1f", "\u56db"],
            ),
            "a stop at the beginning": (". And then. So", [".", "And then.", "So"]),
            "nothing": (" \n ", []),
        }
    ),
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(st.sampled_from("ab. !?\n\u3002\u2026\"'AZ"), max_size=80))
def test_sentences_cover_a_text_in_order(text: str) -> None:
    spans = sentences(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())


def test_the_field_under_the_name_in_question_comes_first() -> None:
    passage = ranked(
        (BlockKind.HEADING, "ATOMIC_REQUESTS"),
        (BlockKind.FIELD, "Default: False"),
        "The default value of ATOMIC_REQUESTS is a matter of taste, and not of value.",
    )
    other = ranked(
        (BlockKind.FIELD, "Default: True"),
        headings=("Settings", "AUTOCOMMIT"),
        document_id="d-aaaaaaaaaaaa",
    )
    assert texts(QUESTION, passage, other)[0] == "Default: False"
    assert "Default: True" not in texts(QUESTION, passage, other)


def test_a_field_that_is_not_asked_for_has_no_advantage() -> None:
    passage = ranked(
        (BlockKind.FIELD, "Default: '' (Empty string)"),
        "A secret key that serves the purpose of cryptographic signing.",
        headings=("SECRET_KEY",),
    )
    assert texts("What is the purpose of SECRET_KEY?", passage)[0].startswith("A secret key")


def test_a_label_and_the_literal_after_it_are_one_window() -> None:
    passage = ranked((BlockKind.FIELD, "Default:"), (BlockKind.CODE, "[\n    'a',\n]"))
    assert texts(QUESTION, passage) == ["Default:\n[\n    'a',\n]"]


@pytest.mark.parametrize(
    "pieces",
    cases(
        {
            "a literal that is too long": [
                (BlockKind.FIELD, "Default:"),
                (BlockKind.CODE, "x = 1\n" * 200),
            ],
            "a paragraph": [(BlockKind.FIELD, "Default:"), "Nothing at all, as it happens."],
            "nothing": [(BlockKind.FIELD, "Default:")],
        }
    ),
)
def test_a_label_without_its_literal_is_never_offered(
    pieces: list[str | tuple[BlockKind, str]],
) -> None:
    assert not any(text.startswith("Default:") for text in texts(QUESTION, ranked(*pieces)))


def test_a_literal_with_a_gap_before_it_is_not_the_fields() -> None:
    field, _, code = blocks_of(
        (BlockKind.FIELD, "Default:"), "Lost.", (BlockKind.CODE, "['a', 'b']")
    )
    assert texts(QUESTION, Ranked(DOCUMENT_ID, (field, code), 1000)) == []


def test_a_field_that_is_too_long_is_read_by_its_sentences() -> None:
    text = "Default: False. " + "The default value of it is described here at length. " * 12
    found = texts(QUESTION, ranked((BlockKind.FIELD, text)))
    assert found
    assert all(len(one) <= MAXIMUM_WINDOW for one in found)


@pytest.mark.parametrize("kind", sorted(NEVER_OFFERED))
def test_boilerplate_and_headings_are_never_offered(kind: BlockKind) -> None:
    passage = ranked((kind, "The default value of ATOMIC_REQUESTS is False, as always."))
    assert texts(QUESTION, passage) == []


def test_long_literals_are_read_by_their_lines() -> None:
    lines = [f"setting_{number} = value_of_{number}  # the default value" for number in range(30)]
    (found,) = texts(QUESTION, ranked((BlockKind.CODE, "\n".join(lines))), limit=1)
    assert found.split("\n")[0] in lines
    assert texts(QUESTION, ranked((BlockKind.CODE, " \n "))) == []


def test_windows_that_hold_p6_come_before_all_others() -> None:
    near = ranked(
        "The default value is described elsewhere, and so is another default value.",
        headings=("Settings",),
        document_id="d-aaaaaaaaaaaa",
    )
    right = ranked("Nobody has ever needed to change ATOMIC_REQUESTS.", headings=(), relevance=1)
    windows = best_windows(QUESTION, [near, right], WEIGHTS, 2)
    assert [window.focused for window in windows] == [True, False]


def test_at_most_two_windows_of_a_document_and_none_that_overlap() -> None:
    sentences_ = [
        f"The default value number {number} is of some interest here." for number in range(9)
    ]
    windows = best_windows(QUESTION, [ranked(" ".join(sentences_))], WEIGHTS, 9)
    assert len(windows) == WINDOWS_PER_DOCUMENT
    one, other = windows
    assert one.end <= other.start or other.end <= one.start


def test_the_same_passage_found_twice_is_offered_once() -> None:
    text = "The default value of ATOMIC_REQUESTS is False."
    weak, strong = ranked(text, relevance=10), ranked(text, relevance=900)
    assert len(best_windows(QUESTION, [weak, strong], WEIGHTS, 9)) == 1
    scores = {
        best_windows(QUESTION, order, WEIGHTS, 1)[0].score
        for order in ([weak, strong], [strong, weak])
    }
    assert len(scores) == 1


def test_nothing_is_offered_where_nothing_is_found_or_wanted() -> None:
    assert best_windows(QUESTION, [], WEIGHTS, 3) == ()
    assert best_windows(QUESTION, [ranked("The default value is False, always.")], WEIGHTS, 0) == ()
    assert (
        best_windows("?", [ranked("The default value is False, always.")], {}, 1)[0].focused
        is False
    )


WORDS = st.sampled_from(
    [
        "The",
        "default",
        "value",
        "of",
        "ATOMIC_REQUESTS",
        "is",
        "False.",
        "e.g.",
        "3.5",
        "Really?",
        "\u4e8b\u52a1\u3002",
        "\u201cno\u201d",
        "settings",
        "one-to-one",
        "\n",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
KINDS = st.sampled_from(list(BlockKind))
PASSAGES = st.lists(
    st.tuples(
        st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=4),
        st.sampled_from(["d-aaaaaaaaaaaa", "d-bbbbbbbbbbbb", "d-cccccccccccc"]),
        st.integers(0, 1000),
        st.sampled_from([(), HEADINGS]),
    ),
    max_size=3,
    unique_by=lambda passage: passage[1],
)


@given(PASSAGES, st.permutations(range(3)))
def test_windows_are_found_again_judged_alike_and_independent_of_order(
    drawn: list[tuple[list[tuple[BlockKind, str]], str, int, tuple[str, ...]]], order: list[int]
) -> None:
    passages = [
        ranked(*pieces, headings=headings, document_id=identity, relevance=relevance)
        for pieces, identity, relevance, headings in drawn
    ]
    windows = best_windows(QUESTION, passages, WEIGHTS, 5)
    shuffled = [passages[at] for at in order if at < len(passages)]
    assert best_windows(QUESTION, shuffled, WEIGHTS, 5) == windows
    evidence = [
        evidence_of(*pieces, headings=headings, document_id=identity)
        for pieces, identity, _, headings in drawn
    ]
    for window in windows:
        candidate = Candidate(window.document_id, window.text, window.start)
        fact = verify_fact(question(QUESTION), candidate, evidence, WEIGHTS)
        (citation,) = fact.citations
        assert (citation.spans[0].start, citation.spans[0].end) == (window.start, window.end)
        assert citation.quote == window.text
        assert not NEVER_OFFERED.intersection(block.kind for block in window.blocks)
        failed = {verdict.predicate for verdict in fact.verdicts if not verdict.passed}
        assert failed <= {Predicate.P6}
        assert not window.focused or fact.status is FactStatus.VERIFIED
