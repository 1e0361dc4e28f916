"""`report.json`: what it holds, what its schema says, how it is cut, and its digest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.base import digest_of_text
from controller.api.reasons import TERMINAL, TerminalReason
from controller.api.records import (
    Answer,
    AnswerReason,
    Certificate,
    QuestionState,
    RejectReason,
    Statement,
)
from controller.evidence import report_format
from controller.evidence.findings import Findings, standing
from controller.evidence.markdown import render
from controller.evidence.report import (
    MAX_REPORT_BYTES,
    RunSummary,
    build_report,
    published_statements,
    report_digest,
    report_json,
)
from controller.evidence.report_format import (
    CHECKED_COMPUTED,
    CHECKED_JOURNAL,
    CHECKED_LEGAL,
    CHECKED_TEXT,
    Report,
)
from controller.evidence.support import Support
from tests.evidence.samples import (
    DEFAULT_QUESTION,
    SETTINGS_EVIDENCE,
    django_findings,
    huge_findings,
    run_summary,
    setting_evidence,
    setting_fact,
    setting_question,
)

FINDINGS = django_findings()
RUN = run_summary(FINDINGS)
REPORT = build_report(FINDINGS, RUN)


def test_the_report_is_read_back_as_it_was_written() -> None:
    written = report_json(REPORT)
    assert Report.model_validate_json(written) == REPORT
    assert report_json(Report.model_validate_json(written)) == written
    assert json.loads(written)["formatVersion"] == 1


def test_a_newer_format_is_not_read() -> None:
    newer = {**REPORT.to_json(), "formatVersion": 2}
    with pytest.raises(ValueError, match="formatVersion"):
        Report.model_validate(newer)


# S0.45, S0.46
def test_the_score_and_time_are_those_of_the_run() -> None:
    assert REPORT.quality == RUN.quality
    assert REPORT.generated_at == RUN.recorded_at
    assert (REPORT.journal.steps, REPORT.journal.digest) == (21, RUN.journal_digest)


def test_each_statement_has_its_quote_and_each_quote_its_place() -> None:
    statements = [s for q in REPORT.questions for s in q.statements]
    assert [s.citations for s in statements] == [(1,), (2,), (3,), (4,)]
    first = REPORT.references[0]
    assert (first.quote, first.title, first.locator) == (
        "Default: False",
        "Settings",
        "file:ref/settings.txt",
    )
    assert first.heading_path == ("Settings", "Databases", "ATOMIC_REQUESTS")
    assert first.lines is not None
    assert (first.lines.first, first.kind) == (3, "Field")
    text = "\n".join(block.text for block in SETTINGS_EVIDENCE.blocks)
    assert digest_of_text(text) == first.text_digest
    assert text[first.spans[0].start : first.spans[0].end] == first.quote


def test_a_place_that_is_cited_twice_is_one_reference() -> None:
    findings = replace(
        FINDINGS,
        statements=tuple(
            Statement(question_id="savepoint", text=fact.claim, fact_ids=(fact.id,))
            for fact in (FINDINGS.facts[2], FINDINGS.facts[2])
        ),
    )
    report = build_report(findings, RUN)
    assert [s.citations for s in report.questions[1].statements] == [(1,), (1,)]
    assert len(report.references) == 1


# S4.31
def test_rejected_quotes_are_counted_by_the_first_reason() -> None:
    assert [(r.reason, r.count) for r in REPORT.rejected] == [(RejectReason.QUOTE_TOO_SHORT, 1)]
    assert (REPORT.method.facts_verified, REPORT.method.facts_rejected) == (4, 1)
    assert (REPORT.method.searches, REPORT.method.documents) == (9, 2)


# S2.33, S3.6
@pytest.mark.parametrize("ending", TerminalReason)
def test_every_ending_has_its_sentences(ending: TerminalReason) -> None:
    report = build_report(FINDINGS, replace(RUN, ending=ending))
    assert report.ending.meaning == TERMINAL[ending].meaning
    assert report.ending.remedy == TERMINAL[ending].remedy
    handed_off = report.ending.hand_off is not None
    assert handed_off is (ending is not TerminalReason.GOAL_REACHED)


def with_answer(**update: object) -> Findings:
    answer = FINDINGS.answers["savepoint"].model_copy(update=update)
    return replace(FINDINGS, answers={**FINDINGS.answers, "savepoint": answer})


# S0.56, S2.33
@pytest.mark.parametrize("reason", [r for r in AnswerReason if r is not AnswerReason.CONTESTED])
def test_every_unresolved_question_is_missing_and_says_what_to_do(reason: AnswerReason) -> None:
    findings = with_answer(state=QuestionState.UNRESOLVED, reason=reason)
    ended = replace(RUN, ending=TerminalReason.DEADLINE_EXCEEDED)
    missing = {m.question_id: m for m in build_report(findings, ended).missing}
    assert set(missing) == {"savepoint", "retry-limit"}
    assert missing["savepoint"].why
    assert missing["savepoint"].what_to_do


def test_an_answered_question_is_not_missing_even_if_contested() -> None:
    findings = with_answer(reason=AnswerReason.CONTESTED)
    assert [m.question_id for m in build_report(findings, RUN).missing] == ["retry-limit"]


def test_a_question_that_was_not_concluded_is_unresolved_because_the_run_ended() -> None:
    findings = replace(FINDINGS, answers={})
    report = build_report(findings, replace(RUN, ending=TerminalReason.COST_BUDGET_EXHAUSTED))
    assert {(q.state, q.reason) for q in report.questions} == {
        (QuestionState.UNRESOLVED, AnswerReason.RUN_ENDED)
    }
    assert {m.what_to_do for m in report.missing} == {report.ending.remedy}
    reached = build_report(findings, RUN)
    assert {m.what_to_do for m in reached.missing} == {
        "Add a source that covers it, or reword the question."
    }
    open_answer = Answer(question_id="savepoint", state=QuestionState.OPEN, origins=0)
    still_open = replace(FINDINGS, answers={"savepoint": open_answer})
    assert standing(still_open, FINDINGS.questions[1])[1] is AnswerReason.RUN_ENDED


def test_what_its_citations_do_not_support_is_not_published() -> None:
    true = Statement(
        question_id="atomic-default", text="Default: False", fact_ids=(FINDINGS.facts[0].id,)
    )
    false = true.model_copy(update={"text": "ATOMIC_REQUESTS is 42 by default."})
    dangling = true.model_copy(update={"fact_ids": ("f-000000000000",)})
    stranger = true.model_copy(update={"question_id": "never-asked"})
    findings = replace(FINDINGS, statements=(false, true, dangling, stranger))
    assert published_statements(findings) == (true,)
    report = build_report(findings, RUN)
    assert [s.text for q in report.questions for s in q.statements] == ["Default: False"]
    assert report.omitted is None


# T04, S4.16
def test_a_sentence_of_a_closing_summary_that_does_not_hold_is_not_published() -> None:
    true = Statement(
        question_id="atomic-default", text="Default: False", fact_ids=(FINDINGS.facts[0].id,)
    )
    false = true.model_copy(update={"text": "ATOMIC_REQUESTS is 42 by default."})
    dangling = true.model_copy(update={"fact_ids": ("f-000000000000",)})
    report = build_report(replace(FINDINGS, closing_summary=(false, true, dangling)), RUN)
    assert report.summary is not None
    assert [s.text for s in report.summary] == ["Default: False"]
    assert "42 by default" not in report_json(report) + render(report)
    nothing = build_report(replace(FINDINGS, closing_summary=(false,)), RUN)
    assert nothing.summary is None
    assert nothing.digest == REPORT.digest


DIFFERENT: dict[str, tuple[bool, Callable[[], tuple[Findings, RunSummary]]]] = {
    "the same": (True, lambda: (FINDINGS, RUN)),
    "another time and usage": (
        True,
        lambda: (
            FINDINGS,
            replace(RUN, recorded_at=RUN.recorded_at.replace(year=2027), budgets=(), message="!"),
        ),
    ),
    "another ending and score": (
        True,
        lambda: (
            FINDINGS,
            replace(
                RUN,
                ending=TerminalReason.NO_PROGRESS,
                quality=RUN.quality.model_copy(update={"score": 1}),
            ),
        ),
    ),
    "another step of the journal": (True, lambda: (FINDINGS, replace(RUN, journal_steps=22))),
    "another state": (
        False,
        lambda: (with_answer(state=QuestionState.UNRESOLVED, reason=AnswerReason.STEP_LIMIT), RUN),
    ),
    "a sentence of a summary more": (
        False,
        lambda: (
            replace(
                FINDINGS,
                closing_summary=(
                    Statement(
                        question_id="atomic-default",
                        text="Default: False",
                        fact_ids=(FINDINGS.facts[0].id,),
                    ),
                ),
            ),
            RUN,
        ),
    ),
    "another reason": (False, lambda: (with_answer(reason=AnswerReason.CONTESTED), RUN)),
    "a statement fewer": (
        False,
        lambda: (replace(FINDINGS, facts=FINDINGS.facts[1:]), RUN),
    ),
    "another text of a question": (
        False,
        lambda: (
            replace(
                FINDINGS,
                questions=(
                    DEFAULT_QUESTION.model_copy(update={"text": "Default of ATOMIC_REQUESTS?"}),
                    *FINDINGS.questions[1:],
                ),
            ),
            RUN,
        ),
    ),
}


@pytest.mark.parametrize("sentence", DIFFERENT)
def test_the_digest_is_of_what_is_said_and_of_nothing_else(sentence: str) -> None:
    same, made = DIFFERENT[sentence]
    findings, run = made()
    report = build_report(findings, run)
    assert report.digest == report_digest(findings)
    assert (report.digest == REPORT.digest) is same


def size_of(report: Report) -> int:
    return len(report_json(report).encode()) + len(render(report).encode())


# T20
def test_a_report_that_does_not_fit_gives_up_its_lowest_ranked_quotes_and_says_so() -> None:
    findings = huge_findings()
    report = build_report(findings, run_summary(findings))
    assert report.omitted is not None
    kept = len(report.questions[0].statements)
    assert size_of(report) <= MAX_REPORT_BYTES
    assert report.omitted.statements == 250 - kept > 0
    assert report.omitted.certificates == 0
    texts = [s.text for s in published_statements(findings)]
    assert [s.text for s in report.questions[0].statements] == texts[:kept]
    assert len(report.references) == kept
    assert report.digest == report_digest(findings)
    one_more = build_report(findings, run_summary(findings), max_bytes=2 * MAX_REPORT_BYTES)
    assert one_more.omitted is None
    assert size_of(one_more) > MAX_REPORT_BYTES
    assert "left out" in render(report)


@given(st.integers(4000, 12_000))
def test_a_report_is_cut_no_more_than_it_must_be(max_bytes: int) -> None:
    report = build_report(FINDINGS, RUN, max_bytes=max_bytes)
    assert size_of(report) <= max_bytes or report.omitted
    kept = sum(len(q.statements) for q in report.questions)
    certificates = sum(q.certificate is not None for q in report.questions)
    omitted = report.omitted or report_format.Omitted()
    assert (kept + omitted.statements, certificates + omitted.certificates) == (4, 1)
    assert not (kept and omitted.certificates), "certificates go after the last quote"
    again = build_report(FINDINGS, RUN, max_bytes=max_bytes + 4000)
    assert sum(len(q.statements) for q in again.questions) >= kept


def test_quotes_are_given_up_from_every_question_alike() -> None:
    findings = Findings(
        questions=(setting_question(0), setting_question(1)),
        evidence=tuple(setting_evidence(n, o) for n in range(2) for o in range(3)),
        facts=tuple(setting_fact(n, o) for n in range(2) for o in range(3)),
    )
    whole = build_report(findings, run_summary(findings))
    for max_bytes in range(size_of(whole), 3000, -200):
        report = build_report(findings, run_summary(findings), max_bytes=max_bytes)
        first, second = (len(q.statements) for q in report.questions)
        assert 0 <= first - second <= 1


def test_certificates_are_given_up_last() -> None:
    many = FINDINGS.answers["retry-limit"].certificate
    assert many is not None
    long = Certificate(
        queries=tuple(many.queries[0].model_copy(update={"text": "w" * 500}) for _ in range(64)),
        corpora=many.corpora,
        facts_rejected=0,
    )
    questions = tuple(setting_question(n) for n in range(20))
    findings = Findings(
        questions=questions,
        answers={
            q.id: Answer(
                question_id=q.id, state=QuestionState.NOT_FOUND, origins=0, certificate=long
            )
            for q in questions
        },
    )
    report = build_report(findings, run_summary(findings))
    assert report.omitted is not None
    assert 0 < report.omitted.certificates < 20
    assert size_of(report) <= MAX_REPORT_BYTES
    certified = [q.certificate is not None for q in report.questions]
    assert certified == sorted(certified, reverse=True)


def described_fields() -> list[tuple[str, str]]:
    """Return each field of the report's own types with its description in the JSON schema."""
    own = {name for name in report_format.__all__ if name.startswith("Report")} | {
        "BudgetUse",
        "MissingAnswer",
        "Omitted",
        "RejectedQuotes",
    }
    schema: dict[str, Any] = Report.model_json_schema()
    types = {"Report": schema, **schema["$defs"]}
    return [
        (f"{name}.{field}", properties.get("description", ""))
        for name in own
        for field, properties in types[name]["properties"].items()
    ]


# S2.14
def test_the_schema_says_of_every_field_what_it_is_checked_against() -> None:
    checks = (CHECKED_TEXT, CHECKED_JOURNAL, CHECKED_COMPUTED, CHECKED_LEGAL)
    fields = described_fields()
    assert len(fields) > 60
    for name, description in fields:
        meaning, checked, _ = description.partition(" Checked ")
        assert meaning, name
        assert checked, name
    for check in checks:
        assert any(description.endswith(check) for _, description in fields)


def test_citations_follow_the_journal_whatever_the_order_of_a_statement() -> None:
    ids = tuple(f.id for f in FINDINGS.facts[:2])
    support = Support(FINDINGS)
    one, other = (
        Statement(question_id="atomic-default", text="False", fact_ids=order)
        for order in (ids, ids[::-1])
    )
    assert support.citations(one) == support.citations(other)
    assert [c.quote for c in support.citations(one)] == [f.claim for f in FINDINGS.facts[:2]]
