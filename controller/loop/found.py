"""What an action found, before it is recorded."""

from __future__ import annotations

from dataclasses import dataclass

from controller.api.records import (
    Answer,
    AskRecord,
    Evidence,
    ExtractRecord,
    NoteRecord,
    PlanRecord,
    ProposalRecord,
    PublishRecord,
    ReadRecord,
    ReviewRecord,
    SearchRecord,
    Statement,
)
from controller.api.rounds import ReverifyRecord, RoundOpening


@dataclass(frozen=True)
class Found:
    """What an action found: a sentence for people, and the record that its step carries."""

    summary: str
    plan: PlanRecord | None = None
    search: SearchRecord | None = None
    read: ReadRecord | None = None
    evidence: tuple[Evidence, ...] = ()
    extract: ExtractRecord | None = None
    answer: Answer | None = None
    statements: tuple[Statement, ...] | None = None
    publish: PublishRecord | None = None
    ask: AskRecord | None = None
    note: NoteRecord | None = None
    proposal: ProposalRecord | None = None
    closing_summary: tuple[Statement, ...] | None = None
    opening: RoundOpening | None = None
    reverify: ReverifyRecord | None = None
    review: ReviewRecord | None = None
