"""Windows: the one to three sentences of a passage that answer a question best.

The extractive policy quotes windows as they are. The rule is plain: how much of the question a
window and its headings say, how much of that the window adds itself, and how well its passage
matched; then the best windows that do not say the same again. Integers only: the same passages
give the same windows on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from controller.api.records import Block, BlockKind
from controller.evidence.normalisation import normalise
from controller.evidence.predicates import (
    BOILERPLATE,
    FOCUS,
    MAXIMUM_LENGTH,
    Passage,
    check_substance,
    is_under_key_term,
)
from controller.evidence.sentences import sentences
from controller.evidence.terms import key_terms, weighed_terms, weight_of
from controller.evidence.tokens import Words, tokenise

MAXIMUM_SENTENCES: Final = 3
MAXIMUM_WINDOW: Final = 420
"""How long a window may be, in characters; a `Field` with its literal may reach P2's maximum."""

WINDOWS_PER_DOCUMENT: Final = 2
NEVER_OFFERED: Final = BOILERPLATE | {BlockKind.HIDDEN, BlockKind.HEADING}

COVERAGE_WEIGHT: Final = 500_000
"""For the share of the question's term weight in the window or its headings, in millionths."""

NOVELTY_WEIGHT: Final = 150_000
"""For the share that the window has of what its headings leave open."""

RELEVANCE_WEIGHT: Final = 250_000
"""For the relevance of the passage."""

LENGTH_PENALTY: Final = 50_000
"""For the length, of the greatest: of two windows that say the same, the shorter."""

LABEL_BONUS: Final = 100_000
"""For a field whose label the question asks for."""

HEADING_BONUS: Final = 200_000
"""On top of that, if the field stands directly under a key term of the question."""

