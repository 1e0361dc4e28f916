"""Rounds: when a task that has succeeded is looked at again, and what its new round begins with.

A round is due when the refresh interval has passed, when a source holds something else than the
round found in it, or when somebody asks (`requestedAt`). It begins with a step that carries over
all that is needed of the rounds before it, so that their steps can be deleted (docs/rounds.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from controller.api.reasons import TerminalReason
from controller.api.records import SearchStatus
from controller.api.rounds import (
    CarriedDocument,
    FormerQuestion,
    Rereading,
    RoundOpening,
    RoundTotals,
)
from controller.api.step import ActionName, ResearchStep, StepDecision, Verdict
from controller.api.task import NOT_LOOKED_AT, DesiredState, ResearchTask, source_mark
from controller.evidence.findings import standing
from controller.loop.intents import Intent, ReverifyArguments
from controller.loop.policy import next_intent
from controller.loop.run_state import RunState
from controller.loop.situation import Act, Situation
from controller.loop.usage import Usage
from controller.loop.validity import fault_of

MAX_DOCUMENTS: Final = 512
"""How many documents a round reads again at most; facts of further ones are not carried."""

REFRESH: Final = "Refresh"
"""Why a task that has succeeded is looked at again by the clock."""


@dataclass(frozen=True)
class _Cause:
    """Why a round is due; for a source that has changed, which and what it holds now."""

    reason: str
    message: str
    source_name: str | None = None
    corpus_digest: str | None = None


def next_round(situation: Situation) -> Act | None:
    """Return the intent to open the next round, None: none is due.

    Only a run that has reached its goal gets another round: any other one is re-opened, and goes
    on where it stopped.
    """
    if not _has_succeeded(situation) or fault_of(situation.task.spec) is not None:
        return None
    cause = _cause(situation)
    if cause is None:
        return None
    arguments = ReverifyArguments(
        round=situation.state.round + 1,
        source_name=cause.source_name,
        corpus_digest=cause.corpus_digest,
    )
    decision = StepDecision(verdict=Verdict.CONTINUE, reason=cause.reason, message=cause.message)
    return Act(Intent(ActionName.REVERIFY, arguments, decision))


def next_refresh(situation: Situation) -> datetime | None:
    """Return when the refresh interval ends of a run that has succeeded, None: it never does."""
    seconds, ended_at = situation.task.spec.refresh_interval_seconds, situation.state.last_time
    if seconds is None or ended_at is None or not _has_succeeded(situation):
        return None
    return ended_at + timedelta(seconds=seconds)


def opening(situation: Situation) -> RoundOpening:
    """Return what the next round begins with: a record of the rounds before it."""
    state, findings = situation.state, situation.assessment.findings
    assert state.started_at is not None
    sources = {e.document.id: e.document.source_name for e in findings.evidence}
    documents = dict.fromkeys(c.document_id for f in findings.verified() for c in f.citations)
    return RoundOpening(
        start_time=state.started_at,
        totals=RoundTotals(**asdict(total(state))),
        questions=tuple(
            FormerQuestion(id=q.id, text=q.text, state=standing(findings, q)[0], reason=reason)
            for q in findings.questions
            for reason in (standing(findings, q)[1],)
            if state.questions.get(q.id) == q.text
        ),
        documents=tuple(
            CarriedDocument(id=i, source_name=sources[i]) for i in list(documents)[:MAX_DOCUMENTS]
        ),
        report=state.report,
    )


def total(state: RunState) -> Usage:
    """Return what all rounds up to now have used."""
    before, now = state.rounds.totals.model_dump(), asdict(state.usage)
    return Usage(**{name: value + before[name] for name, value in now.items()})


def sources_seen(state: RunState) -> dict[str, str | None]:
    """Return what the sources held when the round looked at them: digests by name.

    A source that was not there, or was looked at in more than one state, has no digest: whatever
    it holds now, the round has not seen all of it.
    """
    digests: dict[str, set[str | None]] = {}
    for name, digest in _digests(state):
        digests.setdefault(name, set()).add(digest)
    return {
        name: next(iter(seen)) if len(seen) == 1 else None for name, seen in sorted(digests.items())
    }


def source_marks(situation: Situation) -> tuple[str, ...]:
    """Return what the round found each of the task's sources to hold, as a status shows it."""
    seen = sources_seen(situation.state)
    names = (reference.name for reference in situation.task.spec.source_refs)
    return tuple(source_mark(seen[name]) if name in seen else NOT_LOOKED_AT for name in names)


