"""What the spec makes of the state: which questions and records count, and whether the goal holds.

Computed, never remembered: a changed spec needs no migration, since nothing here is stored. An
answer counts only while concluding again from the same records would say the same, and nothing
that was not tried has become possible since.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from controller.api.base import digest_of
from controller.api.reasons import TerminalReason
from controller.api.records import (
    Answer,
    AnswerReason,
    FactStatus,
    Query,
    Question,
    QuestionState,
    SearchStatus,
)
from controller.api.rounds import CarriedDocument
from controller.api.task import (
    ApprovalMode,
    GoalPredicate,
    PredicateMet,
    PredicateName,
    RequireEveryQuestion,
    ResearchTaskSpec,
)
from controller.evidence.certificates import conclude
from controller.evidence.findings import Findings
from controller.evidence.hits import UnreadHit, unread_hits
from controller.evidence.report import report_digest
from controller.evidence.report_format import ModelSetAside
from controller.evidence.score import Score, distinct_origins, score
from controller.loop.breakers import model_set_aside, set_aside
from controller.loop.clarification import asked_questions
from controller.loop.progress import fingerprint
from controller.loop.run_state import RunState


class Need(StrEnum):
    """What a question needs next, in the order in which it is worked on."""

    PLAN = "Plan"
    SEARCH = "Search"
    READ = "Read"
    EXTRACT = "Extract"
    CONCLUDE = "Conclude"
    REFINE = "Refine"
    NOTHING = "Nothing"


@dataclass(frozen=True)
class QuestionView:
    """One question as it stands now."""

    question: Question
    answer: Answer | None
    steps: int
    need: Need
    unsearched: tuple[tuple[Query, str], ...]
    unread: tuple[UnreadHit, ...]
    step_limit_reached: bool

    @property
    def state(self) -> QuestionState:
        """Where the question stands; one that ran out of steps is unresolved."""
        if self.answer:
            return self.answer.state
        return QuestionState.UNRESOLVED if self.step_limit_reached else QuestionState.OPEN

    @property
    def reason(self) -> AnswerReason | None:
        """Why the question is unresolved, or what is special about its answer."""
        if self.answer:
            return self.answer.reason
        return AnswerReason.STEP_LIMIT if self.step_limit_reached else None

    @property
    def is_workable(self) -> bool:
        """Whether a step on this question is allowed and would do something."""
        return not self.step_limit_reached and self.need is not Need.NOTHING


@dataclass(frozen=True)
class Assessment:
    """The state in the light of the spec."""

    questions: tuple[QuestionView, ...]
    findings: Findings
    score: Score
    predicates: tuple[GoalPredicate, ...]
    basis: str
    language: str
    needs_approval: bool
    round: int = 0
    to_reverify: tuple[CarriedDocument, ...] = ()

    @property
    def goal_holds(self) -> bool:
        """Whether every goal predicate is true, and no carried fact is still to be checked."""
        return not self.to_reverify and all(p.met is PredicateMet.TRUE for p in self.predicates)

    @property
    def draft_digest(self) -> str:
        """The digest of what the draft says: what an approval approves."""
        return report_digest(self.findings, self.language)

    def published(self, ending: TerminalReason) -> Findings:
        """Return what a report under this ending says: without approval, no statements."""
        is_approved = not self.needs_approval or ending is TerminalReason.GOAL_REACHED
        if is_approved:
            return self.findings
        return replace(self.findings, statements=(), closing_summary=None)

    def report_digest(self, ending: TerminalReason) -> str:
        """Return the digest of what a report would say; no times and no usage are in it."""
        return report_digest(self.published(ending), self.language)

    @property
    def fingerprint(self) -> str:
        """The progress fingerprint of what is known: that a fact was vetoed is known, too."""
        vetoed = (f"vetoed {fact.id}" for fact in self.findings.vetoed())
        return fingerprint(
            facts=chain((f.id for f in self.findings.verified()), vetoed),
            question_states=((q.question.id, q.state) for q in self.questions),
            predicates_met=(p.name for p in self.predicates if p.met is PredicateMet.TRUE),
            searches=self.findings.searches,
            reads=self.findings.reads,
        )


def assess(spec: ResearchTaskSpec, state: RunState) -> Assessment:
    """Return what the state means under a spec."""
    questions = asked_questions(spec) or tuple(
        Question(id=i, text=t) for i, t in state.questions.items()
    )
    records = _records(spec, state, questions)
    views = tuple(_view(spec, state, records, q) for q in questions)
    findings = Findings(
        questions=records.questions,
        queries=records.queries,
        searches=records.searches,
        reads=records.reads,
        evidence=records.evidence,
        facts=records.facts,
        answers={v.question.id: a for v in views if (a := _shown_answer(v, records))},
        statements=state.statements,
        closing_summary=state.model.closing_summary,
        set_aside=records.set_aside,
        model_set_aside=_model_set_aside(spec, state),
        former=state.rounds.former,
        reviewed=state.model.reviewed,
    )
    sources = {reference.name for reference in spec.source_refs}
    quality = score(findings, spec.goal.target_origins, spec.language)
    return Assessment(
        questions=views,
        findings=findings,
        score=quality,
        predicates=_predicates(spec, views, findings, quality),
        basis=_basis(findings, views),
        language=spec.language,
        needs_approval=spec.approval.mode is ApprovalMode.REQUIRED,
        round=state.round,
        to_reverify=tuple(d for d in state.rounds.to_reverify if d.source_name in sources),
    )


def _model_set_aside(spec: ResearchTaskSpec, state: RunState) -> ModelSetAside | None:
    error = model_set_aside(spec, state)
    if error is None or spec.model_ref is None:
        return None
    return ModelSetAside(
        model_name=spec.model_ref.name, error_class=error.error_class, message=error.message
    )


def _records(spec: ResearchTaskSpec, state: RunState, questions: tuple[Question, ...]) -> Findings:
    """Leave out what belongs to questions and sources that the task no longer has."""
    ids = {q.id for q in questions if state.questions.get(q.id) == q.text}
    sources = {r.name for r in spec.source_refs}
    evidence = tuple(e for e in state.evidence.values() if e.document.source_name in sources)
    documents = {e.document.id for e in evidence}
    return Findings(
        questions=questions,
        queries=tuple(q for q in state.queries if q.question_id in ids),
        searches=tuple(
            s for s in state.searches if s.question_id in ids and s.source_name in sources
        ),
        reads=tuple(r for r in state.reads if r.question_id in ids and r.source_name in sources),
        evidence=evidence,
        former=state.rounds.former,
        facts=tuple(
            f
            for f in state.facts
            if f.question_id in ids and all(c.document_id in documents for c in f.citations)
        ),
        set_aside=set_aside(spec, state),
    )


def _view(
    spec: ResearchTaskSpec, state: RunState, records: Findings, question: Question
) -> QuestionView:
    known = state.questions.get(question.id) == question.text
    queries = tuple(q for q in records.queries if q.question_id == question.id)
    searched = {(s.query, s.source_name) for s in records.searches if s.question_id == question.id}
    aside = {source.source_name for source in records.set_aside}
    unsearched = tuple(
        (query, source.name)
        for query in queries
        for source in spec.source_refs
        if source.name not in aside and (query.text, source.name) not in searched
    )
    unread = tuple(h for h in unread_hits(records, question.id) if h.source_name not in aside)
    answer = _standing_answer(spec, state, records, question) if known else None
    if answer and (unsearched or unread) and answer.state is not QuestionState.ANSWERED:
        answer = None
    steps = state.question_steps.get(question.id, 0) if known else 0
    return QuestionView(
        question=question,
        answer=answer,
        steps=steps,
        need=Need.NOTHING
        if answer
        else _need(spec, state, records, question, unsearched=unsearched, unread=unread),
        unsearched=unsearched,
        unread=unread,
        step_limit_reached=answer is None and steps >= spec.budgets.max_steps_per_question,
    )


def _standing_answer(
    spec: ResearchTaskSpec, state: RunState, records: Findings, question: Question
) -> Answer | None:
    """Return the recorded answer, if concluding from today's records gives it again."""
    recorded = state.answers.get(question.id)
    if recorded is None:
        return None
    again = concluded(spec, records, question)
    same = (again.state, again.reason) == (recorded.state, recorded.reason)
    return again if same else None


