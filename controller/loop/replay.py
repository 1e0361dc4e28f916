"""Replay: what a journal says, computed again. Pure, like everything that it computes again.

There are two modes. `reduced` only folds the journal and compares the fold with the status; every
turn of a task does as much. `decided_again` makes each decision again from the steps before it,
and performs again what needs only the journal. That is for people and tests (docs/replay.md): a
turn never does it, so that a policy that has changed ends no running task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.api.errors import JournalError
from controller.api.reasons import RunningReason
from controller.api.step import ActionClass, Outcome, ResearchStep, ResearchStepSpec
from controller.api.task import ResearchTask, ResearchTaskSpec, ResearchTaskStatus
from controller.loop import journal
from controller.loop.assessment import Assessment, assess
from controller.loop.decide import decide
from controller.loop.divergence import ReplayDivergence, divergence
from controller.loop.extractive import performed
from controller.loop.intents import Intent, called_source
from controller.loop.moves import illegal_move
from controller.loop.recorded import (
    Recorded,
    Surroundings,
    of_intent,
    of_step,
    situation_of,
    task_at,
)
from controller.loop.recording import pending_of
from controller.loop.run_state import RunState, initial
from controller.loop.situation import Act, Decision, End, Interrupt, Situation, Wait
from controller.loop.state import fold
from controller.loop.status import build_status, shortened

Specs = Mapping[int, ResearchTaskSpec]
"""What is known of a task's spec, by generation."""

FOLDED_FIELDS: Final = frozenset(
    {
        "start_time",
        "round",
        "usage",
        "totals",
        "progress",
        "consecutive_errors",
        "last_step",
        "journal",
        "report",
    }
)
"""The fields of a status that the journal alone gives."""

ASSESSED_FIELDS: Final = frozenset({"quality", "questions", "sources"})
"""Those that the journal and the spec give. The others show the moment, or are compared apart."""

PURE_RECORDS: Final = ("plan", "extract", "answer", "statements", "ask", "note", "opening")
"""What a step may carry that only the journal is needed for."""

_GONE: Final = "a process that is gone"


@dataclass(frozen=True)
class Replayed:
    """How far a replay came; without a divergence it came to the end.

    `decisions` were made and `actions` performed again. `unknown_spec` steps belong to
    generations whose spec is not known. `in_doubt` steps were decided by a process that died, at
    a time or under a spec that is not recorded: only what was made of them is checked.
    `carried_over` is 1 for a journal whose older rounds are deleted: what its first step carries
    over of them is taken as it is.
    """

    steps: int = 0
    decisions: int = 0
    actions: int = 0
    unknown_spec: int = 0
    in_doubt: int = 0
    carried_over: int = 0
    divergence: ReplayDivergence | None = None


def reduced(
    task: ResearchTask, steps: Sequence[ResearchStep], specs: Specs
) -> ReplayDivergence | None:
    """Fold a journal and compare the fold with the task's status.

    The journal may be one step ahead: it is written first. A task without a status folds.

    Raises:
        JournalError: the journal does not fold, or has fewer steps than the status says.
    """
    steps = journal.kept(steps)
    first = steps[0].spec.index if steps else 0
    states = [_initial(task)]
    for step in steps:
        states.append(fold(states[-1], step))
    last = states[-1].next_index
    shown = task.status.journal
    if task.status.observed_generation < 0 and shown is None:
        return None
    count = shown.steps if shown else 0
    if count > last:
        raise JournalError("MissingStep", f"status was folded from {count} steps, {last} are there")
    if last - count > 1:
        return divergence(None, "journal.steps", count, last)
    return _status_difference(
        task, states[count - first], specs.get(task.status.observed_generation)
    )


def _status_difference(
    task: ResearchTask, state: RunState, spec: ResearchTaskSpec | None
) -> ReplayDivergence | None:
    status = task.status
    of = task.model_copy(update={"spec": spec or task.spec})
    now = status.start_time or state.last_time
    if now is None:
        return None
    situation = Situation(of, state, assess(of.spec, state), now, _GONE)
    folded = build_status(situation, Wait(RunningReason.RUNNING, ""), None)
    included = FOLDED_FIELDS | ASSESSED_FIELDS if spec else FOLDED_FIELDS
    if status.totals is None:  # as versions before rounds wrote it
        included -= {"totals", "sources"}
    difference = divergence(
        None, "status", _shown(status, included), _shown(_as_short(folded, status), included)
    )
    return difference or _ending_difference(status, state)


def _shown(status: ResearchTaskStatus, included: frozenset[str]) -> dict[str, Any]:
    return status.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(included))


