"""Quotes: found in the recorded blocks of a document, and cited by their place.

What is published is the source's own characters: a quote is located, in the text or in its
normal form, and from then on only the stored slice at that place counts (docs/verification.md,
P1). Offsets are code points of the document's text, half-open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from controller.api.records import (
    Block,
    Citation,
    Document,
    Evidence,
    Lines,
    MatchTier,
    Span,
    Where,
)
from controller.evidence.normalisation import Normalised, normalise
from controller.evidence.tokens import cuts_a_token

PDF: Final = "pdf"
"""The extractor of PDF files: the spaces of its texts are a guess."""

MINIMUM_LAYOUT_LENGTH: Final = 40
"""The least length of a quote in the form L to be found as `Layout`, in characters."""

TEXT_TIERS: Final = (MatchTier.EXACT, MatchTier.NORMALISED)
"""How a quote of any text is found."""

ALL_TIERS: Final = (*TEXT_TIERS, MatchTier.LAYOUT)

CONTEXT_LENGTH: Final = 32
"""How many characters of the recorded text a citation keeps on each side."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a quote was found, how, and how often it occurs."""

    start: int
    end: int
    tier: MatchTier
    occurrences: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Recorded blocks that follow each other with the one newline between them, as one text."""

    blocks: tuple[Block, ...]
    text: str

    @property
    def start(self) -> int:
        """Where the stretch begins in the document."""
        return self.blocks[0].start

    @property
    def end(self) -> int:
        """Where the stretch ends in the document."""
        return self.blocks[-1].end

    def slice(self, start: int, end: int) -> str:
        """Return the text between two offsets of the document, both inside the stretch."""
        return self.text[start - self.start : end - self.start]

    def blocks_of(self, start: int, end: int) -> tuple[Block, ...]:
        """Return the blocks that a span of the document touches."""
        return tuple(b for b in self.blocks if b.start < end and start < b.end)


class RecordedBlocksError(ValueError):
    """Recorded blocks of a document contradict their offsets or each other."""


def stretches_of(blocks: Iterable[Block]) -> tuple[Stretch, ...]:
    """Return a document's recorded blocks as stretches of text, in order of their offsets.

    A block may be recorded more than once, by several steps, and cut at different ends.

    Raises:
        RecordedBlocksError: a block is not as long as its offsets say, or two blocks overlap
            and are not the same.
    """
    groups: list[list[Block]] = []
    for block in sorted(set(blocks), key=lambda block: (block.start, -block.end)):
        if block.end - block.start != len(block.text):
            raise RecordedBlocksError(f"the block at {block.start} is not as long as it says")
        previous = groups[-1][-1] if groups else None
        if previous and block.start < previous.end:
            if not _is_beginning(block, previous):
                raise RecordedBlocksError(f"two different blocks are recorded at {block.start}")
        elif previous and block.start == previous.end + 1:
            groups[-1].append(block)
        else:
            groups.append([block])
    return tuple(Stretch(tuple(group), "\n".join(b.text for b in group)) for group in groups)


def _is_beginning(block: Block, whole: Block) -> bool:
    """Say whether a block is another one, cut earlier."""
    cut = whole.text[: len(block.text)]
    lines = block.lines
    return block == whole.model_copy(update={"end": block.end, "text": cut, "lines": lines})


def recorded_blocks(evidence: Iterable[Evidence], document_id: str) -> tuple[Block, ...]:
    """Return all blocks that were recorded of a document."""
    return tuple(b for e in evidence if e.document.id == document_id for b in e.blocks)


def tiers_of(document: Document) -> tuple[MatchTier, ...]:
    """Return how a quote of a document may be found: by layout only where it was a PDF file."""
    return ALL_TIERS if document.extractor.name == PDF else TEXT_TIERS


def locate(
    quote: str,
    text: str,
    hint: int | None = None,
    tiers: Sequence[MatchTier] = TEXT_TIERS,
) -> Location | None:
    """Find a quote in a text: as it is, else in normal form; nearest to the hint, else first.

    With the tier `Layout` it is looked for in the form L at last, if it has 40 characters there. A
    hit that cuts a word or a number of the text is none, and so is one whose slice does not have
    the quote's form. Occurrences are those of the tier that matched. None where the quote is not
    found, or has nothing to find.
    """
    return _nearest([(0, text)], quote, hint, tiers)


def locate_in(
    stretches: Sequence[Stretch],
    quote: str,
    hint: int | None = None,
    tiers: Sequence[MatchTier] = TEXT_TIERS,
) -> Location | None:
    """Find a quote in recorded text as `locate` does, with offsets of the document."""
    return _nearest([(stretch.start, stretch.text) for stretch in stretches], quote, hint, tiers)


def count_in(stretches: Sequence[Stretch], quote: str, tier: MatchTier) -> int:
    """Return how often a quote occurs in recorded text, found as a tier finds it."""
    return sum(1 for stretch in stretches for _ in _FINDERS[tier].hits(quote, stretch.text))


def _nearest(
    texts: Sequence[tuple[int, str]],
    quote: str,
    hint: int | None,
    tiers: Sequence[MatchTier],
) -> Location | None:
    for tier in tiers:
        finder = _FINDERS[tier]
        wanted = finder.form(quote)
        hits = [
            (start + offset, end + offset, offset, text)
            for offset, text in texts
            for start, end in finder.hits(quote, text)
        ]
        if hint is not None:
            hits.sort(key=lambda hit: (abs(hit[0] - hint), hit[0]))
        for start, end, offset, text in hits:
            if finder.form(text[start - offset : end - offset]) == wanted:
                return Location(start, end, tier, len(hits))
    return None


def _exact_hits(quote: str, text: str) -> Iterator[tuple[int, int]]:
    if not normalise(quote).text:
        return
    for start in _places(quote, text):
        if is_whole(text, start, start + len(quote)):
            yield start, start + len(quote)


def _normalised_hits(quote: str, text: str) -> Iterator[tuple[int, int]]:
    yield from _hits_within(normalise(quote).text, normalise(text), text)


def _layout_hits(quote: str, text: str) -> Iterator[tuple[int, int]]:
    wanted = normalise(quote).layout().text
    if len(wanted) >= MINIMUM_LAYOUT_LENGTH:
        yield from _hits_within(wanted, normalise(text).layout(), text)


def _hits_within(wanted: str, within: Normalised, text: str) -> Iterator[tuple[int, int]]:
    for place in _places(wanted, within.text):
        if within.parts_a_piece(place) or within.parts_a_piece(place + len(wanted)):
            continue
        start, end = within.source_span(place, place + len(wanted))
        if is_whole(text, start, end):
            yield start, end


class _Finder(NamedTuple):
    """How a tier finds a quote: its hits in a text, and the form that quote and hit share."""

    hits: Callable[[str, str], Iterator[tuple[int, int]]]
    form: Callable[[str], str]


_FINDERS: Final[dict[MatchTier, _Finder]] = {
    MatchTier.EXACT: _Finder(_exact_hits, lambda text: normalise(text).text),
    MatchTier.NORMALISED: _Finder(_normalised_hits, lambda text: normalise(text).text),
    MatchTier.LAYOUT: _Finder(_layout_hits, lambda text: normalise(text).layout().text),
}


def _places(wanted: str, text: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def is_whole(text: str, start: int, end: int) -> bool:
    """Say whether a span of a text cuts no word and no number at its edges."""
    return not cuts_a_token(text, start) and not cuts_a_token(text, end)


def cite(document: Document, stretches: Sequence[Stretch], location: Location) -> Citation:
    """Return the citation of a located quote: the stored slice, its context, where it stands.

    Raises:
        RecordedBlocksError: the span is not inside one stretch of recorded blocks.
    """
    stretch = stretch_around(stretches, location.start, location.end)
    if stretch is None:
        raise RecordedBlocksError(f"{location.start}:{location.end} is not recorded text")
    start, end = location.start, location.end
    return Citation(
        document_id=document.id,
        text_digest=document.text_digest,
        spans=(Span(start=start, end=end),),
        quote=stretch.slice(start, end),
        match_tier=location.tier,
        occurrences=location.occurrences,
        context_before=context_before(stretch, start),
        context_after=context_after(stretch, end),
        where=where(stretch.blocks_of(start, end)),
    )


def context_before(stretch: Stretch, start: int) -> str:
    """Return the recorded characters before an offset."""
    return stretch.slice(max(stretch.start, start - CONTEXT_LENGTH), start)


def context_after(stretch: Stretch, end: int) -> str:
    """Return the recorded characters after an offset."""
    return stretch.slice(end, end + CONTEXT_LENGTH)


def where(blocks: Sequence[Block]) -> Where:
    """Return where a quote over some blocks stands: the first one's headings, all their lines."""
    first, last = blocks[0].lines, blocks[-1].lines
    lines = Lines(first=first.first, last=last.last) if first and last else None
    return Where(heading_path=blocks[0].heading_path, lines=lines)


def stretch_around(stretches: Sequence[Stretch], start: int, end: int) -> Stretch | None:
    """Return the stretch that a span of the document, not an empty one, is inside of."""
    return next((s for s in stretches if s.start <= start < end <= s.end), None)


def published_slice(evidence: Iterable[Evidence], citation: Citation) -> str | None:
    """Return what the recorded blocks hold where a citation points; None where they hold nothing.

    Raises:
        RecordedBlocksError: the recorded blocks contradict each other.
    """
    span = citation.spans[0]
    stretches = stretches_of(recorded_blocks(evidence, citation.document_id))
    stretch = stretch_around(stretches, span.start, span.end)
    return stretch.slice(span.start, span.end) if stretch and len(citation.spans) == 1 else None