def _shown_answer(view: QuestionView, records: Findings) -> Answer | None:
    """Return a question's answer; one that ran out of steps is closed without a step."""
    if view.answer is not None or not view.step_limit_reached:
        return view.answer
    return Answer(
        question_id=view.question.id,
        state=QuestionState.UNRESOLVED,
        reason=AnswerReason.STEP_LIMIT,
        origins=distinct_origins(records.verified(view.question.id), records.evidence),
    )


def concluded(spec: ResearchTaskSpec, findings: Findings, question: Question) -> Answer:
    """Return the answer that the records give to a question now."""
    return conclude(
        findings,
        question,
        min_origins=spec.goal.min_origins,
        source_names=tuple(r.name for r in spec.source_refs),
        language=spec.language,
    )


def _is_answered(spec: ResearchTaskSpec, records: Findings, question: Question) -> bool:
    return concluded(spec, records, question).state is QuestionState.ANSWERED


def _need(
    spec: ResearchTaskSpec,
    state: RunState,
    records: Findings,
    question: Question,
    *,
    unsearched: tuple[tuple[Query, str], ...],
    unread: tuple[UnreadHit, ...],
) -> Need:
    """Return the first need that is there, in the order in which a question is worked on."""
    if records.verified(question.id) and _is_answered(spec, records, question):
        return Need.CONCLUDE
    needs = {
        Need.PLAN: not any(q.question_id == question.id for q in records.queries),
        Need.SEARCH: bool(unsearched),
        Need.READ: bool(unread),
        Need.EXTRACT: question.id in state.unextracted,
        Need.CONCLUDE: question.id in state.refined,
    }
    return next((need for need, is_there in needs.items() if is_there), Need.REFINE)