def _as_short(folded: ResearchTaskStatus, shown: ResearchTaskStatus) -> ResearchTaskStatus:
    """Return a status whose questions' texts are cut as those that are shown were, to fit."""
    lengths = {question.id: len(question.text) for question in shown.questions}
    questions = tuple(
        q.model_copy(update={"text": shortened(q.text, lengths.get(q.id, len(q.text)))})
        for q in folded.questions
    )
    return folded.model_copy(update={"questions": questions})


def _ending_difference(status: ResearchTaskStatus, state: RunState) -> ReplayDivergence | None:
    """Compare the terminal reason, where the fold has one for this generation and request."""
    closing = state.closing
    shown_for = (status.observed_generation, status.last_handled_requested_at)
    if closing is None or not state.closed or shown_for != (closing.generation, closing.request):
        return None
    return divergence(
        None, "status.terminalReason", status.terminal_reason, closing.decision.ending
    )


def decided_again(task: ResearchTask, steps: Sequence[ResearchStep], specs: Specs) -> Replayed:
    """Make each decision of a journal again, and perform again what needs only the journal.

    Decisions are compared by action, arguments, attempt, verdict and reason; a decision's message
    is wording. What pure actions found is compared byte for byte. After the last step, the ending
    or the intent that the status shows is decided again too.

    Raises:
        JournalError: the journal does not fold.
    """
    steps = journal.kept(steps)
    state, surroundings, counts = _initial(task), Surroundings.of(steps), Replayed()
    assessed = _Assessed()
    for step in steps:
        after, recorded = fold(state, step), of_step(step.spec)
        spec = specs.get(recorded.generation)
        counts = replace(counts, steps=counts.steps + 1)
        if state.last is None and step.spec.opening is not None:
            counts = replace(counts, carried_over=1)
        elif spec is None:
            counts = replace(counts, unknown_spec=counts.unknown_spec + 1)
        else:
            assessment = assessed.of(spec, state)
            situation = situation_of(
                recorded,
                task=task,
                spec=spec,
                state=state,
                assessment=assessment,
                surroundings=surroundings,
            )
            counts = _step_again(counts, situation, step.spec, recorded)
            counts = _sealed_again(counts, step.spec, assessed.of(spec, after).fingerprint)
            counts = _moved_again(counts, step.spec, assessment, assessed.of(spec, after))
        if counts.divergence is not None:
            return counts
        state, surroundings = after, surroundings.after(recorded)
    return replace(counts, divergence=_what_the_status_shows(task, specs, state, surroundings))


class _Assessed:
    """The newest assessment: what is known after a step is what is known before the next one."""

    def __init__(self) -> None:
        self._newest: tuple[ResearchTaskSpec, RunState, Assessment] | None = None

    def of(self, spec: ResearchTaskSpec, state: RunState) -> Assessment:
        newest = self._newest
        if newest is None or newest[0] is not spec or newest[1] is not state:
            newest = self._newest = (spec, state, assess(spec, state))
        return newest[2]


def _step_again(
    counts: Replayed, situation: Situation, step: ResearchStepSpec, recorded: Recorded
) -> Replayed:
    """Decide a step again and perform it again, as far as that needs the journal alone."""
    if step.outcome is Outcome.INTERRUPTED:
        settled = decide(_in_doubt(situation, recorded.intent))
        if not isinstance(settled, Interrupt):
            different = ReplayDivergence(step.index, "decision", "Interrupt", _decided(settled))
            return replace(counts, divergence=different)
    difference = _decision_difference(recorded, decide(situation))
    if difference is None:
        counts = replace(counts, decisions=counts.decisions + 1)
    elif _was_in_doubt(situation, step, recorded):
        counts = replace(counts, in_doubt=counts.in_doubt + 1)
    else:
        return replace(counts, divergence=difference)
    if not _is_pure(situation, step, recorded.intent):
        return counts
    difference = _found_difference(situation, step, recorded.intent)
    return replace(counts, actions=counts.actions + 1, divergence=difference)


def _decision_difference(recorded: Recorded, decision: Decision) -> ReplayDivergence | None:
    """Compare what was decided with what is decided now; the message is wording."""
    if not isinstance(decision, Act):
        shown = _decided(Act(recorded.intent))
        return ReplayDivergence(recorded.index, "decision", shown, _decided(decision))
    return divergence(
        recorded.index, "decision", _as_json(recorded.intent), _as_json(decision.intent)
    )


def _as_json(intent: Intent) -> dict[str, Any]:
    return {
        "action": intent.action,
        "arguments": intent.arguments_json,
        "attempt": intent.attempt,
        "reservation": intent.reservation.to_json() if intent.reservation else None,
        "verdict": intent.decision.verdict,
        "reason": intent.decision.reason,
    }


def _decided(decision: Decision) -> str:
    """Return a decision for people."""
    kind = type(decision).__name__
    match decision:
        case Act() | Interrupt():
            intent = decision.intent
            return f"{kind} {intent.action} {intent.arguments_json} ({intent.decision.reason})"
        case Wait() | End():
            return f"{kind} {decision.reason}: {decision.message}"
    return kind


