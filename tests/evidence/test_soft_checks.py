"""Soft checks: what one takes away, and how a report marks words that none has looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.api.records import (
    AnswerReason,
    Fact,
    FactKind,
    FactStatus,
    QuestionState,
    Statement,
)
from controller.api.rounds import FormerQuestion, Rereading, ReverifyRecord
from controller.evidence.audit import audit
from controller.evidence.discrepancies import AuditRule
from controller.evidence.draft import template_draft
from controller.evidence.findings import Findings, FormerRound
from controller.evidence.markdown import render
from controller.evidence.report import build_report
from controller.evidence.soft import needs_soft_check
from controller.evidence.verification import Candidate, verify_fact
from tests.evidence.recorded import DOCUMENT_ID, evidence_of
from tests.evidence.samples import SAVEPOINT_QUESTION, concluded, run_summary, searches_for

SAVEPOINTS = evidence_of(
    "A savepoint is a marker within a transaction that enables you to roll back a part of it.",
    headings=("Savepoints",),
)
FACT = verify_fact(
    SAVEPOINT_QUESTION,
    Candidate(DOCUMENT_ID, SAVEPOINTS.blocks[0].text, claim="A savepoint is a marker."),
    [SAVEPOINTS],
    {},
)
VETOED = FACT.model_copy(update={"status": FactStatus.VETOED})
MARK = "*(in a model's words; the quote is the source's)*"


def findings_with(*facts: Fact) -> Findings:
    return concluded(
        Findings(
            questions=(SAVEPOINT_QUESTION,),
            searches=searches_for(SAVEPOINT_QUESTION, [SAVEPOINTS]),
            evidence=(SAVEPOINTS,),
            facts=facts,
        )
    )


def test_a_vetoed_fact_counts_for_nothing() -> None:
    assert FACT.status is FactStatus.VERIFIED
    findings = findings_with(VETOED)
    answer = findings.answers[SAVEPOINT_QUESTION.id]
    assert (answer.state, answer.reason) == (QuestionState.UNRESOLVED, AnswerReason.VETOED)
    assert template_draft(findings) == ()
    report = build_report(findings, run_summary(findings))
    assert (report.method.facts_verified, report.method.facts_rejected) == (0, 0)
    assert report.method.facts_vetoed == 1
    assert report.rejected == ()
    assert "1 taken away by a soft check" in render(report)
    assert audit(report, findings, target_origins=1) == ()


def test_another_fact_answers_beside_a_vetoed_one() -> None:
    other = verify_fact(
        SAVEPOINT_QUESTION,
        Candidate(DOCUMENT_ID, SAVEPOINTS.blocks[0].text),
        [SAVEPOINTS],
        {},
    )
    findings = findings_with(VETOED, other)
    assert findings.answers[SAVEPOINT_QUESTION.id].fact_ids == (other.id,)


def test_a_carried_fact_that_is_vetoed_is_gone() -> None:
    former = FormerRound(
        questions=(
            FormerQuestion(
                id=SAVEPOINT_QUESTION.id,
                text=SAVEPOINT_QUESTION.text,
                state=QuestionState.ANSWERED,
            ),
        ),
        reverified=(
            ReverifyRecord(
                document_id=DOCUMENT_ID,
                source_name="django-docs",
                rereading=Rereading.READ,
                read_as=DOCUMENT_ID,
                facts=(FACT,),
            ),
        ),
    )
    findings = replace(findings_with(VETOED), former=former)
    changes = build_report(findings, run_summary(findings)).changes
    assert changes is not None
    assert (changes.facts_hold, changes.facts_gone) == (0, 1)
    assert changes.gone[0].why == "a soft check took it away"


# S2.4
def test_a_statement_in_a_models_words_is_marked_where_it_stands() -> None:
    findings = findings_with(FACT)
    report = build_report(findings, run_summary(findings))
    assert audit(report, findings, target_origins=1) == ()
    (statement,) = report.questions[0].statements
    assert statement.wording is FactKind.PARAPHRASE
    assert report.to_json()["questions"][0]["statements"][0]["wording"] == "Paraphrase"
    rendered = render(report)
    assert rendered.count(f"A savepoint is a marker. {MARK}") == 2  # summary and findings
    assert "> A savepoint is a marker within a transaction that enables" in rendered
    assert "> A savepoint is a marker.\n" not in rendered
    assert "| Statements |" in rendered


def test_a_quote_is_not_marked() -> None:
    findings = findings_with(
        verify_fact(
            SAVEPOINT_QUESTION, Candidate(DOCUMENT_ID, SAVEPOINTS.blocks[0].text), [SAVEPOINTS], {}
        )
    )
    report = build_report(findings, run_summary(findings))
    assert "wording" not in report.to_json()["questions"][0]["statements"][0]
    assert "model's words" not in render(report)


def test_the_audit_finds_a_claim_that_passes_for_a_quote() -> None:
    findings = findings_with(FACT)
    report = build_report(findings, run_summary(findings))
    (asked,) = report.questions
    unmarked = asked.statements[0].model_copy(update={"wording": None})
    forged = report.model_copy(
        update={"questions": (asked.model_copy(update={"statements": (unmarked,)}),)}
    )
    found = [str(d) for d in audit(forged, findings, target_origins=1)]
    assert any("(WordingMarked)" in line and "it is a Paraphrase" in line for line in found)


# "Place" is no word of the evidence, which the predicates leave open.
OPEN = verify_fact(
    SAVEPOINT_QUESTION,
    Candidate(
        DOCUMENT_ID,
        SAVEPOINTS.blocks[0].text,
        claim="A savepoint is a marked place within a transaction that enables you to roll back.",
    ),
    [SAVEPOINTS],
    {},
)
SECOND_MARK = "*(no soft check was made of these words)*"


def test_words_that_need_a_soft_check_which_was_not_made_have_a_second_mark() -> None:
    assert OPEN.status is FactStatus.VERIFIED
    assert needs_soft_check(OPEN, [SAVEPOINTS])
    findings = findings_with(OPEN)
    report = build_report(findings, run_summary(findings))
    assert report.to_json()["questions"][0]["statements"][0]["softUnchecked"] is True
    assert f"{MARK} {SECOND_MARK}" in render(report)
    assert "1 statement in a model's words may say more" in render(report)
    assert audit(report, findings, target_origins=1) == ()


@pytest.mark.parametrize("fact", [OPEN, FACT], ids=["checked", "nothing to check"])
def test_words_that_need_no_soft_check_or_had_one_have_one_mark(fact: Fact) -> None:
    findings = replace(findings_with(fact), reviewed=frozenset({OPEN.id}))
    report = build_report(findings, run_summary(findings))
    assert "softUnchecked" not in report.to_json()["questions"][0]["statements"][0]
    assert MARK in render(report)
    assert SECOND_MARK not in render(report)
    assert audit(report, findings, target_origins=1) == ()


def test_a_check_of_a_fact_is_none_of_a_sentence_that_was_worded_anew() -> None:
    sentence = Statement(
        question_id=SAVEPOINT_QUESTION.id,
        text="Within a transaction a savepoint is a marked place that enables you to roll back.",
        fact_ids=(OPEN.id,),
    )
    findings = replace(
        findings_with(OPEN),
        reviewed=frozenset({OPEN.id}),
        statements=(sentence,),
        closing_summary=(sentence,),
    )
    report = build_report(findings, run_summary(findings))
    assert report.questions[0].statements[0].soft_unchecked
    assert report.summary is not None
    assert report.summary[0].soft_unchecked
    assert render(report).count(SECOND_MARK) == 3  # in both parts of the summary, in the findings


@pytest.mark.parametrize("is_reviewed", [True, False])
def test_the_audit_finds_a_second_mark_that_is_wrong(is_reviewed: bool) -> None:  # noqa: FBT001 - a table's column
    reviewed = frozenset({OPEN.id}) if is_reviewed else frozenset()
    findings = replace(findings_with(OPEN), reviewed=reviewed)
    report = build_report(findings, run_summary(findings))
    (asked,) = report.questions
    forged = asked.statements[0].model_copy(
        update={"soft_unchecked": True if is_reviewed else None}
    )
    asked = asked.model_copy(update={"statements": (forged,)})
    found = audit(report.model_copy(update={"questions": (asked,)}), findings, target_origins=1)
    assert AuditRule.WORDING_MARKED in {d.rule for d in found}
