"""The fold: what a run knows, from its journal alone.

`fold` is the only writer of `RunState`, and it sees neither the spec nor a clock: folding a
prefix and then the rest gives what folding the whole gives. What the spec makes of the state
(which questions count, whether the goal holds) is `assessment`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from controller.api.errors import JournalError
from controller.api.records import (
    Block,
    Evidence,
    FactStatus,
    NoteKind,
    QuestionState,
    SearchRecord,
    SearchStatus,
)
from controller.api.rounds import RoundOpening
from controller.api.step import ActionName, Outcome, ResearchStep, ResearchStepSpec
from controller.loop import journal
from controller.loop.failures import tallied
from controller.loop.intents import DraftArguments
from controller.loop.round_state import Rounds
from controller.loop.run_state import Closing, RunState

Record = TypeVar("Record")


def fold(state: RunState, step: ResearchStep) -> RunState:
    """Return the state after a stored step.

    A journal whose oldest rounds are deleted begins with the step that opens a round: it is
    trusted to continue what is gone (cases, rule 2).

    Raises:
        JournalError: the step does not continue this journal, or does not say what it must.
    """
    begins = state.last is None and step.spec.opening is not None
    journal.check(
        step,
        task_name=state.task_name,
        task_uid=state.task_uid,
        index=step.spec.index if begins else state.next_index,
        previous=step.spec.previous_digest if begins else state.digest,
    )
    return apply(state, step.spec)


def apply(state: RunState, spec: ResearchStepSpec) -> RunState:
    """Return the state after a step that is known to continue the journal.

    Raises:
        JournalError: the step lacks the record that its action must have.
    """
    if spec.opening is not None:
        state = _opened(state, spec, spec.opening)
    after = replace(
        state,
        digest=spec.digest,
        next_index=spec.index + 1,
        round=spec.round,
        usage=state.usage.charged(spec),
        question_steps=_counted(state.question_steps, spec),
        started_at=state.started_at or spec.start_time,
        closing=_closing(state, spec),
        last=spec,
    )
    after = replace(after, model=state.model.after(spec, after.usage.steps))
    errors, retry = tallied(state.errors, state.retry, spec)
    after = replace(after, errors=errors, retry=retry)
    if spec.outcome is Outcome.COMPLETED or spec.search is not None or spec.read is not None:
        after = _FOUND[spec.action](after, spec)
    return replace(after, progress=state.progress.after(spec))


def reopened(state: RunState) -> RunState:
    """Return the state that a re-opening leaves: what failed may be tried again."""
    return replace(
        state,
        closing=None,
        closed=False,
        errors={},
        retry=None,
        searches=tuple(s for s in state.searches if s.status is not SearchStatus.FAILED),
        reads=tuple(r for r in state.reads if r.closed_by is None or not r.bars_absence),
        progress=state.progress.restarted(),
    )


def _opened(state: RunState, spec: ResearchStepSpec, opening: RoundOpening) -> RunState:
    """Return the state in which a round begins: nothing is in it that its opening does not say.

    So a journal that begins here folds to the same. Only what is still to be verified again is
    taken from the steps before; it is gone once that is done.

    Raises:
        JournalError: it does not open the next round.
    """
    if state.last is not None and spec.round != state.round + 1:
        raise JournalError("ForeignStep", f"step {spec.index} opens round {spec.round}")
    return RunState(
        task_name=state.task_name,
        task_uid=state.task_uid,
        digest=state.digest,
        questions={q.id: q.text for q in opening.questions},
        report=opening.report,
        started_at=opening.start_time,
        rounds=Rounds.opened(
            opening,
            facts=state.facts,
            evidence=state.evidence,
            former=state.rounds.former,
            searches=state.searches,
        ),
    )


def _counted(question_steps: Mapping[str, int], spec: ResearchStepSpec) -> Mapping[str, int]:
    if spec.question_id is None:
        return question_steps
    return {**question_steps, spec.question_id: question_steps.get(spec.question_id, 0) + 1}


def _closing(state: RunState, spec: ResearchStepSpec) -> Closing | None:
    if spec.decision.ending is None:
        return state.closing
    return Closing(spec.decision, spec.generation, spec.request)


def _planned(state: RunState, spec: ResearchStepSpec) -> RunState:
    plan = _required(spec.plan, spec)
    changed = {q.id for q in plan.questions if state.questions.get(q.id, q.text) != q.text}
    state = _without_questions(state, changed)
    refined = state.refined
    if spec.action is ActionName.REFINE and spec.question_id is not None:
        refined |= {spec.question_id}
    known = set(state.queries)
    return replace(
        state,
        questions={**state.questions, **{q.id: q.text for q in plan.questions}},
        queries=state.queries + tuple(q for q in plan.queries if q not in known),
        refined=refined,
    )


def _without_questions(state: RunState, ids: set[str]) -> RunState:
    """Forget all that belongs to questions whose text has changed: they are other questions."""
    if not ids:
        return state
    return replace(
        state,
        queries=tuple(q for q in state.queries if q.question_id not in ids),
        searches=tuple(s for s in state.searches if s.question_id not in ids),
        reads=tuple(r for r in state.reads if r.question_id not in ids),
        facts=tuple(f for f in state.facts if f.question_id not in ids),
        answers={i: a for i, a in state.answers.items() if i not in ids},
        refined=state.refined - ids,
        unextracted=state.unextracted - ids,
        question_steps={i: n for i, n in state.question_steps.items() if i not in ids},
        model=state.model.without_questions(ids),
        statements=None,
    )


def _searched(state: RunState, spec: ResearchStepSpec) -> RunState:
    search = _required(spec.search, spec)
    if spec.outcome not in {Outcome.COMPLETED, Outcome.FAILED}:
        return state
    known = {(h.document_id, h.span) for s in _of(state.searches, search) for h in s.hits}
    new = any(h.span and (h.document_id, h.span) not in known for h in search.hits)
    unextracted = {search.question_id} if new else set()
    return replace(
        state,
        searches=(*state.searches, search),
        evidence=_with_evidence(state, spec),
        unextracted=state.unextracted | unextracted,
    )


def _read(state: RunState, spec: ResearchStepSpec) -> RunState:
    """A hit is read, or closed for the round: an attempt that is repeated closes nothing."""
    read = _required(spec.read, spec)
    if spec.outcome not in {Outcome.COMPLETED, Outcome.FAILED}:
        return state
    return replace(
        state,
        reads=(*state.reads, read),
        evidence=_with_evidence(state, spec),
        unextracted=state.unextracted | ({read.question_id} if read.passages else set()),
    )


def _with_evidence(state: RunState, spec: ResearchStepSpec) -> Mapping[str, Evidence]:
    evidence = dict(state.evidence)
    for found in spec.evidence:
        evidence[found.document.id] = merged(evidence.get(found.document.id), found)
    return evidence


def _of(searches: tuple[SearchRecord, ...], search: SearchRecord) -> tuple[SearchRecord, ...]:
    return tuple(s for s in searches if s.question_id == search.question_id)


def merged(known: Evidence | None, found: Evidence) -> Evidence:
    """Return one document's evidence with the blocks of both, by offset, none twice."""
    if known is None:
        return found
    blocks: dict[tuple[int, int], Block] = {(b.start, b.end): b for b in known.blocks}
    blocks |= {(b.start, b.end): b for b in found.blocks}
    ordered = tuple(blocks[key] for key in sorted(blocks))
    return Evidence.model_construct(document=found.document, blocks=ordered)


