"""The hard predicates: each a pure function from records to a verdict.

P0 and P1 say that the quote is in the source, P2 and P6 that it is an answer and not an echo, P3
and P4 that the claim says no more than the quote. Where there is nothing to compare, the check
fails (docs/verification.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from controller.api.base import digest_of
from controller.api.records import (
    Block,
    BlockKind,
    Citation,
    Evidence,
    Fact,
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
    Location,
    RecordedBlocksError,
    Stretch,
    context_after,
    context_before,
    count_in,
    is_whole,
    recorded_blocks,
    stretch_around,
    stretches_of,
    where,
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

UNQUOTABLE: Final = frozenset({BlockKind.NAVIGATION, BlockKind.CONSENT, BlockKind.HIDDEN})
"""P2: kinds of blocks that are never quoted."""

_ECHO: Final = RejectReason.QUOTE_ECHOES_QUESTION
_MAXIMUM_DETAIL: Final = 256


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited slice and the recorded blocks that it touches."""

    quote: str
    blocks: tuple[Block, ...]

    def pieces(self) -> tuple[str, ...]:
        """Return what the slice is understood by: itself and its headings."""
        headings = dict.fromkeys(h for block in self.blocks for h in block.heading_path)
        return (self.quote, *headings)


def fact_id(question_id: str, claim: str, citations: Sequence[Citation]) -> str:
    """Return the id of a fact: `f-` and a digest over its question, claim and citations."""
    identity = {
        "question": question_id,
        "claim": claim,
        "citations": [citation.to_json() for citation in citations],
    }
    return "f-" + digest_of(identity).removeprefix("sha256:")[:12]


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


def check_recorded(document_id: str, evidence: Sequence[Evidence]) -> Verdict:
    """P0, of a document: the run has recorded it, and its blocks do not contradict each other."""
    documents = [e.document for e in evidence if e.document.id == document_id]
    if not documents:
        reason, detail = RejectReason.UNKNOWN_SOURCE, f"{document_id} is no document of this run"
        return _failed(Predicate.P0, reason, detail)
    if len({document.text_digest for document in documents}) > 1:
        detail = f"{document_id} is recorded with different texts"
        return _failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    try:
        stretches_of(recorded_blocks(evidence, document_id))
    except RecordedBlocksError as error:
        return _failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, f"{document_id}: {error}")
    return _passed(Predicate.P0)


def check_source(fact: Fact, evidence: Sequence[Evidence]) -> Verdict:
    """P0, of a stored fact: its documents are recorded with the texts that it names, its id holds.

    The id is a digest over question, claim and citations: a fact that was changed is no longer
    the one that was verified.
    """
    texts = {e.document.id: e.document.text_digest for e in evidence}
    for citation in fact.citations:
        recorded = check_recorded(citation.document_id, evidence)
        if not recorded.passed:
            return recorded
        if texts[citation.document_id] != citation.text_digest:
            detail = f"the citation names another text of {citation.document_id}"
            return _failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    if fact.id != fact_id(fact.question_id, fact.claim, fact.citations):
        detail = f"{fact.id} is not the digest of its question, claim and citations"
        return _failed(Predicate.P0, RejectReason.DIGEST_MISMATCH, detail)
    return _passed(Predicate.P0)


def check_found(location: Location | None) -> Verdict:
    """P1, of a wording: it was found in the recorded text, as it is or in normal form."""
    if location is None:
        detail = "the wording is not in the recorded text"
        return _failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, detail)
    return _passed(Predicate.P1)


def check_quotes(fact: Fact, evidence: Sequence[Evidence]) -> Verdict:
    """P1, of a stored fact: each quote is the recorded slice, character for character.

    So are its context, its headings and lines, and the claim of a fact of kind `Quote`. A fact
    without a citation quotes nothing.
    """
    if not fact.citations:
        return _failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, "the fact cites nothing")
    for citation in fact.citations:
        stretches = stretches_of(recorded_blocks(evidence, citation.document_id))
        fault = _fault_of(citation, stretches)
        if fault:
            return _failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, fault)
    if fact.kind is FactKind.QUOTE and [fact.claim] != [c.quote for c in fact.citations]:
        return _failed(Predicate.P1, RejectReason.QUOTE_NOT_FOUND, "the claim is not the quote")
    return _passed(Predicate.P1)


