"""Breakers: when the failures of one subject are too many, and under which reason a run ends then.

Failures are counted in a row, per subject: each source, the model, the report, the operator
itself (docs/loop.md). A breaker that has tripped is a fact of the state and the spec;
nothing is stored for it, so that a raised limit closes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller.api.reasons import TerminalReason
from controller.api.task import OnModelFailure, ProgressPolicy, ResearchTaskSpec
from controller.evidence.report_format import SourceSetAside
from controller.loop.failures import ErrorCount
from controller.loop.intents import MODEL, SOURCE
from controller.loop.run_state import RunState

ENDS_AT_ONCE: Final = frozenset(
    {
        TerminalReason.CREDENTIALS_REJECTED,
        TerminalReason.QUOTA_EXHAUSTED,
        TerminalReason.REQUEST_REJECTED,
        TerminalReason.INTERNAL_ERROR,
    }
)
"""What another request would not mend: the run ends after one."""

_NAMED_CLASSES: Final[Mapping[str, TerminalReason]] = {
    reason.value: reason
    for reason in TerminalReason
    if reason not in {TerminalReason.GOAL_REACHED, TerminalReason.CANCELLED}
}
"""An error class that is itself a terminal reason ends the run under its own name."""

_MODEL_CLASSES: Final[Mapping[str, TerminalReason]] = {
    "RateLimited": TerminalReason.MODEL_UNAVAILABLE,
    "Loading": TerminalReason.MODEL_UNAVAILABLE,
    "ServerError": TerminalReason.MODEL_UNAVAILABLE,
    "Unreachable": TerminalReason.MODEL_UNAVAILABLE,
    "Timeout": TerminalReason.MODEL_UNAVAILABLE,
    "BadResponse": TerminalReason.MODEL_UNAVAILABLE,
    "Quota": TerminalReason.QUOTA_EXHAUSTED,
    "Credentials": TerminalReason.CREDENTIALS_REJECTED,
    "CredentialsChanged": TerminalReason.CREDENTIALS_REJECTED,
    "ModelNotServed": TerminalReason.REQUEST_REJECTED,
    "BadRequest": TerminalReason.REQUEST_REJECTED,
    "Overflow": TerminalReason.CONTEXT_OVERFLOW,
    "Refused": TerminalReason.MODEL_REFUSED,
    "ContentFiltered": TerminalReason.MODEL_REFUSED,
}
"""What the model's classes end a run as; those of its content have no name of their own."""

_CONTENT_CLASSES: Final = frozenset(
    {
        "OutputTruncated",
        "EmptyResponse",
        "InvalidOutput",
        "NoAction",
        "UnknownAction",
        "IllegalAction",
        "MultipleActions",
        "ScriptEnded",
    }
)
"""What a model's answers are refused for."""

MODEL_ERROR_CLASSES: Final = frozenset(_MODEL_CLASSES) | _CONTENT_CLASSES
"""Every class of error that a call to a model can end with."""


def ending_of(error: ErrorCount, otherwise: TerminalReason) -> TerminalReason:
    """Return the terminal reason of an error class where it has one of its own."""
    named = _NAMED_CLASSES.get(error.error_class)
    if named is None and error.subject == MODEL:
        named = _MODEL_CLASSES.get(error.error_class)
    return named or otherwise


Breaker = Callable[[ProgressPolicy, ErrorCount], TerminalReason | None]
"""Returns the reason that failures in a row end a run under; None: they are not too many."""


def repeats_itself(policy: ProgressPolicy, error: ErrorCount) -> TerminalReason | None:
    """Trip where the same attempt has failed in the same way too often in a row."""
    if error.identical < policy.identical_failure_limit:
        return None
    return ending_of(error, TerminalReason.REPEATED_FAILURE)


def is_too_frequent(policy: ProgressPolicy, error: ErrorCount) -> TerminalReason | None:
    """Trip where one class came too often in a row, or once, if another request is no help."""
    ending = ending_of(error, TerminalReason.ERROR_THRESHOLD_REACHED)
    is_too_often = error.count >= policy.error_threshold or ending in ENDS_AT_ONCE
    return ending if is_too_often else None


def is_open(policy: ProgressPolicy, error: ErrorCount) -> bool:
    """Say whether failures in a row are too many, in one way or the other."""
    return any(trips(policy, error) is not None for trips in (repeats_itself, is_too_frequent))


def open_breakers(spec: ResearchTaskSpec, state: RunState) -> Mapping[str, ErrorCount]:
    """Return the subjects whose failures are too many, each with its failures."""
    policy = spec.progress_policy
    return {s: e for s, e in state.errors.items() if is_open(policy, e)}


def set_aside(spec: ResearchTaskSpec, state: RunState) -> tuple[SourceSetAside, ...]:
    """Return the task's sources that are not asked again in this round, in the task's order."""
    too_many = open_breakers(spec, state)
    return tuple(
        SourceSetAside(
            source_name=reference.name,
            error_class=error.error_class,
            failures=error.count,
            message=error.message,
        )
        for reference in spec.source_refs
        if (error := too_many.get(SOURCE + reference.name)) is not None
    )


def model_set_aside(spec: ResearchTaskSpec, state: RunState) -> ErrorCount | None:
    """Return the failures for which the extractive policy has taken over for the round."""
    if spec.on_model_failure is not OnModelFailure.EXTRACTIVE:
        return None
    return open_breakers(spec, state).get(MODEL)


def run_ending(spec: ResearchTaskSpec, state: RunState) -> tuple[ErrorCount, ...]:
    """Return the failures that may end the run: not the model's where it is done without.

    A source's do so only where every source of the task is set aside; then one speaks for all:
    the first whose class has a name of its own, else the first.
    """
    without = model_set_aside(spec, state)
    others = tuple(
        e for s, e in state.errors.items() if not s.startswith(SOURCE) and e is not without
    )
    aside = set_aside(spec, state)
    if len(aside) < len(spec.source_refs):
        return others
    of_sources = [state.errors[SOURCE + source.source_name] for source in aside]
    generic = TerminalReason.ERROR_THRESHOLD_REACHED
    of_sources.sort(key=lambda error: ending_of(error, generic) is generic)
    return (*others, *of_sources[:1])
