"""The sums of a report, done again: certificates of absence, the score and the goal predicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controller.api.records import Certificate, Question, QuestionState, SearchStatus
from controller.api.task import PredicateMet, PredicateName
from controller.evidence.certificates import MIN_QUERIES, conclude
from controller.evidence.discrepancies import AuditRule, Discrepancy, Place
from controller.evidence.findings import Findings, standing
from controller.evidence.report_format import Report
from controller.evidence.score import score


def certificate_faults(report: Report, findings: Findings, language: str) -> Iterator[Discrepancy]:
    """Yield the certificates that the recorded searches, or their own sums, do not bear out."""
    certified = {q.id: q.certificate for q in report.questions if q.certificate}
    for question in findings.questions:
        answer = findings.answers.get(question.id)
        if answer is None or answer.state is not QuestionState.NOT_FOUND:
            continue
        fault = _fault_of(
            answer.certificate, certified.get(question.id), question, findings, language
        )
        if fault:
            yield Place(question.id).breaks(AuditRule.CERTIFICATE_HOLDS, fault)


def _fault_of(
    certificate: Certificate | None,
    published: Certificate | None,
    question: Question,
    findings: Findings,
    language: str,
) -> str | None:
    """Return what is wrong with a certificate, None if it is as the searches say."""
    if certificate is None:
        return "its absence has no certificate"
    for shown in filter(None, (published, certificate)):
        counts = Counter(query.source_name for query in shown.queries)
        if not counts or min(counts.values()) < MIN_QUERIES:
            return f"fewer than {MIN_QUERIES} queries of a source"
        if any(query.status is not SearchStatus.COMPLETE for query in shown.queries):
            return "a search was not complete"
        if any(weight.document_frequency for weight in shown.absent_terms):
            return "a term that is called absent occurs"
    sources = dict.fromkeys(
        (
            *(query.source_name for query in certificate.queries),
            *(s.source_name for s in findings.searches if s.question_id == question.id),
        )
    )
    again = conclude(
        findings, question, min_origins=1, source_names=tuple(sources), language=language
    )
    if again.certificate != certificate:
        return f"the recorded searches give {again.state} {again.reason or 'by another proof'}"
    return None


def score_faults(
    report: Report, findings: Findings, target_origins: int, language: str
) -> Iterator[Discrepancy]:
    """Yield where the published score and predicates are not what the findings give."""
    quality = report.quality
    again = score(findings, target_origins, language)
    published = {
        "score": (quality.score, again.quality),
        "coverage": (quality.coverage, again.coverage),
        "citation recall": (quality.citation_recall, again.citation_recall),
        "citation precision": (quality.citation_precision, again.citation_precision),
    }
    for name, (says, gives) in published.items():
        if says != gives:
            message = f"the {name} is {says} %, the journal gives {gives} %"
            yield Place().breaks(AuditRule.SCORE_AGREES, message)
    current = {
        PredicateName.QUALITY: again.quality,
        PredicateName.FACTS: len(findings.verified()),
        PredicateName.QUESTIONS: sum(
            standing(findings, question)[0] is not QuestionState.UNRESOLVED
            for question in findings.questions
        ),
    }
    for goal in quality.predicates:
        if goal.current != current[goal.name]:
            message = f"{goal.name} is at {current[goal.name]}, not {goal.current}"
            yield Place().breaks(AuditRule.SCORE_AGREES, message)
        elif (goal.met is PredicateMet.TRUE) is not (goal.current >= goal.target):
            message = f"{goal.name} is called met={goal.met} at {goal.current} of {goal.target}"
            yield Place().breaks(AuditRule.SCORE_AGREES, message)
