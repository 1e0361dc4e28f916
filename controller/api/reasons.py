"""Every reason that a condition, an event or an ending can carry, each with its sentence.

The terminal reasons are closed in code and open to clients: treat an unknown one as not
successful. One table, `TERMINAL`, says for each what the conditions show, what it means and
what to do; `docs/terminal-reasons.md`, the exit codes and the report are made from it.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple


class TerminalReason(StrEnum):
    """Why a run ended: exactly one for each ending."""

    GOAL_REACHED = "GoalReached"
    STEP_BUDGET_EXHAUSTED = "StepBudgetExhausted"
    MODEL_CALL_BUDGET_EXHAUSTED = "ModelCallBudgetExhausted"
    TOKEN_BUDGET_EXHAUSTED = "TokenBudgetExhausted"  # noqa: S105 - model tokens, no password
    SOURCE_CALL_BUDGET_EXHAUSTED = "SourceCallBudgetExhausted"
    COST_BUDGET_EXHAUSTED = "CostBudgetExhausted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    NO_PROGRESS = "NoProgress"
    CYCLE_DETECTED = "CycleDetected"
    REPEATED_FAILURE = "RepeatedFailure"
    ERROR_THRESHOLD_REACHED = "ErrorThresholdReached"
    SOURCES_EXHAUSTED = "SourcesExhausted"
    CLARIFICATION_EXPIRED = "ClarificationExpired"
    APPROVAL_DENIED = "ApprovalDenied"
    APPROVAL_EXPIRED = "ApprovalExpired"
    AMBIGUOUS_EFFECT = "AmbiguousEffect"
    MODEL_REFUSED = "ModelRefused"
    REQUEST_REJECTED = "RequestRejected"
    CONTEXT_OVERFLOW = "ContextOverflow"
    MODEL_UNAVAILABLE = "ModelUnavailable"
    SOURCES_UNAVAILABLE = "SourcesUnavailable"
    QUOTA_EXHAUSTED = "QuotaExhausted"
    CREDENTIALS_REJECTED = "CredentialsRejected"
    INVALID_SPEC = "InvalidSpec"
    JOURNAL_CORRUPT = "JournalCorrupt"
    INTERNAL_ERROR = "InternalError"
    CANCELLED = "Cancelled"


class ExitCode(IntEnum):
    """Exit codes of `fixpoint run` and `fixpoint watch`; `fixpoint exits` prints them."""

    GOAL_REACHED = 0
    PROVIDER = 1
    EXHAUSTED = 2
    STUCK = 3
    HAND_OFF = 4
    CONFIGURATION = 5
    PERSON_NEEDED = 6
    CANCELLED = 7


class Ending(NamedTuple):
    """What one terminal reason means, and what to do about it."""

    exit_code: ExitCode
    meaning: str
    remedy: str


_WIDEN = "Raise spec.budgets.{field}; the run goes on from where it stopped."

TERMINAL: Final[dict[TerminalReason, Ending]] = {
    TerminalReason.GOAL_REACHED: Ending(
        ExitCode.GOAL_REACHED,
        "Every goal predicate holds on the last recorded facts, and the report is written.",
        "Read the report.",
    ),
    TerminalReason.STEP_BUDGET_EXHAUSTED: Ending(
        ExitCode.EXHAUSTED,
        "The steps of the task, or of every question still open, are used up.",
        _WIDEN.format(field="maxSteps or spec.budgets.maxStepsPerQuestion"),
    ),
    TerminalReason.MODEL_CALL_BUDGET_EXHAUSTED: Ending(
        ExitCode.EXHAUSTED,
        "No further call to the model fits the budget.",
        _WIDEN.format(field="maxModelCalls"),
    ),
    TerminalReason.TOKEN_BUDGET_EXHAUSTED: Ending(
        ExitCode.EXHAUSTED,
        "The worst case of the next call does not fit the tokens that are left.",
        _WIDEN.format(field="maxTokens"),
    ),
    TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED: Ending(
        ExitCode.EXHAUSTED,
        "No further call to a remote source fits the budget.",
        _WIDEN.format(field="maxSourceCalls"),
    ),
    TerminalReason.COST_BUDGET_EXHAUSTED: Ending(
        ExitCode.EXHAUSTED,
        "The worst case of the next call does not fit the money that is left.",
        _WIDEN.format(field="maxCostUSD"),
    ),
    TerminalReason.DEADLINE_EXCEEDED: Ending(
        ExitCode.EXHAUSTED,
        "The active time is used up; waiting for a missing reference counts as active time.",
        _WIDEN.format(field="activeDeadlineSeconds") + " Mend what the message names as missing.",
    ),
    TerminalReason.NO_PROGRESS: Ending(
        ExitCode.STUCK,
        "spec.progressPolicy.maxStalledSteps steps in a row brought nothing new.",
        "Read in the report what is missing; add a source, reword a question, or raise the limit.",
    ),
    TerminalReason.CYCLE_DETECTED: Ending(
        ExitCode.STUCK,
        "The progress fingerprint came back to an earlier value.",
        "Report it with the journal (kubectl get rstep); then add a source or reword the question.",
    ),
    TerminalReason.REPEATED_FAILURE: Ending(
        ExitCode.STUCK,
        "The same action failed with the same arguments and the same error too often in a row.",
        "Mend what the message names, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.ERROR_THRESHOLD_REACHED: Ending(
        ExitCode.STUCK,
        "One class of error came spec.progressPolicy.errorThreshold times in a row.",
        "Mend what the message names, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.SOURCES_EXHAUSTED: Ending(
        ExitCode.STUCK,
        "Nothing unread and no new query is left, and the goal does not hold.",
        "Add a source, reword the questions that are not answered, or lower the goal.",
    ),
    TerminalReason.CLARIFICATION_EXPIRED: Ending(
        ExitCode.HAND_OFF,
        "What status.awaiting asked for was not answered in time.",
        "Answer in spec.clarifications; the run goes on.",
    ),
    TerminalReason.APPROVAL_DENIED: Ending(
        ExitCode.HAND_OFF,
        "The drafted report was denied.",
        "Change the task and let it draft again.",
    ),
    TerminalReason.APPROVAL_EXPIRED: Ending(
        ExitCode.HAND_OFF,
        "The drafted report was not decided on in time.",
        "Decide in spec.approval.decision; the run goes on.",
    ),
    TerminalReason.AMBIGUOUS_EFFECT: Ending(
        ExitCode.PERSON_NEEDED,
        "A write was in flight when the process died, and the destination cannot be asked.",
        "Look at the destination that the message names, then set the annotation "
        "research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.MODEL_REFUSED: Ending(
        ExitCode.PROVIDER, "The model refused on content.", "Reword the task or change the model."
    ),
    TerminalReason.REQUEST_REJECTED: Ending(
        ExitCode.PROVIDER,
        "The endpoint refused the request as malformed or unsupported.",
        "Correct the ResearchModel or ResearchSource that the message names.",
    ),
    TerminalReason.CONTEXT_OVERFLOW: Ending(
        ExitCode.PROVIDER,
        "The smallest prompt does not fit the model's context window.",
        "Use a model with a larger window.",
    ),
    TerminalReason.MODEL_UNAVAILABLE: Ending(
        ExitCode.PROVIDER,
        "The model's endpoint could not be used.",
        "Mend the endpoint, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.SOURCES_UNAVAILABLE: Ending(
        ExitCode.PROVIDER,
        "Every source failed, its retries spent.",
        "Mend the source that the message names, then set the annotation "
        "research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.QUOTA_EXHAUSTED: Ending(
        ExitCode.PROVIDER,
        "The provider's quota is used up.",
        "Raise the quota, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.CREDENTIALS_REJECTED: Ending(
        ExitCode.PROVIDER,
        "The provider refused the credentials.",
        "Mend the Secret, then set the annotation research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.INVALID_SPEC: Ending(
        ExitCode.CONFIGURATION,
        "The spec cannot be run.",
        "Correct the field that the message names.",
    ),
    TerminalReason.JOURNAL_CORRUPT: Ending(
        ExitCode.PERSON_NEEDED,
        "The journal does not fold: a step is missing, foreign or was changed.",
        "Keep the steps for inspection; create the task again under another name.",
    ),
    TerminalReason.INTERNAL_ERROR: Ending(
        ExitCode.PROVIDER,
        "A defect of the operator.",
        "Report it with the operator's log; then set the annotation "
        "research.fixpoint.dev/requestedAt.",
    ),
    TerminalReason.CANCELLED: Ending(
        ExitCode.CANCELLED, "Cancelled by spec.desiredState.", "Nothing; it cannot be undone."
    ),
}


class ConditionType(StrEnum):
    """The conditions of a ResearchTask. The last four are present only while true."""

    ACCEPTED = "Accepted"
    SUCCEEDED = "Succeeded"
    FINISHED = "Finished"
    SUSPENDED = "Suspended"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    AWAITING_INPUT = "AwaitingInput"
    DEGRADED = "Degraded"


class AcceptedReason(StrEnum):
    """Why a task is accepted, or what it waits for before anything is sent."""

    ACCEPTED = "Accepted"
    PENDING = "Pending"
    MODEL_NOT_FOUND = "ModelNotFound"
    MODEL_NOT_READY = "ModelNotReady"
    SOURCE_NOT_FOUND = "SourceNotFound"
    SOURCE_NOT_READY = "SourceNotReady"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 - a reason, no password
    PRICING_UNKNOWN = "PricingUnknown"
    INVALID_SPEC = "InvalidSpec"


class RunningReason(StrEnum):
    """Why `Succeeded` is Unknown: what a run that has not ended does or waits for."""

    PENDING = "Pending"
    RUNNING = "Running"
    BACKING_OFF = "BackingOff"
    QUEUED = "Queued"
    WAITING_FOR_REFERENCE = "WaitingForReference"
    AWAITING_INPUT = "AwaitingInput"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"


class ReadyReason(StrEnum):
    """Why a ResearchModel or ResearchSource is ready, or is not."""

    READY = "Ready"
    DIRECTORY_NOT_FOUND = "DirectoryNotFound"
    DIRECTORY_NOT_ALLOWED = "DirectoryNotAllowed"
    DIRECTORY_NOT_READABLE = "DirectoryNotReadable"
    CONFIG_MAP_NOT_FOUND = "ConfigMapNotFound"
    NO_DOCUMENTS = "NoDocuments"
    ADDRESS_BLOCKED = "AddressBlocked"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 - a reason, no password
    INDEXING = "Indexing"