def _predicates(
    spec: ResearchTaskSpec,
    views: tuple[QuestionView, ...],
    findings: Findings,
    quality: Score,
) -> tuple[GoalPredicate, ...]:
    unsettled = {QuestionState.OPEN, QuestionState.UNRESOLVED}
    settled = sum(v.state not in unsettled for v in views)
    every = spec.goal.require_every_question is RequireEveryQuestion.ALL
    required = max(len(views), 1) if every else 0
    return (
        _predicate(PredicateName.QUALITY, quality.quality, spec.quality_threshold),
        _predicate(PredicateName.FACTS, len(findings.verified()), spec.goal.min_facts),
        _predicate(PredicateName.QUESTIONS, settled, required),
    )


def _predicate(name: PredicateName, current: int, target: int) -> GoalPredicate:
    met = PredicateMet.TRUE if current >= target else PredicateMet.FALSE
    return GoalPredicate(name=name, met=met, current=current, target=target)


def _basis(findings: Findings, views: tuple[QuestionView, ...]) -> str:
    """Return the digest of what a draft is made from: question states and verified facts."""
    return digest_of(
        {
            "questions": [[v.question.id, v.question.text, v.state, v.reason] for v in views],
            "facts": [f.id for f in findings.facts if f.status is FactStatus.VERIFIED],
        }
    )


def searched_in_vain(assessment: Assessment) -> bool:
    """Say whether every search so far failed, so that nothing at all was read."""
    searches = assessment.findings.searches
    return bool(searches) and all(s.status is SearchStatus.FAILED for s in searches)
