"""The references of a report: each place that its statements cite has one number."""

from __future__ import annotations

from collections.abc import Iterable

from controller.api.records import BlockKind, Citation, Evidence, FactKind, Statement
from controller.evidence.report_format import ReportReference, ReportStatement
from controller.evidence.support import Support


class References:
    """Numbers citations in the order in which statements name them, each place once.

    `listed` has them in the order of their numbers.
    """

    def __init__(self, support: Support, evidence: Iterable[Evidence]) -> None:
        self._support = support
        self._evidence = {e.document.id: e for e in evidence}
        self._numbers: dict[object, int] = {}
        self.listed: list[ReportReference] = []

    def stated(self, statement: Statement) -> ReportStatement:
        """Return a statement as the report has it: with the numbers of its citations."""
        is_quote = self._support.wording(statement) is FactKind.QUOTE
        return ReportStatement(
            text=statement.text,
            fact_ids=statement.fact_ids,
            citations=tuple(self._number(c) for c in self._support.citations(statement)),
            wording=None if is_quote else FactKind.PARAPHRASE,
            soft_unchecked=True if self._support.is_soft_unchecked(statement) else None,
        )

    def numbers(self, citations: Iterable[Citation]) -> tuple[int, ...]:
        """Return the numbers of those citations that a statement has named, the lowest first."""
        places = {(citation.document_id, citation.spans) for citation in citations}
        return tuple(number for place, number in self._numbers.items() if place in places)

    def _number(self, citation: Citation) -> int:
        key = (citation.document_id, citation.spans)
        if key not in self._numbers:
            self._numbers[key] = len(self.listed) + 1
            self.listed.append(self._reference(len(self.listed) + 1, citation))
        return self._numbers[key]

    def _reference(self, number: int, citation: Citation) -> ReportReference:
        evidence = self._evidence[citation.document_id]
        start = citation.spans[0].start
        kinds = (block.kind for block in evidence.blocks if block.start <= start < block.end)
        return ReportReference(
            number=number,
            document_id=citation.document_id,
            source_name=evidence.document.source_name,
            title=evidence.document.title,
            locator=evidence.document.locator,
            text_digest=citation.text_digest,
            heading_path=citation.where.heading_path,
            lines=citation.where.lines,
            page=citation.where.page,
            kind=next(kinds, BlockKind.PARAGRAPH),
            quote=citation.quote,
            spans=citation.spans,
            match_tier=citation.match_tier,
        )