def _extracted(state: RunState, spec: ResearchStepSpec) -> RunState:
    extract = _required(spec.extract, spec)
    known = {f.id for f in state.facts}
    used_up = set() if extract.remaining else {extract.question_id}
    return replace(
        state,
        facts=state.facts + tuple(f for f in extract.facts if f.id not in known),
        unextracted=state.unextracted - used_up,
        statements=None,
    )


def _reviewed(state: RunState, spec: ResearchStepSpec) -> RunState:
    vetoed = {veto.fact_id for veto in _required(spec.review, spec).vetoes}
    facts = tuple(
        f.model_copy(update={"status": FactStatus.VETOED}) if f.id in vetoed else f
        for f in state.facts
    )
    return replace(state, facts=facts, statements=None if vetoed else state.statements)


def _concluded(state: RunState, spec: ResearchStepSpec) -> RunState:
    answer = _required(spec.answer, spec)
    if answer.state is QuestionState.OPEN:
        raise JournalError("IllegalMove", f"step {spec.index} concludes that a question is Open")
    return replace(state, answers={**state.answers, answer.question_id: answer}, statements=None)


def _reverified(state: RunState, spec: ResearchStepSpec) -> RunState:
    if spec.opening is not None:
        return state
    record = _required(spec.reverify, spec)
    known = {f.id for f in state.facts}
    return replace(
        state,
        facts=state.facts + tuple(f for f in record.facts if f.id not in known),
        evidence=_with_evidence(state, spec),
        rounds=state.rounds.after(record),
        statements=None,
    )


