"""Hits that are read one by one: those of sources that cannot be searched whole.

A search over a corpus records its best passages at once. A remote source names documents; the
first few of each query are read, each by a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from controller.api.records import Hit, SearchRecord
from controller.evidence.findings import Findings

MIN_HITS_READ: Final = 3
"""How many hits of each query must have been read where a source cannot be read whole."""


class UnreadHit(NamedTuple):
    """A hit that counts and was not read: the source that found it, and where it is."""

    source_name: str
    locator: str


def unread_hits(findings: Findings, question_id: str) -> tuple[UnreadHit, ...]:
    """Return the hits of a question that are still to be read, the best of each query first."""
    searches = [s for s in findings.searches if s.question_id == question_id]
    ranked = sorted(
        ((hit.rank, at, UnreadHit(search.source_name, hit.locator)))
        for at, search in enumerate(searches)
        for hit in to_be_read(search)
        if not is_read(findings, search, hit)
    )
    return tuple(dict.fromkeys(hit for _, _, hit in ranked))


def to_be_read(search: SearchRecord) -> tuple[Hit, ...]:
    """Return the hits of a search that count; none, where it was over a whole corpus."""
    return search.hits[:MIN_HITS_READ] if search.corpus_digest is None else ()


def is_read(findings: Findings, search: SearchRecord, hit: Hit) -> bool:
    """Say whether a hit's text is known, was read for its question, or is closed for all."""
    if hit.document_id is not None and any(
        evidence.document.id == hit.document_id for evidence in findings.evidence
    ):
        return True
    return any(
        read.closed_by is not None or read.question_id == search.question_id
        for read in findings.reads
        if (read.source_name, read.locator) == (search.source_name, hit.locator)
    )


def bars_absence(findings: Findings, question_id: str, source_name: str) -> bool:
    """Say whether an answer may stand in a hit of a source that could not be read, or not whole."""
    barred = {
        read.locator for read in findings.reads
        if read.source_name == source_name and read.bars_absence
    }  # fmt: skip
    return any(hit.locator in barred for hit in _counted(findings, question_id, source_name))


def terms_absent_in_hits(
    findings: Findings, question_id: str, source_name: str
) -> frozenset[str] | None:
    """Return the terms that no document contains that was read for a question at a source.

    None: nothing was read, as no query of the question has a hit that could be.
    """
    absent = [
        frozenset(term.casefold() for term in read.absent_terms)
        for read in findings.reads
        if (read.source_name, read.question_id) == (source_name, question_id)
        and read.closed_by is None
    ]
    return frozenset.intersection(*absent) if absent else None


def _counted(findings: Findings, question_id: str, source_name: str) -> Iterator[Hit]:
    for search in findings.searches:
        if (search.question_id, search.source_name) == (question_id, source_name):
            yield from to_be_read(search)
