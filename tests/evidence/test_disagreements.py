"""Slots and disagreements: what is read without doubt, and what is made of different values."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    AnswerReason,
    BlockKind,
    Evidence,
    FactStatus,
    Question,
    QuestionState,
)
from controller.evidence.audit import audit
from controller.evidence.disagreements import disagreements, is_contested, outvoted
from controller.evidence.discrepancies import AuditRule
from controller.evidence.draft import facts_to_word, template_draft
from controller.evidence.findings import Findings
from controller.evidence.markdown import render
from controller.evidence.predicates import Passage
from controller.evidence.report import build_report
from controller.evidence.report_disagreements import Ruling
from controller.evidence.score import factors, score
from controller.evidence.slots import slots_of
from tests.evidence.recorded import cases
from tests.evidence.samples import (
    concluded,
    evidence_of,
    quote_fact,
    run_summary,
    searches_for,
)

LIMIT = Question(id="limit", text="What is the default value of GATE_LIMIT?")
SAID = "The default of GATE_LIMIT is {} requests."


def voice(
    number: int,
    text: str,
    *,
    headings: tuple[str, ...] = ("Gates",),
    kind: BlockKind = BlockKind.PARAGRAPH,
    origin: str | None = None,
    title: str = "Notes",
    priority: int = 50,
    locator: str | None = None,
) -> Evidence:
    """Return a document of one block; by default each is of an origin of its own."""
    evidence = evidence_of(
        locator or f"file:notes/{number}.txt",
        title,
        [(kind, headings, text), (BlockKind.PARAGRAPH, headings, f"Voice number {number}.")],
        source=f"source-{number}",
        origin=origin or f"origin-{number}",
    )
    document = evidence.document.model_copy(update={"priority": priority})
    return evidence.model_copy(update={"document": document})


def findings_of(*voices: Evidence, asked: Question = LIMIT) -> Findings:
    searches = searches_for(asked, voices)
    facts = tuple(quote_fact(asked, v, v.blocks[0].text, searches) for v in voices)
    assert {fact.status for fact in facts} == {FactStatus.VERIFIED}
    return concluded(Findings(questions=(asked,), searches=searches, evidence=voices, facts=facts))


def slots(
    text: str,
    *,
    asked: str = LIMIT.text,
    headings: tuple[str, ...] = ("Gates",),
    kind: BlockKind = BlockKind.PARAGRAPH,
) -> list[tuple[tuple[str, ...], str, str, list[str]]]:
    """Return the slots of a quote that is a block of its own."""
    evidence = voice(0, text, headings=headings, kind=kind)
    found = slots_of(Passage(text, evidence.blocks[:1]), evidence.document, asked)
    return [(s.subject, s.attribute, s.value.written, sorted(s.qualifiers)) for s in found]


# --- Slots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The default of GATE_LIMIT is 10 requests.",
        "The default value of GATE_LIMIT is 10 requests.",
        "The default value for the GATE_LIMIT setting is 10 requests",
        'The default of the setting "GATE_LIMIT" is 10 requests.',
        "GATE_LIMIT's default is 10 requests.",
        "The GATE_LIMIT default value is 10 requests.",
        "GATE_LIMIT defaults to 10 requests.",
        "The GATE_LIMIT setting defaults to 10 requests.",
        "By default, GATE_LIMIT is 10 requests.",
        "GATE_LIMIT is 10 requests by default.",
        "The default of GATE_LIMIT is 10 requests (a burst counts once).",
        "It has a limit. The default of GATE_LIMIT is 10 requests. Gates stay open.",
    ],
)
def test_a_sentence_that_names_its_subject_fills_a_slot(text: str) -> None:
    assert slots(text) == [(("GATE_LIMIT",), "default", "10 requests", [])]


def test_a_field_under_a_name_fills_a_slot() -> None:
    path = ("Settings", "GATES", "GATE_LIMIT")
    assert slots("Default: 10", headings=path, kind=BlockKind.FIELD) == [
        (("GATES", "GATE_LIMIT"), "default", "10", [])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The default of GATE_LIMIT is 10 requests, unless a burst is allowed.",
        "The default of GATE_LIMIT is 10 requests if the gate is open.",
        "The default of GATE_LIMIT is at least 10 requests.",
        "The default of GATE_LIMIT is not 10 requests.",
        "The default of GATE_LIMIT is 10 requests or 5 bursts.",
        "The default of GATE_LIMIT is now 10 requests.",
        "In debug mode, the default of GATE_LIMIT is 10 requests.",
        "The default of GATE_LIMIT was 10 requests.",
        "The default of OTHER_LIMIT is 10 requests. GATE_LIMIT stands beside it.",
        "The maximum of GATE_LIMIT is 10 requests.",
        "GATE_LIMIT is 10 requests.",
        "The default of the gate is 10 requests, see GATE_LIMIT.",
        "The default is 10 requests.",
    ],
)
def test_what_is_said_otherwise_fills_none(text: str) -> None:
    assert slots(text) == []
    assert slots(text, headings=("Gates", "GATE_LIMIT")) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    cases(
        {
            "code": ("GATE_LIMIT defaults to 10.", BlockKind.CODE),
            "a label in a paragraph": ("Default: 10", BlockKind.PARAGRAPH),
            "a field with more lines": ("Default: 10\nand more", BlockKind.FIELD),
            "a field of a list": ("Default: [] (Empty list)", BlockKind.FIELD),
            "another field": ("Maximum: 10", BlockKind.FIELD),
        }
    ),
)
def test_blocks_that_fill_none(text: str, kind: BlockKind) -> None:
    assert slots(text, headings=("GATE_LIMIT",), kind=kind) == []


def test_a_field_that_a_quote_has_a_part_of_fills_none() -> None:
    evidence = voice(0, "Default: 100", headings=("GATE_LIMIT",), kind=BlockKind.FIELD)
    passage = Passage("Default: 10", evidence.blocks[:1])
    assert slots_of(passage, evidence.document, LIMIT.text) == ()


@pytest.mark.parametrize(
    ("text", "headings", "title", "qualifiers"),
    cases(
        {
            "none": (SAID.format(10), ("Gates",), "Notes", []),
            "a sentence's": (f"In version 2.1, {SAID.format(10)}", ("Gates",), "Notes", ["2.1"]),
            "a release's": (f"Since release 3, {SAID.format(10)}", ("Gates",), "Notes", ["3"]),
            "a heading's": (SAID.format(10), ("New in version 5",), "Notes", ["5"]),
            "a title's": (SAID.format(10), ("Gates",), "Gate 4.2 manual", ["4.2"]),
            "a year": (SAID.format(10), ("Changes of 2024",), "Notes", ["2024"]),
        }
    ),
)
def test_versions_and_dates_are_qualifiers(
    text: str, headings: tuple[str, ...], title: str, qualifiers: list[str]
) -> None:
    evidence = voice(0, text, headings=headings, title=title)
    (slot,) = slots_of(Passage(text, evidence.blocks[:1]), evidence.document, LIMIT.text)
    assert sorted(slot.qualifiers) == qualifiers


def test_the_address_of_a_host_is_no_version() -> None:
    evidence = voice(0, SAID.format(10), locator="http://127.0.0.1:8080/gates")
    found = slots_of(Passage(SAID.format(10), evidence.blocks[:1]), evidence.document, LIMIT.text)
    assert [slot.qualifiers for slot in found] == [frozenset()]


# --- Rulings -------------------------------------------------------------------------------------


def test_two_origins_with_two_values_are_contested() -> None:
    findings = findings_of(voice(0, SAID.format(10)), voice(1, SAID.format(20)))
    (found,) = disagreements(findings, LIMIT)
    assert (found.subject, found.attribute, found.ruling) == (
        ("GATE_LIMIT",),
        "default",
        Ruling.CONTESTED,
    )
    assert [(v.written, v.origins) for v in found.values] == [
        ("10 requests", 1),
        ("20 requests", 1),
    ]
    answer = findings.answers["limit"]
    assert (answer.state, answer.reason) == (QuestionState.ANSWERED, AnswerReason.CONTESTED)
    assert outvoted(findings, LIMIT) == frozenset()


def test_a_sentence_and_a_field_are_compared() -> None:
    field = voice(1, "Default: 20 requests", headings=("GATE_LIMIT",), kind=BlockKind.FIELD)
    assert is_contested(findings_of(voice(0, SAID.format(10)), field), LIMIT)


@pytest.mark.parametrize(
    "others",
    cases(
        {
            "the same value": (voice(1, SAID.format("ten")),),
            "another unit": (voice(1, "The default of GATE_LIMIT is 20 bursts."),),
            "another name": (
                voice(1, "Default: 20 requests", headings=("GATES", "GATE_LIMIT"),
                      kind=BlockKind.FIELD),
            ),
            "a condition": (voice(1, "The default of GATE_LIMIT is 20 requests when idle."),),
            "no value": (voice(1, "The default of GATE_LIMIT is up to the gate."),),
        }
    ),
)  # fmt: skip
def test_what_is_no_disagreement(others: Evidence) -> None:
    findings = findings_of(voice(0, SAID.format(10)), others)
    assert disagreements(findings, LIMIT) == ()
    assert findings.answers["limit"].reason is None


def test_one_document_does_not_disagree_with_itself() -> None:
    text = f"{SAID.format(10)} {SAID.format(20)}"
    assert disagreements(findings_of(voice(0, text)), LIMIT) == ()
    findings = findings_of(voice(0, text), voice(1, SAID.format(10)))
    assert disagreements(findings, LIMIT) == ()
    older = voice(1, SAID.format(20))
    newer = voice(1, SAID.format(10))
    assert older.document.id != newer.document.id
    assert disagreements(findings_of(older, newer), LIMIT) == ()


def test_values_of_different_versions_are_both_kept() -> None:
    findings = findings_of(
        voice(0, SAID.format(10), title="Gate 1.0"), voice(1, SAID.format(20), title="Gate 2.0")
    )
    (found,) = disagreements(findings, LIMIT)
    assert found.ruling is Ruling.QUALIFIERS
    assert [v.qualifiers for v in found.values] == [("1.0",), ("2.0",)]
    assert findings.answers["limit"].reason is None


def test_the_source_of_higher_priority_is_named_first() -> None:
    findings = findings_of(
        voice(0, SAID.format(10)), voice(1, SAID.format(20), priority=60), voice(2, SAID.format(10))
    )
    (found,) = disagreements(findings, LIMIT)
    assert found.ruling is Ruling.PRIORITY
    assert [v.written for v in found.values] == ["20 requests", "10 requests"]
    assert findings.answers["limit"].reason is None
    assert [s.text for s in template_draft(findings)] == [SAID.format(20), SAID.format(10)]


def test_what_most_origins_say_is_named_first() -> None:
    findings = findings_of(
        voice(0, SAID.format(10)), voice(1, SAID.format(20)), voice(2, SAID.format(20))
    )
    (found,) = disagreements(findings, LIMIT)
    assert found.ruling is Ruling.MAJORITY
    assert [(v.written, v.origins) for v in found.values] == [
        ("20 requests", 2),
        ("10 requests", 1),
    ]
    assert [s.text for s in template_draft(findings)] == [SAID.format(20), SAID.format(10)]


def test_copies_of_one_text_are_no_majority() -> None:
    findings = findings_of(
        voice(0, SAID.format(10)),
        voice(1, SAID.format(20)),
        voice(2, SAID.format(20), origin="origin-1"),
    )
    assert is_contested(findings, LIMIT)


def test_an_origin_that_says_both_decides_nothing() -> None:
    findings = findings_of(voice(0, SAID.format(10)), voice(1, SAID.format(20), origin="origin-0"))
    assert is_contested(findings, LIMIT)
    third = findings_of(
        voice(0, SAID.format(10)),
        voice(1, SAID.format(20), origin="origin-0"),
        voice(2, SAID.format(20)),
    )
    assert is_contested(third, LIMIT)  # one origin of two is no majority


def test_half_is_no_majority() -> None:
    values = (10, 10, 20, 30)
    findings = findings_of(*(voice(n, SAID.format(v)) for n, v in enumerate(values)))
    (found,) = disagreements(findings, LIMIT)
    assert found.ruling is Ruling.CONTESTED
    assert len(found.values) == 3


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([10, 20, 30]), st.sampled_from([50, 60])),
        min_size=2,
        max_size=5,
    ),
    st.randoms(),
)
def test_the_order_of_facts_does_not_matter(
    drawn: list[tuple[int, int, int]], randomly: random.Random
) -> None:
    voices = [
        voice(n, SAID.format(v), origin=f"origin-{o}", priority=p)
        for n, (o, v, p) in enumerate(drawn)
    ]
    findings = findings_of(*voices)
    facts = list(findings.facts)
    randomly.shuffle(facts)
    shuffled = concluded(replace(findings, facts=tuple(facts)))
    one, other = (
        [(d.ruling, {(v.written, v.origins) for v in d.values}) for d in disagreements(f, LIMIT)]
        for f in (findings, shuffled)
    )
    assert one == other
    assert findings.answers["limit"].reason is shuffled.answers["limit"].reason
    assert factors(findings, 1) == factors(shuffled, 1)
    preferred = {
        d.values[0].written
        for d in disagreements(findings, LIMIT)
        if d.ruling in {Ruling.PRIORITY, Ruling.MAJORITY}
    }
    again = {
        d.values[0].written
        for d in disagreements(shuffled, LIMIT)
        if d.ruling in {Ruling.PRIORITY, Ruling.MAJORITY}
    }
    assert preferred == again


# --- The score, the draft and the report ---------------------------------------------------------

CONTESTED = findings_of(voice(0, SAID.format(10)), voice(1, SAID.format(20)))


def test_a_contested_answer_is_worth_half() -> None:
    assert score(CONTESTED, 1).quality == 50
    assert score(findings_of(voice(0, SAID.format(10))), 1).quality == 100


def test_a_draft_does_not_word_what_is_contested() -> None:
    assert facts_to_word(CONTESTED) == ()
    agreed = findings_of(voice(0, SAID.format(10)))
    assert facts_to_word(agreed) == agreed.facts


def test_a_report_puts_both_values_side_by_side() -> None:
    report = build_report(CONTESTED, run_summary(CONTESTED))
    (found,) = report.to_json()["questions"][0]["disagreements"]
    assert found == {
        "subject": ["GATE_LIMIT"],
        "attribute": "default",
        "kind": "Number",
        "ruling": "Contested",
        "values": [
            {"value": "10 requests", "citations": [1], "origins": 1, "qualifiers": []},
            {"value": "20 requests", "citations": [2], "origins": 1, "qualifiers": []},
        ],
    }
    rendered = render(report)
    assert "| 10 requests | [1] | 1 |\n| 20 requests | [2] | 1 |" in rendered
    assert "10 requests [1] or 20 requests [2]" in rendered
    assert "Nothing tells which of them is right." in rendered
    assert audit(report, CONTESTED, target_origins=1) == ()


def test_a_report_says_for_which_version_a_value_is_said() -> None:
    findings = findings_of(
        voice(0, SAID.format(10), title="Gate 1.0"), voice(1, SAID.format(20), title="Gate 2.0")
    )
    rendered = render(build_report(findings, run_summary(findings)))
    assert "| Value | Said by | Origins | For |" in rendered
    assert "| 10 requests | [1] | 1 | 1.0 |\n| 20 requests | [2] | 1 | 2.0 |" in rendered


def test_a_report_says_why_a_value_stands_first() -> None:
    findings = findings_of(voice(0, SAID.format(10)), voice(1, SAID.format(20), priority=60))
    rendered = render(build_report(findings, run_summary(findings)))
    assert "The first is that of the source with the highest priority." in rendered
    assert "| 20 requests | [1] | 1 |\n| 10 requests | [2] | 1 |" in rendered


@pytest.mark.parametrize("update", [{"disagreements": None}, {"reason": None}])
def test_the_audit_finds_a_disagreement_that_is_hushed_up(update: dict[str, object]) -> None:
    report = build_report(CONTESTED, run_summary(CONTESTED))
    asked = report.questions[0].model_copy(update=update)
    forged = report.model_copy(update={"questions": (asked,)})
    rules = {d.rule for d in audit(forged, CONTESTED, target_origins=1)}
    assert AuditRule.QUESTION_AGREES in rules


def test_a_report_without_statements_says_no_values() -> None:
    run = replace(run_summary(CONTESTED), draft_digest="sha256:" + "0" * 64)
    report = build_report(replace(CONTESTED, statements=()), run)
    assert report.questions[0].disagreements is None
    assert "10 requests" not in render(report)