def _drafted(state: RunState, spec: ResearchStepSpec) -> RunState:
    arguments = DraftArguments.model_validate_json(spec.arguments)
    return replace(state, statements=_required(spec.statements, spec), draft_basis=arguments.basis)


def _published(state: RunState, spec: ResearchStepSpec) -> RunState:
    return replace(state, report=_required(spec.publish, spec), closed=True)


def _noted(state: RunState, spec: ResearchStepSpec) -> RunState:
    note = _required(spec.note, spec)
    if note.kind is NoteKind.REOPENED:
        return reopened(state)
    if note.kind is NoteKind.DEGRADED:
        return state  # the memory has thrown the switch; nothing pauses
    if note.kind in {NoteKind.RESUMED, NoteKind.WAITING_ENDED, NoteKind.INPUT_TAKEN}:
        return _unpaused(state)
    return replace(
        state,
        pause=note.kind,
        pause_reason=note.reason,
        pause_digest=note.draft_digest,
        paused_at=spec.end_time,
        asked=(),
    )


def _asked(state: RunState, spec: ResearchStepSpec) -> RunState:
    return replace(
        state,
        pause=NoteKind.AWAITING_INPUT,
        pause_reason="ClarificationNeeded",
        pause_digest=None,
        paused_at=spec.end_time,
        asked=_required(spec.ask, spec).fields,
        ask_rounds=state.ask_rounds + 1,
    )


def _unpaused(state: RunState) -> RunState:
    return replace(
        state, pause=None, pause_reason=None, pause_digest=None, paused_at=None, asked=()
    )


def _proposed(state: RunState, spec: ResearchStepSpec) -> RunState:
    """What a model proposed is in the memory, and nowhere else."""
    _required(spec.proposal, spec)
    return state


def _summarised(state: RunState, spec: ResearchStepSpec) -> RunState:
    """What a model summed up is in the memory, and nowhere else."""
    _required(spec.closing_summary, spec)
    return state


_FOUND: Final = {
    ActionName.PLAN: _planned,
    ActionName.REFINE: _planned,
    ActionName.SEARCH: _searched,
    ActionName.READ: _read,
    ActionName.EXTRACT: _extracted,
    ActionName.REVIEW: _reviewed,
    ActionName.CONCLUDE: _concluded,
    ActionName.REVERIFY: _reverified,
    ActionName.DRAFT: _drafted,
    ActionName.PUBLISH: _published,
    ActionName.ASK: _asked,
    ActionName.NOTE: _noted,
    ActionName.PROPOSE: _proposed,
    ActionName.SUMMARIZE: _summarised,
}


def _required(record: Record | None, spec: ResearchStepSpec) -> Record:
    if record is None:
        raise JournalError(
            "IncompleteStep", f"step {spec.index} ({spec.action}) lacks what it found"
        )
    return record
