"""The part of `report.json` that says what changed since the last report."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Count, Digest, Label, Message, Passage
from controller.api.records import AnswerReason, QuestionState, RejectReason


class ChangedFact(ApiModel):
    """A fact that is gone, new or unchecked; `why` is for people."""

    question_id: Label
    claim: Passage
    reason: RejectReason | None = None
    why: Message = ""


class ChangedQuestion(ApiModel):
    """A question that stands elsewhere than in the last report; a new one stood nowhere."""

    question_id: Label
    state: QuestionState
    reason: AnswerReason | None = None
    state_before: QuestionState | None = None
    reason_before: AnswerReason | None = None


class ReportChanges(ApiModel):
    """What changed since the last report. Facts are counted; at most 64 of a kind are named.

    Facts that hold were found again, in the source as it is now, and passed every predicate.
    Unchecked ones were verified before, and their source could not be reached.
    """

    report_digest: Digest | None = None
    questions: Annotated[tuple[ChangedQuestion, ...], Field(max_length=20)] = ()
    facts_hold: Count
    facts_gone: Count
    facts_new: Count
    facts_unchecked: Count
    gone: Annotated[tuple[ChangedFact, ...], Field(max_length=64)] = ()
    new: Annotated[tuple[ChangedFact, ...], Field(max_length=64)] = ()
    unchecked: Annotated[tuple[ChangedFact, ...], Field(max_length=64)] = ()
