"""Checks a published report against its journal: the whole chain from bytes to verdicts.

The journal is folded again, so that a changed record is found by its digest; the audit computes
every verdict, sum and citation again; and `report.md` must be what `report.json` renders to. No
corpus, model or network is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from controller.actions.publish import JSON_FILE, MARKDOWN_FILE
from controller.api.errors import JournalError
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask
from controller.evidence.audit import audit
from controller.evidence.findings import Findings
from controller.evidence.markdown import render
from controller.evidence.report import report_json
from controller.evidence.report_format import Report
from controller.evidence.score import score
from controller.loop.assessment import Assessment, assess
from controller.loop.journal import kept
from controller.loop.run_state import RunState, initial
from controller.loop.state import fold
from controller.ports import StoredReport
from controller.store.validation import faults


@dataclass(frozen=True)
class Tally:
    """How much was checked. `score` is the published one, `score_again` the one computed here."""

    steps: int
    statements: int
    citations: int
    facts: int
    certificates: int
    score: int
    score_again: int


@dataclass(frozen=True)
class Checked:
    """What a check brought; `lies` is empty if the report says nothing but what was recorded.

    `tally` is None where the report could not be read, or the journal not be folded; `report`
    where it could not be read.
    """

    lies: tuple[str, ...]
    tally: Tally | None = None
    report: Report | None = None


def check_report(
    task: ResearchTask, steps: Sequence[ResearchStep], stored: StoredReport
) -> Checked:
    """Check a published report against the journal of its task."""
    try:
        report = Report.model_validate_json(stored.files.get(JSON_FILE, ""))
    except ValidationError as error:
        return Checked(tuple(f"{JSON_FILE}: {fault}" for fault in faults(error, Report)))
    try:
        state = _published_state(task, steps)
    except JournalError as error:
        return Checked((f"the journal: {error} ({error.error_class})",), report=report)
    if state is None:
        lie = "the journal: it records no publication of this report"
        return Checked((lie,), report=report)
    assessment = assess(task.spec, state)
    findings = assessment.findings
    target, language = task.spec.goal.target_origins, task.spec.language
    discrepancies = audit(report, findings, target_origins=target, language=language)
    lies = (
        *map(str, discrepancies),
        *_bound(report, stored, state),
        *_withheld(report, assessment),
    )
    return Checked(lies, _tally(report, findings, state, target, language), report)


def _published_state(task: ResearchTask, steps: Sequence[ResearchStep]) -> RunState | None:
    """Return what the run knew when it published last, None: it did not publish.

    Raises:
        JournalError: the journal does not fold, to its very end.
    """
    published: RunState | None = None
    state = initial(task.metadata.name, task.metadata.uid, task.spec.topic)
    for step in kept(steps):
        if step.spec.publish is not None:
            published = state
        state = fold(state, step)
    return published


def _bound(report: Report, stored: StoredReport, state: RunState) -> Iterator[str]:
    """Yield where the report's own frame, or its Markdown, is not what it must be."""
    journal = report.journal
    if (journal.steps, journal.digest) != (state.next_index, state.digest):
        yield (
            f"the report: it names a journal of {journal.steps} steps and {journal.digest}, the "
            f"one it was made from has {state.next_index} and {state.digest}"
        )
    if report.task.uid != state.task_uid:
        yield f"the report: it names the task {report.task.uid}, the journal is {state.task_uid}'s"
    if stored.files[JSON_FILE] != report_json(report):
        yield f"{JSON_FILE}: it holds more than the report, or is written otherwise"
    if stored.files.get(MARKDOWN_FILE) != render(report):
        yield f"{MARKDOWN_FILE}: it is not what {JSON_FILE} renders to"


def _withheld(report: Report, assessment: Assessment) -> Iterator[str]:
    """Yield where statements are withheld that should not be, or the other way round."""
    is_withheld = assessment.published(report.ending.reason) is not assessment.findings
    expected = assessment.draft_digest if is_withheld else None
    named = report.withheld.draft_digest if report.withheld else None
    if named != expected:
        yield f"the report: it withholds the draft {named}, it should be {expected}"


def _tally(
    report: Report, findings: Findings, state: RunState, target_origins: int, language: str
) -> Tally:
    return Tally(
        steps=state.next_index,
        statements=sum(len(question.statements) for question in report.questions),
        citations=len(report.references),
        facts=len(findings.facts),
        certificates=sum(question.certificate is not None for question in report.questions),
        score=report.quality.score,
        score_again=score(findings, target_origins, language).quality,
    )
