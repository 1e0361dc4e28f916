"""The report of a run, built from its findings: `report.json`, and what is bound to its digest.

Only statements that their citations support are published, whoever drafted them. The report is a
function of records: the same journal gives the same bytes, whenever it is made again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from controller.api.base import digest_of
from controller.api.reasons import TERMINAL, TerminalReason
from controller.api.records import (
    Certificate,
    FactStatus,
    Question,
    SearchedCorpus,
    Statement,
)
from controller.api.task import HandOff, Quality
from controller.evidence.changes import changes_of
from controller.evidence.draft import statements_of
from controller.evidence.findings import Findings, standing
from controller.evidence.juxtaposition import juxtaposed
from controller.evidence.markdown import render
from controller.evidence.missing import GO_ON, missing_answers
from controller.evidence.references import References
from controller.evidence.report_format import (
    BudgetUse,
    Omitted,
    RejectedQuotes,
    Report,
    ReportEnding,
    ReportJournal,
    ReportMethod,
    ReportQuestion,
    ReportReference,
    ReportStatement,
    ReportTask,
    Withheld,
)
from controller.evidence.score import distinct_origins
from controller.evidence.support import Support

MAX_REPORT_BYTES: Final = 900 * 1024
"""How many bytes of UTF-8 `report.json` and `report.md` may have together: they share an object."""


@dataclass(frozen=True)
class RunSummary:
    """What a report says of the run itself: identity, ending, score, budgets, journal.

    `recorded_at` is the recorded time of the last step: no clock is read for a report.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    topic: str
    ending: TerminalReason
    quality: Quality
    journal_steps: int
    journal_digest: str
    recorded_at: datetime
    message: str = ""
    language: str = "en"
    draft_digest: str | None = None
    budgets: tuple[BudgetUse, ...] = ()
    question_steps: Mapping[str, int] = field(default_factory=dict)
    hand_off: HandOff | None = None


def report_digest(findings: Findings, language: str = "en") -> str:
    """Return the digest of question states, statements and citations: what an approval approves.

    No time, usage or ending is in it, so that it stays the same until something else is said.
    """
    support = Support(findings, language)
    published = _published(findings, support, language)
    return _digest(findings, support, published, _closing_summary(findings, support))


def published_statements(findings: Findings, language: str = "en") -> tuple[Statement, ...]:
    """Return the drafted statements that their citations support, in the order of questions."""
    return _published(findings, Support(findings, language), language)


def _published(findings: Findings, support: Support, language: str) -> tuple[Statement, ...]:
    statements = [s for s in statements_of(findings, language) if support.is_supported(s)]
    return tuple(
        statement
        for question in findings.questions
        for statement in statements
        if statement.question_id == question.id
    )


def _closing_summary(findings: Findings, support: Support) -> tuple[Statement, ...]:
    """Return the sentences of a model's closing summary that their citations support."""
    return tuple(s for s in findings.closing_summary or () if support.is_supported(s))


def _digest(
    findings: Findings,
    support: Support,
    statements: Iterable[Statement],
    summary: Iterable[Statement],
) -> str:
    said = [_said(support, statement) for statement in summary]
    return digest_of(
        {
            "questions": [
                [question.id, question.text, *standing(findings, question)]
                for question in findings.questions
            ],
            "statements": [_said(support, statement) for statement in statements],
            **({"summary": said} if said else {}),
        }
    )


def _said(support: Support, statement: Statement) -> list[object]:
    return [
        statement.question_id,
        statement.text,
        [
            [c.document_id, c.text_digest, [[s.start, s.end] for s in c.spans], c.quote]
            for c in support.citations(statement)
        ],
    ]


def report_json(report: Report) -> str:
    """Return `report.json`, indented for people."""
    return json.dumps(report.to_json(), ensure_ascii=False, indent=2) + "\n"


