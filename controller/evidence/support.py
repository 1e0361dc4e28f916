"""Whether a statement is supported by its citations, and which of them it needs.

Support is the stand-in for entailment that needs no model: the hard tokens of the statement (P3)
and enough of its words (P4) occur in the cited slices and their headings, it denies what they deny
(P5), and what it says in other words is cited from no quarantined document (P7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from controller.api.records import (
    Citation,
    Fact,
    FactKind,
    FactStatus,
    SearchRecord,
    Span,
    Statement,
    TermWeight,
)
from controller.evidence.clusters import clusters_of
from controller.evidence.findings import Findings, FormerRound
from controller.evidence.predicates import (
    Passage,
    check_anchors,
    check_coverage,
    check_polarity,
    passages_of,
)
from controller.evidence.provenance import check_recorded
from controller.evidence.soft import is_open


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a statement is supported, and how many of its counted citations are precise.

    A citation is precise if it supports the statement alone, or if the others together do not.
    """

    supported: bool
    precise: int
    counted: int


def recorded_weights(
    former: FormerRound, searches: Iterable[SearchRecord], question_id: str
) -> tuple[TermWeight, ...]:
    """Return the weights of a question's terms: of each term the first that was recorded.

    Those that a round carries stand first, then those of its searches. A later search never
    changes a weight, so that a verdict computed again is the same.
    """
    weights: dict[str, TermWeight] = {}
    for weight in former.weights(question_id):
        weights.setdefault(weight.term, weight)
    for search in searches:
        if search.question_id == question_id:
            for weight in search.term_weights:
                weights.setdefault(weight.term, weight)
    return tuple(weights.values())


def question_weights(findings: Findings, question_id: str) -> dict[str, int]:
    """Return the recorded weights of a question's terms, as the predicates take them."""
    recorded = recorded_weights(findings.former, findings.searches, question_id)
    return {weight.term: weight.weight for weight in recorded}