def _fault_of(citation: Citation, stretches: Sequence[Stretch]) -> str | None:
    """Return what is wrong with a stored citation, None if it is as the recorded blocks say."""
    start, end = citation.spans[0].start, citation.spans[0].end
    stretch = stretch_around(stretches, start, end)
    if stretch is None or len(citation.spans) != 1:
        return f"{start}:{end} is not one span of recorded text"
    text, quote = stretch.text, citation.quote
    counted = count_in(stretches, quote, citation.match_tier)
    # Later steps may have recorded the blocks around it: a context may have become longer, and
    # the quote may be known to occur more often.
    before, after = context_before(stretch, start), context_after(stretch, end)
    faults = {
        f"the recorded text at {start} is not the quote": stretch.slice(start, end) != quote,
        f"the quote at {start} cuts a word or a number": not is_whole(
            text, start - stretch.start, end - stretch.start
        ),
        f"the quote does not occur {citation.occurrences} times": not (
            1 <= citation.occurrences <= counted
        ),
        "the context before the quote is not the recorded text": not before.endswith(
            citation.context_before
        ),
        "the context after the quote is not the recorded text": not after.startswith(
            citation.context_after
        ),
        "the quote's headings or lines are not those of its block": (
            citation.where != where(stretch.blocks_of(start, end))
        ),
    }
    return next((fault for fault, is_so in faults.items() if is_so), None)


def check_substance(question: str, passages: Sequence[Passage], language: str = "en") -> Verdict:
    """P2: each quote is long enough to say something, short enough to be one, and no echo.

    The minimum does not apply to one whole `Field` block (with the literal that it introduces)
    whose last heading is a key term of the question: `Default: 600` is short and all there is.
    """
    for passage in passages:
        fault = _insubstantial(question, passage, language)
        if fault:
            return _failed(Predicate.P2, *fault)
    if not passages:
        return _failed(Predicate.P2, RejectReason.QUOTE_TOO_SHORT, "there is no quote")
    return _passed(Predicate.P2)


def _insubstantial(
    question: str, passage: Passage, language: str
) -> tuple[RejectReason, str] | None:
    kinds = UNQUOTABLE.intersection(block.kind for block in passage.blocks)
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
        return _failed(Predicate.P2, RejectReason.QUOTE_TOO_LONG, detail)
    return _passed(Predicate.P2)


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
        return _failed(Predicate.P3, RejectReason.ANCHOR_MISSING, detail)
    return _passed(Predicate.P3)


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
        return _failed(Predicate.P4, RejectReason.LOW_COVERAGE, detail)
    return _passed(Predicate.P4)


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
                return _failed(Predicate.P5, RejectReason.POLARITY_MISMATCH, fault)
    if not among:
        return _failed(Predicate.P5, RejectReason.POLARITY_MISMATCH, "there is no quote")
    return _passed(Predicate.P5)


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
        return _failed(Predicate.P6, RejectReason.OFF_QUESTION, f"does not name {absent[0]}")
    share = _share(weighed_terms(question, language), passages, weights, language)
    if share is None or share < FOCUS:
        detail = _percent(share, "of the question's terms")
        return _failed(Predicate.P6, RejectReason.OFF_QUESTION, detail)
    return _passed(Predicate.P6)


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


def _passed(predicate: Predicate) -> Verdict:
    return Verdict(predicate=predicate, passed=True)


def _failed(predicate: Predicate, reason: RejectReason, detail: str) -> Verdict:
    detail = detail.encode("utf-8", "replace").decode()[:_MAXIMUM_DETAIL]
    return Verdict(predicate=predicate, passed=False, reason=reason, detail=detail)