_SCORE_SHARE: Final = 3
_LIKENESS_SHARE: Final = 1
_SHORT_LIST: Final = 64
"""Maximal marginal relevance, with lambda 3/4, is computed over so many windows."""

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage that a search found: its document, its blocks, its relevance of 1000."""

    document_id: str
    blocks: tuple[Block, ...]
    relevance: int


@dataclass(frozen=True, slots=True)
class Window:
    """A span of a document that is worth quoting, in one block or a field and its literal.

    `score` is in millionths; bonuses may lift it above a million. `focused` says that P6 will
    hold: the others are the closest that there is.
    """

    document_id: str
    start: int
    end: int
    text: str
    blocks: tuple[Block, ...]
    score: int
    focused: bool


def best_windows(
    question: str,
    passages: Sequence[Ranked],
    weights: Mapping[str, int],
    limit: int,
    language: str = "en",
) -> tuple[Window, ...]:
    """Return at most `limit` windows, best first: none overlap, at most two of a document.

    Args:
        question: what the windows shall answer.
        passages: what searches found, in any order.
        weights: recorded weights of the question's terms, by term.
        limit: how many windows are wanted.
        language: of the task, an ISO 639-1 code.
    """
    scorer = _Scorer(question, weights, language)
    distinct: dict[tuple[str, int, int], Window] = {}
    for passage in passages:
        for window in scorer.windows(passage):
            key = (window.document_id, window.start, window.end)
            if key not in distinct or distinct[key].score < window.score:
                distinct[key] = window
    ranked = sorted(
        distinct.values(),
        key=lambda w: (not w.focused, -w.score, w.document_id, w.start, w.end),
    )
    quotable = (
        window
        for window in ranked
        if check_substance(question, [Passage(window.text, window.blocks)], language).passed
    )
    return _diverse(list(islice(quotable, _SHORT_LIST)), limit)


def _diverse(ranked: list[Window], limit: int) -> tuple[Window, ...]:
    """Choose by maximal marginal relevance: score against likeness to what is chosen already."""
    tokens = {id(window): frozenset(tokenise(normalise(window.text).text)) for window in ranked}
    chosen: list[Window] = []

    def gain(window: Window) -> tuple[bool, int]:
        likeness = [_likeness(tokens[id(window)], tokens[id(other)]) for other in chosen]
        worth = _SCORE_SHARE * window.score - _LIKENESS_SHARE * max(likeness, default=0)
        return window.focused, worth

    while ranked and len(chosen) < limit:
        best = max(ranked, key=gain)
        chosen.append(best)
        documents = [window.document_id for window in chosen]
        ranked = [
            window
            for window in ranked
            if documents.count(window.document_id) < WINDOWS_PER_DOCUMENT
            and not _overlap(window, best)
        ]
    return tuple(chosen)


def _overlap(one: Window, other: Window) -> bool:
    same = one.document_id == other.document_id
    return same and one.start < other.end and other.start < one.end


def _likeness(one: frozenset[str], other: frozenset[str]) -> int:
    union = len(one | other)
    return _MILLION * len(one & other) // union if union else 0


class _Scorer:
    """Scores the windows of passages against one question."""

    def __init__(self, question: str, weights: Mapping[str, int], language: str) -> None:
        self._language = language
        self._names = key_terms(question, language)
        self._asked = Words([question], language)
        self._weights = {t: weight_of(t, weights) for t in weighed_terms(question, language)}
        self._total = max(1, self._mass(frozenset(self._weights)))

    def windows(self, passage: Ranked) -> Iterator[Window]:
        """Yield every window of a passage with its score."""
        for at, block in enumerate(passage.blocks):
            if block.kind in NEVER_OFFERED:
                continue
            blocks = _field(passage.blocks[at : at + 2])
            if blocks:
                text = "\n".join(block.text for block in blocks)
                yield self._window(passage, blocks, 0, text, self._found([text]))
                continue
            spans = _units(block)
            found = [self._found([block.text[start:end]]) for start, end in spans]
            for first, last in _runs(spans):
                start, end = spans[first][0], spans[last][1]
                said = frozenset[str]().union(*found[first : last + 1])
                yield self._window(passage, (block,), start, block.text[start:end], said)

    def _window(
        self, passage: Ranked, blocks: tuple[Block, ...], at: int, text: str, said: frozenset[str]
    ) -> Window:
        context = self._found(blocks[0].heading_path)
        known = self._mass(said | context)
        score = (
            COVERAGE_WEIGHT * known // self._total
            + NOVELTY_WEIGHT
            * self._mass(said - context)
            // max(1, self._total - self._mass(context))
            + RELEVANCE_WEIGHT * passage.relevance // 1000
            - LENGTH_PENALTY * len(text) // MAXIMUM_WINDOW
            + self._bonus(blocks[0])
        )
        return Window(
            document_id=passage.document_id,
            start=blocks[0].start + at,
            end=blocks[0].start + at + len(text),
            text=text,
            blocks=blocks,
            score=score,
            focused=known >= self._total * FOCUS and (said | context).issuperset(self._names),
        )

    def _bonus(self, block: Block) -> int:
        if block.kind is not BlockKind.FIELD:
            return 0
        label = tokenise(normalise(block.text.partition(":")[0]).text)
        if not any(self._asked.has(word) for word in label):
            return 0
        return LABEL_BONUS + (HEADING_BONUS if is_under_key_term(block, self._names) else 0)

    def _found(self, texts: Sequence[str]) -> frozenset[str]:
        words = Words(texts, self._language)
        return frozenset(term for term in self._weights if words.has(term))

    def _mass(self, terms: frozenset[str]) -> int:
        return sum(self._weights[term] for term in terms)


def _field(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return a leading field that is short enough, with the literal that it introduces."""
    field = blocks[0]
    if field.kind is not BlockKind.FIELD:
        return ()
    if field.text.rstrip().endswith(":") and len(blocks) > 1:
        literal = blocks[1]
        adjacent = literal.kind is BlockKind.CODE and literal.start == field.end + 1
        if adjacent and literal.end - field.start <= MAXIMUM_LENGTH:
            return (field, literal)
    return (field,) if len(field.text) <= MAXIMUM_LENGTH else ()


def _runs(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each run of sentences that is short enough."""
    for first in range(len(spans)):
        for last in range(first, min(first + MAXIMUM_SENTENCES, len(spans))):
            if spans[last][1] - spans[first][0] <= MAXIMUM_WINDOW:
                yield first, last


def _units(block: Block) -> tuple[tuple[int, int], ...]:
    """Return what a block's windows are made of: sentences; of a long literal, its lines."""
    if block.kind is not BlockKind.CODE:
        return sentences(block.text)
    if len(block.text) <= MAXIMUM_WINDOW:
        return ((0, len(block.text)),) if block.text.strip() else ()
    lines = re.finditer(r"\S(?:.*\S)?", block.text)
    return tuple(line.span() for line in lines)
