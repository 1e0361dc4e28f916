"""The audit of a report: is each thing that it says what the journal's records say?

`fixpoint verify` runs it from report and journal alone; no corpus, model or network is needed.
Every citation is verified again, and everything that was computed is computed again. What is
found names the statement, the citation and the rule, the first lie first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from controller.api.records import (
    Citation,
    Fact,
    FactKind,
    FactStatus,
    Statement,
)
from controller.evidence.audit_sums import certificate_faults, score_faults
from controller.evidence.discrepancies import AuditRule, Discrepancy, Place
from controller.evidence.draft import statements_of
from controller.evidence.findings import Findings
from controller.evidence.predicates import passages_of
from controller.evidence.provenance import check_recorded
from controller.evidence.report import RunSummary, build_report
from controller.evidence.report_format import (
    Report,
    ReportQuestion,
    ReportReference,
    ReportStatement,
)
from controller.evidence.support import Support, question_weights
from controller.evidence.verification import agrees, verify_again


def audit(
    report: Report, findings: Findings, *, target_origins: int, language: str = "en"
) -> tuple[Discrepancy, ...]:
    """Return what does not hold of a report, in the report's order; nothing means that all does.

    Args:
        report: what was published.
        findings: the fold of the journal that the report was made from.
        target_origins: `spec.goal.targetOrigins` of the run, which the score depends on.
        language: of the task, an ISO 639-1 code.

    A report whose statements are withheld is held against the findings without statements; that
    they were to be withheld is for the caller to say, who knows the spec.
    """
    nothing_said = replace(findings, statements=(), closing_summary=None)
    shown = nothing_said if report.withheld else findings
    auditor = _Auditor(report, shown, language)
    return (
        *auditor.statements(),
        *auditor.other_facts(),
        *auditor.references(),
        *auditor.questions(),
        *certificate_faults(report, findings, language),
        *score_faults(report, findings, target_origins, language),
        *auditor.contents(),
    )


class _Auditor:
    """A report and the findings beside it, with what the findings would give."""

    def __init__(self, report: Report, findings: Findings, language: str) -> None:
        self._report = report
        self._findings = findings
        self._language = language
        self._support = Support(findings, language)
        self._facts = {fact.id: fact for fact in findings.facts}
        self._texts = {question.id: question.text for question in findings.questions}
        self._references = {reference.number: reference for reference in report.references}
        drafted = statements_of(findings, language)
        self._drafted = {(s.question_id, s.text, s.fact_ids): s for s in drafted}
        self._again = build_report(findings, _summary(report, language))

    def statements(self) -> Iterator[Discrepancy]:
        """Yield what is wrong with the statements, their facts and their citations."""
        for question in self._report.questions:
            for number, statement in enumerate(question.statements, 1):
                place = Place(question.id, number)
                drafted = self._drafted.get((question.id, statement.text, statement.fact_ids))
                if drafted is None:
                    yield place.breaks(
                        AuditRule.STATEMENT_DRAFTED, "no such statement was drafted for it"
                    )
                yield from self._facts_of(statement, place)
                for cited in statement.citations:
                    yield from self._citation(cited, statement, Place(question.id, number, cited))
                if drafted:
                    yield from self._said(drafted, statement, place)

    def _said(
        self, drafted: Statement, statement: ReportStatement, place: Place
    ) -> Iterator[Discrepancy]:
        """Yield that a statement is not supported, or is not called what it is."""
        if not self._support.is_supported(drafted):
            yield place.breaks(
                AuditRule.STATEMENT_SUPPORTED, "its citations do not support it (P3, P4, P5, P7)"
            )
        kind = self._support.wording(drafted)
        if (statement.wording or FactKind.QUOTE) is not kind:
            called = "is a quote" if statement.wording is None else "is in a model's words"
            yield place.breaks(
                AuditRule.WORDING_MARKED, f"the report says that it {called}, it is a {kind}"
            )
        unchecked = self._support.is_soft_unchecked(drafted)
        if bool(statement.soft_unchecked) is not unchecked:
            needs = "needs a soft check that was not made" if unchecked else "needs none"
            yield place.breaks(
                AuditRule.WORDING_MARKED, f"the report marks its soft check otherwise, it {needs}"
            )

    def _facts_of(self, statement: ReportStatement, place: Place) -> Iterator[Discrepancy]:
        for fact_id in statement.fact_ids:
            fact = self._facts.get(fact_id)
            if fact is None or fact.status is not FactStatus.VERIFIED:
                yield place.breaks(
                    AuditRule.FACT_RECORDED, f"{fact_id} is no verified fact of the journal"
                )
            elif fact.question_id != place.question_id:
                yield place.breaks(
                    AuditRule.FACT_RECORDED, f"{fact_id} was verified for another question"
                )
            else:
                yield from self._verdicts(fact, place)

    def _verdicts(self, fact: Fact, place: Place) -> Iterator[Discrepancy]:
        text = self._texts.get(fact.question_id, "")
        weights = question_weights(self._findings, fact.question_id)
        again = verify_again(fact, text, self._findings.evidence, weights, self._language)
        if agrees(fact, again):
            return
        failed = next((v for v in again if not v.passed), None)
        now = f"{failed.predicate} fails now: {failed.detail}" if failed else "all hold now"
        yield place.breaks(
            AuditRule.VERDICTS_AGREE, f"{fact.id} was {fact.status}, but the verdicts differ: {now}"
        )

    def _citation(
        self, number: int, statement: ReportStatement, place: Place
    ) -> Iterator[Discrepancy]:
        reference = self._references.get(number)
        if reference is None:
            yield place.breaks(AuditRule.REFERENCES_COMPLETE, "there is no such reference")
            return
        evidence = [e for e in self._findings.evidence if e.document.id == reference.document_id]
        if not evidence:
            yield place.breaks(
                AuditRule.DOCUMENT_KNOWN, f"{reference.document_id} is no document of the run"
            )
            return
        if reference.text_digest != evidence[0].document.text_digest:
            yield place.breaks(
                AuditRule.TEXT_DIGEST_AGREES, "the document was recorded with another text"
            )
        recorded = check_recorded(reference.document_id, evidence).passed
        passages = passages_of([_as_citation(reference)], evidence) if recorded else []
        if "\n".join(p.quote for p in passages) != reference.quote:
            yield place.breaks(
                AuditRule.QUOTE_STANDS,
                f"the quote is not the recorded text of {reference.document_id} "
                f"at {reference.spans[0].start}",
            )
        facts = (self._facts.get(fact_id) for fact_id in statement.fact_ids)
        if _as_citation(reference) not in [
            c.model_copy(update=_NOT_IN_A_REFERENCE) for f in facts if f for c in f.citations
        ]:
            yield place.breaks(
                AuditRule.CITATION_RECORDED, "no fact of the statement cites this quote"
            )

    def other_facts(self) -> Iterator[Discrepancy]:
        """Yield the facts behind no statement, rejected ones too, whose verdicts do not agree."""
        stated = {
            fact_id
            for question in self._report.questions
            for statement in question.statements
            for fact_id in statement.fact_ids
        }
        for fact in self._findings.facts:
            if fact.id not in stated:
                yield from self._verdicts(fact, Place(fact.question_id))

    def references(self) -> Iterator[Discrepancy]:
        """Yield what is wrong with the references as a list, and with what describes a quote."""
        counts = Counter(reference.number for reference in self._report.references)
        said = [s for question in self._report.questions for s in question.statements]
        said += self._report.summary or ()
        cited = {number for statement in said for number in statement.citations}
        again = {reference.number: reference for reference in self._again.references}
        for reference in self._report.references:
            place = Place(citation=reference.number)
            if reference.number not in cited:
                yield place.breaks(AuditRule.REFERENCES_COMPLETE, "nothing cites it")
            if counts[reference.number] > 1:
                yield place.breaks(AuditRule.REFERENCES_COMPLETE, "its number is not its own")
            differing = _differing(reference, again.get(reference.number))
            if differing:
                yield place.breaks(
                    AuditRule.CITATION_RECORDED, f"the journal has another {differing[0]}"
                )

    def questions(self) -> Iterator[Discrepancy]:
        """Yield what is wrong with the questions: which they are, and where they stand."""
        again = {question.id: question for question in self._again.questions}
        for question in self._report.questions:
            differing = _differing(question, again.pop(question.id, None))
            if differing:
                yield Place(question.id).breaks(
                    AuditRule.QUESTION_AGREES, f"the journal gives another {', '.join(differing)}"
                )
        for question_id in again:
            yield Place(question_id).breaks(AuditRule.QUESTION_AGREES, "it is not in the report")

    def contents(self) -> Iterator[Discrepancy]:
        """Yield the parts of the report that the journal gives otherwise."""
        for name in (
            "summary", "missing", "changes", "method", "rejected", "omitted", "set_aside",
            "model_set_aside", "digest",
        ):  # fmt: skip
            if getattr(self._report, name) != getattr(self._again, name):
                yield Place().breaks(
                    AuditRule.CONTENT_AGREES, f"the journal gives another {name!r}"
                )


_NOT_IN_A_REFERENCE = {"occurrences": 0, "context_before": "", "context_after": ""}


def _as_citation(reference: ReportReference) -> Citation:
    return Citation.model_validate(
        {
            **reference.model_dump(
                include={"document_id", "text_digest", "spans", "quote", "match_tier"}
            ),
            **_NOT_IN_A_REFERENCE,
            "where": reference.model_dump(include={"heading_path", "lines", "page"}),
        }
    )


def _differing(one: ReportReference | ReportQuestion, other: object) -> Sequence[str]:
    """Return the names of the fields in which two objects of the same kind differ."""
    return [
        name
        for name in type(one).model_fields
        if name != "steps" and getattr(one, name) != getattr(other, name, None)
    ]


def _summary(report: Report, language: str) -> RunSummary:
    """Return what a report says of its run, to build it again."""
    return RunSummary(
        namespace=report.task.namespace,
        name=report.task.name,
        uid=report.task.uid,
        generation=report.task.generation,
        topic=report.task.topic,
        ending=report.ending.reason,
        message=report.ending.message,
        language=language,
        draft_digest=report.withheld.draft_digest if report.withheld else None,
        quality=report.quality,
        budgets=report.budgets,
        question_steps={question.id: question.steps for question in report.questions},
        hand_off=report.ending.hand_off,
        journal_steps=report.journal.steps,
        journal_digest=report.journal.digest,
        recorded_at=report.generated_at,
    )
