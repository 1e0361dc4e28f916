"""What changed since the last report: which facts hold, are gone, are new or are unchecked.

Facts are compared by what they say and to which question: where a document has moved its text,
the same quote is the same fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.api.records import Fact
from controller.api.rounds import DroppedFact, Rereading, ReverifyRecord
from controller.evidence.findings import Findings, standing
from controller.evidence.report_changes import ChangedFact, ChangedQuestion, ReportChanges

MAX_NAMED: Final = 64
"""How many facts of each kind are named; all of them are counted."""

_NO_MESSAGE: Final = ""
_VETOED: Final = "a soft check took it away"


def changes_of(findings: Findings, *, is_withheld: bool) -> ReportChanges | None:
    """Return what changed since the last report, None in a task's first round.

    Where statements are withheld, facts are counted and not named.
    """
    if findings.former.questions is None:
        return None
    carried = {fact.id: record for record in findings.former.reverified for fact in record.facts}
    said_before = {
        (fact.question_id, fact.claim)
        for record in findings.former.reverified
        for fact in _carried_or_dropped(record)
    }
    verified = findings.verified()
    unchecked = [f for f in verified if _is_unchecked(carried.get(f.id))]
    new = [f for f in verified if (f.question_id, f.claim) not in said_before]
    gone = tuple(_gone(findings, verified))
    most = 0 if is_withheld else MAX_NAMED
    return ReportChanges(
        report_digest=findings.former.report_digest,
        questions=tuple(_moved(findings)),
        facts_hold=len(verified) - len(unchecked) - len(new),
        facts_gone=len(gone),
        facts_new=len(new),
        facts_unchecked=len(unchecked),
        gone=tuple(_as_gone(fact) for fact in gone[:most]),
        new=tuple(_named(fact, _NO_MESSAGE) for fact in new[:most]),
        unchecked=tuple(_named(f, carried[f.id].message) for f in unchecked[:most]),
    )


def _carried_or_dropped(record: ReverifyRecord) -> Iterator[Fact | DroppedFact]:
    yield from record.facts
    yield from record.dropped


def _is_unchecked(record: ReverifyRecord | None) -> bool:
    return record is not None and record.rereading is Rereading.UNREACHABLE


def _gone(findings: Findings, verified: Iterable[Fact]) -> Iterator[DroppedFact]:
    """Yield the facts of today's questions that were dropped and have not been found again."""
    asked = {question.id for question in findings.questions}
    said = {(fact.question_id, fact.claim) for fact in verified}
    vetoed = {fact.id for fact in findings.vetoed()}
    for record in findings.former.reverified:
        for fact in record.dropped:
            if fact.question_id in asked and (fact.question_id, fact.claim) not in said:
                yield fact
        for carried in record.facts:
            if carried.id in vetoed:
                yield DroppedFact(
                    fact_id=carried.id,
                    question_id=carried.question_id,
                    claim=carried.claim,
                    detail=_VETOED,
                )


def _as_gone(fact: DroppedFact) -> ChangedFact:
    return ChangedFact(
        question_id=fact.question_id, claim=fact.claim, reason=fact.reason, why=fact.detail
    )


def _named(fact: Fact, why: str) -> ChangedFact:
    return ChangedFact(question_id=fact.question_id, claim=fact.claim, why=why)


def _moved(findings: Findings) -> Iterator[ChangedQuestion]:
    """Yield the questions that stand elsewhere than before, and those that are new."""
    before = {(q.id, q.text): q for q in findings.former.questions or ()}
    for question in findings.questions:
        state, reason = standing(findings, question)
        former = before.get((question.id, question.text))
        if former is None or (former.state, former.reason) != (state, reason):
            yield ChangedQuestion(
                question_id=question.id,
                state=state,
                reason=reason,
                state_before=former.state if former else None,
                reason_before=former.reason if former else None,
            )
