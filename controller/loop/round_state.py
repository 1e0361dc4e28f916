"""What a run's state holds of its rounds: totals, the round before, and what is to be checked.

A value of the fold like the rest of it: a function of the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from controller.api.records import Evidence, Fact, FactStatus, SearchRecord
from controller.api.rounds import CarriedDocument, ReverifyRecord, RoundOpening, RoundTotals
from controller.evidence.carrying import FormerFacts, cited
from controller.evidence.findings import FormerRound
from controller.evidence.support import recorded_weights


@dataclass(frozen=True)
class Rounds:
    """The rounds of a run, as the present one sees them.

    `totals` is what the rounds before this one have used, `to_reverify` are the documents that
    are still to be read again. `unverified` has the facts of those; it is empty once that is done.
    """

    totals: RoundTotals = field(default_factory=RoundTotals)
    former: FormerRound = field(default_factory=FormerRound)
    to_reverify: tuple[CarriedDocument, ...] = ()
    unverified: FormerFacts = field(default_factory=FormerFacts)

    @classmethod
    def opened(
        cls,
        opening: RoundOpening,
        *,
        facts: Sequence[Fact],
        evidence: Mapping[str, Evidence],
        former: FormerRound,
        searches: Sequence[SearchRecord],
    ) -> Self:
        """Return what a round begins with; all but the opening is of the round before."""
        documents = {document.id for document in opening.documents}
        questions = {question.id: question.text for question in opening.questions}
        unverified = FormerFacts(
            facts=tuple(
                fact
                for fact in facts
                if fact.status is FactStatus.VERIFIED
                and fact.question_id in questions
                and cited(fact) <= documents
            ),
            evidence={i: e for i, e in evidence.items() if i in documents},
            questions=questions,
            weights={i: recorded_weights(former, searches, i) for i in questions},
        )
        return cls(
            totals=opening.totals,
            former=FormerRound(
                questions=opening.questions,
                report_digest=opening.report.report_digest if opening.report else None,
            ),
            to_reverify=opening.documents,
            unverified=unverified if documents else FormerFacts(),
        )

    def after(self, record: ReverifyRecord) -> Self:
        """Return what is known once a document was read again."""
        left = tuple(d for d in self.to_reverify if d.id != record.document_id)
        return replace(
            self,
            former=replace(self.former, reverified=(*self.former.reverified, record)),
            to_reverify=left,
            unverified=self.unverified if left else FormerFacts(),
        )
