"""Builders of situations: each says only what matters to its test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from controller.api.base import canonical_json, digest_of
from controller.api.reasons import TerminalReason
from controller.api.records import (
    Query,
    SearchRecord,
    SearchStatus,
)
from controller.api.step import ActionName, StepDecision, Verdict
from controller.api.task import Pending, ResearchTask
from controller.loop.assessment import assess
from controller.loop.failures import ErrorCount
from controller.loop.intents import PublishArguments, QuestionArguments, SearchArguments
from controller.loop.journal import UNSEALED
from controller.loop.run_state import Closing, RunState, initial
from controller.loop.situation import Situation

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
UID = "0a1b2c3d-0000-4000-8000-000000000000"
QUESTION = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}


def task(generation: int = 1, request: str | None = None, **spec: Any) -> ResearchTask:  # noqa: ANN401
    """Return a task with one question and one source."""
    annotations = {"research.fixpoint.dev/requestedAt": request} if request else {}
    return ResearchTask.model_validate(
        {
            "metadata": {
                "name": "lamp",
                "namespace": "default",
                "uid": UID,
                "generation": generation,
                "resourceVersion": "7",
                "annotations": annotations,
            },
            "spec": {
                "topic": "The lamp",
                "questions": [QUESTION],
                "sourceRefs": [{"name": "manual"}],
                **spec,
            },
        }
    )


def planned(**changes: Any) -> RunState:  # noqa: ANN401
    """Return the state of a run whose question has its first query, not searched yet."""
    state = initial("lamp", UID, "The lamp")
    state = replace(
        state,
        next_index=1,
        questions={"glow": QUESTION["text"]},
        queries=(Query(question_id="glow", text="default GLOW_LEVEL"),),
    )
    return replace(state, **changes)


def search(
    status: SearchStatus = SearchStatus.COMPLETE, query: str = "default GLOW_LEVEL"
) -> SearchRecord:
    """Return a search that found nothing."""
    return SearchRecord(
        source_name="manual", question_id="glow", query=query, status=status, documents=1
    )


def situation(
    state: RunState | None = None,
    of: ResearchTask | None = None,
    **changes: Any,  # noqa: ANN401
) -> Situation:
    """Return a situation in which the policy would act, changed as said."""
    of, state = of or task(), state or planned()
    made = Situation(
        task=of,
        state=state,
        assessment=assess(of.spec, state),
        now=NOW,
        holder="operator-1",
    )
    return replace(made, **changes)


def closing(reason: TerminalReason, generation: int = 1, request: str | None = None) -> Closing:
    """Return the closing of a run under a reason."""
    verdict = Verdict.FINISH if reason is TerminalReason.GOAL_REACHED else Verdict.FAIL
    return Closing(
        StepDecision(verdict=verdict, reason=reason, message="as it was"), generation, request
    )


def pending(
    action: ActionName = ActionName.PUBLISH, holder: str = "operator-0", index: int = 1
) -> Pending:
    """Return an intent that another process stored."""
    arguments = {
        ActionName.PUBLISH: PublishArguments(config_map="lamp-report", report_digest=UNSEALED),
        ActionName.SEARCH: SearchArguments(
            question_id="glow", source_name="manual", query="default GLOW_LEVEL"
        ),
        ActionName.CONCLUDE: QuestionArguments(question_id="glow"),
    }[action]
    arguments_json = canonical_json(arguments.to_json())
    return Pending(
        index=index,
        action=action,
        arguments=arguments_json,
        attempt=1,
        operation_id=digest_of(arguments_json),
        holder=holder,
        start_time=NOW,
        decision=StepDecision(verdict=Verdict.CONTINUE, reason="Test"),
    )


def error(
    error_class: str = "Timeout", subject: str = "source/manual", count: int = 1, identical: int = 1
) -> ErrorCount:
    """Return failures in a row."""
    return ErrorCount(subject, error_class, count, "identity", identical, "it was too slow")


Change = Callable[[Situation], Situation]


def with_state(**changes: Any) -> Change:  # noqa: ANN401
    """Return a change of the state; it is assessed again."""

    def change(before: Situation) -> Situation:
        state = replace(before.state, **changes)
        return replace(before, state=state, assessment=assess(before.task.spec, state))

    return change


def with_spec(**changes: Any) -> Change:  # noqa: ANN401
    """Return a change of the spec, given in Python names; it is assessed again."""

    def change(before: Situation) -> Situation:
        spec = before.task.spec.model_copy(update=changes)
        of = before.task.model_copy(update={"spec": spec})
        return replace(before, task=of, assessment=assess(spec, before.state))

    return change


def with_(**changes: Any) -> Change:  # noqa: ANN401
    """Return a change of the situation itself."""
    return lambda before: replace(before, **changes)
