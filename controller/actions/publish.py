"""The closing actions: draft statements, publish the report; and make a report again.

`Publish` is the only effect. It asks the destination first: what carries its operation id already
is adopted, so that a crash between write and record repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.actions.context import Context
from controller.api.errors import ConflictError, JournalError, RetryableError
from controller.api.records import PublishRecord
from controller.api.step import ActionName, ResearchStep, StepDecision
from controller.api.task import Quality, ResearchTask
from controller.evidence.draft import template_draft
from controller.evidence.markdown import render
from controller.evidence.report import RunSummary, build_report, report_json
from controller.evidence.report_format import BudgetUse, Report
from controller.loop.assessment import Assessment, assess
from controller.loop.intents import DraftArguments, PublishArguments
from controller.loop.recording import Found
from controller.loop.state import RunState, fold, initial
from controller.ports import StoredReport

JSON_FILE = "report.json"
MARKDOWN_FILE = "report.md"


async def draft(context: Context, _: DraftArguments) -> Found:
    """Make statements of the verified facts."""
    statements = template_draft(context.findings)
    return Found(summary=f"{len(statements)} statements", statements=statements)


async def publish(context: Context, arguments: PublishArguments) -> Found:
    """Write the report to its destination, unless this very operation has done so already."""
    situation, operation_id = context.situation, context.pending.operation_id
    report = _report(
        situation.task, situation.state, situation.assessment, context.pending.decision
    )
    stored = await context.store.get_report(situation.task)
    if stored is None or stored.operation_id != operation_id:
        try:
            await context.store.put_report(
                situation.task, _files(report, operation_id, arguments.report_digest)
            )
        except ConflictError as error:
            raise RetryableError("ReportChanged", str(error)) from error
    statements = sum(len(question.statements) for question in report.questions)
    return Found(
        summary=f"{arguments.config_map}: {statements} statements",
        publish=PublishRecord(
            config_map=arguments.config_map,
            report_digest=arguments.report_digest,
            statements=statements,
            citations=len(report.references),
        ),
    )


def rebuilt_report(task: ResearchTask, steps: Sequence[ResearchStep]) -> StoredReport | None:
    """Return the last published report again, byte for byte, from the journal; None: there is none.

    Raises:
        JournalError: the journal does not fold.
    """
    last = next((s for s in reversed(steps) if s.spec.publish is not None), None)
    if last is None:
        return None
    state = initial(task.metadata.name, task.metadata.uid, task.spec.topic)
    for step in steps[: last.spec.index]:
        state = fold(state, step)
    assert last.spec.action is ActionName.PUBLISH
    arguments = PublishArguments.model_validate_json(last.spec.arguments)
    assessment = assess(task.spec, state)
    if assessment.report_digest != arguments.report_digest:
        raise JournalError(
            "ReportDiffers",
            "the spec was changed since the report was published; it cannot be made again",
        )
    report = _report(task, state, assessment, last.spec.decision)
    return _files(report, last.spec.operation_id, arguments.report_digest)


def _report(
    task: ResearchTask, state: RunState, assessment: Assessment, decision: StepDecision
) -> Report:
    ending = decision.ending
    assert ending is not None
    assert state.last is not None
    return build_report(
        assessment.findings,
        RunSummary(
            namespace=task.metadata.namespace,
            name=task.metadata.name,
            uid=task.metadata.uid,
            generation=task.metadata.generation,
            topic=task.spec.topic,
            ending=ending,
            quality=Quality(
                score=assessment.score.quality,
                coverage=assessment.score.coverage,
                citation_recall=assessment.score.citation_recall,
                citation_precision=assessment.score.citation_precision,
                predicates=assessment.predicates,
            ),
            journal_steps=state.next_index,
            journal_digest=state.digest,
            recorded_at=state.last.end_time,
            message=decision.message,
            budgets=_budgets(task, state),
            question_steps=dict(state.question_steps),
            language=task.spec.language,
            hand_off=None if ending == "GoalReached" else task.spec.hand_off,
        ),
    )


def _budgets(task: ResearchTask, state: RunState) -> tuple[BudgetUse, ...]:
    budgets, used = task.spec.budgets, state.usage
    return (
        BudgetUse(name="maxSteps", used=used.steps, limit=budgets.max_steps),
        BudgetUse(name="maxSourceCalls", used=used.source_calls, limit=budgets.max_source_calls),
        BudgetUse(
            name="activeDeadlineSeconds",
            used=used.active_milliseconds // 1000,
            limit=budgets.active_deadline_seconds,
        ),
    )


def _files(report: Report, operation_id: str, report_digest: str) -> StoredReport:
    return StoredReport(
        operation_id=operation_id,
        digest=report_digest,
        files={JSON_FILE: report_json(report), MARKDOWN_FILE: render(report)},
    )
