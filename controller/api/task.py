"""`ResearchTask`: what must be known, how good it must be, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from controller.api.base import (
    GROUP,
    ApiModel,
    Count,
    Digest,
    Holder,
    Label,
    Message,
    Money,
    Name,
    Percent,
    Subject,
    Time,
    Title,
    Word,
    digest_of_text,
    json_name,
)
from controller.api.meta import Condition, ConditionStatus, ObjectMeta, ObjectReference
from controller.api.model_call import Reservation
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import AnswerReason, FieldName, Question, QuestionState
from controller.api.schema import Rule, listed, listed_as_set, rules, validated
from controller.api.step import MAX_ARGUMENTS, ActionName, Index, StepDecision

REQUESTED_AT: Final = f"{GROUP}/requestedAt"
"""The annotation that asks for what no change of the spec can express; any new value counts."""

MAX_REQUEST: Final = 256
"""Longest value of that annotation that the status and the journal repeat as it is."""

MAX_TASK_NAME: Final = 48
"""Longest name of a task, so that the names of its steps fit a label (63 characters)."""


def request_of(annotations: Mapping[str, str]) -> str | None:
    """Return what the annotations ask for: the value, or its digest if it is too long to repeat."""
    value = annotations.get(REQUESTED_AT)
    return value if value is None or len(value) <= MAX_REQUEST else digest_of_text(value)


class RequireEveryQuestion(StrEnum):
    """Whether the goal asks that no question stays `Open` or `Unresolved`."""

    ALL = "All"
    NONE = "None"


class Goal(ApiModel):
    """The predicates that must hold, beside the quality threshold."""

    min_facts: Annotated[int, Field(ge=0, le=100)] = 1
    min_origins: Annotated[int, Field(ge=1, le=50)] = 1
    target_origins: Annotated[int, Field(ge=1, le=50)] = 1
    require_every_question: RequireEveryQuestion = RequireEveryQuestion.ALL


class Budgets(ApiModel):
    """Hard limits, kept over restarts and generations; 0 means that none may be spent."""

    max_steps: Annotated[int, Field(ge=1, le=500)] = 60
    max_model_calls: Annotated[int, Field(ge=0, le=2000)] = 30
    max_tokens: Annotated[int, Field(ge=0, le=1_000_000_000)] = 200_000
    max_source_calls: Annotated[int, Field(ge=0, le=2000)] = 60
    max_cost_usd: Money | None = None
    active_deadline_seconds: Annotated[int, Field(ge=1, le=604_800)] = 900
    max_steps_per_question: Annotated[int, Field(ge=1, le=500)] = 16


class ProgressPolicy(ApiModel):
    """When a run that goes nowhere is stopped."""

    max_stalled_steps: Annotated[int, Field(ge=1, le=50)] = 4
    error_threshold: Annotated[int, Field(ge=1, le=50)] = 3
    identical_failure_limit: Annotated[int, Field(ge=1, le=20)] = 2
    max_action_retries: Annotated[int, Field(ge=0, le=10)] = 2
    step_timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120
    planning_interval: Annotated[int, Field(ge=0, le=500)] = 10
    degrade_at_percent: Annotated[int, Field(ge=1, le=100)] = 80


class DecisionPolicy(StrEnum):
    """Who picks among the legal actions."""

    DIRECTED = "Directed"
    MODEL_PROPOSED = "ModelProposed"


class OnModelFailure(StrEnum):
    """Whether a failing model ends the run, or the extractive policy takes over."""

    FAIL = "Fail"
    EXTRACTIVE = "Extractive"


class DesiredState(StrEnum):
    """What the user wants of the run; `Cancelled` is absorbing."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    CANCELLED = "Cancelled"


class Clarification(ApiModel):
    """The user's answer to what `status.awaiting` asks for."""

    field: FieldName
    answer: Annotated[str, Field(max_length=1024)]


