"""Claims in a model's words: what of them becomes a fact, and that no lie of these kinds does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.api.records import (
    Fact,
    FactKind,
    FactStatus,
    Predicate,
    RejectReason,
)
from controller.evidence.claims import one_line
from controller.evidence.predicates import Passage, check_anchors, check_polarity
from controller.evidence.soft import is_open, needs_soft_check
from controller.evidence.verification import Candidate, agrees, verify_again, verify_fact
from tests.evidence.paraphrases import TRUTHS, Wording, honest, lies, passes, verdicts_on
from tests.evidence.recorded import DOCUMENT_ID, blocks_of, cases, evidence_of, question

# --- Lies and honest wordings of whole sentences -------------------------------------------------

TOLD = [lie for truth in TRUTHS for lie in lies(truth)]
FAIR = [wording for truth in TRUTHS for wording in honest(truth)]


# S2.4, S2.12
def test_no_lie_of_these_kinds_passes() -> None:
    assert len(TOLD) >= 500
    leaked = [(lie.how, lie.claim) for lie in TOLD if passes(lie)]
    assert leaked == []


def test_a_sentence_passes_as_it_is_so_that_a_lie_fails_for_what_was_changed() -> None:
    for truth in TRUTHS:
        verdicts = verdicts_on(Wording("as it is", truth.sentence, truth))
        assert all(verdict.passed for verdict in verdicts), (truth.sentence, verdicts)


def test_honest_wordings_pass() -> None:
    refused = [(wording.how, wording.claim) for wording in FAIR if not passes(wording)]
    assert len(refused) * 100 <= len(FAIR) * 2, refused


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.data())
def test_a_lie_fails_on_top_of_an_honest_edit_too(data: st.DataObject) -> None:
    truth = data.draw(st.sampled_from(TRUTHS))
    fair = data.draw(st.sampled_from([*honest(truth), Wording("", truth.sentence, truth)]))
    told = list(lies(truth._replace(sentence=fair.claim)))
    if told and passes(fair):
        lie = data.draw(st.sampled_from(told))
        same = {w.claim for w in honest(truth)} | {truth.sentence}
        assert lie.claim in same or not passes(lie), (truth.sentence, fair.claim, lie)


# --- Single rulings ------------------------------------------------------------------------------


def fault(claim: str, quote: str, language: str = "en", headings: tuple[str, ...] = ()) -> str:
    """Return which of P3 and P5 refuses a claim, with the detail; nothing: neither does."""
    passages = [Passage(quote, blocks_of(quote, headings=headings))]
    for verdict in (
        check_anchors(claim, passages, language),
        check_polarity(claim, passages, {}, language),
    ):
        if not verdict.passed:
            return f"{verdict.predicate}: {verdict.detail}"
    return ""


WRAPS = "Set WRAP to True to wrap each view. Its default value is False."


@pytest.mark.parametrize(
    ("claim", "quote", "expected"),
    cases(
        {
            "the value of another sentence": ("The default of WRAP is True.", WRAPS, "P3"),
            "the value of its own sentence": ("The default of WRAP is False.", WRAPS, ""),
            "a state for a literal": ("WRAP is enabled by default.", "By default: False", "P3"),
            "the same state for a literal": ("It is disabled by default.", "By default: False", ""),
            "on for off": ("By default it is on.", "By default it is off.", "P3"),
            "a place, not a state": ("It is on the server.", "By default it is off.", ""),
            "None for no value": ("The default is None.", "The default is 5.", "P3"),
            "another number beside the word": (
                "The new limit is 100.",
                "The old limit was 100. The new limit is 200.",
                "P3",
            ),
            "two facts in one sentence": (
                "The timeout is 5 seconds and the limit is 10 requests.",
                "The timeout is 5 seconds. The limit is 10 requests.",
                "",
            ),
            "the unit of another number": (
                "It waits 5 minutes.",
                "It waits 5 seconds and ends after 10 minutes.",
                "P3",
            ),
            "the unit of both": ("It waits 5 seconds.", "It waits 5 or 6 seconds.", ""),
            "a unit without a number": ("It is in minutes.", "It is in seconds.", "P3"),
            "a percentage for a count": ("It is three percent.", "It is three years.", "P3"),
            "a magnitude": ("It has 3 billion rows.", "It has 3 million rows.", "P3"),
            "an ordinal": ("It is the third step.", "It is the 2nd step.", "P3"),
            "an ordinal in figures": ("It is the second step.", "It is the 2nd step.", ""),
            "a name from nowhere": ("It was made by Ada.", "It was made by somebody.", "P3"),
            "a name at the start": ("Oracle has savepoints.", "A server has savepoints.", "P3"),
            "a common opening": ("Additionally, it is big.", "It is big.", ""),
            "a name in other letters": ("It needs Django.", "It needs django.", ""),
            "a side for the other": ("It is invisible.", "It is visible.", "P5"),
            "not enabled is disabled": ("It is disabled.", "It is not enabled.", ""),
            "not disabled is enabled": ("It is enabled.", "It isn't disabled.", ""),
            "enabled is not disabled": ("It is disabled.", "It is enabled.", "P3"),
            "not required is optional": ("A name is optional.", "A name is not required.", ""),
            "not more is not less": ("It has less.", "It does not have more.", "P5"),
            "a denial dropped": ("It keeps a log.", "It does not keep a log.", "P5"),
            "both denials dropped": (
                "It works with a log and is shown.",
                "It never works without a log and is shown.",
                "P5",
            ),
            "no longer": ("It is used.", "It is no longer used.", "P5"),
            "a prefix": ("The order is safe.", "The order is unsafe.", "P5"),
            "a joined prefix": ("It is blocking.", "It is non-blocking.", "P5"),
            "neither, nor": ("A and B are not kept.", "Neither A nor B is kept.", ""),
            "not only is no denial": ("It is not kept.", "It is not only kept.", "P5"),
            "only lost": ("Admins may read it.", "Only admins may read it.", "P5"),
            "only invented": ("Only admins may read it.", "Admins may read it.", "P5"),
            "only in another word": ("Admins exclusively read it.", "Only admins read it.", ""),
            "read-only is a word": ("It is read-only.", "It is a read-only field.", ""),
            "unless lost": ("It is kept.", "It is kept unless it is old.", "P5"),
            "unless in other words": ("It is kept except if old.", "It is kept unless old.", ""),
            "at least lost": ("It takes 5 days.", "It takes at least 5 days.", "P5"),
            "at least in other words": (
                "It takes 5 days or more.",
                "It takes at least 5 days.",
                "",
            ),
            "at most in other words": ("It has up to 5 rows.", "It has no more than 5 rows.", ""),
            "at most for at least": ("It has at most 5 rows.", "It has at least 5 rows.", "P5"),
            "another number's bound": (
                "It has 3 columns.",
                "It has at least 5 rows and 3 columns.",
                "",
            ),
            "a bound that cannot be exceeded": ("It has at most 5.", "It cannot exceed 5.", ""),
            "a side used twice": (
                "A is public and B is public.",
                "A is public and B is private.",
                "P5",
            ),
            "a denial of a later clause": (
                "The value is kept.",
                "The value is kept, so that nothing is lost.",
                "",
            ),
            "an exception after a dash": ("It is kept.", "It is kept - not on servers.", "P5"),
            "an answered question": ("It is kept.", "Is it kept? No.", "P5"),
            "a sentence that contradicts": (
                "SQLite has savepoints.",
                "PostgreSQL has savepoints. SQLite has no savepoints.",
                "P5",
            ),
            "each sentence by itself": (
                "A log is kept. A copy is kept.",
                "A log is kept. A copy is not kept.",
                "P5",
            ),
        }
    ),
)
def test_a_ruling(claim: str, quote: str, expected: str) -> None:
    found = fault(claim, quote)
    assert found.partition(":")[0] == expected, found


@pytest.mark.parametrize(
    ("language", "claim", "quote", "expected"),
    cases(
        {
            "German": ("de", "Die Lampe ist gedimmt.", "Die Lampe ist nicht gedimmt.", "P5"),
            "German, as it is": (
                "de",
                "Nicht gedimmt: die Lampe.",
                "Die Lampe: nicht gedimmt.",
                "",
            ),
            "French": ("fr", "La lampe est neuve.", "La lampe n'est pas neuve.", "P5"),
            "Spanish": ("es", "La luz es nueva.", "La luz no es nueva.", "P5"),
            "English in a German task": ("de", "It is dimmed.", "It is not dimmed.", "P5"),
            "antonyms": ("de", "Es ist aktiviert.", "Es ist deaktiviert.", "P5"),
        }
    ),
)
def test_a_ruling_in_another_language(language: str, claim: str, quote: str, expected: str) -> None:
    assert fault(claim, quote, language).partition(":")[0] == expected


DIMS = "By default the lamp may be dimmed, and the timer is not used."


@pytest.mark.parametrize(
    ("claim", "language", "is_needed"),
    cases(
        {
            "words left out": ("By default the lamp may be dimmed, and is not used.", "en", False),
            "a hedge lost": ("By default the lamp is dimmed, the timer is not used.", "en", True),
            "a hedge gained": (
                "By default the lamp may always be dimmed, the timer is not used.",
                "en",
                True,
            ),
            "a word of its own": (
                "By default the lamp may be dimmed, the slow timer is not used.",
                "en",
                True,
            ),
            "names in another order": (
                "By default the timer may be dimmed, and the lamp is not used.",
                "en",
                True,
            ),
            "the denial elsewhere": (
                "By default the lamp may not be dimmed, and the timer is used.",
                "en",
                True,
            ),
            "a language without a table": (
                "By default the lamp may be dimmed, and is not used.",
                "it",
                True,
            ),
        }
    ),
)
def test_what_a_model_should_read_again(claim: str, language: str, is_needed: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_open(claim, [(DIMS, "Lamps")], language) is is_needed


# --- Facts ---------------------------------------------------------------------------------------

ASKED = question("Is the lamp dimmed by default?")
EVIDENCE = evidence_of("The lamp is never dimmed by default. It has 40 lumens.", headings=("Lamp",))
QUOTE = "The lamp is never dimmed by default."


def proposed(claim: str | None, wording: str = QUOTE) -> Fact:
    return verify_fact(ASKED, Candidate(DOCUMENT_ID, wording, claim=claim), [EVIDENCE], {})


def test_a_claim_of_its_own_makes_a_paraphrase() -> None:
    fact = proposed("The lamp isn't dimmed by default.")
    assert (fact.kind, fact.status) == (FactKind.PARAPHRASE, FactStatus.VERIFIED)
    assert fact.claim == "The lamp isn't dimmed by default."
    assert fact.citations[0].quote == QUOTE
    assert [v.predicate for v in fact.verdicts] == list(Predicate)
    assert agrees(fact, verify_again(fact, ASKED.text, [EVIDENCE], {}))
    assert Fact.model_validate(fact.to_json()) == fact


@pytest.mark.parametrize("claim", [None, "", " \u200b\n", QUOTE, f"  {QUOTE}\n"])
def test_a_claim_that_is_the_quote_makes_a_quote(claim: str | None) -> None:
    fact = proposed(claim)
    assert (fact.kind, fact.claim, fact.status) == (FactKind.QUOTE, QUOTE, FactStatus.VERIFIED)
    assert Predicate.P5 not in [v.predicate for v in fact.verdicts]


def test_a_claim_says_only_what_a_reader_sees() -> None:
    assert one_line("a\u202eb\x00c\n d\ud800\u00ad") == "ab c d?"
    assert proposed("The lamp\nis never\x07 dimmed by default").claim == (
        "The lamp is never dimmed by default"
    )


# S2.4
def test_a_claim_that_denies_the_quote_is_rejected() -> None:
    fact = proposed("The lamp is dimmed by default.")
    assert fact.status is FactStatus.REJECTED
    assert [v.reason for v in fact.verdicts if v.reason] == [RejectReason.POLARITY_MISMATCH]


def test_a_claim_is_no_longer_than_a_quote_may_be() -> None:
    fact = proposed("The lamp is never dimmed. " * 40)
    assert fact.verdicts[2].reason is RejectReason.QUOTE_TOO_LONG
    assert agrees(fact, verify_again(fact, ASKED.text, [EVIDENCE], {}))


def test_a_quote_needs_no_soft_check() -> None:
    assert not needs_soft_check(proposed(None), [EVIDENCE])
    assert needs_soft_check(proposed("The old lamp is never dimmed by default."), [EVIDENCE])
