"""The verifier: what becomes a fact, why the rest does not, and that both can be shown again."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    BlockKind,
    Evidence,
    Fact,
    FactKind,
    FactStatus,
    MatchTier,
    Predicate,
    RejectReason,
    Span,
    TermWeight,
    Where,
)
from controller.evidence.predicates import (
    COVERAGE,
    MAXIMUM_LENGTH,
    Passage,
    check_anchors,
    check_coverage,
    check_focus,
    check_substance,
    passages_of,
)
from controller.evidence.provenance import check_found, fact_id
from controller.evidence.quotes import Location
from controller.evidence.verification import (
    MAXIMUM_UNFOUND_CLAIM,
    Candidate,
    agrees,
    verify_again,
    verify_fact,
    weights_by_term,
)
from tests.evidence.recorded import DOCUMENT_ID, blocks_of, cases, evidence_of, question

QUESTION = question("What is the default value of ATOMIC_REQUESTS?")
PARAGRAPH = (
    "Set ATOMIC_REQUESTS to True to wrap each view in a transaction. Its default value is False, "
    "so that 1,000 requests cost nothing \u2014 unless you \u201copt in\u201d."
)
EVIDENCE = evidence_of(
    (BlockKind.HEADING, "ATOMIC_REQUESTS"),
    (BlockKind.FIELD, "Default: False"),
    PARAGRAPH,
    (
        BlockKind.NAVIGATION,
        "Home, Settings, ATOMIC_REQUESTS, default value, next page, previous page",
    ),
    headings=("Settings", "DATABASES", "ATOMIC_REQUESTS"),
)
WEIGHTS = {"default": 1600, "value": 1900, "ATOMIC_REQUESTS": 7000}
SENTENCE = PARAGRAPH[PARAGRAPH.index("Its default") :]


def verify(wording: str, *, asked: str = QUESTION.text, evidence: Evidence = EVIDENCE) -> Fact:
    candidate = Candidate(evidence.document.id, wording)
    return verify_fact(question(asked), candidate, [evidence], WEIGHTS)


def failed(fact: Fact) -> list[tuple[Predicate, RejectReason | None]]:
    return [(v.predicate, v.reason) for v in fact.verdicts if not v.passed]


# S2.4
def test_a_quote_becomes_a_fact_in_the_sources_own_characters() -> None:
    fact = verify(
        'Its default value is False, so that 1,000  requests cost nothing - unless you "opt in".'
    )
    assert fact.status is FactStatus.VERIFIED
    assert fact.kind is FactKind.QUOTE
    assert fact.claim == fact.citations[0].quote == SENTENCE
    assert fact.citations[0].match_tier is MatchTier.NORMALISED
    assert fact.id == fact_id("q", fact.claim, fact.citations)
    assert [v.predicate for v in fact.verdicts] == [p for p in Predicate if p is not Predicate.P5]
    assert all(v.passed and v.reason is None for v in fact.verdicts)


def test_a_short_field_under_the_name_in_question_is_a_fact() -> None:
    assert verify("Default: False").status is FactStatus.VERIFIED


# S2.4, S2.12
@pytest.mark.parametrize(
    ("wording", "predicate", "reason"),
    cases(
        {
            "a number changed": (
                SENTENCE.replace("1,000", "2,000"),
                Predicate.P1,
                RejectReason.QUOTE_NOT_FOUND,
            ),
            "a negation dropped": (
                SENTENCE.replace("unless", "if"),
                Predicate.P1,
                RejectReason.QUOTE_NOT_FOUND,
            ),
            "an invention": (
                "The default value of ATOMIC_REQUESTS is True.",
                Predicate.P1,
                RejectReason.QUOTE_NOT_FOUND,
            ),
            "two places stitched": (
                "Set ATOMIC_REQUESTS to True so that 1,000 requests cost nothing",
                Predicate.P1,
                RejectReason.QUOTE_NOT_FOUND,
            ),
            "nothing": ("", Predicate.P1, RejectReason.QUOTE_NOT_FOUND),
            "too short": ("in a transaction", Predicate.P2, RejectReason.QUOTE_TOO_SHORT),
            "too few words": (
                "ATOMIC_REQUESTS\nDefault: False",
                Predicate.P2,
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "navigation": (
                "ATOMIC_REQUESTS, default value, next page",
                Predicate.P2,
                RejectReason.BOILERPLATE_SPAN,
            ),
        }
    ),
)
def test_what_is_no_fact(wording: str, predicate: Predicate, reason: RejectReason) -> None:
    fact = verify(wording)
    assert fact.status is FactStatus.REJECTED
    assert failed(fact) == [(predicate, reason)]
    assert next(v.detail for v in fact.verdicts if not v.passed)


def test_an_unknown_source_rejects_whatever_is_quoted() -> None:
    fact = verify_fact(QUESTION, Candidate("d-ffffffffffff", SENTENCE), [EVIDENCE], WEIGHTS)
    assert failed(fact) == [(Predicate.P0, RejectReason.UNKNOWN_SOURCE)]
    assert fact.citations == ()


def test_a_source_id_may_be_anything() -> None:
    fact = verify_fact(QUESTION, Candidate("https://example.com/" + "x" * 999, "x"), [], WEIGHTS)
    assert failed(fact) == [(Predicate.P0, RejectReason.UNKNOWN_SOURCE)]
    assert len(fact.verdicts[0].detail) <= 256


def test_blocks_that_contradict_each_other_reject_whatever_is_quoted() -> None:
    other = EVIDENCE.blocks[2].model_copy(update={"text": PARAGRAPH.replace("False", "Wrong")})
    forged = EVIDENCE.model_copy(update={"blocks": (other,)})
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, SENTENCE), [EVIDENCE, forged], WEIGHTS)
    assert failed(fact) == [(Predicate.P0, RejectReason.DIGEST_MISMATCH)]


def test_one_document_has_one_text() -> None:
    other = EVIDENCE.document.model_copy(update={"text_digest": "sha256:" + "0" * 64})
    forged = EVIDENCE.model_copy(update={"document": other})
    fact = verify_fact(QUESTION, Candidate(DOCUMENT_ID, SENTENCE), [EVIDENCE, forged], WEIGHTS)
    assert failed(fact) == [(Predicate.P0, RejectReason.DIGEST_MISMATCH)]


def test_a_wording_that_is_not_found_is_kept_short_and_storable() -> None:
    fact = verify("\ud800" + "x" * 5000)
    assert len(fact.claim) == MAXIMUM_UNFOUND_CLAIM
    assert Fact.model_validate(fact.to_json()) == fact


def test_an_echo_of_the_question_is_no_answer() -> None:
    echo = evidence_of("The default value of the ATOMIC_REQUESTS.", headings=("ATOMIC_REQUESTS",))
    fact = verify("The default value of the ATOMIC_REQUESTS.", evidence=echo)
    assert failed(fact) == [(Predicate.P2, RejectReason.QUOTE_ECHOES_QUESTION)]


def test_a_quote_is_at_most_600_characters_long() -> None:
    long = "word " * 119 + "words"
    assert len(long) == MAXIMUM_LENGTH
    assert check_substance("?", [Passage(long, blocks_of(long))]).passed
    longer = check_substance("?", [Passage(long + "s", blocks_of(long + "s"))])
    assert longer.reason is RejectReason.QUOTE_TOO_LONG


def test_ten_characters_of_chinese_are_enough() -> None:
    text = "\u9ed8\u8ba4\u9694\u79bb\u7ea7\u522b\u662f\u8bfb\u63d0\u4ea4"
    evidence = evidence_of(text, headings=())
    asked = question("\u9694\u79bb\u7ea7\u522b")
    fact = verify_fact(asked, Candidate(DOCUMENT_ID, text), [evidence], {}, "zh")
    assert fact.status is FactStatus.VERIFIED
    short = verify_fact(asked, Candidate(DOCUMENT_ID, text[:9]), [evidence], {}, "zh")
    assert failed(short) == [(Predicate.P2, RejectReason.QUOTE_TOO_SHORT)]


FIELD = (BlockKind.FIELD, "Default:")
CODE = (BlockKind.CODE, "{}")


@pytest.mark.parametrize(
    ("pieces", "quote", "heading", "reason"),
    cases(
        {
            "a whole field": ([(BlockKind.FIELD, "Default: 600")], "Default: 600", "TIMEOUT", None),
            "its value alone": (
                [(BlockKind.FIELD, "Default: 600")],
                "600",
                "TIMEOUT",
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "the same under another name": (
                [(BlockKind.FIELD, "Default: 600")],
                "Default: 600",
                "TIMEOUTS",
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "the same under the name in other letters": (
                [(BlockKind.FIELD, "Default: 600")],
                "Default: 600",
                "timeout",
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "the same in a paragraph": (
                ["Default: 600"],
                "Default: 600",
                "TIMEOUT",
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "a field with its literal": ([FIELD, CODE], "Default:\n{}", "TIMEOUT", None),
            "a label without its literal": (
                [FIELD, CODE],
                "Default:",
                "TIMEOUT",
                RejectReason.QUOTE_ECHOES_QUESTION,
            ),
            "a field and a literal of its own": (
                [(BlockKind.FIELD, "Default: 6"), CODE],
                "Default: 6\n{}",
                "TIMEOUT",
                RejectReason.QUOTE_TOO_SHORT,
            ),
            "a signature with an owner": (
                [(BlockKind.FIELD, "Default: 600")],
                "Default: 600",
                "Cache.TIMEOUT(seconds=None)",
                None,
            ),
        }
    ),
)
def test_the_field_exemption(
    pieces: list[str | tuple[BlockKind, str]], quote: str, heading: str, reason: RejectReason | None
) -> None:
    blocks = blocks_of(*pieces, headings=("Settings", heading))
    touched = blocks[: quote.count("\n") + 1]
    verdict = check_substance("What is the default of TIMEOUT?", [Passage(quote, touched)])
    assert verdict.reason is reason


def test_a_field_without_headings_is_not_exempt() -> None:
    blocks = blocks_of((BlockKind.FIELD, "Default: 600"), headings=())
    verdict = check_substance("What is TIMEOUT?", [Passage("Default: 600", blocks)])
    assert verdict.reason is RejectReason.QUOTE_TOO_SHORT


PASSAGE = Passage(SENTENCE, blocks_of(SENTENCE, headings=("DATABASES", "ATOMIC_REQUESTS")))


# S2.12
@pytest.mark.parametrize(
    ("claim", "reason"),
    cases(
        {
            "the quote itself": (SENTENCE, None),
            "another number": (
                "The default is False for 2,000 requests.",
                RejectReason.ANCHOR_MISSING,
            ),
            "a name from the headings": ("ATOMIC_REQUESTS is False.", None),
            "a name from nowhere": ("MAX_REQUESTS is False.", RejectReason.ANCHOR_MISSING),
        }
    ),
)
def test_a_claim_changes_no_number_and_no_name(claim: str, reason: RejectReason | None) -> None:
    assert check_anchors(claim, [PASSAGE]).reason is reason


@pytest.mark.parametrize(
    ("claim", "kind", "passed"),
    cases(
        {
            "all words, as a quote": ("The default value is False.", FactKind.QUOTE, True),
            "one word more, as a quote": (
                "The usual default value is False.",
                FactKind.QUOTE,
                False,
            ),
            "one word more, as a paraphrase": (
                "The usual default value is False.",
                FactKind.PARAPHRASE,
                True,
            ),
            "mostly other words": (
                "Usually some other value is preferred.",
                FactKind.PARAPHRASE,
                False,
            ),
            "no word": ("!?", FactKind.PARAPHRASE, False),
        }
    ),
)
def test_a_claim_has_its_words_from_the_quote(claim: str, kind: FactKind, passed: bool) -> None:  # noqa: FBT001 - a table's column
    verdict = check_coverage(claim, kind, [PASSAGE], {})
    assert verdict.passed is passed
    assert verdict.reason is (None if passed else RejectReason.LOW_COVERAGE)


@pytest.mark.parametrize(
    ("asked", "weights", "passed"),
    cases(
        {
            "the headings name the subject": (QUESTION.text, WEIGHTS, True),
            "another subject": ("What is the default value of AUTOCOMMIT?", WEIGHTS, False),
            "another quoted string": ('Does it say "opt out"?', {}, False),
            "the same quoted string": ('Does it say "opt in"?', {}, True),
            "half of the weight": (
                "Which requests use savepoints?",
                {"requests": 5, "savepoints": 5},
                True,
            ),
            "less than half": (
                "Which requests use savepoints?",
                {"requests": 4, "savepoints": 5},
                False,
            ),
            "no weight recorded: all the same": ("Which requests use savepoints?", {}, True),
            "no weight at all": ("Which requests?", {"requests": 0}, False),
            "no word": ("?", WEIGHTS, False),
        }
    ),
)
def test_a_quote_answers_its_question(asked: str, weights: dict[str, int], passed: bool) -> None:  # noqa: FBT001 - a table's column
    verdict = check_focus(asked, [PASSAGE], weights)
    assert verdict.passed is passed
    assert verdict.reason is (None if passed else RejectReason.OFF_QUESTION)


def test_where_there_is_no_quote_nothing_holds() -> None:
    assert check_substance("What is DEBUG?", []).reason is RejectReason.QUOTE_TOO_SHORT
    assert check_anchors("Nothing hard.", []).reason is RejectReason.ANCHOR_MISSING
    assert check_coverage("A claim.", FactKind.QUOTE, [], {}).reason is RejectReason.LOW_COVERAGE
    assert check_focus("A question?", [], {}).reason is RejectReason.OFF_QUESTION
    assert check_found(None).reason is RejectReason.QUOTE_NOT_FOUND
    assert check_found(Location(0, 1, MatchTier.EXACT, 1)).passed


def test_thresholds() -> None:
    assert COVERAGE[FactKind.QUOTE] == 1
    assert COVERAGE[FactKind.PARAPHRASE] == Fraction(3, 5)
    assert weights_by_term([TermWeight(term="a", document_frequency=1, weight=7)]) == {"a": 7}


FACT = verify(SENTENCE)
CITATION = FACT.citations[0]


def cited(**change: object) -> Fact:
    """The fact with a changed citation, under an id that fits."""
    citations = (CITATION.model_copy(update=change),)
    return FACT.model_copy(
        update={"citations": citations, "id": fact_id("q", FACT.claim, citations)}
    )


def again(
    fact: Fact, evidence: Evidence = EVIDENCE
) -> tuple[Predicate, RejectReason | None] | None:
    verdicts = verify_again(fact, QUESTION.text, [evidence], WEIGHTS)
    assert agrees(fact, verdicts) is all(verdict.passed for verdict in verdicts)
    return next(((v.predicate, v.reason) for v in verdicts if not v.passed), None)


def test_a_stored_fact_verifies_again() -> None:
    assert verify_again(FACT, QUESTION.text, [EVIDENCE], WEIGHTS) == FACT.verdicts
    stored = Fact.model_validate(FACT.to_json())
    assert again(stored) is None


def test_evidence_recorded_later_changes_no_verdict() -> None:
    early = EVIDENCE.model_copy(update={"blocks": EVIDENCE.blocks[2:3]})
    late = evidence_of(SENTENCE, document_id="d-aaaaaaaaaaaa")
    fact = verify(SENTENCE, evidence=early)
    assert fact.citations[0].context_after == ""
    verdicts = verify_again(fact, QUESTION.text, [early, EVIDENCE, late], WEIGHTS)
    assert verdicts == fact.verdicts
    assert agrees(fact, verdicts)


P0_CHANGED = (Predicate.P0, RejectReason.DIGEST_MISMATCH)
P1_CHANGED = (Predicate.P1, RejectReason.QUOTE_NOT_FOUND)


@pytest.mark.parametrize(
    ("fact", "expected"),
    cases(
        {
            "its claim": (
                FACT.model_copy(update={"claim": FACT.claim.replace("False", "Fals")}),
                P0_CHANGED,
            ),
            "its question": (FACT.model_copy(update={"question_id": "other"}), P0_CHANGED),
            "its id": (FACT.model_copy(update={"id": "f-000000000000"}), P0_CHANGED),
            "its document": (
                cited(document_id="d-ffffffffffff"),
                (Predicate.P0, RejectReason.UNKNOWN_SOURCE),
            ),
            "the text that it cites": (cited(text_digest="sha256:" + "0" * 64), P0_CHANGED),
            "its quote": (cited(quote=CITATION.quote.replace("1,000", "9,000")), P1_CHANGED),
            "its place": (cited(spans=(Span(start=0, end=15),)), P1_CHANGED),
            "a place beyond what is recorded": (
                cited(spans=(Span(start=9000, end=9015),)),
                P1_CHANGED,
            ),
            "a place of nothing": (cited(spans=(Span(start=5, end=5),)), P1_CHANGED),
            "a second place": (cited(spans=(*CITATION.spans, *CITATION.spans)), P1_CHANGED),
            "more occurrences": (cited(occurrences=2), P1_CHANGED),
            "no occurrence": (cited(occurrences=0), P1_CHANGED),
            "its tier": (cited(match_tier=MatchTier.LAYOUT), P1_CHANGED),
            "the context before it": (cited(context_before="something else"), P1_CHANGED),
            "the context after it": (cited(context_after="something else"), P1_CHANGED),
            "its headings": (cited(where=Where(heading_path=("DEBUG",))), P1_CHANGED),
            "its citations": (
                FACT.model_copy(update={"citations": (), "id": fact_id("q", FACT.claim, ())}),
                P1_CHANGED,
            ),
            "a second citation": (
                FACT.model_copy(
                    update={
                        "citations": (CITATION, CITATION),
                        "id": fact_id("q", FACT.claim, (CITATION, CITATION)),
                    }
                ),
                P1_CHANGED,
            ),
            "another claim under an id that fits": (
                FACT.model_copy(
                    update={
                        "claim": "It is True.",
                        "id": fact_id("q", "It is True.", FACT.citations),
                    }
                ),
                P1_CHANGED,
            ),
        }
    ),
)
def test_a_changed_fact_fails(fact: Fact, expected: tuple[Predicate, RejectReason]) -> None:
    assert again(fact) == expected


def test_a_quote_that_was_cut_afterwards_fails() -> None:
    (span,) = CITATION.spans
    at = CITATION.quote.index(",000")
    quote = CITATION.quote[:at]
    citation = CITATION.model_copy(
        update={
            "quote": quote,
            "spans": (Span(start=span.start, end=span.start + at),),
            "context_after": "",
        }
    )
    fact = FACT.model_copy(
        update={"claim": quote, "citations": (citation,), "id": fact_id("q", quote, (citation,))}
    )
    assert again(fact) == P1_CHANGED


def test_another_question_or_other_weights_do_not_verify_the_same_fact() -> None:
    verdicts = verify_again(FACT, "What is the default value of DEBUG?", [EVIDENCE], WEIGHTS)
    assert not agrees(FACT, verdicts)
    assert [v.reason for v in verdicts if not v.passed] == [RejectReason.OFF_QUESTION]


def test_a_paraphrase_may_use_other_words() -> None:
    claim = "The value is False by default, unless you opt in."
    candidate = Candidate(EVIDENCE.document.id, SENTENCE, claim=claim)
    fact = verify_fact(QUESTION, candidate, [EVIDENCE], WEIGHTS)
    assert (fact.kind, fact.claim, fact.status) == (
        FactKind.PARAPHRASE,
        claim,
        FactStatus.VERIFIED,
    )
    assert again(fact) is None


def test_rejected_facts_are_rejected_again() -> None:
    for wording in ("in a transaction", "an invention of a model"):
        fact = verify(wording)
        verdicts = verify_again(fact, QUESTION.text, [EVIDENCE], WEIGHTS)
        assert agrees(fact, verdicts)
    accepted = verify("in a transaction").model_copy(update={"status": FactStatus.VERIFIED})
    assert not agrees(accepted, verify_again(accepted, QUESTION.text, [EVIDENCE], WEIGHTS))


def test_a_span_that_is_not_recorded_is_no_passage() -> None:
    beyond = CITATION.model_copy(update={"spans": (Span(start=9000, end=9001),)})
    assert passages_of([beyond], [EVIDENCE]) == []


def swap(text: str, at: int) -> str:
    return text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]


@given(st.integers(0, len(SENTENCE) - 1))
def test_any_changed_character_of_a_stored_quote_fails(at: int) -> None:
    assert again(cited(quote=swap(SENTENCE, at))) == P1_CHANGED
    assert again(FACT.model_copy(update={"claim": swap(SENTENCE, at)})) == P0_CHANGED


@given(st.integers(0, len(SENTENCE) - 1))
def test_any_changed_character_of_the_recorded_text_fails(at: int) -> None:
    blocks = list(EVIDENCE.blocks)
    place = PARAGRAPH.index(SENTENCE) + at
    blocks[2] = blocks[2].model_copy(update={"text": swap(PARAGRAPH, place)})
    changed = EVIDENCE.model_copy(update={"blocks": tuple(blocks)})
    assert again(FACT, changed) == P1_CHANGED


WORDS = st.sampled_from(
    [
        "the",
        "default",
        "is",
        "600",
        "1,000",
        "-5",
        "ATOMIC_REQUESTS",
        "get()",
        "\u201cno\u201d",
        "50%",
        "False",
        "seconds",
        "\u0153uvre",
        "\u4e8b\u52a1",
        "\u2014",
        "don\u2019t",
        "not",
        "e\u0301t\u00e9",
        "https://a.example/b",
        ".",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
KINDS = st.sampled_from([BlockKind.PARAGRAPH, BlockKind.FIELD, BlockKind.HIDDEN, BlockKind.CODE])


# S0.14, S0.20
@given(
    st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=4),
    TEXTS,
    st.dictionaries(st.sampled_from(["default", "ATOMIC_REQUESTS", "False"]), st.integers(0, 9000)),
    st.data(),
)
def test_verifying_again_always_agrees(
    pieces: list[tuple[BlockKind, str]], asked: str, weights: dict[str, int], data: st.DataObject
) -> None:
    evidence = evidence_of(*pieces, headings=("Settings", "ATOMIC_REQUESTS"))
    text = "\n".join(piece for _, piece in pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    wording = data.draw(st.sampled_from([text[start:end], text, text[start:end].swapcase(), asked]))
    hint = data.draw(st.none() | st.integers(0, 500))
    fact = verify_fact(question(asked), Candidate(DOCUMENT_ID, wording, hint), [evidence], weights)
    verdicts = verify_again(fact, asked, [evidence], weights)
    assert agrees(fact, verdicts)
    if fact.citations:
        assert verdicts == fact.verdicts
        quote = fact.citations[0].quote
        assert fact.claim == quote
        assert quote in text
    verified = fact.status is FactStatus.VERIFIED
    assert verified is all(verdict.passed for verdict in verdicts)
    assert Fact.model_validate(fact.to_json()) == fact


@given(st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=3))
def test_a_quote_has_its_own_anchors_and_words(pieces: list[tuple[BlockKind, str]]) -> None:
    evidence = evidence_of(*pieces)
    text = "\n".join(piece for _, piece in pieces)
    fact = verify_fact(question("What?"), Candidate(DOCUMENT_ID, text), [evidence], {})
    by_predicate = {verdict.predicate: verdict for verdict in fact.verdicts}
    assert by_predicate[Predicate.P1].passed
    assert by_predicate[Predicate.P3].passed
    assert by_predicate[Predicate.P4].passed or by_predicate[Predicate.P4].detail.startswith(
        "there is nothing"
    )
