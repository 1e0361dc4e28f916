"""From a decision to a record: the intent that is stored before, and the step that is stored after.

Pure: what happened comes in as data, with its times. A step is sealed with the fingerprint of
what is known after it, so that progress can be judged from the journal alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controller.api.base import API_VERSION, digest_of
from controller.api.meta import ObjectMeta, OwnerReference
from controller.api.model_call import ModelCall
from controller.api.step import (
    FORMAT_VERSION,
    ActionClass,
    ActionName,
    Observation,
    Outcome,
    ResearchStep,
    ResearchStepSpec,
    StepError,
    StepUsage,
    step_name,
)
from controller.api.task import Pending, ResearchTaskSpec
from controller.loop import journal
from controller.loop.assessment import Assessment, assess
from controller.loop.found import Found
from controller.loop.intents import CLOSING_ACTIONS, Intent, parse_arguments
from controller.loop.situation import Situation
from controller.loop.state import apply
from controller.loop.status import shortened


@dataclass(frozen=True)
class Attempt:
    """How an attempt went, and when it ended. `duration` is its own time.

    `model_call` is what a call to a model is charged, whatever came of it.
    """

    outcome: Outcome
    found: Found
    ended_at: datetime
    duration: timedelta
    error: StepError | None = None
    model_call: ModelCall | None = None


def pending_of(situation: Situation, intent: Intent) -> Pending:
    """Return the intent as it is stored before it is carried out."""
    state = situation.state
    return Pending(
        index=state.next_index,
        action=intent.action,
        question_id=intent.question_id,
        arguments=intent.arguments_json,
        attempt=intent.attempt,
        operation_id=journal.operation_id(
            state.task_uid, state.next_index, intent.action, intent.arguments_json
        ),
        holder=situation.holder,
        start_time=situation.now,
        decision=intent.decision,
        reservation=intent.reservation,
    )


def intent_of(pending: Pending) -> Intent:
    """Return a stored intent again."""
    arguments = parse_arguments(pending.action, pending.arguments)
    return Intent(pending.action, arguments, pending.decision, pending.attempt, pending.reservation)


def is_same_intent(stored: Pending | None, wanted: Pending) -> bool:
    """Say whether a stored intent is this very one, of this very process and for this reason."""
    if stored is None:
        return False
    same_reason = (stored.decision.verdict, stored.decision.reason) == (
        wanted.decision.verdict,
        wanted.decision.reason,
    )
    later = {"start_time": wanted.start_time, "decision": wanted.decision}
    return same_reason and stored.model_copy(update=later) == wanted


@dataclass(frozen=True)
class Record:
    """A sealed step, and what the spec that it was taken under makes of the state after it."""

    step: ResearchStepSpec
    spec: ResearchTaskSpec
    assessment: Assessment


def record(situation: Situation, pending: Pending, attempt: Attempt) -> Record:
    """Return the record of an attempt."""
    state, task, intent, found = situation.state, situation.task, intent_of(pending), attempt.found
    is_record = intent.action is ActionName.NOTE or intent.opens_round
    counted = not is_record and intent.action not in CLOSING_ACTIONS
    paid = situation.action_class(intent) is ActionClass.PAID and intent.reservation is None
    spec = ResearchStepSpec(
        format_version=FORMAT_VERSION,
        task_name=state.task_name,
        task_uid=state.task_uid,
        generation=task.metadata.generation,
        request=task.request,
        round=state.round + intent.opens_round,
        index=pending.index,
        attempt=pending.attempt,
        holder=pending.holder,
        start_time=pending.start_time,
        end_time=attempt.ended_at,
        active_milliseconds=_active_milliseconds(situation, pending, attempt.ended_at),
        action=pending.action,
        question_id=pending.question_id,
        operation_id=pending.operation_id,
        arguments=pending.arguments,
        outcome=attempt.outcome,
        error=attempt.error,
        usage=StepUsage(
            steps=int(counted),
            source_calls=int(paid),
            duration_milliseconds=max(0, attempt.duration // timedelta(milliseconds=1)),
        ),
        decision=pending.decision,
        observation=_observation(found),
        plan=found.plan,
        search=found.search,
        read=found.read,
        evidence=found.evidence,
        extract=found.extract,
        answer=found.answer,
        statements=found.statements,
        publish=found.publish,
        ask=found.ask,
        note=found.note,
        proposal=found.proposal,
        closing_summary=found.closing_summary,
        models=situation.models or None,
        reservation=pending.reservation,
        model_call=attempt.model_call,
        opening=found.opening,
        reverify=found.reverify,
        review=found.review,
        fingerprint=journal.UNSEALED,
        previous_digest=state.digest,
        digest=journal.UNSEALED,
    )
    after = assess(task.spec, apply(state, spec))
    sealed = journal.seal(spec.model_copy(update={"fingerprint": after.fingerprint}))
    return Record(sealed, task.spec, after)


def stored_form(task: ObjectMeta, spec: ResearchStepSpec) -> ResearchStep:
    """Return a step as the object that is stored: named by its index, owned by its task."""
    owner = OwnerReference(
        api_version=API_VERSION,
        kind="ResearchTask",
        name=task.name,
        uid=task.uid,
        controller=True,
        block_owner_deletion=True,
    )
    name = step_name(task.name, task.uid, spec.index)
    metadata = ObjectMeta(name=name, namespace=task.namespace, owner_references=(owner,))
    return ResearchStep(metadata=metadata, spec=spec)


def _active_milliseconds(situation: Situation, pending: Pending, ended_at: datetime) -> int:
    """Return the active time since the step before; a clock that went back counts as 0."""
    if situation.state.last_time is None:
        return max(0, (ended_at - pending.start_time) // timedelta(milliseconds=1))
    used = situation.state.usage.active_milliseconds
    return replace(situation, now=ended_at).active_milliseconds - used


def _observation(found: Found) -> Observation:
    records = {
        name: value.to_json() if hasattr(value, "to_json") else [v.to_json() for v in value]
        for name, value in vars(found).items()
        if name != "summary" and value is not None
    }
    return Observation(digest=digest_of(records), summary=shortened(found.summary, 1024))