def _in_doubt(situation: Situation, intent: Intent) -> Situation:
    """Return the situation of a process that finds an intent of one that is gone."""
    return replace(situation, pending=pending_of(replace(situation, holder=_GONE), intent))


def _was_in_doubt(situation: Situation, step: ResearchStepSpec, recorded: Recorded) -> bool:
    """Say whether a step was decided at a time, or under a spec, that is not recorded.

    An interrupted attempt carries the generation in which it was found. An effect in doubt is
    taken over, for its first reason, by the process that finds it.
    """
    before = situation.state.last
    if step.outcome is Outcome.INTERRUPTED:
        return before is None or before.generation != step.generation
    is_taken_over = before is not None and before.holder != step.holder
    if not is_taken_over or situation.action_class(recorded.intent) is not ActionClass.EFFECT:
        return False
    return _decision_difference(recorded, decide(_in_doubt(situation, recorded.intent))) is None


def _is_pure(situation: Situation, step: ResearchStepSpec, intent: Intent) -> bool:
    """Say whether all that a step found can be found again in the journal."""
    return (
        step.outcome is Outcome.COMPLETED
        and situation.action_class(intent) is ActionClass.PURE
        and called_source(intent.arguments) is None
    )


def _found_difference(
    situation: Situation, step: ResearchStepSpec, intent: Intent
) -> ReplayDivergence | None:
    """Perform a pure action again and compare what it finds with what was found."""
    found = performed(situation, intent)
    if found is not None:
        again = {name: getattr(found, name) for name in PURE_RECORDS}
    else:  # a record of its own arguments
        arguments = {step.action.value.lower(): intent.arguments}
        again = {name: arguments.get(name) for name in PURE_RECORDS}
    before = {name: getattr(step, name) for name in PURE_RECORDS}
    return divergence(step.index, step.action, _records(before), _records(again))


def _records(records: Mapping[str, Any]) -> dict[str, Any]:
    """Return records as JSON; one that is absent is left out."""
    return {
        name: [item.to_json() for item in value] if isinstance(value, tuple) else value.to_json()
        for name, value in records.items()
        if value is not None
    }


def _sealed_again(counts: Replayed, step: ResearchStepSpec, fingerprint: str) -> Replayed:
    """Compare what a step was sealed with: the id of its operation, what was known after it."""
    if counts.divergence is not None:
        return counts
    sealed = {"operationId": step.operation_id, "fingerprint": step.fingerprint}
    operation_id = journal.operation_id(step.task_uid, step.index, step.action, step.arguments)
    again = {"operationId": operation_id, "fingerprint": fingerprint}
    return replace(counts, divergence=divergence(step.index, "sealed with", sealed, again))


def _moved_again(
    counts: Replayed, step: ResearchStepSpec, before: Assessment, after: Assessment
) -> Replayed:
    """Look whether the step moved each question's state as it may (S1.4)."""
    moved = illegal_move(step.action, before, after) if counts.divergence is None else None
    if moved is None:
        return counts
    different = ReplayDivergence(step.index, "question state", moved, "no legal move")
    return replace(counts, divergence=different)


def _what_the_status_shows(
    task: ResearchTask, specs: Specs, state: RunState, surroundings: Surroundings
) -> ReplayDivergence | None:
    """Decide again the ending, or the intent of the next step, that the status shows."""
    status = task.status
    spec = specs.get(status.observed_generation)
    if spec is None or status.journal is None or status.journal.steps != state.next_index:
        return None
    if status.terminal_reason is not None:
        return _ending_again(task, spec, state)
    pending = status.pending
    if pending is None or pending.index != state.next_index:
        return None
    recorded = of_intent(pending, status)
    situation = situation_of(
        recorded,
        task=task,
        spec=spec,
        state=state,
        assessment=assess(spec, state),
        surroundings=surroundings,
    )
    return _decision_difference(recorded, decide(situation))


def _ending_again(
    task: ResearchTask, spec: ResearchTaskSpec, state: RunState
) -> ReplayDivergence | None:
    status = task.status
    now = status.completion_time or state.last_time
    if now is None:
        return None
    spec = spec.model_copy(update={"ttl_seconds_after_finished": None})  # it is still here
    situation = Situation(
        task=task_at(task, spec, status.observed_generation, status.last_handled_requested_at),
        state=state,
        assessment=assess(spec, state),
        now=now,
        holder=_GONE,
    )
    decision = decide(situation)
    if isinstance(decision, End) and decision.reason is status.terminal_reason:
        return None
    shown = f"End {status.terminal_reason}"
    return ReplayDivergence(state.next_index, "ending", shown, _decided(decision))


def _initial(task: ResearchTask) -> RunState:
    return initial(task.metadata.name, task.metadata.uid, task.spec.topic)