def expired(steps: Sequence[ResearchStep], history_limit: int) -> tuple[int, ...]:
    """Return the indices of the steps of rounds beyond the limit, the lowest first."""
    newest = steps[-1].spec.round if steps else 0
    return tuple(s.spec.index for s in steps if s.spec.round <= newest - history_limit)


def is_kept_true(task: ResearchTask) -> bool:
    """Say whether a task as stored gets another round when one of its sources changes."""
    return (
        task.status.terminal_reason is TerminalReason.GOAL_REACHED
        and task.spec.desired_state is DesiredState.RUNNING
        and bool(task.source_marks)
    )


def is_outdated(task: ResearchTask, digests: Mapping[str, str]) -> bool:
    """Say whether a source holds something else now than a task's status shows of it."""
    marks = task.source_marks
    return any(mark != source_mark(digests[n]) for n, mark in marks.items() if n in digests)


def goes_on_without_sources(situation: Situation) -> bool:
    """Say whether a later round has something to do that needs no source to be there.

    What was verified before is carried from a source that is missing, unchecked, and concluded
    from; only research waits for it. A report that stood is not given up for a source that is away.
    """
    if situation.state.round == 0:
        return False
    intent = next_intent(situation.assessment)
    return intent is not None and intent.action in {ActionName.REVERIFY, ActionName.CONCLUDE}


def is_round_over(situation: Situation) -> bool:
    """Say whether rounds beyond `historyLimit` are needed no longer.

    They are as long as facts of theirs are to be verified again, or the report is theirs.
    """
    limit = situation.task.spec.history_limit
    is_over = situation.state.closed and not situation.assessment.to_reverify
    return is_over and situation.state.round >= limit and situation.journal_error is None


def _has_succeeded(situation: Situation) -> bool:
    closing = situation.state.closing
    return (
        closing is not None
        and situation.state.closed
        and closing.decision.ending is TerminalReason.GOAL_REACHED
        and situation.task.spec.desired_state is DesiredState.RUNNING
    )


def _cause(situation: Situation) -> _Cause | None:
    request, closing = situation.task.request, situation.state.closing
    assert closing is not None
    if request is not None and request != closing.request:
        return _Cause("RefreshRequested", f"asked for by requestedAt {request}")
    due = next_refresh(situation)
    if due is not None and situation.now >= due:
        seconds = situation.task.spec.refresh_interval_seconds
        return _Cause("RefreshInterval", f"spec.refreshIntervalSeconds {seconds} have passed")
    return _changed_source(situation)


def _changed_source(situation: Situation) -> _Cause | None:
    now = situation.source_digests
    names = {reference.name for reference in situation.task.spec.source_refs}
    for name, seen in sources_seen(situation.state).items():
        digest = now.get(name)
        if name in names and digest is not None and digest != seen:
            message = f"the source {name} holds something else than the last round found"
            return _Cause("SourceChanged", message, name, digest)
    return None


def _digests(state: RunState) -> Iterator[tuple[str, str | None]]:
    for search in state.searches:
        if search.corpus_digest is not None and search.status is not SearchStatus.FAILED:
            yield search.source_name, search.corpus_digest
    for record in state.rounds.former.reverified:
        if record.rereading is Rereading.UNREACHABLE or record.corpus_digest is not None:
            yield record.source_name, record.corpus_digest
