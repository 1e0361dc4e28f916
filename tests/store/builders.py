"""Objects for the tests of the stores: complete, valid, and changed with a few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from controller.api.base import API_VERSION, digest_of
from controller.api.meta import Condition, ConditionStatus, ObjectMeta, OwnerReference
from controller.api.model_call import Reservation
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import (
    AnswerReason,
    Block,
    BlockKind,
    Document,
    Evidence,
    Extractor,
    QuestionState,
)
from controller.api.step import (
    FORMAT_VERSION,
    ActionName,
    Observation,
    Outcome,
    ResearchStep,
    ResearchStepSpec,
    StepDecision,
    StepUsage,
    Verdict,
    step_name,
)
from controller.api.task import (
    Awaiting,
    ConsecutiveErrors,
    GoalPredicate,
    JournalStatus,
    LastStep,
    Pending,
    PredicateMet,
    PredicateName,
    Progress,
    Quality,
    QuestionStatus,
    ReportStatus,
    ResearchTask,
    ResearchTaskStatus,
    Usage,
    source_mark,
)
from controller.ports import StoredReport

NOON = datetime(2026, 3, 1, 12, 0, 0, 125_000, tzinfo=UTC)
DIGEST = digest_of("anything")

Manifest = dict[str, Any]


class FixedClock:
    """A clock that shows what it is told."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time


def task_manifest(name: str, namespace: str, **spec: Any) -> Manifest:  # noqa: ANN401 - JSON
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "topic": "Transactions in the Django ORM",
            "questions": [{"id": "default", "text": "What is the default?"}],
            "sourceRefs": [{"name": "django-docs"}],
            **spec,
        },
    }


def source_manifest(name: str, namespace: str, **spec: Any) -> Manifest:  # noqa: ANN401 - JSON
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchSource",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "Corpus", "corpus": {"directory": "django-docs"}, **spec},
    }


def model_manifest(name: str, namespace: str, **spec: Any) -> Manifest:  # noqa: ANN401 - JSON
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchModel",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"backend": "OpenAI", "model": "small", **spec},
    }


def config_map_manifest(name: str, namespace: str, data: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def decision(message: str = "") -> StepDecision:
    return StepDecision(verdict=Verdict.CONTINUE, reason="Running", message=message)


def step(
    task: ResearchTask,
    index: int,
    *,
    name: str | None = None,
    task_uid: str | None = None,
    text: str = "The default is False.",
    owner: OwnerReference | None = None,
) -> ResearchStep:
    """Return a complete step of a task, with one block of evidence."""
    meta = task.metadata
    return ResearchStep(
        metadata=ObjectMeta(
            name=name or step_name(meta.name, meta.uid, index),
            namespace=meta.namespace,
            owner_references=(
                owner
                or OwnerReference(
                    api_version=API_VERSION,
                    kind="ResearchTask",
                    name=meta.name,
                    uid=meta.uid,
                    controller=True,
                    block_owner_deletion=True,
                ),
            ),
        ),
        spec=ResearchStepSpec(
            format_version=FORMAT_VERSION,
            task_name=meta.name,
            task_uid=task_uid or meta.uid,
            generation=meta.generation,
            round=0,
            index=index,
            attempt=1,
            holder="fixpoint-0",
            start_time=NOON,
            end_time=NOON,
            active_milliseconds=12,
            action=ActionName.SEARCH,
            question_id="default",
            operation_id=digest_of(index),
            arguments='{"query":"default"}',
            outcome=Outcome.COMPLETED,
            usage=StepUsage(steps=1),
            decision=decision(),
            observation=Observation(digest=DIGEST, summary="one hit"),
            evidence=(evidence(text),),
            fingerprint=DIGEST,
            previous_digest=DIGEST,
            digest=digest_of([index, text]),
        ),
    )


def evidence(text: str) -> Evidence:
    return Evidence(
        document=Document(
            id="d-0123456789ab",
            source_name="django-docs",
            locator="file:transactions.md",
            title="Transactions",
            content_type="text/markdown",
            charset="utf-8",
            bytes_digest=DIGEST,
            text_digest=DIGEST,
            bytes=len(text.encode()),
            characters=len(text),
            extractor=Extractor(name="markdown", version="1"),
            origin_key="django-docs",
            priority=50,
        ),
        blocks=(Block(start=0, end=len(text), kind=BlockKind.PARAGRAPH, text=text),),
    )


def condition(kind: str, status: ConditionStatus, reason: str) -> Condition:
    return Condition(
        type=kind,
        status=status,
        observed_generation=1,
        last_transition_time=NOON,
        reason=reason,
        message="",
    )


def full_status(*, round_number: int = 1) -> ResearchTaskStatus:
    """Return a status in which every optional field of every object is set."""
    return ResearchTaskStatus(
        observed_generation=1,
        conditions=(
            condition(ConditionType.FINISHED, ConditionStatus.TRUE, TerminalReason.NO_PROGRESS),
            condition(ConditionType.SUCCEEDED, ConditionStatus.FALSE, TerminalReason.NO_PROGRESS),
        ),
        terminal_reason=TerminalReason.NO_PROGRESS,
        start_time=NOON,
        completion_time=NOON,
        round=round_number,
        last_handled_requested_at="2026-03-01",
        usage=Usage(
            steps=7,
            source_calls=1,
            model_calls=2,
            cost_usd="0.00039",
            active_seconds=3,
            writes=14,
            resumes=1,
        ),
        totals=Usage(steps=20, source_calls=1, active_seconds=9, writes=33, resumes=1),
        pending=Pending(
            index=7,
            action=ActionName.SEARCH,
            question_id="default",
            arguments="{}",
            attempt=1,
            operation_id=DIGEST,
            holder="fixpoint-0",
            start_time=NOON,
            decision=decision("the first query"),
            reservation=Reservation(
                model="local", generation=1, prompt_tokens=900, output_tokens=512, cost_micro_usd=3
            ),
        ),
        progress=Progress(fingerprint=DIGEST, recent=(DIGEST, digest_of("an older one"))),
        quality=Quality(
            score=60,
            coverage=60,
            citation_recall=100,
            citation_precision=100,
            predicates=(
                GoalPredicate(name=PredicateName.FACTS, met=PredicateMet.TRUE, current=3, target=1),
            ),
        ),
        questions=(
            QuestionStatus(
                id="default",
                text="What is the default?",
                state=QuestionState.ANSWERED,
                reason=AnswerReason.CONTESTED,
                facts=2,
                origins=1,
                steps=3,
            ),
        ),
        consecutive_errors=(ConsecutiveErrors(subject="s", error_class="Timeout", count=1),),
        sources=(source_mark(DIGEST),),
        next_wake_up_time=NOON,
        wake_up_reason="BackOff",
        awaiting=Awaiting(fields=("region",), approval_digest=DIGEST, deadline=NOON),
        last_step=LastStep(
            name="t-01234567-00006",
            action=ActionName.SEARCH,
            outcome="Completed",
            transition_reason="Running",
        ),
        journal=JournalStatus(steps=7, digest=DIGEST),
        report=ReportStatus(config_map="t-report", digest=DIGEST, statements=2, citations=2),
        digest=DIGEST,
    )


def report(text: str = "# Report\n", operation: str = DIGEST) -> StoredReport:
    return StoredReport(
        operation_id=operation,
        digest=digest_of(text),
        files={"report.md": text, "report.json": "{}\n"},
    )
