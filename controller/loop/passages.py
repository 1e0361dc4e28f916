"""The recorded passages of a question, best first: what a policy reads to find quotes."""

from __future__ import annotations

from collections.abc import Iterator

from controller.api.records import PassagePlace
from controller.evidence.findings import Findings
from controller.evidence.windows import Ranked


def ranked_passages(findings: Findings, question_id: str) -> Iterator[Ranked]:
    """Yield the recorded passages of a question: of its searches, then of what was read for it."""
    blocks = {e.document.id: e.blocks for e in findings.evidence}
    seen: set[tuple[str, int, int]] = set()
    for document_id, start, end, relevance in _places(findings, question_id):
        inside = tuple(b for b in blocks.get(document_id, ()) if start <= b.start and b.end <= end)
        if inside and (document_id, start, end) not in seen:
            seen.add((document_id, start, end))
            yield Ranked(document_id, inside, relevance)


def _places(findings: Findings, question_id: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield document, start, end and relevance of each passage that was recorded."""
    for search in findings.searches:
        for hit in search.hits if search.question_id == question_id else ():
            if hit.document_id is not None and hit.span is not None:
                yield hit.document_id, hit.span.start, hit.span.end, hit.relevance
    for read in findings.reads:
        for place in read.passages if read.question_id == question_id else ():
            if read.document_id is not None:
                yield read.document_id, place.start, place.end, place.relevance


def place_of(passage: Ranked) -> PassagePlace:
    """Return where a passage stands."""
    first, last = passage.blocks[0], passage.blocks[-1]
    return PassagePlace(document_id=passage.document_id, start=first.start, end=last.end)
