"""The predicates of substance: each a pure function from a cited passage to a verdict.

P2 and P6 say that the quote is an answer and not an echo, P3, P4 and P5 that the claim says no
more than the quote. Where there is nothing to compare, the check fails (docs/verification.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from controller.api.records import (
    Block,
    BlockKind,
    Citation,
    Evidence,
    FactKind,
    Predicate,
    RejectReason,
    Verdict,
)
from controller.evidence.anchors import missing_anchors
from controller.evidence.claims import MAXIMUM_CLAIM
from controller.evidence.closeness import (
    claim_sentences,
    closest,
    evidence_sentences,
    narrowest,
)
from controller.evidence.normalisation import normalise
from controller.evidence.polarity import mismatch, read
from controller.evidence.quotes import (
    recorded_blocks,
    stretch_around,
    stretches_of,
)
from controller.evidence.terms import (
    bare_name,
    content_terms,
    key_terms,
    weighed_terms,
    weight_of,
)
from controller.evidence.tokens import Words, is_dense, is_in_capitals, stem, stop_words, tokenise
from controller.evidence.values import faults_in
from controller.evidence.verdicts import failed, passed

MINIMUM_LENGTH: Final = 25
"""P2: the least length of a quote in normal form."""

MINIMUM_DENSE_LENGTH: Final = 10
"""P2: the least length where a character is a word or a syllable (Chinese, Japanese, Korean)."""

MAXIMUM_LENGTH: Final = 600
"""P2: the greatest length of a quote in normal form."""

MINIMUM_TOKENS: Final = 4
"""P2: the least number of tokens of a quote."""

COVERAGE: Final = {FactKind.QUOTE: Fraction(1), FactKind.PARAPHRASE: Fraction(3, 5)}
"""P4: the least share of a claim's term weight that its evidence has, by the kind of the fact."""

FOCUS: Final = Fraction(1, 2)
"""P6: the least share of the question's term weight in a quote and its headings."""

BOILERPLATE: Final = frozenset({BlockKind.NAVIGATION, BlockKind.CONSENT})
"""P2: kinds of blocks that say nothing of what their page is about."""

_ECHO: Final = RejectReason.QUOTE_ECHOES_QUESTION


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited slice and the recorded blocks that it touches."""

    quote: str
    blocks: tuple[Block, ...]

    def pieces(self) -> tuple[str, ...]:
        """Return what the slice is understood by: itself and its headings."""
        headings = dict.fromkeys(h for block in self.blocks for h in block.heading_path)
        return (self.quote, *headings)


def passages_of(citations: Iterable[Citation], evidence: Sequence[Evidence]) -> list[Passage]:
    """Return the passages that citations which hold (P0, P1) point to."""
    passages = []
    for citation in citations:
        stretches = stretches_of(recorded_blocks(evidence, citation.document_id))
        for span in citation.spans:
            stretch = stretch_around(stretches, span.start, span.end)
            if stretch is not None:
                quote = stretch.slice(span.start, span.end)
                passages.append(Passage(quote, stretch.blocks_of(span.start, span.end)))
    return passages


def check_substance(question: str, passages: Sequence[Passage], language: str = "en") -> Verdict:
    """P2: each quote is long enough to say something, short enough to be one, and no echo.

    The minimum does not apply to one whole `Field` block (with the literal that it introduces)
    whose last heading is a key term of the question: `Default: 600` is short and all there is.
    """
    for passage in passages:
        fault = _insubstantial(question, passage, language)
        if fault:
            return failed(Predicate.P2, *fault)
    if not passages:
        return failed(Predicate.P2, RejectReason.QUOTE_TOO_SHORT, "there is no quote")
    return passed(Predicate.P2)


def _insubstantial(
    question: str, passage: Passage, language: str
) -> tuple[RejectReason, str] | None:
    kinds = BOILERPLATE.intersection(block.kind for block in passage.blocks)
    if kinds:
        return RejectReason.BOILERPLATE_SPAN, f"the quote is in a {min(kinds)} block"
    quote = normalise(passage.quote).text
    if len(quote) > MAXIMUM_LENGTH:
        detail = f"{len(quote)} characters, at most {MAXIMUM_LENGTH}"
        return RejectReason.QUOTE_TOO_LONG, detail
    if is_answering_field(question, passage, language):
        label_alone = not quote.partition(":")[2].strip(" :")
        return (_ECHO, "the field has a label and no value") if label_alone else None
    if is_too_short(quote):
        detail = f"{len(quote)} characters, {len(tokenise(quote))} words"
        return RejectReason.QUOTE_TOO_SHORT, detail
    is_echo = only_repeats(question, quote, language)
    return (_ECHO, "the quote has only words of the question") if is_echo else None


def only_repeats(question: str, text: str, language: str = "en") -> bool:
    """Say whether a text has only words of the question, so that it answers nothing."""
    asked = {stem(token, language) for token in tokenise(normalise(question).text)}
    said = tokenise(normalise(text).text)
    return {stem(t, language) for t in said if t not in stop_words(language)} <= asked


def check_claim(claim: str) -> Verdict:
    """P2, of a worded claim: it is no longer than a quote may be."""
    length = len(normalise(claim).text)
    if length > MAXIMUM_CLAIM:
        detail = f"the claim has {length} characters, at most {MAXIMUM_CLAIM}"
        return failed(Predicate.P2, RejectReason.QUOTE_TOO_LONG, detail)
    return passed(Predicate.P2)


def is_too_short(quote: str) -> bool:
    """Say whether a text in normal form is below P2's minimum of characters or of tokens."""
    dense = sum(is_dense(character) for character in quote)
    minimum = MINIMUM_DENSE_LENGTH if 2 * dense >= len(quote) else MINIMUM_LENGTH
    return len(quote) < minimum or len(tokenise(quote)) < MINIMUM_TOKENS


