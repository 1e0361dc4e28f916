"""Failures as the fold counts them: in a row and per subject, and what will be tried again (S1.10).

Only an attempt that is not repeated counts. A clean step of the same subject clears its count; a
failure of another class sets it to 1; a repeated or interrupted attempt leaves it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controller.api.step import ActionName, Outcome, ResearchStepSpec
from controller.loop.intents import parse_arguments, subject_of


@dataclass(frozen=True)
class ErrorCount:
    """Failures in a row of one subject: of one class, and of one identical attempt."""

    subject: str
    error_class: str
    count: int
    identity: str
    identical: int
    message: str


@dataclass(frozen=True)
class Retry:
    """An attempt that will be repeated: which one, and not before when."""

    action: ActionName
    arguments_json: str
    attempts: int
    error_class: str
    message: str
    subject: str
    ended_at: datetime
    not_before: datetime | None


def tallied(
    errors: Mapping[str, ErrorCount], retry: Retry | None, spec: ResearchStepSpec
) -> tuple[Mapping[str, ErrorCount], Retry | None]:
    """Return the failures in a row after a step, and the attempt that will be repeated."""
    if spec.action is ActionName.NOTE:
        return errors, retry
    error = spec.error
    if error is None:
        arguments = parse_arguments(spec.action, spec.arguments)
        subject = subject_of(spec.action, arguments, is_model=spec.reservation is not None)
        return {s: e for s, e in errors.items() if s != subject}, None
    if spec.outcome in {Outcome.FAILED, Outcome.REJECTED}:
        return _failed(errors, spec), None
    repeats = retry is not None and _repeats(retry, spec)
    return errors, Retry(
        action=spec.action,
        arguments_json=spec.arguments,
        attempts=(retry.attempts if retry and repeats else 0) + 1,
        error_class=error.error_class,
        message=error.message,
        subject=error.subject,
        ended_at=spec.end_time,
        not_before=error.retry_after,
    )


def _repeats(retry: Retry, spec: ResearchStepSpec) -> bool:
    return (retry.action, retry.arguments_json) == (spec.action, spec.arguments)


def _failed(errors: Mapping[str, ErrorCount], spec: ResearchStepSpec) -> Mapping[str, ErrorCount]:
    assert spec.error is not None
    error = spec.error
    identity = f"{spec.action}:{spec.arguments}:{error.error_class}"
    before = errors.get(error.subject)
    same_class = before is not None and before.error_class == error.error_class
    identical = before is not None and before.identity == identity
    count = ErrorCount(
        subject=error.subject,
        error_class=error.error_class,
        count=before.count + 1 if before and same_class else 1,
        identity=identity,
        identical=before.identical + 1 if before and identical else 1,
        message=error.message,
    )
    return {**errors, error.subject: count}
