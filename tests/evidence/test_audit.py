"""The audit: an honest report has no discrepancy, and no lie stays unnamed, however small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

import pytest
from pydantic import BaseModel, ValidationError

from controller.api.reasons import TerminalReason
from controller.api.records import Certificate, Evidence, Fact, FactStatus, SearchStatus, Statement
from controller.api.task import GoalPredicate, PredicateMet, Quality
from controller.evidence.audit import audit
from controller.evidence.discrepancies import AuditRule, Discrepancy
from controller.evidence.findings import Findings
from controller.evidence.report import build_report
from controller.evidence.report_format import CHECKED_LEGAL, Report
from tests.evidence.samples import (
    SETTINGS_EVIDENCE,
    django_findings,
    huge_findings,
    run_summary,
    setting_evidence,
    setting_fact,
    setting_question,
)
from tests.evidence.test_markdown import golden_findings, golden_report

FINDINGS = django_findings()
REPORT = build_report(FINDINGS, run_summary(FINDINGS))


def found(report: Report = REPORT, findings: Findings = FINDINGS) -> tuple[Discrepancy, ...]:
    return audit(report, findings, target_origins=1)


def test_honest_reports_have_no_discrepancy() -> None:
    assert found() == ()
    assert found(golden_report(), golden_findings()) == ()
    ended = build_report(Findings(), run_summary(Findings(), TerminalReason.INVALID_SPEC))
    assert found(ended, Findings()) == ()


def test_a_sentence_that_is_put_into_the_summary_is_found() -> None:
    fact = FINDINGS.facts[0]
    honest = Statement(question_id=fact.question_id, text="Default: False", fact_ids=(fact.id,))
    findings = replace(FINDINGS, closing_summary=(honest,))
    report = build_report(findings, run_summary(findings))
    assert found(report, findings) == ()
    assert report.summary is not None
    lie = report.summary[0].model_copy(update={"text": "Default: True"})
    for summary in ((lie,), (*report.summary, lie), None):
        (discrepancy, *_) = found(report.model_copy(update={"summary": summary}), findings)
        assert discrepancy.rule in {AuditRule.CONTENT_AGREES, AuditRule.REFERENCES_COMPLETE}


def test_a_report_that_was_cut_is_honest() -> None:
    findings = huge_findings()
    report = build_report(findings, run_summary(findings))
    assert report.omitted is not None
    assert found(report, findings) == ()


def changed(text: str, at: int) -> str:
    """Return a text with one character changed."""
    return text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]


# S2.4, S2.27
def test_every_character_of_every_quote_in_the_report_counts() -> None:
    for index, reference in enumerate(REPORT.references):
        for at in range(len(reference.quote)):
            forged = reference.model_copy(update={"quote": changed(reference.quote, at)})
            references = (*REPORT.references[:index], forged, *REPORT.references[index + 1 :])
            first = found(REPORT.model_copy(update={"references": references}))[0]
            assert first.rule is AuditRule.QUOTE_STANDS
            assert first.citation == reference.number
            assert (first.question_id, first.statement) == statement_of(reference.number)


def statement_of(reference: int) -> tuple[str, int]:
    """Return the question and the number of the statement that cites a reference."""
    return next(
        (question.id, number)
        for question in REPORT.questions
        for number, statement in enumerate(question.statements, 1)
        if reference in statement.citations
    )


def test_every_character_of_every_statement_counts() -> None:
    question = REPORT.questions[0]
    for index, statement in enumerate(question.statements):
        for at in range(len(statement.text)):
            forged = statement.model_copy(update={"text": changed(statement.text, at)})
            statements = (*question.statements[:index], forged, *question.statements[index + 1 :])
            asked = question.model_copy(update={"statements": statements})
            report = REPORT.model_copy(update={"questions": (asked, *REPORT.questions[1:])})
            first = found(report)[0]
            assert first.rule is AuditRule.STATEMENT_DRAFTED
            assert (first.question_id, first.statement) == (question.id, index + 1)


def test_every_character_of_every_quote_in_the_journal_counts() -> None:
    for index, fact in enumerate(FINDINGS.facts):
        if fact.status is FactStatus.REJECTED:
            continue
        quote = fact.citations[0].quote
        number = next(r.number for r in REPORT.references if r.quote == quote)
        for at in range(len(quote)):
            citation = fact.citations[0].model_copy(update={"quote": changed(quote, at)})
            forged = fact.model_copy(update={"citations": (citation,)})
            facts = (*FINDINGS.facts[:index], forged, *FINDINGS.facts[index + 1 :])
            discrepancies = found(findings=replace(FINDINGS, facts=facts))
            first = discrepancies[0]
            assert first.rule is AuditRule.VERDICTS_AGREE
            assert fact.id in first.message
            assert (first.question_id, first.statement) == statement_of(number)
            assert number in {d.citation for d in discrepancies}


def test_every_character_of_every_quote_in_the_evidence_counts() -> None:
    for reference in REPORT.references:
        place = statement_of(reference.number)
        for at in range(reference.spans[0].start, reference.spans[0].end):
            evidence = tuple(
                with_changed_character(e, at) if e.document.id == reference.document_id else e
                for e in FINDINGS.evidence
            )
            discrepancies = found(findings=replace(FINDINGS, evidence=evidence))
            assert (discrepancies[0].question_id, discrepancies[0].statement) == place
            assert discrepancies[0].rule is AuditRule.VERDICTS_AGREE
            assert any(
                d.rule is AuditRule.QUOTE_STANDS and d.citation == reference.number
                for d in discrepancies
            )


def with_changed_character(evidence: Evidence, at: int) -> Evidence:
    """Return evidence in which the character at an offset of the document is another."""
    blocks = tuple(
        b.model_copy(update={"text": changed(b.text, at - b.start)}) if b.start <= at < b.end else b
        for b in evidence.blocks
    )
    return evidence.model_copy(update={"blocks": blocks})


FROM_THE_SPEC = {"predicates", "name", "target"}
"""What of a goal predicate no journal knows: which ones there are, and their targets."""


def variants(value: object) -> Iterator[object]:
    """Yield values that differ in one place from a value of a report."""
    if isinstance(value, BaseModel):
        yield from model_variants(value)
    elif isinstance(value, tuple):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        for at, item in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in variants(item))
    elif isinstance(value, StrEnum):
        yield next(other for other in type(value) if other is not value)
    elif isinstance(value, str):
        yield from (changed(value, at) for at in range(0, len(value), 7))
    elif isinstance(value, int):
        yield value + 1


def model_variants(value: BaseModel) -> Iterator[BaseModel]:
    for name, info in type(value).model_fields.items():
        skipped = isinstance(value, Quality | GoalPredicate) and name in FROM_THE_SPEC
        if not skipped and not (info.description or "").endswith(CHECKED_LEGAL):
            for other in variants(getattr(value, name)):
                yield value.model_copy(update={name: other})
    if isinstance(value, Quality):
        for at, goal in enumerate(value.predicates):
            for other in model_variants(goal):
                goals = (*value.predicates[:at], other, *value.predicates[at + 1 :])
                yield value.model_copy(update={"predicates": goals})


# S2.14
def test_whatever_the_schema_calls_checked_is_checked() -> None:
    legal = 0
    for forged in model_variants(REPORT):
        try:
            report = Report.model_validate(forged.model_dump(mode="json", by_alias=True))
        except ValidationError:
            continue
        legal += 1
        assert found(report), _difference(report)
    assert legal > 200


def _difference(report: Report) -> str:
    one, other = REPORT.model_dump(), report.model_dump()
    return str([(other[key], one[key]) for key in one if one[key] != other[key]])


def with_facts(update: Callable[[Fact], Fact]) -> Findings:
    return replace(FINDINGS, facts=(update(FINDINGS.facts[0]), *FINDINGS.facts[1:]))


def first_reference(**update: object) -> Report:
    forged = REPORT.references[0].model_copy(update=update)
    return REPORT.model_copy(update={"references": (forged, *REPORT.references[1:])})


def first_statement(**update: object) -> Report:
    question = REPORT.questions[0]
    forged = question.statements[0].model_copy(update=update)
    asked = question.model_copy(update={"statements": (forged, *question.statements[1:])})
    return REPORT.model_copy(update={"questions": (asked, *REPORT.questions[1:])})


def failing(fact: Fact) -> Fact:
    """Return a verified fact as it would be stored, had it been rejected."""
    verdicts = (*fact.verdicts[:-1], fact.verdicts[-1].model_copy(update={"passed": False}))
    return fact.model_copy(update={"status": FactStatus.REJECTED, "verdicts": verdicts})


OTHER_TEXT = "sha256:" + "0e" * 32
QUESTION = REPORT.questions[0]
ABSENT = FINDINGS.answers["retry-limit"]
CERTIFICATE = ABSENT.certificate or Certificate(queries=(), corpora=(), facts_rejected=0)


def with_certificate(**update: object) -> Findings:
    forged = CERTIFICATE.model_copy(update=update)
    answer = ABSENT.model_copy(update={"certificate": forged})
    return replace(FINDINGS, answers={**FINDINGS.answers, "retry-limit": answer})


LIES: dict[str, tuple[AuditRule, str, Callable[[], Sequence[Discrepancy]]]] = {
    "the document is none of the run": (
        AuditRule.DOCUMENT_KNOWN,
        "citation [1]",
        lambda: found(first_reference(document_id="d-000000000000")),
    ),
    "the document had another text": (
        AuditRule.TEXT_DIGEST_AGREES,
        "citation [1]",
        lambda: found(first_reference(text_digest=OTHER_TEXT)),
    ),
    "the document's blocks contradict each other": (
        AuditRule.VERDICTS_AGREE,
        "P0 fails now",
        lambda: found(
            findings=replace(
                FINDINGS,
                evidence=(
                    SETTINGS_EVIDENCE.model_copy(
                        update={
                            "blocks": tuple(
                                b.model_copy(update={"text": b.text + "!"})
                                for b in SETTINGS_EVIDENCE.blocks
                            )
                        }
                    ),
                    *FINDINGS.evidence[1:],
                ),
            )
        ),
    ),
    "a citation of a quote that none of the facts has": (
        AuditRule.CITATION_RECORDED,
        "statement 1, citation [2]",
        lambda: found(first_statement(citations=(2,))),
    ),
    "a citation of nothing": (
        AuditRule.REFERENCES_COMPLETE,
        "statement 1, citation [9]",
        lambda: found(first_statement(citations=(1, 9))),
    ),
    "a fact that nobody recorded": (
        AuditRule.STATEMENT_DRAFTED,
        "statement 1",
        lambda: found(first_statement(fact_ids=("f-000000000000",))),
    ),
    "a verified fact that the journal had rejected": (
        AuditRule.STATEMENT_DRAFTED,
        "statement 1",
        lambda: found(findings=with_facts(failing)),
    ),
    "a fact called verified that does not verify": (
        AuditRule.VERDICTS_AGREE,
        "P2 fails now",
        lambda: found(
            findings=replace(
                FINDINGS,
                facts=(
                    *FINDINGS.facts[:-1],
                    FINDINGS.facts[-1].model_copy(update={"status": FactStatus.VERIFIED}),
                ),
            )
        ),
    ),
    "a drafted statement whose fact is of another question": (
        AuditRule.FACT_RECORDED,
        "was verified for another question",
        lambda: found(
            first_statement(fact_ids=(FINDINGS.facts[2].id,)),
            replace(
                FINDINGS,
                statements=(
                    Statement(
                        question_id=QUESTION.id,
                        text=QUESTION.statements[0].text,
                        fact_ids=(FINDINGS.facts[2].id,),
                    ),
                ),
            ),
        ),
    ),
    "a drafted statement that its citation does not support": (
        AuditRule.STATEMENT_SUPPORTED,
        "P3, P4",
        lambda: found(
            first_statement(text="ATOMIC_REQUESTS is 42 by default."),
            replace(
                FINDINGS,
                statements=(
                    Statement(
                        question_id=QUESTION.id,
                        text="ATOMIC_REQUESTS is 42 by default.",
                        fact_ids=QUESTION.statements[0].fact_ids,
                    ),
                ),
            ),
        ),
    ),
    "a reference that nothing cites": (
        AuditRule.REFERENCES_COMPLETE,
        "nothing cites it",
        lambda: found(
            REPORT.model_copy(
                update={
                    "references": (
                        *REPORT.references,
                        REPORT.references[0].model_copy(update={"number": 9}),
                    )
                }
            )
        ),
    ),
    "two references with one number": (
        AuditRule.REFERENCES_COMPLETE,
        "its number is not its own",
        lambda: found(
            REPORT.model_copy(update={"references": (*REPORT.references, REPORT.references[-1])})
        ),
    ),
    "another title": (
        AuditRule.CITATION_RECORDED,
        "the journal has another title",
        lambda: found(first_reference(title="Other settings")),
    ),
    "a question that was never asked": (
        AuditRule.QUESTION_AGREES,
        "question extra",
        lambda: found(
            REPORT.model_copy(
                update={
                    "questions": (
                        *REPORT.questions,
                        REPORT.questions[2].model_copy(update={"id": "extra"}),
                    )
                }
            )
        ),
    ),
    "a question that is left out": (
        AuditRule.QUESTION_AGREES,
        "question retry-limit: it is not in the report",
        lambda: found(REPORT.model_copy(update={"questions": REPORT.questions[:2]})),
    ),
    "an absence without a certificate": (
        AuditRule.CERTIFICATE_HOLDS,
        "its absence has no certificate",
        lambda: found(
            findings=replace(
                FINDINGS,
                answers={
                    **FINDINGS.answers,
                    "retry-limit": ABSENT.model_copy(update={"certificate": None}),
                },
            )
        ),
    ),
    "a certificate of two queries": (
        AuditRule.CERTIFICATE_HOLDS,
        "fewer than 3 queries",
        lambda: found(findings=with_certificate(queries=CERTIFICATE.queries[:2])),
    ),
    "a certificate with a search that failed": (
        AuditRule.CERTIFICATE_HOLDS,
        "a search was not complete",
        lambda: found(
            findings=with_certificate(
                queries=tuple(
                    q.model_copy(update={"status": SearchStatus.FAILED})
                    for q in CERTIFICATE.queries
                )
            )
        ),
    ),
    "a certificate whose absent term occurs": (
        AuditRule.CERTIFICATE_HOLDS,
        "a term that is called absent occurs",
        lambda: found(
            findings=with_certificate(
                absent_terms=tuple(
                    w.model_copy(update={"document_frequency": 1}) for w in CERTIFICATE.absent_terms
                )
            )
        ),
    ),
    "a certificate with other sums": (
        AuditRule.CERTIFICATE_HOLDS,
        "by another proof",
        lambda: found(findings=with_certificate(facts_rejected=0)),
    ),
    "a certificate over searches that prove nothing": (
        AuditRule.CERTIFICATE_HOLDS,
        "Unresolved TooFewQueries",
        lambda: found(findings=replace(FINDINGS, searches=FINDINGS.searches[:-1])),
    ),
    "a better score": (
        AuditRule.SCORE_AGREES,
        "the score is 100 %, the journal gives 86 %",
        lambda: found(
            REPORT.model_copy(update={"quality": REPORT.quality.model_copy(update={"score": 100})})
        ),
    ),
    "a goal that is not met": (
        AuditRule.SCORE_AGREES,
        "QualityThreshold is called met=False at 86 of 70",
        lambda: found(
            REPORT.model_copy(
                update={
                    "quality": REPORT.quality.model_copy(
                        update={
                            "predicates": (
                                REPORT.quality.predicates[0].model_copy(
                                    update={"met": PredicateMet.FALSE}
                                ),
                            )
                        }
                    )
                }
            )
        ),
    ),
    "fewer rejected quotes": (
        AuditRule.CONTENT_AGREES,
        "the report: the journal gives another 'rejected'",
        lambda: found(REPORT.model_copy(update={"rejected": ()})),
    ),
}


@pytest.mark.parametrize("sentence", LIES)
def test_each_lie_is_named(sentence: str) -> None:
    rule, words, discrepancies = LIES[sentence]
    assert any(d.rule is rule and words in str(d) for d in discrepancies()), [
        str(d) for d in discrepancies()
    ]


def test_every_rule_has_a_lie_that_breaks_it() -> None:
    named = {rule for rule, _, _ in LIES.values()}
    elsewhere = {AuditRule.QUOTE_STANDS, AuditRule.WORDING_MARKED}
    assert named | elsewhere == set(AuditRule)


def test_a_rejected_fact_that_would_pass_is_named() -> None:
    discrepancies = found(findings=with_facts(failing))
    fact = FINDINGS.facts[0]
    assert any(fact.id in d.message and "no verified fact" in d.message for d in discrepancies)
    alone = replace(FINDINGS, facts=(failing(FINDINGS.facts[0]),), answers={})
    report = build_report(alone, run_summary(alone))
    (first, *_) = audit(report, alone, target_origins=1)
    assert (first.rule, first.question_id) == (AuditRule.VERDICTS_AGREE, fact.question_id)
    assert "all hold now" in first.message


def test_the_score_depends_on_the_origins_that_were_asked_for() -> None:
    findings = Findings(
        questions=(setting_question(0),),
        evidence=(setting_evidence(0, 0),),
        facts=(setting_fact(0, 0),),
    )
    report = build_report(findings, run_summary(findings))
    assert audit(report, findings, target_origins=2) == ()
    assert found() == ()
    assert audit(REPORT, FINDINGS, target_origins=2) != ()
