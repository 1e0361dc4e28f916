"""What a run knows: the value that the fold computes, and nothing else writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from controller.api.records import (
    Answer,
    Evidence,
    Fact,
    NoteKind,
    PublishRecord,
    Query,
    ReadRecord,
    SearchRecord,
    Statement,
)
from controller.api.step import ResearchStepSpec, StepDecision
from controller.loop import journal
from controller.loop.failures import ErrorCount, Retry
from controller.loop.memory import Memory
from controller.loop.progress import Fingerprints
from controller.loop.round_state import Rounds
from controller.loop.usage import Usage

_TIMELESS: Final = frozenset({NoteKind.SUSPENDED, NoteKind.AWAITING_INPUT})
"""Pauses in which no active time runs: a person decides how long they last."""


@dataclass(frozen=True)
class Closing:
    """The ending that closing steps were taken under, and what it was decided on."""

    decision: StepDecision
    generation: int
    request: str | None


@dataclass(frozen=True)
class RunState:
    """Everything that the journal says about a run."""

    task_name: str
    task_uid: str
    digest: str
    next_index: int = 0
    round: int = 0
    questions: Mapping[str, str] = field(default_factory=dict)
    queries: tuple[Query, ...] = ()
    refined: frozenset[str] = frozenset()
    searches: tuple[SearchRecord, ...] = ()
    reads: tuple[ReadRecord, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    unextracted: frozenset[str] = frozenset()
    facts: tuple[Fact, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    statements: tuple[Statement, ...] | None = None
    draft_basis: str | None = None
    report: PublishRecord | None = None
    closing: Closing | None = None
    closed: bool = False
    pause: NoteKind | None = None
    pause_reason: str | None = None
    pause_digest: str | None = None
    paused_at: datetime | None = None
    asked: tuple[str, ...] = ()
    ask_rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    question_steps: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, ErrorCount] = field(default_factory=dict)
    retry: Retry | None = None
    model: Memory = field(default_factory=Memory)
    progress: Fingerprints = field(default_factory=Fingerprints)
    started_at: datetime | None = None
    rounds: Rounds = field(default_factory=Rounds)
    last: ResearchStepSpec | None = None

    @property
    def last_time(self) -> datetime | None:
        """When the newest step was recorded."""
        return self.last.end_time if self.last else None

    @property
    def counts_time(self) -> bool:
        """Whether time passing now is active time."""
        return not self.closed and self.pause not in _TIMELESS


def initial(task_name: str, task_uid: str, topic: str) -> RunState:
    """Return the state of a run without a step."""
    return RunState(task_name, task_uid, journal.genesis_digest(task_uid, topic))
