"""The report of a run, built from its findings: `report.json`, and what is bound to its digest.

Only statements that their citations support are published, whoever drafted them. The report is a
function of records: the same journal gives the same bytes, whenever it is made again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from controller.api.base import digest_of
from controller.api.reasons import TERMINAL, TerminalReason
from controller.api.records import (
    AnswerReason,
    BlockKind,
    Citation,
    FactStatus,
    Question,
    QuestionState,
    SearchedCorpus,
    Statement,
)
from controller.api.task import HandOff, Quality
from controller.evidence.draft import statements_of
from controller.evidence.findings import Findings
from controller.evidence.markdown import render
from controller.evidence.report_format import (
    BudgetUse,
    MissingAnswer,
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
)
from controller.evidence.score import distinct_origins
from controller.evidence.support import Support

MAX_REPORT_BYTES: Final = 900 * 1024
"""How many bytes of UTF-8 `report.json` and `report.md` may have together: they share an object."""

_GO_ON: Final = "Add a source that covers it, or reword the question."

_WHY_MISSING: Final[dict[AnswerReason, tuple[str, str]]] = {
    AnswerReason.CONTESTED: ("The sources disagree.", "Read what each of them says."),
    AnswerReason.SEARCH_FAILED: (
        "A search failed, so nothing can be said of what that source holds.",
        "Mend the source, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    AnswerReason.HITS_UNREAD: (
        "Passages that a search found were not read.",
        "Ask a narrower question, or raise spec.budgets.maxSteps.",
    ),
    AnswerReason.SOURCE_PARTIAL: (
        "A source answered in part only, so an absence cannot be proven.",
        "Mend what the source's status names, or add another source.",
    ),
    AnswerReason.TOO_FEW_QUERIES: (
        "Too few different queries were asked to prove an absence.",
        "Reword the question, so that it gives more terms to search for.",
    ),
    AnswerReason.TOO_FEW_ORIGINS: (
        "What was verified comes from fewer distinct origins than spec.goal.minOrigins.",
        "Add a source of another origin, or lower spec.goal.minOrigins.",
    ),
    AnswerReason.LOW_CONFIDENCE: ("The closest passages do not answer it.", _GO_ON),
    AnswerReason.STEP_LIMIT: (
        "The steps for one question are used up.",
        "Raise spec.budgets.maxStepsPerQuestion.",
    ),
    AnswerReason.RUN_ENDED: ("The run ended before it was concluded.", ""),
}

_NOT_FOUND: Final = "The sources were searched and do not say it."


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
    budgets: tuple[BudgetUse, ...] = ()
    question_steps: Mapping[str, int] = field(default_factory=dict)
    hand_off: HandOff | None = None


def standing(findings: Findings, question: Question) -> tuple[QuestionState, AnswerReason | None]:
    """Return a question's state and reason as an ended run has them: none is left open."""
    answer = findings.answers.get(question.id)
    if answer is None or answer.state is QuestionState.OPEN:
        return QuestionState.UNRESOLVED, AnswerReason.RUN_ENDED
    return answer.state, answer.reason


def report_digest(findings: Findings) -> str:
    """Return the digest of question states, statements and citations: what an approval approves.

    No time, usage or ending is in it, so that it stays the same until something else is said.
    """
    support = Support(findings)
    return digest_of(
        {
            "questions": [
                [question.id, question.text, *standing(findings, question)]
                for question in findings.questions
            ],
            "statements": [
                [
                    statement.question_id,
                    statement.text,
                    [
                        [c.document_id, c.text_digest, [[s.start, s.end] for s in c.spans], c.quote]
                        for c in support.citations(statement)
                    ],
                ]
                for statement in published_statements(findings)
            ],
        }
    )


def published_statements(findings: Findings) -> tuple[Statement, ...]:
    """Return the drafted statements that their citations support, in the order of questions."""
    support = Support(findings)
    statements = [s for s in statements_of(findings) if support.is_supported(s)]
    return tuple(
        statement
        for question in findings.questions
        for statement in statements
        if statement.question_id == question.id
    )


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
    statements = published_statements(findings)
    ranked = _by_rank(statements)
    certificates = sum(answer.certificate is not None for answer in findings.answers.values())

    def built(kept: int, proofs: int) -> Report:
        chosen = set(ranked[:kept])
        some = [s for at, s in enumerate(statements) if at in chosen]
        left_out = Omitted(statements=len(statements) - kept, certificates=certificates - proofs)
        whole = left_out == Omitted()
        return _report(findings, run, some, proofs, None if whole else left_out)

    def fits(kept: int, proofs: int) -> bool:
        report = built(kept, proofs)
        return len((report_json(report) + render(report)).encode()) <= max_bytes

    kept = _most(len(statements), lambda count: fits(count, certificates))
    proofs = certificates if kept else _most(certificates, lambda count: fits(0, count))
    return built(kept, proofs)