def build_report(
    findings: Findings, run: RunSummary, *, max_bytes: int = MAX_REPORT_BYTES
) -> Report:
    """Return the report of a run.

    `report.json` and `report.md` have at most `max_bytes` bytes together: the lowest-ranked
    statements go first, then certificates, and `omitted` says how many of each.
    """
    support = Support(findings, run.language)
    statements = _published(findings, support, run.language)
    ranked = _by_rank(statements)
    certificates = sum(_certificate(findings, q) is not None for q in findings.questions)
    summary = _closing_summary(findings, support)
    digest = _digest(findings, support, statements, summary)

    def built(kept: int, proofs: int) -> Report:
        chosen = set(ranked[:kept])
        some = [s for at, s in enumerate(statements) if at in chosen]
        left_out = Omitted(statements=len(statements) - kept, certificates=certificates - proofs)
        omitted = None if left_out == Omitted() else left_out
        references = References(support, findings.evidence)
        questions = _questions(findings, run, some, references, proofs)
        said = tuple(references.stated(s) for s in summary)
        return _report(
            findings,
            run,
            summary=said or None,
            questions=questions,
            references=tuple(references.listed),
            omitted=omitted,
            digest=digest,
        )

    def fits(kept: int, proofs: int) -> bool:
        report = built(kept, proofs)
        return len((report_json(report) + render(report)).encode()) <= max_bytes

    kept = _most(len(statements), lambda count: fits(count, certificates))
    proofs = certificates if kept else _most(certificates, lambda count: fits(0, count))
    return built(kept, proofs)


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `count` that fits; 0 is taken to fit."""
    low, high = 0, count
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _by_rank(statements: Sequence[Statement]) -> list[int]:
    """Return the positions of statements, those that are first for their question first."""
    seen: Counter[str] = Counter()
    ranks = []
    for at, statement in enumerate(statements):
        ranks.append((seen[statement.question_id], at))
        seen[statement.question_id] += 1
    return [at for _, at in sorted(ranks)]


def _report(
    findings: Findings,
    run: RunSummary,
    *,
    summary: tuple[ReportStatement, ...] | None,
    questions: tuple[ReportQuestion, ...],
    references: tuple[ReportReference, ...],
    omitted: Omitted | None,
    digest: str,
) -> Report:
    ending = TERMINAL[run.ending]
    succeeded = run.ending is TerminalReason.GOAL_REACHED
    return Report(
        generated_at=run.recorded_at,
        task=ReportTask(
            namespace=run.namespace,
            name=run.name,
            uid=run.uid,
            generation=run.generation,
            topic=run.topic,
        ),
        ending=ReportEnding(
            reason=run.ending,
            meaning=ending.meaning,
            remedy=ending.remedy,
            message=run.message,
            hand_off=None if succeeded else run.hand_off,
        ),
        quality=run.quality,
        summary=summary,
        questions=questions,
        changes=changes_of(findings, is_withheld=run.draft_digest is not None),
        references=references,
        missing=tuple(missing_answers(findings, GO_ON if succeeded else ending.remedy)),
        method=_method(findings),
        budgets=run.budgets,
        rejected=_rejected(findings),
        omitted=omitted,
        journal=ReportJournal(steps=run.journal_steps, digest=run.journal_digest),
        digest=digest,
        withheld=Withheld(draft_digest=run.draft_digest) if run.draft_digest else None,
        set_aside=findings.set_aside or None,
        model_set_aside=findings.model_set_aside,
    )


def _questions(
    findings: Findings,
    run: RunSummary,
    statements: Sequence[Statement],
    references: References,
    proofs: int,
) -> tuple[ReportQuestion, ...]:
    """Return the questions with these statements and the first so many certificates."""
    questions = []
    for question in findings.questions:
        asked = _question(findings, run, question, statements, references)
        proofs -= asked.certificate is not None
        questions.append(asked if proofs >= 0 else asked.model_copy(update={"certificate": None}))
    return tuple(questions)


def _question(
    findings: Findings,
    run: RunSummary,
    question: Question,
    statements: Iterable[Statement],
    references: References,
) -> ReportQuestion:
    state, reason = standing(findings, question)
    said = tuple(references.stated(s) for s in statements if s.question_id == question.id)
    return ReportQuestion(
        id=question.id,
        text=question.text,
        state=state,
        reason=reason,
        origins=distinct_origins(findings.verified(question.id), findings.evidence),
        steps=run.question_steps.get(question.id, 0),
        statements=said,
        certificate=_certificate(findings, question),
        disagreements=juxtaposed(findings, question, references, run.language) or None,
    )


def _certificate(findings: Findings, question: Question) -> Certificate | None:
    answer = findings.answers.get(question.id)
    return answer.certificate if answer else None


def _method(findings: Findings) -> ReportMethod:
    corpora = {
        search.source_name: SearchedCorpus(
            source_name=search.source_name,
            corpus_digest=search.corpus_digest,
            documents=search.documents,
        )
        for search in findings.searches
        if search.corpus_digest
    }
    verified, vetoed = len(findings.verified()), len(findings.vetoed())
    return ReportMethod(
        searches=len(findings.searches),
        corpora=tuple(corpora.values()),
        documents=len(findings.evidence),
        facts_verified=verified,
        facts_rejected=len(findings.facts) - verified - vetoed,
        facts_vetoed=vetoed or None,
    )


def _rejected(findings: Findings) -> tuple[RejectedQuotes, ...]:
    """Count rejected facts, each under the first reason that was found, the most common first."""
    reasons = Counter(
        next(v.reason for v in fact.verdicts if v.reason)
        for fact in findings.facts
        if fact.status is FactStatus.REJECTED and any(v.reason for v in fact.verdicts)
    )
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return tuple(RejectedQuotes(reason=reason, count=count) for reason, count in ordered)
