"""What a run can do next, as data: one argument model an action, and the intent that carries it.

Arguments are normalised: the same arguments always have the same JSON, so that the operation id
and the count of identical failures (P `identicalFailureLimit`) mean something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from controller.api.base import (
    ApiModel,
    Count,
    Digest,
    Label,
    Locator,
    Message,
    Name,
    Title,
    Word,
    canonical_json,
)
from controller.api.model_call import Reservation
from controller.api.records import DocumentId, FieldName, NoteKind
from controller.api.step import ActionName, StepDecision


class PlanArguments(ApiModel):
    """The questions that need queries; none: the topic needs questions as well.

    A planning turn is independent of the need for queries (`planningInterval`).
    """

    question_ids: Annotated[tuple[Label, ...], Field(max_length=20)] = ()
    is_planning_turn: bool | None = None


class SearchArguments(ApiModel):
    """One query of a question, to one source."""

    question_id: Label
    source_name: Name
    query: Title


class ReadArguments(ApiModel):
    """One hit of a question's searches, read at the source that found it."""

    question_id: Label
    source_name: Name
    locator: Locator


class QuestionArguments(ApiModel):
    """The question that `Extract`, `Review`, `Refine` or `Conclude` works on."""

    question_id: Label


class ReverifyArguments(ApiModel):
    """The document of carried facts that is read again; none: the round is opened.

    An opening for the sake of a source names it, and the digest that it has now.
    """

    round: Count
    document_id: DocumentId | None = None
    source_name: Name | None = None
    corpus_digest: Digest | None = None


class DraftArguments(ApiModel):
    """The digest of the answers and facts that the draft is made from."""

    basis: Digest


class PublishArguments(ApiModel):
    """Where the report goes, and the digest of what it says."""

    config_map: Name
    report_digest: Digest


class AskArguments(ApiModel):
    """The fields that only the user can fill."""

    fields: Annotated[tuple[FieldName, ...], Field(min_length=1, max_length=10)]


class NoteArguments(ApiModel):
    """What moved the run's state without an action; for a draft that waits, its digest."""

    kind: NoteKind
    reason: Word | None = None
    message: Message = ""
    draft_digest: Digest | None = None


class ProposeArguments(ApiModel):
    """Nothing: what the model may pick follows from the situation."""


class SummarizeArguments(ApiModel):
    """The digest of the answers and facts that are summed up."""

    basis: Digest


Arguments = (
    PlanArguments
    | SearchArguments
    | ReadArguments
    | QuestionArguments
    | ReverifyArguments
    | DraftArguments
    | PublishArguments
    | AskArguments
    | NoteArguments
    | ProposeArguments
    | SummarizeArguments
)

ARGUMENTS: Final[dict[ActionName, type[Arguments]]] = {
    ActionName.PLAN: PlanArguments,
    ActionName.SEARCH: SearchArguments,
    ActionName.READ: ReadArguments,
    ActionName.EXTRACT: QuestionArguments,
    ActionName.REFINE: QuestionArguments,
    ActionName.REVIEW: QuestionArguments,
    ActionName.CONCLUDE: QuestionArguments,
    ActionName.REVERIFY: ReverifyArguments,
    ActionName.DRAFT: DraftArguments,
    ActionName.PUBLISH: PublishArguments,
    ActionName.ASK: AskArguments,
    ActionName.NOTE: NoteArguments,
    ActionName.PROPOSE: ProposeArguments,
    ActionName.SUMMARIZE: SummarizeArguments,
}

CLOSING_ACTIONS: Final = frozenset({ActionName.DRAFT, ActionName.SUMMARIZE, ActionName.PUBLISH})
"""The actions that close a run or make it ready for approval; `maxSteps` does not count them."""


MODEL: Final = "model"
"""The subject of every call to a model: the fallback's failures count with the first one's."""

SOURCE: Final = "source/"
"""What the subject of a source begins with; its name follows."""


@dataclass(frozen=True)
class Intent:
    """One bounded action, decided and not yet done.

    `reservation` is what its call to a model may use; None: no model has a part in it.
    """

    action: ActionName
    arguments: Arguments
    decision: StepDecision
    attempt: int = 1
    reservation: Reservation | None = None

    @property
    def question_id(self) -> str | None:
        """The question that the action works on, if it works on one."""
        if isinstance(self.arguments, SearchArguments | ReadArguments | QuestionArguments):
            return self.arguments.question_id
        return None

    @property
    def opens_round(self) -> bool:
        """Whether the action opens a new round: a record, without anything done in the world."""
        arguments = self.arguments
        return isinstance(arguments, ReverifyArguments) and arguments.document_id is None

    @property
    def arguments_json(self) -> str:
        """The normalised arguments."""
        return canonical_json(self.arguments.to_json())

    @property
    def subject(self) -> str:
        """Whose failures an attempt's failure is counted with."""
        return subject_of(self.action, self.arguments, is_model=self.reservation is not None)


def subject_of(action: ActionName, arguments: Arguments, *, is_model: bool) -> str:
    """Return whose failures an action's are: the model's, a source's, the report's, or ours."""
    if is_model:
        return MODEL
    if (source_name := called_source(arguments)) is not None:
        return f"{SOURCE}{source_name}"
    return "report" if action in CLOSING_ACTIONS else "operator"


def called_source(arguments: Arguments) -> str | None:
    """Return the source that an action with these arguments asks, None: it asks none."""
    if isinstance(arguments, SearchArguments | ReadArguments):
        return arguments.source_name
    if isinstance(arguments, ReverifyArguments) and arguments.document_id is not None:
        return arguments.source_name
    return None


def parse_arguments(action: ActionName, arguments_json: str) -> Arguments:
    """Return the typed arguments of a stored intent or step."""
    return ARGUMENTS[action].model_validate_json(arguments_json)
