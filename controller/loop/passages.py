"""The recorded passages of a question, best first: what a policy reads to find quotes."""

from __future__ import annotations

from collections.abc import Iterator

from controller.api.records import PassagePlace
from controller.evidence.findings import Findings
from controller.evidence.windows import Ranked


def ranked_passages(findings: Findings, question_id: str) -> Iterator[Ranked]:
    """Yield the recorded passages of a question's searches, the best of each search first."""
    blocks = {e.document.id: e.blocks for e in findings.evidence}
    seen: set[tuple[str, int, int]] = set()
    for record in findings.searches:
        if record.question_id != question_id:
            continue
        for hit in record.hits:
            if hit.document_id is None or hit.span is None:
                continue
            key = (hit.document_id, hit.span.start, hit.span.end)
            inside = tuple(
                b
                for b in blocks.get(hit.document_id, ())
                if hit.span.start <= b.start and b.end <= hit.span.end
            )
            if inside and key not in seen:
                seen.add(key)
                yield Ranked(hit.document_id, inside, hit.relevance)


def place_of(passage: Ranked) -> PassagePlace:
    """Return where a passage stands."""
    first, last = passage.blocks[0], passage.blocks[-1]
    return PassagePlace(document_id=passage.document_id, start=first.start, end=last.end)
