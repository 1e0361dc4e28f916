"""The closing actions: draft statements, publish the report; and make a report again.

`Publish` is the only effect. It asks the destination first: what carries its operation id already
is adopted, so that a crash between write and record repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from controller.actions.context import Context
from controller.api.errors import (
    ConflictError,
    JournalError,
    PermanentError,
    RefusedError,
    RetryableError,
)
from controller.api.model_call import micro_usd
from controller.api.reasons import TerminalReason
from controller.api.records import PublishRecord
from controller.api.step import ActionName, ResearchStep, StepDecision, Verdict
from controller.api.task import Quality, ResearchTask
from controller.evidence.draft import template_draft
from controller.evidence.markdown import render
from controller.evidence.report import RunSummary, build_report, report_json
from controller.evidence.report_format import MONEY_BUDGET, BudgetUse, Report
from controller.fault_points import FaultPoint, reached
from controller.loop.assessment import Assessment, assess
from controller.loop.found import Found
from controller.loop.intents import DraftArguments, PublishArguments
from controller.loop.journal import UNSEALED, kept
from controller.loop.run_state import RunState, initial
from controller.loop.state import fold
from controller.ports import StoredReport

JSON_FILE = "report.json"
MARKDOWN_FILE = "report.md"


async def draft(context: Context, _: DraftArguments) -> Found:
    """Make statements of the verified facts."""
    statements = template_draft(context.findings, context.language)
    return Found(summary=f"{len(statements)} statements", statements=statements)


async def publish(context: Context, arguments: PublishArguments) -> Found:
    """Write the report to its destination, unless this very operation has done so already."""
    situation, operation_id = context.situation, context.pending.operation_id
    report = _report(
        situation.task, situation.state, situation.assessment, context.pending.decision
    )
    if not await _is_written(context):
        await _write(context, _files(report, operation_id, arguments.report_digest))
        reached(FaultPoint.K5, ActionName.PUBLISH)
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


async def _is_written(context: Context) -> bool:
    """Ask the destination whether it carries what this very operation writes.

    Raises:
        PermanentError: it may not be asked, so it cannot be known what a former process wrote.
    """
    try:
        stored = await context.store.get_report(context.situation.task)
    except RefusedError as error:
        raise PermanentError(
            TerminalReason.AMBIGUOUS_EFFECT,
            f"whether the report is written cannot be known: {error}",
        ) from error
    return stored is not None and stored.operation_id == context.pending.operation_id


async def _write(context: Context, report: StoredReport) -> None:
    try:
        await context.store.put_report(context.situation.task, report)
    except ConflictError as error:
        # Somebody wrote in between: this operation itself, if its first answer was lost.
        if not await _is_written(context):
            raise RetryableError("ReportChanged", str(error)) from error
    except RefusedError as error:
        raise PermanentError("ReportRefused", str(error)) from error


def rebuilt_report(task: ResearchTask, steps: Sequence[ResearchStep]) -> StoredReport | None:
    """Return the last published report again, byte for byte, from the journal; None: there is none.

    Raises:
        JournalError: the journal does not fold.
    """
    last = next((s for s in reversed(steps) if s.spec.publish is not None), None)
    if last is None:
        return None
    state = _folded(task, [s for s in steps if s.spec.index < last.spec.index])
    assert last.spec.action is ActionName.PUBLISH
    arguments = PublishArguments.model_validate_json(last.spec.arguments)
    assessment = assess(task.spec, state)
    ending = last.spec.decision.ending
    assert ending is not None
    if assessment.report_digest(ending) != arguments.report_digest:
        raise JournalError(
            "ReportDiffers",
            "the spec was changed since the report was published; it cannot be made again",
        )
    report = _report(task, state, assessment, last.spec.decision)
    return _files(report, last.spec.operation_id, arguments.report_digest)


def drafted_report(task: ResearchTask, steps: Sequence[ResearchStep]) -> StoredReport | None:
    """Return the draft as the report that it would be if it were approved; None: there is none.

    Raises:
        JournalError: the journal does not fold.
    """
    state = _folded(task, steps)
    assessment = assess(task.spec, state)
    if state.statements is None or state.draft_basis != assessment.basis:
        return None
    decision = StepDecision(
        verdict=Verdict.FINISH,
        reason=TerminalReason.GOAL_REACHED,
        message=f"a draft, not published: it waits for a decision on {assessment.draft_digest}",
    )
    report = _report(task, state, assessment, decision)
    return _files(report, UNSEALED, assessment.draft_digest)


def _folded(task: ResearchTask, steps: Sequence[ResearchStep]) -> RunState:
    return reduce(
        fold, kept(steps), initial(task.metadata.name, task.metadata.uid, task.spec.topic)
    )


def _report(
    task: ResearchTask, state: RunState, assessment: Assessment, decision: StepDecision
) -> Report:
    ending = decision.ending
    assert ending is not None
    assert state.last is not None
    is_withheld = assessment.published(ending) is not assessment.findings
    return build_report(
        assessment.published(ending),
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
            draft_digest=assessment.draft_digest if is_withheld else None,
            hand_off=None if ending == "GoalReached" else task.spec.hand_off,
        ),
    )


def _budgets(task: ResearchTask, state: RunState) -> tuple[BudgetUse, ...]:
    """Return what was used of the budgets; those of a model only where the task has one."""
    budgets, used = task.spec.budgets, state.usage
    limit = budgets.max_cost_usd
    of_model = (
        BudgetUse(name="maxModelCalls", used=used.model_calls, limit=budgets.max_model_calls),
        BudgetUse(name="maxTokens", used=used.tokens, limit=budgets.max_tokens),
        BudgetUse(
            name=MONEY_BUDGET,
            used=used.cost_micro_usd,
            limit=None if limit is None else micro_usd(limit),
        ),
    )
    return (
        BudgetUse(name="maxSteps", used=used.steps, limit=budgets.max_steps),
        *(of_model if task.spec.model_ref else ()),
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
