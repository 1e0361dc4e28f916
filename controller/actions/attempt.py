"""One attempt of an action under its deadline: whatever happens becomes a record.

An error of the world is retried as the task allows; one of ours ends the run as `InternalError`
and is never retried. Errors of the store are not the action's: they leave the turn, and the
intent that is stored says what to do again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.actions.context import Context
from controller.actions.registry import perform
from controller.api.errors import (
    ActionError,
    AlreadyExistsError,
    ModelMistakeError,
    PermanentError,
    RejectedProposalError,
    RetryableError,
    StoreError,
)
from controller.api.reasons import TerminalReason
from controller.api.records import SearchRecord, SearchStatus
from controller.api.step import ActionName, Outcome, StepError
from controller.fault_points import during
from controller.loop.accounting import unanswered
from controller.loop.exchanges import can_shrink
from controller.loop.found import Found
from controller.loop.intents import (
    CLOSING_ACTIONS,
    Intent,
    ReadArguments,
    ReverifyArguments,
    SearchArguments,
)
from controller.loop.model_policy import capacity_of
from controller.loop.reading import closed
from controller.loop.recording import Attempt
from controller.loop.reverification import unreachable
from controller.loop.situation import Situation
from controller.loop.status import shortened
from controller.ports import Clock

logger = logging.getLogger(__name__)

_MAX_MESSAGE = 1024

_DISPENSABLE: Final = frozenset({ActionName.DRAFT, ActionName.REVIEW})
"""What a model may do for a run that the run can do without."""


async def attempt(context: Context, intent: Intent, clock: Clock) -> Attempt:
    """Carry out an intent and return how it went.

    Raises:
        StoreError: the store did not answer; nothing may be recorded of the attempt.
    """
    began = clock.now()
    error: ActionError | None = None
    found = Found(summary="")
    try:
        seconds = _seconds(context.situation)
        async with asyncio.timeout(seconds):
            with during(intent.action):
                found = await perform(context, intent)
    except ActionError as failure:
        error = failure
    except TimeoutError:
        message = f"{intent.action} took longer than {seconds:g} s: {_limit(context.situation)}"
        error = RetryableError("Timeout", message)
    except AlreadyExistsError as taken:
        error = PermanentError("ReportNameTaken", str(taken))
    except StoreError:
        raise
    except Exception as defect:  # an action's defect must end the run, not the operator
        logger.exception("defect in %s", intent.action)
        error = PermanentError(TerminalReason.INTERNAL_ERROR, f"{type(defect).__name__}: {defect}")
    ended = clock.now()
    if error is None:
        attempted = Attempt(Outcome.COMPLETED, found, ended, ended - began)
    elif (unchecked := _unchecked(context.situation, intent, error)) is not None:
        attempted = Attempt(Outcome.COMPLETED, unchecked, ended, ended - began)
    else:
        attempted = _failed(context.situation, intent, error, ended, ended - began)
    return replace(attempted, model_call=context.meter.call)


def interrupted(intent: Intent, now: datetime) -> Attempt:
    """Return the record of an attempt whose process is gone: charged, and never sent again."""
    message = "the process that sent it is gone; it is charged, and its answer is lost"
    return Attempt(
        Outcome.INTERRUPTED,
        Found(summary=message),
        now,
        timedelta(0),
        StepError(error_class="Interrupted", message=message, subject=intent.subject),
        unanswered(intent.reservation) if intent.reservation else None,
    )


def _seconds(situation: Situation) -> float:
    """Return the time of an attempt: its own limit, and what the task has left (S1.34)."""
    limit = situation.task.spec.progress_policy.step_timeout_seconds
    return max(1.0, min(limit, _seconds_left(situation)))


def _seconds_left(situation: Situation) -> float:
    limit = situation.task.spec.budgets.active_deadline_seconds
    return limit - situation.active_milliseconds / 1000


def _limit(situation: Situation) -> str:
    """Name the field that set the time of an attempt."""
    own = situation.task.spec.progress_policy.step_timeout_seconds
    if own <= _seconds_left(situation):
        return "spec.progressPolicy.stepTimeoutSeconds"
    return "what is left of spec.budgets.activeDeadlineSeconds"


def _failed(
    situation: Situation, intent: Intent, error: ActionError, ended: datetime, took: timedelta
) -> Attempt:
    is_retried = _is_retried(situation, intent, error)
    retry_after = error.retry_after_seconds if isinstance(error, RetryableError) else None
    message = str(error) if is_retried or intent.attempt == 1 else _spent(intent, error)
    return Attempt(
        Outcome.RETRY_SCHEDULED if is_retried else _final(error),
        _failure_record(intent, error, message),
        ended,
        took,
        StepError(
            error_class=error.error_class,
            message=shortened(message, _MAX_MESSAGE),
            subject=_subject(intent, error),
            retry_after=ended + timedelta(seconds=retry_after)
            if is_retried and retry_after is not None
            else None,
        ),
    )


def _final(error: ActionError) -> Outcome:
    return Outcome.REJECTED if isinstance(error, RejectedProposalError) else Outcome.FAILED


def _unchecked(situation: Situation, intent: Intent, error: ActionError) -> Found | None:
    """Return what is recorded of a document that no attempt reaches: its facts are unchecked.

    That a source cannot be reached now ends no run whose facts were verified before.
    """
    arguments = intent.arguments
    is_defect = error.error_class == TerminalReason.INTERNAL_ERROR
    if not isinstance(arguments, ReverifyArguments) or intent.opens_round or is_defect:
        return None
    if _is_retried(situation, intent, error):
        return None
    return unreachable(situation, arguments, _spent(intent, error))


def _is_retried(situation: Situation, intent: Intent, error: ActionError) -> bool:
    """Say whether another attempt follows.

    The closing summary has one alone. What a run can do without waits for no endpoint. A prompt
    that was too large has one smaller one (E10).
    """
    retries = situation.task.spec.progress_policy.max_action_retries
    if intent.attempt > retries or intent.action is ActionName.SUMMARIZE:
        return False
    if intent.reservation is not None and error.error_class == "Overflow":
        capacity = capacity_of(situation, intent.reservation.model)
        return capacity is not None and can_shrink(situation, intent, capacity)
    if intent.action in _DISPENSABLE and intent.reservation is not None:
        return isinstance(error, ModelMistakeError)
    return isinstance(error, RetryableError)


def _subject(intent: Intent, error: ActionError) -> str:
    """A defect of ours is no failure of a source; of the report it is, so that closing ends."""
    is_defect = error.error_class == TerminalReason.INTERNAL_ERROR
    return "operator" if is_defect and intent.action not in CLOSING_ACTIONS else intent.subject


def _spent(intent: Intent, error: ActionError) -> str:
    """Name action, number of attempts and last error of a spent retry (S0.58)."""
    return f"{intent.action} failed {intent.attempt} times; the last error: {error}"


def _failure_record(intent: Intent, error: ActionError, message: str) -> Found:
    """A failed search is known as failed, a hit as not read: they bar a certificate of absence."""
    arguments = intent.arguments
    if isinstance(arguments, ReadArguments):
        return replace(closed(arguments, error.error_class, message), summary=message)
    search = None
    if isinstance(arguments, SearchArguments):
        search = SearchRecord(
            source_name=arguments.source_name,
            question_id=arguments.question_id,
            query=arguments.query,
            status=SearchStatus.FAILED,
            warnings=(shortened(message, _MAX_MESSAGE),),
        )
    return Found(summary=message, search=search)
