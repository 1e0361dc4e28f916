"""What became of a published citation in its document as it is now: the same, moved, or gone.

It asks the source, not the journal: a report may say exactly what was recorded, and the page that
it quotes may say something else by now.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.api.records import Lines
from controller.evidence.carrying import DocumentNow
from controller.evidence.quotes import locate_in, stretch_around, stretches_of, tiers_of, where
from controller.evidence.report_format import ReportReference


class Fate(StrEnum):
    """What became of a citation; `Unread`: nobody could look."""

    SAME = "same"
    MOVED = "moved"
    GONE = "gone"
    UNREAD = "not read"


@dataclass(frozen=True)
class CitationNow:
    """A citation, by its number in the report, and what became of it.

    `lines` is where it stands now, where that is known; `is_same_text` says whether the whole
    document is as it was. `why` says what is the matter.
    """

    number: int
    fate: Fate
    lines: Lines | None = None
    is_same_text: bool = False
    why: str = ""


def citation_now(reference: ReportReference, now: DocumentNow | None) -> CitationNow:
    """Return what became of a citation in its document as it was read now; None: it is not there.

    The quote stands where it stood, character for character; or the verifier finds it elsewhere
    (P1); or neither.
    """
    number = reference.number
    if now is None:
        return CitationNow(number, Fate.GONE, why="the document is not in its source any more")
    stretches = stretches_of(now.blocks)
    is_same_text = now.document.text_digest == reference.text_digest
    start, end = reference.spans[0].start, reference.spans[0].end
    stretch = stretch_around(stretches, start, end)
    if stretch is not None and stretch.slice(start, end) == reference.quote:
        lines = where(stretch.blocks_of(start, end)).lines
        return CitationNow(number, Fate.SAME, lines, is_same_text)
    found = locate_in(stretches, reference.quote, start, tiers_of(now.document))
    if found is None:
        why = "the quote is not in the document as it is now"
        return CitationNow(number, Fate.GONE, None, is_same_text, why)
    stretch = stretch_around(stretches, found.start, found.end)
    assert stretch is not None
    lines = where(stretch.blocks_of(found.start, found.end)).lines
    return CitationNow(number, Fate.MOVED, lines, is_same_text)
