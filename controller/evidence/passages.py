"""Passages: a document cut where its headings change, and the best of them for a question.

A passage is a run of blocks under one heading path. A corpus is indexed by passages; of a document
that was read at a remote source the passages that have most of the question's words are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.api.records import Block, BlockKind
from controller.evidence.predicates import BOILERPLATE
from controller.evidence.terms import term_weight, weighed_terms
from controller.evidence.tokens import Words

PASSAGE_CHARACTERS: Final = 1_500
"""A passage ends before the block that would make it longer."""

NOT_SEARCHED: Final = BOILERPLATE | {BlockKind.HIDDEN}
"""Kinds of blocks that no search finds: nothing of them can be quoted."""

LEADS: Final = frozenset({BlockKind.HEADING, BlockKind.TERM, BlockKind.FIELD})
"""What stays with the block after it."""


def cut(blocks: Iterable[Block]) -> Iterator[tuple[Block, ...]]:
    """Cut a document's blocks into passages; every block is in exactly one.

    A passage ends where the heading path changes, or before the block that would make it longer
    than 1,500 characters; a heading, term or field stays with the block after it.
    """
    passage: list[Block] = []
    for block in blocks:
        if passage:
            previous = passage[-1]
            same_place = previous.heading_path == block.heading_path and (
                (previous.kind in NOT_SEARCHED) == (block.kind in NOT_SEARCHED)
            )
            is_full = block.end - passage[0].start > PASSAGE_CHARACTERS
            if not same_place or (is_full and previous.kind not in LEADS):
                yield tuple(passage)
                passage = []
        passage.append(block)
    if passage:
        yield tuple(passage)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A passage that is kept; `relevance` is its score relative to the best, of 1000."""

    blocks: tuple[Block, ...]
    relevance: int


@dataclass(frozen=True, slots=True)
class Selection:
    """What is kept of a document for a question, best first.

    `blocks_dropped` counts the blocks that are not kept, `absent_terms` are the question's terms
    that no passage of the document contains.
    """

    passages: tuple[Chosen, ...]
    blocks_dropped: int
    absent_terms: tuple[str, ...]


def select(
    question: str,
    blocks: Sequence[Block],
    *,
    passages: int,
    size: int,
    language: str = "en",
) -> Selection:
    """Return the passages of a document that have most of a question's words.

    A word counts by how rare it is among the passages of this document, as in a corpus. What has
    none of the words is not kept, nor are navigation, consent and hidden blocks.

    Args:
        question: what the passages shall answer.
        blocks: all blocks of the document, by offset.
        passages: how many are kept at most.
        size: how many bytes of UTF-8 they may have, their heading paths included.
        language: of the task, an ISO 639-1 code.
    """
    candidates = [p for p in cut(blocks) if p[0].kind not in NOT_SEARCHED]
    words = [_words(passage, language) for passage in candidates]
    terms = weighed_terms(question, language)
    holders = {term: [w.has(term) for w in words] for term in terms}
    weights = {term: term_weight(sum(has), len(words)) for term, has in holders.items()}
    scores = [
        sum(weights[term] for term in terms if holders[term][at]) for at in range(len(candidates))
    ]
    ranked = sorted((at for at, score in enumerate(scores) if score), key=lambda at: -scores[at])
    kept: list[Chosen] = []
    for at in ranked:
        cost = sum(map(recorded_size, candidates[at]))
        if len(kept) < passages and cost <= size:
            size -= cost
            kept.append(Chosen(candidates[at], max(1, 1000 * scores[at] // scores[ranked[0]])))
    recorded = sum(len(chosen.blocks) for chosen in kept)
    absent = tuple(term for term in terms if not any(holders[term]))
    return Selection(tuple(kept), len(blocks) - recorded, absent)


def recorded_size(block: Block) -> int:
    """Return the bytes that a block takes in a record: its text and its heading path."""
    return len(block.text.encode()) + sum(len(h.encode()) for h in block.heading_path)


def _words(passage: Sequence[Block], language: str) -> Words:
    return Words([*passage[0].heading_path, *(block.text for block in passage)], language)