def is_answering_field(question: str, passage: Passage, language: str = "en") -> bool:
    """Say whether a quote is one whole `Field` block under a key term of the question.

    A field that ends with its label (`Default::`) has its value in the `Code` block after it.
    """
    field = passage.blocks[0]
    whole = "\n".join(block.text for block in passage.blocks)
    kinds = [block.kind for block in passage.blocks]
    introduced = kinds == [BlockKind.FIELD, BlockKind.CODE] and field.text.rstrip().endswith(":")
    if not (passage.quote == whole and (kinds == [BlockKind.FIELD] or introduced)):
        return False
    return is_under_key_term(field, key_terms(question, language))


def is_under_key_term(block: Block, names: Iterable[str]) -> bool:
    """Say whether the last heading over a block is one of some names.

    Of a signature (`QuerySet.get(*args)`) it is the name that counts, with or without its owner.
    """
    if not block.heading_path:
        return False
    heading = normalise(block.heading_path[-1]).text.partition("(")[0]
    named = {bare_name(heading), heading.rpartition(".")[2]}
    folded = {name.casefold() for name in named}
    return any(n in named if is_in_capitals(n) else n.casefold() in folded for n in names)


def check_anchors(claim: str, passages: Sequence[Passage], language: str = "en") -> Verdict:
    """P3: every number, unit, date, name, quoted string of the claim is in its evidence.

    Of a claim that is no quote, its values and measures are those of the sentence that it is
    about, and it names nobody else.
    """
    pieces = [piece for passage in passages for piece in passage.pieces()]
    missing = missing_anchors(claim, pieces)
    if pieces and not missing and claim not in pieces:
        worded = faults_in(claim, [passage.pieces() for passage in passages], language)
        missing = tuple(islice(worded, 1))
    if missing or not pieces:
        detail = f"{missing[0].kind} {missing[0].value}" if missing else "there is no quote"
        return failed(Predicate.P3, RejectReason.ANCHOR_MISSING, detail)
    return passed(Predicate.P3)


def check_coverage(
    claim: str,
    kind: FactKind,
    passages: Sequence[Passage],
    weights: Mapping[str, int],
    language: str = "en",
) -> Verdict:
    """P4: the weighted share of the claim's terms in its evidence is as high as its kind needs."""
    share = _share(content_terms(claim, language), passages, weights, language)
    if share is None or share < COVERAGE[kind]:
        detail = _percent(share, "of the claim's terms")
        return failed(Predicate.P4, RejectReason.LOW_COVERAGE, detail)
    return passed(Predicate.P4)


def check_polarity(
    claim: str,
    passages: Sequence[Passage],
    weights: Mapping[str, int],
    language: str = "en",
) -> Verdict:
    """P5: each sentence of a worded claim says and denies what its closest sentence does."""
    among = evidence_sentences([passage.pieces() for passage in passages], language)
    others = [read(sentence.text, language) for sentence in among]
    for sentence in claim_sentences(claim):
        claimed = read(sentence, language)
        for near in closest(sentence, among, weights, language):
            run = read(narrowest(sentence, near, language), language)
            fault = mismatch(claimed, run, read(near.text, language), others)
            if fault:
                return failed(Predicate.P5, RejectReason.POLARITY_MISMATCH, fault)
    if not among:
        return failed(Predicate.P5, RejectReason.POLARITY_MISMATCH, "there is no quote")
    return passed(Predicate.P5)


def check_focus(
    question: str,
    passages: Sequence[Passage],
    weights: Mapping[str, int],
    language: str = "en",
) -> Verdict:
    """P6: the evidence has half of the weight of the question's terms, and every key term."""
    words = _words(passages, language)
    absent = [term for term in key_terms(question, language) if not words.has(term)]
    if absent:
        return failed(Predicate.P6, RejectReason.OFF_QUESTION, f"does not name {absent[0]}")
    share = _share(weighed_terms(question, language), passages, weights, language)
    if share is None or share < FOCUS:
        detail = _percent(share, "of the question's terms")
        return failed(Predicate.P6, RejectReason.OFF_QUESTION, detail)
    return passed(Predicate.P6)


def _words(passages: Sequence[Passage], language: str) -> Words:
    return Words((piece for passage in passages for piece in passage.pieces()), language)


def _share(
    terms: Sequence[str], passages: Sequence[Passage], weights: Mapping[str, int], language: str
) -> Fraction | None:
    """Return the share of some terms' weight that passages have; None if they weigh nothing."""
    words = _words(passages, language)
    weighed = {term: weight_of(term, weights) for term in terms}
    total = sum(weighed.values())
    found = sum(weight for term, weight in weighed.items() if words.has(term))
    return Fraction(found, total) if total else None


def _percent(share: Fraction | None, what: str) -> str:
    return (
        f"there is nothing to compare {what}" if share is None else f"{int(share * 100)} % {what}"
    )
