"""`ResearchStep`: one immutable record of the journal. The journal is the state of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from controller.api.base import (
    ApiModel,
    Count,
    Digest,
    Holder,
    Label,
    Message,
    Name,
    Subject,
    Time,
    Uid,
    Word,
)
from controller.api.meta import ObjectMeta
from controller.api.model_call import ModelCall, ModelTerms, Reservation
from controller.api.reasons import TerminalReason
from controller.api.records import (
    Answer,
    AskRecord,
    Evidence,
    ExtractRecord,
    NoteRecord,
    PlanRecord,
    ProposalRecord,
    PublishRecord,
    ReadRecord,
    ReviewRecord,
    SearchRecord,
    Statement,
)
from controller.api.rounds import ReverifyRecord, RoundOpening

FORMAT_VERSION: Final = 1
"""The version of the journal's format; a newer one is not read (`JournalCorrupt`)."""

MAX_EVIDENCE_BYTES: Final = 48 * 1024
"""How much evidence one step may carry, in bytes of UTF-8."""

MAX_ARGUMENTS: Final = 2400
"""The longest arguments as JSON: a note's message of 1,024 characters, most of them escaped."""

Index = Annotated[int, Field(ge=0, le=99999)]


class ActionName(StrEnum):
    """The closed list of what a run can do; docs/loop.md explains each."""

    PLAN = "Plan"
    SEARCH = "Search"
    READ = "Read"
    EXTRACT = "Extract"
    REFINE = "Refine"
    REVIEW = "Review"
    CONCLUDE = "Conclude"
    REVERIFY = "Reverify"
    ASK = "Ask"
    PROPOSE = "Propose"
    SUMMARIZE = "Summarize"
    DRAFT = "Draft"
    PUBLISH = "Publish"
    NOTE = "Note"


class ActionClass(StrEnum):
    """What a crash during an action means: run it again, charge it, or ask the destination."""

    PURE = "Pure"
    PAID = "Paid"
    EFFECT = "Effect"


class Outcome(StrEnum):
    """How an attempt ended. `Failed` and `Rejected` count towards the stop rules for errors.

    A model's proposal that the controller refuses, its retries spent, is `Rejected`.
    """

    COMPLETED = "Completed"
    RETRY_SCHEDULED = "RetryScheduled"
    FAILED = "Failed"
    REJECTED = "Rejected"
    INTERRUPTED = "Interrupted"


class Verdict(StrEnum):
    """Whether the run goes on after a step, or the step belongs to its ending."""

    CONTINUE = "Continue"
    FINISH = "Finish"
    FAIL = "Fail"


class StepDecision(ApiModel):
    """Why the step was taken: `reason` is a terminal one when the step closes the run."""

    verdict: Verdict
    reason: Word
    message: Message = ""

    @property
    def ending(self) -> TerminalReason | None:
        """The terminal reason that the step closes the run under, if it does."""
        return None if self.verdict is Verdict.CONTINUE else TerminalReason(self.reason)


class StepUsage(ApiModel):
    """What one attempt used."""

    steps: Annotated[int, Field(ge=0, le=1)] = 0
    source_calls: Annotated[int, Field(ge=0, le=1)] = 0
    duration_milliseconds: Count = 0


class StepError(ApiModel):
    """Why an attempt failed: a class that is counted, and a message for people."""

    error_class: Annotated[Word, Field(alias="class")]
    message: Message
    subject: Subject
    retry_after: Time | None = None


class Observation(ApiModel):
    """The digest of what the action found, for a reader who compares two runs."""

    digest: Digest
    summary: Message


class ResearchStepSpec(ApiModel):
    """One step: what was decided, done, found and used. Nothing in it ever changes."""

    format_version: Annotated[int, Field(ge=1, le=1000)]
    task_name: Name
    task_uid: Uid
    generation: Count
    request: Annotated[str | None, Field(max_length=256)] = None
    round: Count
    index: Index
    attempt: Annotated[int, Field(ge=1, le=100)]
    holder: Holder
    start_time: Time
    end_time: Time
    active_milliseconds: Count
    action: ActionName
    question_id: Label | None = None
    operation_id: Digest
    arguments: Annotated[
        str,
        Field(
            max_length=MAX_ARGUMENTS,
            alias="argumentsJSON",
            description="Normalised arguments, JSON.",
        ),
    ]
    outcome: Outcome
    error: StepError | None = None
    usage: StepUsage
    decision: StepDecision
    observation: Observation
    plan: PlanRecord | None = None
    search: SearchRecord | None = None
    read: ReadRecord | None = None
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=50)] = ()
    extract: ExtractRecord | None = None
    answer: Answer | None = None
    statements: Annotated[tuple[Statement, ...], Field(max_length=256)] | None = None
    publish: PublishRecord | None = None
    ask: AskRecord | None = None
    note: NoteRecord | None = None
    proposal: ProposalRecord | None = None
    closing_summary: Annotated[tuple[Statement, ...], Field(max_length=16)] | None = None
    models: Annotated[tuple[ModelTerms, ...], Field(max_length=2)] | None = None
    reservation: Reservation | None = None
    model_call: ModelCall | None = None
    opening: RoundOpening | None = None
    reverify: ReverifyRecord | None = None
    review: ReviewRecord | None = None
    fingerprint: Digest
    previous_digest: Digest
    digest: Digest


class ResearchStep(ApiModel):
    """A step, as stored."""

    metadata: ObjectMeta
    spec: ResearchStepSpec


def step_name(task_name: str, task_uid: str, index: int) -> str:
    """Return the only name that step `index` of a task can have."""
    return f"{task_name}-{task_uid[:8]}-{index:05}"
