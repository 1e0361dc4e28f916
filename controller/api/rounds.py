"""The records of a round: what its first step carries over, and what a `Reverify` found.

A round after the first begins with a step that carries an opening. All that the round knows of
the rounds before it is in that record, so that their steps can be deleted (design, Rounds).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Count, Digest, Label, Message, Name, Passage, Time, Title
from controller.api.records import (
    AnswerReason,
    DocumentId,
    Fact,
    FactId,
    PublishRecord,
    QuestionState,
    RejectReason,
    TermWeight,
)


class RoundTotals(ApiModel):
    """What all rounds up to a moment have used; the counters of a round's usage, added up."""

    steps: Count = 0
    model_calls: Count = 0
    source_calls: Count = 0
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    completion_tokens: Count = 0
    unknown_usage_calls: Count = 0
    cost_micro_usd: Count = 0
    active_milliseconds: Count = 0
    writes: Count = 0
    resumes: Count = 0
    interrupted: Count = 0
    grace_calls: Count = 0
    verifier_rejections: Count = 0


class FormerQuestion(ApiModel):
    """A question as the round before left it."""

    id: Label
    text: Annotated[Title, Field(min_length=1)]
    state: QuestionState
    reason: AnswerReason | None = None


class CarriedDocument(ApiModel):
    """A document that verified facts come from: it is read again in the new round."""

    id: DocumentId
    source_name: Name


class RoundOpening(ApiModel):
    """What the first step of a round carries over from the rounds before it."""

    start_time: Time
    totals: RoundTotals
    questions: Annotated[tuple[FormerQuestion, ...], Field(max_length=20)] = ()
    documents: Annotated[tuple[CarriedDocument, ...], Field(max_length=512)] = ()
    report: PublishRecord | None = None


class Rereading(StrEnum):
    """What became of a document that was to be read again."""

    READ = "Read"
    MISSING = "Missing"
    UNREACHABLE = "Unreachable"


class DroppedFact(ApiModel):
    """A fact that no longer holds, and why: the verifier's reason, or that there is no room."""

    fact_id: FactId
    question_id: Label
    claim: Passage
    reason: RejectReason | None = None
    detail: Annotated[str, Field(max_length=256)] = ""


class QuestionWeights(ApiModel):
    """The term weights that the verdicts on a question's carried facts rest on."""

    question_id: Label
    term_weights: Annotated[tuple[TermWeight, ...], Field(max_length=256)]


class ReverifyRecord(ApiModel):
    """What `Reverify` found of one document: the facts that are carried, and those that are not.

    `read_as` is the document's id as it is now. Facts of a document that could not be reached are
    carried with their old evidence and are unchecked.
    """

    document_id: DocumentId
    source_name: Name
    rereading: Rereading
    message: Message = ""
    read_as: DocumentId | None = None
    corpus_digest: Digest | None = None
    facts: Annotated[tuple[Fact, ...], Field(max_length=128)] = ()
    dropped: Annotated[tuple[DroppedFact, ...], Field(max_length=256)] = ()
    weights: Annotated[tuple[QuestionWeights, ...], Field(max_length=20)] = ()
