"""Quotes: found as they are or in normal form, never nearly; cited by the stored slice."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from controller.api.records import Block, BlockKind, MatchTier, Span
from controller.evidence.normalisation import normalise
from controller.evidence.quotes import (
    CONTEXT_LENGTH,
    RecordedBlocksError,
    cite,
    count_in,
    locate,
    locate_in,
    published_slice,
    recorded_blocks,
    stretches_of,
)
from tests.evidence.recorded import DOCUMENT_ID, blocks_of, cases, document, evidence_of

TEXT = (
    "The default isolation level is \u201cREAD COMMITTED\u201d \u2014 the server's own.\n"
    "It lasts 6000 seconds."
)
SENTENCE = "every quote is found or it is not published at all"

WORDS = st.sampled_from(
    [
        "the",
        "default",
        "is",
        "600",
        "6000",
        "1,000",
        "-5",
        "non-atomic",
        "caf\u00e9",
        "e\u0301",
        "\u201cno\u201d",
        "50%",
        "ef\ufb01cient",
        "\u0153uvre",
        "\u4e8b\u52a1",
        "\u2014",
        "x_y",
        "don\u2019t",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("quote", "tier", "found"),
    cases(
        {
            "as it is": ("isolation level is", MatchTier.EXACT, "isolation level is"),
            "straight quotes for curly ones": (
                'is "READ COMMITTED"',
                MatchTier.NORMALISED,
                "is \u201cREAD COMMITTED\u201d",
            ),
            "another line wrap": ("own. It  lasts", MatchTier.NORMALISED, "own.\nIt lasts"),
            "a hyphen for a dash": (
                "- the server\u2019s",
                MatchTier.NORMALISED,
                "\u2014 the server's",
            ),
        }
    ),
)
def test_a_quote_is_found(quote: str, tier: MatchTier, found: str) -> None:
    location = locate(quote, TEXT)
    assert location is not None
    assert (location.tier, location.occurrences) == (tier, 1)
    assert TEXT[location.start : location.end] == found


@pytest.mark.parametrize(
    "quote",
    cases(
        {
            "another number": "It lasts 5000 seconds",
            "another word": "The standard isolation level",
            "another case": "the default isolation level",
            "another order": "isolation default level",
            "stitched from two places": "The default isolation level lasts 6000 seconds",
            "a part of a number": "It lasts 600",
            "the end of a number": "000 seconds",
            "a part of a word": "The default isolation lev",
            "nothing": "",
            "white space": " \n ",
            "what normalises to nothing": "\u200b\u00ad",
        }
    ),
)
def test_a_quote_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


@pytest.mark.parametrize(
    ("quote", "text"),
    cases(
        {
            "a negation lost": ("atomic blocks are fine", "non-atomic blocks are fine"),
            "a sign lost": ("5 degrees are safe", "at -5 degrees are safe"),
            "the decimals lost": ("it takes 3", "it takes 3.5 seconds"),
            "the thousands lost": ("it takes 12", "it takes 12,000 seconds"),
            "the percent sign lost": ("it takes 12", "it takes 12% longer"),
            "an accent lost": ("she said cafe", "she said cafe\u0301 twice"),
            "half of a ligature": ("the man\u0153uvr", "the man\u0153uvre"),
            "a letter of a ligature": ("man o", "man \u0153"),
            "a superscript for a factor": ("105 rows", "10\u2075 rows"),
        }
    ),
)
def test_a_cut_that_changes_the_meaning_is_no_quote(quote: str, text: str) -> None:
    assert locate(quote, text) is None


def test_chinese_is_quoted_without_spaces_around_it() -> None:
    text = "\u9ed8\u8ba4\u7684\u9694\u79bb\u7ea7\u522b\u662f\u8bfb\u5df2\u63d0\u4ea4\u3002"
    location = locate("\u9694\u79bb\u7ea7\u522b\u662f", text)
    assert location is not None
    assert (location.start, location.end) == (3, 8)


@pytest.mark.parametrize(
    ("hint", "start"),
    cases(
        {
            "no hint: the first": (None, 0),
            "near the second": (11, 10),
            "a tie: the first": (5, 0),
        }
    ),
)
def test_the_occurrence_nearest_to_the_hint_is_meant(hint: int | None, start: int) -> None:
    location = locate("one two", "one two | one two | one two", hint)
    assert location is not None
    assert (location.start, location.occurrences) == (start, 3)


def test_blocks_that_follow_each_other_are_one_text() -> None:
    one, two, three, four = blocks_of("First.", "Second.", "Third.", "Fourth.")
    stretches = stretches_of([four, one, two, one])
    assert [stretch.text for stretch in stretches] == ["First.\nSecond.", "Fourth."]
    assert [(stretch.start, stretch.end) for stretch in stretches] == [
        (0, 14),
        (four.start, four.end),
    ]
    assert stretches[0].blocks_of(0, 6) == (one,)
    assert stretches[0].blocks_of(2, 8) == (one, two)
    assert stretches_of([three]) != ()


def test_a_quote_may_span_adjacent_blocks_but_no_gap() -> None:
    one, two, three = blocks_of("First sentence.", "Second sentence.", "Third sentence.")
    assert locate_in(stretches_of([one, two]), "sentence. Second sentence.") is not None
    assert locate_in(stretches_of([one, three]), "sentence. Third sentence.") is None


def test_a_block_cut_earlier_by_another_step_is_the_same_block() -> None:
    (whole,) = blocks_of("First sentence. Second sentence.")
    cut = whole.model_copy(update={"end": 15, "text": "First sentence."})
    assert stretches_of([cut, whole]) == stretches_of([whole])


@pytest.mark.parametrize(
    "change",
    cases(
        {
            "another text": {"text": "First sentence!", "end": 15},
            "another heading": {"text": "First sentence.", "end": 15, "heading_path": ("Other",)},
            "shorter than its offsets": {"text": "First"},
            "longer than its offsets": {"end": 3},
        }
    ),
)
def test_blocks_that_contradict_each_other_are_refused(change: dict[str, object]) -> None:
    (whole,) = blocks_of("First sentence. Second sentence.")
    with pytest.raises(RecordedBlocksError):
        stretches_of([whole, whole.model_copy(update=change)])


def test_blocks_that_overlap_are_refused() -> None:
    one, two = blocks_of("First sentence.", "Second sentence.")
    moved = two.model_copy(update={"start": two.start - 5, "end": two.end - 5})
    with pytest.raises(RecordedBlocksError, match="two different blocks"):
        stretches_of([one, moved])


def test_a_citation_is_the_stored_slice_with_its_place() -> None:
    evidence = evidence_of(
        (BlockKind.HEADING, "ATOMIC_REQUESTS"),
        (BlockKind.FIELD, "Default: \u201cFalse\u201d"),
        "Set this to True to wrap each view in a transaction.",
        headings=("Settings", "ATOMIC_REQUESTS"),
    )
    stretches = stretches_of(evidence.blocks)
    location = locate_in(stretches, 'Default: "False" Set this')
    assert location is not None
    citation = cite(evidence.document, stretches, location)
    assert citation.quote == "Default: \u201cFalse\u201d\nSet this"
    assert citation.match_tier is MatchTier.NORMALISED
    assert citation.context_before == "ATOMIC_REQUESTS\n"
    assert citation.context_after == " to True to wrap each view in a t"[:CONTEXT_LENGTH]
    assert citation.where.heading_path == ("Settings", "ATOMIC_REQUESTS")
    assert citation.where.lines is not None
    assert (citation.where.lines.first, citation.where.lines.last) == (2, 3)
    assert published_slice([evidence], citation) == citation.quote


def test_a_block_without_lines_is_cited_without_lines() -> None:
    block = Block(start=0, end=9, kind=BlockKind.PARAGRAPH, text="A record.")
    stretches = stretches_of([block])
    location = locate_in(stretches, "record")
    assert location is not None
    assert cite(document(), stretches, location).where.lines is None


def test_what_is_not_recorded_can_be_neither_cited_nor_published() -> None:
    evidence = evidence_of("First sentence.", "Second sentence.")
    stretches = stretches_of(evidence.blocks)
    location = locate_in(stretches, "Second sentence.")
    assert location is not None
    citation = cite(evidence.document, stretches, location)
    without = evidence.model_copy(update={"blocks": evidence.blocks[:1]})
    with pytest.raises(RecordedBlocksError, match="is not recorded text"):
        cite(evidence.document, stretches_of(without.blocks), location)
    assert published_slice([without], citation) is None
    twice = citation.model_copy(update={"spans": (*citation.spans, Span(start=0, end=5))})
    assert published_slice([evidence], twice) is None
    assert recorded_blocks([evidence], "d-ffffffffffff") == ()
    assert len(recorded_blocks([evidence], DOCUMENT_ID)) == 2


def test_occurrences_are_counted_in_the_tier_that_matched() -> None:
    stretches = stretches_of(blocks_of("a \u2014 b and a - b", "a - b"))
    assert count_in(stretches, "a - b", MatchTier.EXACT) == 2
    assert count_in(stretches, "a - b", MatchTier.NORMALISED) == 3
    assert count_in(stretches, "a - b", MatchTier.LAYOUT) == 0


@given(SENTENCES, SENTENCES, SENTENCES)
def test_what_is_located_has_the_quotes_normal_form(before: str, quote: str, after: str) -> None:
    text = f"{before}. {quote} {after}"
    for wording in (quote, normalise(quote).text):
        location = locate(wording, text)
        assert location is not None
        assert normalise(text[location.start : location.end]).text == normalise(wording).text


@given(st.text(max_size=40), st.text(max_size=200))
def test_any_hit_in_any_text_has_the_quotes_normal_form(quote: str, text: str) -> None:
    location = locate(quote, text + quote + text)
    if location is not None:
        found = (text + quote + text)[location.start : location.end]
        assert normalise(found).text == normalise(quote).text != ""


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_mutated_number_is_never_located(number: int, other: int) -> None:
    assume(number != other)
    text = f"The upload limit is {number:,} bytes and no more; that is, {number} of them."
    assert locate(f"The upload limit is {number:,} bytes", text) is not None
    assert locate(f"The upload limit is {other:,} bytes", text) is None
    assert locate(f"The upload limit is {other:,}", text) is None
    assert locate(f"that is, {other}", text) is None


@given(st.permutations(SENTENCE.split()))
def test_a_shuffled_quote_is_never_located(words: list[str]) -> None:
    assume(" ".join(words) != SENTENCE)
    assert locate(" ".join(words), f"It is said that {SENTENCE}, and so it is.") is None


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 250))
def test_the_hint_decides_between_equal_quotes(gaps: list[int], hint: int) -> None:
    text = "".join(f"{'.' * gap} one two " for gap in gaps)
    location = locate("one two", text, hint)
    assert location is not None
    starts = [at for at in range(len(text)) if text.startswith("one two", at)]
    assert location.start in starts
    assert abs(location.start - hint) == min(abs(start - hint) for start in starts)
    assert location.occurrences == len(gaps)