class Support:
    """The findings, ready to be asked which statements they support."""

    def __init__(self, findings: Findings, language: str = "en") -> None:
        self._findings = findings
        self._language = language
        self._facts = {fact.id: (at, fact) for at, fact in enumerate(findings.facts)}
        self._clusters = clusters_of(findings.evidence)
        self._texts = {
            e.document.id: e.document.text_digest
            for e in findings.evidence
            if check_recorded(e.document.id, [e]).passed
        }
        self._evidence = {e.document.id: e for e in findings.evidence}
        self._quarantined = {
            e.document.id for e in findings.evidence if e.document.injection_suspected
        }
        self._weights: dict[str, tuple[tuple[str, int], ...]] = {}
        self._passages: dict[tuple[str, tuple[Span, ...]], tuple[Passage, ...]] = {}

    def citations(self, statement: Statement) -> tuple[Citation, ...]:
        """Return what a statement cites, in the order of the journal, each place once."""
        sound = (c for fact in self._cited(statement) for c in fact.citations if self._sound(c))
        return tuple({(c.document_id, c.spans): c for c in sound}.values())

    def is_supported(self, statement: Statement) -> bool:
        """Say whether a statement's citations together support it and none of them dangles."""
        return self.judge(statement).supported

    def narrowed(self, statement: Statement) -> Statement:
        """Return a statement with those of its facts alone that support it by themselves, if any.

        So a draft cites nothing that is not needed, and another voice that suffices can only add to
        the score.
        """
        alone = tuple(
            fact_id
            for fact_id in statement.fact_ids
            if self.is_supported(statement.model_copy(update={"fact_ids": (fact_id,)}))
        )
        return statement.model_copy(update={"fact_ids": alone}) if alone else statement

    def judge(self, statement: Statement) -> Judgement:
        """Return what a statement's citations are worth.

        Citations of one cluster count once, the first in the order of the journal. One whose fact
        is unknown or not verified, or whose document is unknown or has another text, dangles: it
        counts, it is not precise, and nothing is supported beside it. A statement in other words
        than its quotes is not supported if one of them is of a quarantined document (P7).
        """
        counted = self._counted(statement)
        dangling = self._dangling(statement)
        supported = (
            not dangling and self._is_citable(statement) and self._entailed(statement, counted)
        )
        precise = 0
        if supported:
            precise = sum(
                self._entailed(statement, [one])
                or not self._entailed(statement, [c for c in counted if c is not one])
                for one in counted
            )
        return Judgement(supported, precise, len(counted) + dangling)

    def wording(self, statement: Statement) -> FactKind:
        """Say whether a statement is the very characters of a quote that it cites, or worded."""
        quotes = {c.quote for fact in self._cited(statement) for c in fact.citations}
        return FactKind.QUOTE if statement.text in quotes else FactKind.PARAPHRASE

    def is_soft_unchecked(self, statement: Statement) -> bool:
        """Say whether a statement's wording needs a soft check that was not made in this round.

        A soft check looks at claims of facts. A statement with the very words of a claim that it
        has looked at is checked; a sentence that a draft or a closing summary has words of its own
        for was never looked at (docs/verification.md).
        """
        cited = list(self._cited(statement))
        if self.wording(statement) is FactKind.QUOTE:
            return False
        if any(f.id in self._findings.reviewed and f.claim == statement.text for f in cited):
            return False
        passages = (p for c in self.citations(statement) for p in self._passages_of(c))
        return _is_open(statement.text, tuple(p.pieces() for p in passages), self._language)

    def _cited(self, statement: Statement) -> Iterator[Fact]:
        """Yield the verified facts of a statement, in the order of the journal."""
        known = sorted(self._facts[i] for i in set(statement.fact_ids) if i in self._facts)
        yield from (fact for _, fact in known if fact.status is FactStatus.VERIFIED)

    def _sound(self, citation: Citation) -> bool:
        return self._texts.get(citation.document_id) == citation.text_digest

    def _counted(self, statement: Statement) -> list[Citation]:
        first: dict[int, Citation] = {}
        for citation in self.citations(statement):
            first.setdefault(self._clusters[citation.document_id], citation)
        return list(first.values())

    def _dangling(self, statement: Statement) -> int:
        cited = list(self._cited(statement))
        unknown = len(set(statement.fact_ids)) - len(cited)
        return unknown + sum(not self._sound(c) for fact in cited for c in fact.citations)

    def _is_citable(self, statement: Statement) -> bool:
        return self.wording(statement) is FactKind.QUOTE or not any(
            citation.document_id in self._quarantined for citation in self.citations(statement)
        )

    def _entailed(self, statement: Statement, citations: Sequence[Citation]) -> bool:
        passages = tuple(p for citation in citations for p in self._passages_of(citation))
        kind = self.wording(statement)
        weights = self._weights_of(statement.question_id)
        return _holds(statement.text, kind, passages, weights, self._language)

    def _passages_of(self, citation: Citation) -> tuple[Passage, ...]:
        key = (citation.document_id, citation.spans)
        if key not in self._passages:
            evidence = [self._evidence[citation.document_id]]
            self._passages[key] = tuple(passages_of([citation], evidence))
        return self._passages[key]

    def _weights_of(self, question_id: str) -> tuple[tuple[str, int], ...]:
        if question_id not in self._weights:
            weights = question_weights(self._findings, question_id)
            self._weights[question_id] = tuple(sorted(weights.items()))
        return self._weights[question_id]


_is_open: Final = lru_cache(maxsize=4096)(is_open)


@lru_cache(maxsize=4096)
def _holds(
    text: str,
    kind: FactKind,
    passages: tuple[Passage, ...],
    weights: tuple[tuple[str, int], ...],
    language: str,
) -> bool:
    """Say whether P3, P4 and, of no quote, P5 hold.

    The same statements are scored at every step of a run.
    """
    return (
        check_anchors(text, passages, language).passed
        and check_coverage(text, kind, passages, dict(weights), language).passed
        and (
            kind is FactKind.QUOTE or check_polarity(text, passages, dict(weights), language).passed
        )
    )
