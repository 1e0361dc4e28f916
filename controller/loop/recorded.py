"""The situation that a recorded decision was made in, as far as the journal tells it.

A decision depends on the task, on the steps before it, on the time, and on the world: what is
missing, and which sources are somebody else's. The journal has all of it: the notes say what was
missing, and a step's usage says whether a call was counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from controller.api.errors import JournalError
from controller.api.model_call import ModelTerms
from controller.api.reasons import AcceptedReason, TerminalReason
from controller.api.records import NoteKind
from controller.api.step import ResearchStep, ResearchStepSpec
from controller.api.task import (
    REQUESTED_AT,
    Pending,
    ResearchTask,
    ResearchTaskSpec,
    ResearchTaskStatus,
)
from controller.loop.assessment import Assessment
from controller.loop.intents import (
    Intent,
    NoteArguments,
    ReverifyArguments,
    called_source,
    parse_arguments,
)
from controller.loop.model_policy import chosen
from controller.loop.run_state import RunState
from controller.loop.situation import MissingReference, Situation


@dataclass(frozen=True)
class Recorded:
    """A decision as it is recorded: in a step, or as the intent that a status shows.

    `is_counted` says whether the action is a counted call to somebody else, `models` which ones
    were known; None: not known yet.
    """

    index: int
    intent: Intent
    at: datetime
    holder: str
    generation: int
    request: str | None
    is_counted: bool | None = None
    models: tuple[ModelTerms, ...] | None = None


def of_step(record: ResearchStepSpec) -> Recorded:
    """Return the decision that a step carries."""
    arguments = parse_arguments(record.action, record.arguments)
    return Recorded(
        record.index,
        Intent(
            record.action,
            arguments,
            record.decision,
            record.attempt,
            record.reservation,
        ),
        record.start_time,
        record.holder,
        record.generation,
        record.request,
        record.usage.source_calls > 0,
        record.models or (),
    )


def of_intent(pending: Pending, status: ResearchTaskStatus) -> Recorded:
    """Return the decision that a status shows as the next one."""
    arguments = parse_arguments(pending.action, pending.arguments)
    return Recorded(
        pending.index,
        Intent(pending.action, arguments, pending.decision, pending.attempt, pending.reservation),
        pending.start_time,
        pending.holder,
        status.observed_generation,
        status.last_handled_requested_at,
    )


@dataclass(frozen=True)
class Surroundings:
    """What a journal tells of the world: what was noted as missing, who is remote, the models."""

    noted: MissingReference | None = None
    remote_sources: frozenset[str] = frozenset()
    models: tuple[ModelTerms, ...] = ()

    @classmethod
    def of(cls, steps: Iterable[ResearchStep]) -> Surroundings:
        """Return what is known before the first step: the sources that calls are counted for."""
        names = (
            called_source(parse_arguments(s.spec.action, s.spec.arguments))
            for s in steps
            if s.spec.usage.source_calls
        )
        return cls(remote_sources=frozenset(name for name in names if name is not None))

    def after(self, recorded: Recorded) -> Surroundings:
        """Return what is known after a step."""
        known = self if recorded.models is None else replace(self, models=recorded.models)
        noted = _noted(recorded)
        return replace(known, noted=noted) if noted else known

    def missing(self, state: RunState, recorded: Recorded) -> MissingReference | None:
        """Return what was missing when a decision was made.

        A note of a wait says it; while the wait lasts it is missing still.
        """
        if (noted := _noted(recorded)) is not None:
            return noted
        is_ended = _note_kind(recorded) is NoteKind.WAITING_ENDED
        return self.noted if state.pause is NoteKind.WAITING and not is_ended else None

    def remote(self, situation: Situation, recorded: Recorded) -> frozenset[str]:
        """Return the remote sources when a decision was made.

        A call says it of its source. So does an ending for want of such calls, of the source
        that would have been searched next.
        """
        arguments, is_remote = recorded.intent.arguments, recorded.is_counted
        if recorded.intent.decision.reason == TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED:
            following = chosen(situation)
            is_remote = following is not None
            arguments = following.arguments if following else arguments
        source_name = called_source(arguments)
        if source_name is None or is_remote is None:
            return self.remote_sources
        others = self.remote_sources - {source_name}
        return others | {source_name} if is_remote else others


def situation_of(
    recorded: Recorded,
    *,
    task: ResearchTask,
    spec: ResearchTaskSpec,
    state: RunState,
    assessment: Assessment,
    surroundings: Surroundings,
) -> Situation:
    """Return the situation that a decision was made in."""
    situation = Situation(
        task=task_at(task, spec, recorded.generation, recorded.request),
        state=state,
        assessment=assessment,
        now=recorded.at,
        holder=recorded.holder,
        missing=surroundings.missing(state, recorded),
        models=surroundings.models if recorded.models is None else recorded.models,
        source_digests=_source_digests(recorded),
    )
    return replace(situation, remote_sources=surroundings.remote(situation, recorded))


def task_at(
    task: ResearchTask, spec: ResearchTaskSpec, generation: int, request: str | None
) -> ResearchTask:
    """Return a task as it was at a generation and request, before its status said anything."""
    annotations = {} if request is None else {REQUESTED_AT: request}
    changed = {"generation": generation, "annotations": annotations}
    metadata = task.metadata.model_copy(update=changed)
    return ResearchTask(metadata=metadata, spec=spec)


def _source_digests(recorded: Recorded) -> dict[str, str]:
    """Return what is recorded of the sources' digests: the one that a round was opened for."""
    arguments = recorded.intent.arguments
    if not isinstance(arguments, ReverifyArguments) or not recorded.intent.opens_round:
        return {}
    if arguments.source_name is None or arguments.corpus_digest is None:
        return {}
    return {arguments.source_name: arguments.corpus_digest}


def _noted(recorded: Recorded) -> MissingReference | None:
    arguments = recorded.intent.arguments
    if not isinstance(arguments, NoteArguments) or arguments.kind is not NoteKind.WAITING:
        return None
    try:
        return MissingReference(AcceptedReason(arguments.reason or ""), arguments.message)
    except ValueError as error:
        raise JournalError(
            "IncompleteStep", f"step {recorded.index} waits for {arguments.reason}: no such reason"
        ) from error


def _note_kind(recorded: Recorded) -> NoteKind | None:
    arguments = recorded.intent.arguments
    return arguments.kind if isinstance(arguments, NoteArguments) else None
