"""What a run has found so far, in the form in which it is scored, drafted and reported.

The fold makes it from the journal for the questions and sources that the task has now; nothing
else in this package knows steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.api.records import (
    Answer,
    AnswerReason,
    Evidence,
    Fact,
    FactStatus,
    Query,
    Question,
    QuestionState,
    ReadRecord,
    SearchRecord,
    Statement,
    TermWeight,
)
from controller.api.rounds import FormerQuestion, ReverifyRecord
from controller.evidence.report_format import ModelSetAside, SourceSetAside


@dataclass(frozen=True)
class FormerRound:
    """What a round knows of the one before it: its questions, and what became of its facts.

    `questions` is None in a task's first round. `weights` are the term weights that the verdicts
    on carried facts rest on, by question.
    """

    questions: tuple[FormerQuestion, ...] | None = None
    report_digest: str | None = None
    reverified: tuple[ReverifyRecord, ...] = ()

    def weights(self, question_id: str) -> tuple[TermWeight, ...]:
        """Return the carried term weights of a question."""
        return tuple(
            weight
            for record in self.reverified
            for weights in record.weights
            if weights.question_id == question_id
            for weight in weights.term_weights
        )


@dataclass(frozen=True)
class Findings:
    """The records that count now: removed questions and sources are left out already.

    `facts` holds the rejected ones too, in journal order. `evidence` has one entry a document,
    its recorded blocks merged by offset. `statements` is None before there is a draft,
    `closing_summary` where no model has summed up an exhausted run. `set_aside` has the task's
    sources that are asked no more, in the task's order, `model_set_aside` its model if that is.
    `reviewed` names the facts that a soft check of this round has looked at.
    """

    questions: tuple[Question, ...] = ()
    queries: tuple[Query, ...] = ()
    searches: tuple[SearchRecord, ...] = ()
    reads: tuple[ReadRecord, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    facts: tuple[Fact, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    statements: tuple[Statement, ...] | None = None
    closing_summary: tuple[Statement, ...] | None = None
    set_aside: tuple[SourceSetAside, ...] = ()
    model_set_aside: ModelSetAside | None = None
    former: FormerRound = FormerRound()
    reviewed: frozenset[str] = frozenset()

    def verified(self, question_id: str | None = None) -> tuple[Fact, ...]:
        """Return the verified facts, of one question or of all, in journal order."""
        return self._with(FactStatus.VERIFIED, question_id)

    def vetoed(self, question_id: str | None = None) -> tuple[Fact, ...]:
        """Return the facts that a soft check took away; they count for nothing."""
        return self._with(FactStatus.VETOED, question_id)

    def _with(self, status: FactStatus, question_id: str | None) -> tuple[Fact, ...]:
        return tuple(
            f for f in self.facts if f.status is status and question_id in {None, f.question_id}
        )

    def state(self, question_id: str) -> QuestionState:
        """Return where a question stands; one without an answer is open."""
        answer = self.answers.get(question_id)
        return answer.state if answer else QuestionState.OPEN


def standing(findings: Findings, question: Question) -> tuple[QuestionState, AnswerReason | None]:
    """Return a question's state and reason as an ended run has them: none is left open."""
    answer = findings.answers.get(question.id)
    if answer is None or answer.state is QuestionState.OPEN:
        return QuestionState.UNRESOLVED, AnswerReason.RUN_ENDED
    return answer.state, answer.reason