class ClarificationPolicy(ApiModel):
    """How long, and how often, a run waits for answers."""

    expire_after_seconds: Annotated[int, Field(ge=60, le=2_592_000)] = 86_400
    max_rounds: Annotated[int, Field(ge=1, le=20)] = 3


class ApprovalMode(StrEnum):
    """Whether a person must approve the drafted report before it is published."""

    NONE = "None"
    REQUIRED = "Required"


class ApprovalVerdict(StrEnum):
    """What a person says of a draft."""

    APPROVED = "Approved"
    DENIED = "Denied"


class ApprovalDecision(ApiModel):
    """A verdict on the draft of exactly this digest."""

    digest: Digest
    verdict: ApprovalVerdict


class Approval(ApiModel):
    """Whether, and until when, a draft waits for a person."""

    mode: ApprovalMode = ApprovalMode.NONE
    expire_after_seconds: Annotated[int, Field(ge=60, le=2_592_000)] = 86_400
    decision: ApprovalDecision | None = None


class HandOff(ApiModel):
    """Who gets a run that did not succeed, and what they are told."""

    queue: Annotated[str, Field(min_length=1, max_length=253)]
    message: Message = ""


class ResearchTaskSpec(ApiModel):
    """What the user declares. Everything but `topic` may change; a change re-opens the run."""

    model_config = rules(
        Rule(
            "self.decisionPolicy != 'ModelProposed' || has(self.modelRef)",
            "modelRef must be set when decisionPolicy is ModelProposed",
        ),
        Rule(
            "!has(self.fallbackModelRef) || has(self.modelRef)",
            "modelRef must be set when fallbackModelRef is",
        ),
    )

    topic: Annotated[
        Title,
        Field(min_length=1),
        validated(Rule("self == oldSelf", "topic may not be changed; create another task")),
    ]
    questions: Annotated[tuple[Question, ...], Field(max_length=20), listed("id")] = ()
    guidance: Annotated[str | None, Field(max_length=8192)] = None
    language: Annotated[
        str, Field(min_length=2, max_length=35, pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")
    ] = "en"
    source_refs: Annotated[
        tuple[ObjectReference, ...], Field(min_length=1, max_length=8), listed("name")
    ]
    model_ref: ObjectReference | None = None
    fallback_model_ref: ObjectReference | None = None
    decision_policy: DecisionPolicy = DecisionPolicy.DIRECTED
    on_model_failure: OnModelFailure = OnModelFailure.FAIL
    job_class: Label | None = None
    quality_threshold: Percent = 70
    goal: Goal = Goal()
    budgets: Budgets = Budgets()
    progress_policy: ProgressPolicy = ProgressPolicy()
    clarifications: Annotated[tuple[Clarification, ...], Field(max_length=10), listed("field")] = ()
    clarification_policy: ClarificationPolicy = ClarificationPolicy()
    approval: Approval = Approval()
    hand_off: HandOff | None = None
    desired_state: Annotated[
        DesiredState,
        validated(
            Rule(
                "oldSelf != 'Cancelled' || self == 'Cancelled'",
                "a cancelled task may not be started again; create another task",
            )
        ),
    ] = DesiredState.RUNNING
    refresh_interval_seconds: Annotated[int | None, Field(ge=300, le=31_536_000)] = None
    history_limit: Annotated[int, Field(ge=1, le=20)] = 2
    ttl_seconds_after_finished: Annotated[int | None, Field(ge=0, le=31_536_000)] = None


NEVER_OBSERVED: Final = -1
"""The generation that a status shows before anything was written into it."""


class Usage(ApiModel):
    """What a round has used so far; no counter falls within a round."""

    steps: Count = 0
    model_calls: Count = 0
    source_calls: Count = 0
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    completion_tokens: Count = 0
    unknown_usage_calls: Count = 0
    cost_usd: Money = "0"
    active_seconds: Count = 0
    writes: Count = 0
    resumes: Count = 0
    interrupted: Count = 0
    grace_calls: Count = 0
    verifier_rejections: Count = 0


class Pending(ApiModel):
    """The intent of the next step, stored before it is carried out."""

    index: Index
    action: ActionName
    question_id: Label | None = None
    arguments: Annotated[str, Field(max_length=MAX_ARGUMENTS, alias="argumentsJSON")]
    attempt: Annotated[int, Field(ge=1, le=100)]
    operation_id: Digest
    holder: Holder
    start_time: Time
    decision: StepDecision
    reservation: Reservation | None = None


class Progress(ApiModel):
    """The fingerprint of what is known, and for how long it has not moved."""

    fingerprint: Digest
    recent: Annotated[tuple[Digest, ...], Field(max_length=16)] = ()
    stalled_steps: Count = 0
    last_progress_step: Count = 0


class PredicateName(StrEnum):
    """The goal predicates, as `status.quality.predicates` shows them."""

    QUALITY = "QualityThreshold"
    FACTS = "MinFacts"
    QUESTIONS = "EveryQuestionResolved"


class PredicateMet(StrEnum):
    """Whether a goal predicate holds."""

    TRUE = "True"
    FALSE = "False"


class GoalPredicate(ApiModel):
    """One goal predicate with its current and its target value."""

    name: PredicateName
    met: PredicateMet
    current: Count
    target: Count


class Quality(ApiModel):
    """The score Q and its factors, in floored percent (docs/verification.md)."""

    score: Percent
    coverage: Percent
    citation_recall: Percent
    citation_precision: Percent
    predicates: Annotated[tuple[GoalPredicate, ...], Field(max_length=8), listed("name")] = ()


class QuestionStatus(ApiModel):
    """Where one question stands."""

    id: Label
    text: Title
    state: QuestionState
    reason: AnswerReason | None = None
    facts: Count
    origins: Count
    steps: Count


class ConsecutiveErrors(ApiModel):
    """How often one class of error came in a row from one subject (a source, the model)."""

    subject: Subject
    error_class: Annotated[Word, Field(alias="class")]
    count: Count


class LastStep(ApiModel):
    """The newest step of the journal."""

    name: Name
    action: ActionName
    outcome: Word
    transition_reason: Word


class Awaiting(ApiModel):
    """What a person is asked for, and until when: answers, or a verdict on a draft."""

    fields: Annotated[tuple[FieldName, ...], Field(max_length=10), listed_as_set()] = ()
    approval_digest: Digest | None = None
    deadline: Time


class JournalStatus(ApiModel):
    """How far the journal goes that this status was folded from."""

    steps: Count
    digest: Digest


SourceMark = Annotated[str, Field(min_length=1, max_length=16, pattern=r"^([0-9a-f]{16}|-|[?])$")]
"""What a source held when a round looked at it: the first 16 digits of its digest.

`-`: the round did not look at it. `?`: it was not there, or was seen in more than one state. It is
short because a status is; the journal has the whole digest.
"""


class ReportStatus(ApiModel):
    """Where the report is, and what it holds."""

    config_map: Name
    digest: Digest
    statements: Count
    citations: Count


_TERMINAL_STAYS: Final = (
    "!has(oldSelf.terminalReason)"
    " || (has(self.terminalReason) && self.terminalReason == oldSelf.terminalReason)"
    " || self.observedGeneration > oldSelf.observedGeneration"
    " || (has(self.lastHandledRequestedAt) && (!has(oldSelf.lastHandledRequestedAt)"
    " || self.lastHandledRequestedAt != oldSelf.lastHandledRequestedAt))"
    " || (has(self.round) && (!has(oldSelf.round) || self.round > oldSelf.round))"
)

_COUNTERS: Final = tuple(json_name(name) for name in Usage.model_fields if name != "cost_usd")

_USAGE_GROWS: Final = (
    "!has(oldSelf.usage)"
    " || (has(self.round) && has(oldSelf.round) && self.round > oldSelf.round)"
    " || (has(self.usage)"
    + "".join(f" && self.usage.{c} >= oldSelf.usage.{c}" for c in _COUNTERS)
    + " && double(self.usage.costUSD) >= double(oldSelf.usage.costUSD))"
)


class ResearchTaskStatus(ApiModel):
    """A bounded cache of the journal's fold, at most 32 KiB; written by the operator alone."""

    model_config = rules(
        Rule(
            _TERMINAL_STAYS,
            "terminalReason may only go or change with a new generation, request or round",
        ),
        Rule(
            "!has(self.terminalReason) || (has(self.conditions) && self.conditions.exists(c, "
            "c.type == 'Finished' && c.status == 'True' && c.reason == self.terminalReason))",
            "terminalReason must equal the reason of the condition Finished=True",
        ),
        Rule(_USAGE_GROWS, "no counter of usage may fall within a round"),
        Rule(
            "!has(self.conditions) || !(self.conditions.exists(c, c.type == 'Succeeded' && "
            "c.status == 'True') && self.conditions.exists(c, c.type == 'Stalled' && "
            "c.status == 'True'))",
            "Succeeded and Stalled may not both be True",
        ),
    )

    observed_generation: Annotated[int, Field(ge=-1, le=2**53 - 1)] = NEVER_OBSERVED
    conditions: Annotated[tuple[Condition, ...], Field(max_length=12), listed("type")] = ()
    terminal_reason: TerminalReason | None = None
    start_time: Time | None = None
    completion_time: Time | None = None
    round: Count | None = None
    last_handled_requested_at: Annotated[str | None, Field(max_length=MAX_REQUEST)] = None
    usage: Usage | None = None
    totals: Usage | None = None
    pending: Pending | None = None
    progress: Progress | None = None
    quality: Quality | None = None
    questions: Annotated[tuple[QuestionStatus, ...], Field(max_length=20), listed("id")] = ()
    consecutive_errors: Annotated[
        tuple[ConsecutiveErrors, ...], Field(max_length=9), listed("subject")
    ] = ()
    sources: Annotated[
        tuple[SourceMark, ...],
        Field(
            max_length=8,
            description="What the round found each of spec.sourceRefs to hold, in their order.",
        ),
    ] = ()
    next_wake_up_time: Time | None = None
    wake_up_reason: Word | None = None
    awaiting: Awaiting | None = None
    last_step: LastStep | None = None
    journal: JournalStatus | None = None
    report: ReportStatus | None = None
    digest: Digest | None = None

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return the condition of a type, if it is there."""
        return next((c for c in self.conditions if c.type == kind), None)

    def is_true(self, kind: ConditionType) -> bool:
        """Say whether a condition is there and true."""
        condition = self.condition(kind)
        return condition is not None and condition.status is ConditionStatus.TRUE


NOT_LOOKED_AT: Final = "-"
"""The mark of a source that the round did not look at."""


def source_mark(digest: str | None) -> str:
    """Return how a status shows what a source held; None: it had no one digest."""
    return "?" if digest is None else digest.removeprefix("sha256:")[:16]


class ResearchTask(ApiModel):
    """A task, as stored."""

    metadata: ObjectMeta
    spec: ResearchTaskSpec
    status: ResearchTaskStatus = ResearchTaskStatus()

    @property
    def source_marks(self) -> dict[str, str]:
        """What the last round found its sources to hold, by name; those not looked at are not in.

        Only for a task whose status is of its present generation: the order is that of its spec.
        """
        names = (reference.name for reference in self.spec.source_refs)
        marks = zip(names, self.status.sources, strict=False)
        return {name: mark for name, mark in marks if mark != NOT_LOOKED_AT}

    @property
    def request(self) -> str | None:
        """What asks for another look, if anything does."""
        return request_of(self.metadata.annotations)
