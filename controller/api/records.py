"""The records of research: what a step finds and the journal keeps.

Documents, evidence blocks, citations, facts, answers, certificates and statements are stored
whole in `ResearchStep` objects, so that every verdict can be computed again from the journal
alone. Offsets are code points of a document's text, half-open. Nothing here carries a clock.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import (
    ApiModel,
    Count,
    Digest,
    Label,
    Locator,
    Message,
    Name,
    Passage,
    Percent,
    Title,
    Word,
)

DocumentId = Annotated[str, Field(max_length=14, pattern=r"^d-[0-9a-f]{12}$")]
"""`d-` and 12 hexadecimal digits of the digest over canonical locator and text digest."""

FactId = Annotated[str, Field(max_length=14, pattern=r"^f-[0-9a-f]{12}$")]
"""`f-` and 12 hexadecimal digits of the digest over question, claim and citations."""

MinHash = Annotated[str, Field(max_length=684, pattern=r"^[A-Za-z0-9+/]{683}=$")]
"""The MinHash signature of a text: 128 numbers of 32 bits, in base64."""

Offset = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""A position in a text, in code points."""


class BlockKind(StrEnum):
    """What a block of a document is; navigation, consent and hidden blocks are never quoted."""

    HEADING = "Heading"
    PARAGRAPH = "Paragraph"
    ITEM = "Item"
    TERM = "Term"
    FIELD = "Field"
    CODE = "Code"
    TABLE_ROW = "TableRow"
    NOTE = "Note"
    NAVIGATION = "Navigation"
    CONSENT = "Consent"
    HIDDEN = "Hidden"


class Lines(ApiModel):
    """The first and the last line of a block in its file, counted from 1."""

    first: Count
    last: Count


class Block(ApiModel):
    """A structural piece of a document's text: `text` is exactly `document[start:end]`."""

    start: Offset
    end: Offset
    kind: BlockKind
    heading_path: Annotated[tuple[Title, ...], Field(max_length=16)] = ()
    lines: Lines | None = None
    text: Passage


class Extractor(ApiModel):
    """The reader that made a document's text; the same version gives the same text."""

    name: Label
    version: Annotated[str, Field(min_length=1, max_length=32)]


class Document(ApiModel):
    """A stored source text by its digests; the text itself stays in the cache.

    Where a reader suspects that the text gives orders to a model, the document is quarantined: it
    can be quoted, and nothing can be said of it in other words (P7).
    """

    id: DocumentId
    source_name: Name
    locator: Locator
    title: Title
    content_type: Annotated[str, Field(max_length=128)]
    charset: Annotated[str, Field(max_length=64)]
    bytes_digest: Digest
    text_digest: Digest
    bytes: Count
    characters: Count
    extractor: Extractor
    origin_key: Annotated[str, Field(min_length=1, max_length=253)]
    priority: Percent
    corpus_digest: Digest | None = None
    injection_suspected: bool = False
    minhash: MinHash | None = None


class Evidence(ApiModel):
    """The blocks of one document that a step selected, in the order of their offsets."""

    document: Document
    blocks: Annotated[tuple[Block, ...], Field(max_length=256)]


class Span(ApiModel):
    """A half-open range of a document's text, in code points."""

    start: Offset
    end: Offset


class Hit(ApiModel):
    """One result of a search, best first; its snippet ranks and is never cited.

    Over a local corpus a hit is a passage: `span` says where it stands in the document.
    `relevance` is the search engine's score relative to the best hit, in thousandths.
    """

    locator: Locator
    title: Title
    rank: Count
    relevance: Annotated[int, Field(ge=0, le=1000)]
    document_id: DocumentId | None = None
    span: Span | None = None
    snippet: Annotated[str, Field(max_length=200)] = ""


class TermWeight(ApiModel):
    """How rare a term is in a corpus: in how many passages it occurs, and `round(1000 * idf)`."""

    term: Annotated[str, Field(min_length=1, max_length=256)]
    document_frequency: Count
    weight: Count


class MatchTier(StrEnum):
    """How a quote was found in the stored text."""

    EXACT = "Exact"
    NORMALISED = "Normalised"
    LAYOUT = "Layout"


class Where(ApiModel):
    """Where a citation stands, for people: the heading path and the lines of its file."""

    heading_path: Annotated[tuple[Title, ...], Field(max_length=16)] = ()
    lines: Lines | None = None


class Citation(ApiModel):
    """A quote and the place in a document where its characters are: the slice, not the wording."""

    document_id: DocumentId
    text_digest: Digest
    spans: Annotated[tuple[Span, ...], Field(min_length=1, max_length=3)]
    quote: Passage
    match_tier: MatchTier
    occurrences: Count
    context_before: Annotated[str, Field(max_length=32)] = ""
    context_after: Annotated[str, Field(max_length=32)] = ""
    where: Where


class FactKind(StrEnum):
    """A fact's claim is the quote itself, or a wording of it."""

    QUOTE = "Quote"
    PARAPHRASE = "Paraphrase"


class FactStatus(StrEnum):
    """What is said of a fact; only `Verified` facts count for anything.

    The verifier gives `Verified` and `Rejected`. A `Vetoed` fact has passed every predicate, as
    its verdicts say, and a soft check has taken it away.
    """

    VERIFIED = "Verified"
    REJECTED = "Rejected"
    VETOED = "Vetoed"


class Predicate(StrEnum):
    """The hard predicates of the verifier; docs/verification.md explains each."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"
    P5 = "P5"
    P6 = "P6"
    P7 = "P7"


class RejectReason(StrEnum):
    """Why a predicate did not hold."""

    UNKNOWN_SOURCE = "UnknownSource"
    DIGEST_MISMATCH = "DigestMismatch"
    QUOTE_NOT_FOUND = "QuoteNotFound"
    QUOTE_TOO_SHORT = "QuoteTooShort"
    QUOTE_TOO_LONG = "QuoteTooLong"
    QUOTE_ECHOES_QUESTION = "QuoteEchoesQuestion"
    BOILERPLATE_SPAN = "BoilerplateSpan"
    ANCHOR_MISSING = "AnchorMissing"
    LOW_COVERAGE = "LowCoverage"
    POLARITY_MISMATCH = "PolarityMismatch"
    OFF_QUESTION = "OffQuestion"
    HIDDEN_TEXT = "HiddenText"
    QUARANTINED = "Quarantined"


class Verdict(ApiModel):
    """What one predicate says of one fact."""

    predicate: Predicate
    passed: bool
    reason: RejectReason | None = None
    detail: Annotated[str, Field(max_length=256)] = ""


class Fact(ApiModel):
    """A claim that answers a question, with its citations and the verdicts on them.

    A rejected one whose quote was not found has no citation; a verified one always has.
    """

    id: FactId
    question_id: Label
    kind: FactKind
    claim: Passage
    citations: Annotated[tuple[Citation, ...], Field(max_length=8)]
    status: FactStatus
    verdicts: Annotated[tuple[Verdict, ...], Field(max_length=16)]


class QuestionState(StrEnum):
    """Where a question stands; docs/question-states.md has every move that it may make."""

    OPEN = "Open"
    ANSWERED = "Answered"
    NOT_FOUND = "NotFound"
    UNRESOLVED = "Unresolved"


class AnswerReason(StrEnum):
    """Why a question is unresolved, or what is special about its answer."""

    CONTESTED = "Contested"
    SEARCH_FAILED = "SearchFailed"
    HITS_UNREAD = "HitsUnread"
    SOURCE_PARTIAL = "SourcePartial"
    TOO_FEW_QUERIES = "TooFewQueries"
    TOO_FEW_ORIGINS = "TooFewOrigins"
    LOW_CONFIDENCE = "LowConfidence"
    VETOED = "Vetoed"
    STEP_LIMIT = "StepLimit"
    RUN_ENDED = "RunEnded"


class SearchStatus(StrEnum):
    """Whether a search saw all that it asked for; only `Complete` ones can prove an absence."""

    COMPLETE = "Complete"
    PARTIAL = "Partial"
    FAILED = "Failed"


class CertifiedQuery(ApiModel):
    """One query of a certificate: what was asked of which source, and how it went."""

    source_name: Name
    text: Title
    status: SearchStatus
    hits: Count


class SearchedCorpus(ApiModel):
    """A corpus that a certificate rests on: its digest names exactly what was searched."""

    source_name: Name
    corpus_digest: Digest
    documents: Count


class Certificate(ApiModel):
    """The proof that a question has no answer in the sources: anyone can run it again."""

    queries: Annotated[tuple[CertifiedQuery, ...], Field(max_length=64)]
    corpora: Annotated[tuple[SearchedCorpus, ...], Field(max_length=8)]
    absent_terms: Annotated[tuple[TermWeight, ...], Field(max_length=32)] = ()
    facts_rejected: Count


class Answer(ApiModel):
    """How a question was concluded."""

    question_id: Label
    state: QuestionState
    reason: AnswerReason | None = None
    fact_ids: Annotated[tuple[FactId, ...], Field(max_length=64)] = ()
    origins: Count
    certificate: Certificate | None = None


class Statement(ApiModel):
    """A sentence of the report and the facts that it rests on."""

    question_id: Label
    text: Passage
    fact_ids: Annotated[tuple[FactId, ...], Field(min_length=1, max_length=16)]


class Question(ApiModel):
    """A question of a task; another text under the same id is another question."""

    id: Label
    text: Annotated[Title, Field(min_length=1)]


class Query(ApiModel):
    """A query that was written for a question."""

    question_id: Label
    text: Annotated[Title, Field(min_length=1)]


class PlanRecord(ApiModel):
    """What `Plan` or `Refine` wrote: questions, and queries for them."""

    questions: Annotated[tuple[Question, ...], Field(max_length=20)] = ()
    queries: Annotated[tuple[Query, ...], Field(max_length=64)] = ()


class SearchRecord(ApiModel):
    """What `Search` saw: one query to one source."""

    source_name: Name
    question_id: Label
    query: Title
    status: SearchStatus
    hits: Annotated[tuple[Hit, ...], Field(max_length=50)] = ()
    total: Count = 0
    corpus_digest: Digest | None = None
    documents: Count = 0
    term_weights: Annotated[tuple[TermWeight, ...], Field(max_length=128)] = ()
    blocks_dropped: Count = 0
    warnings: Annotated[tuple[Message, ...], Field(max_length=8)] = ()


class RankedPlace(ApiModel):
    """A passage of the document that a `Read` recorded; `relevance` is of the best, of 1000."""

    start: Offset
    end: Offset
    relevance: Annotated[int, Field(ge=0, le=1000)]


class ReadRecord(ApiModel):
    """What `Read` saw of one hit: the document that became evidence, or why there is none.

    `passages` are what the step recorded of the document, and `blocks_dropped` counts what it did
    not. `absent_terms` are the question's terms that the whole document does not contain. A hit
    that is `closed_by` an error class is not read again in the round; `bars_absence` says that an
    answer may stand in what was not read, so that nothing is certified absent.
    """

    source_name: Name
    question_id: Label
    locator: Locator
    document_id: DocumentId | None = None
    passages: Annotated[tuple[RankedPlace, ...], Field(max_length=50)] = ()
    blocks_dropped: Count = 0
    absent_terms: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=256)], ...], Field(max_length=128)
    ] = ()
    closed_by: Word | None = None
    bars_absence: bool = False
    message: Message = ""


class PassagePlace(ApiModel):
    """A passage of a document that a search found, by its place."""

    document_id: DocumentId
    start: Offset
    end: Offset


class ExtractRecord(ApiModel):
    """What `Extract` verified: facts, the rejected ones too, and the documents that it used.

    A model reads a question's passages in portions: `passages` are those of this step, and
    `remaining` is how many it was not shown yet. Both are absent where all were used at once.
    """

    question_id: Label
    facts: Annotated[tuple[Fact, ...], Field(max_length=32)] = ()
    document_ids: Annotated[tuple[DocumentId, ...], Field(max_length=64)] = ()
    passages: Annotated[tuple[PassagePlace, ...], Field(max_length=64)] | None = None
    remaining: Count | None = None


class Veto(ApiModel):
    """A fact that a soft check has demoted, and why."""

    fact_id: FactId
    reason: Annotated[str, Field(max_length=200)] = ""


class ReviewRecord(ApiModel):
    """What a soft check looked at, and what it demoted: it can do nothing else."""

    question_id: Label
    fact_ids: Annotated[tuple[FactId, ...], Field(max_length=8)]
    vetoes: Annotated[tuple[Veto, ...], Field(max_length=8)] = ()


class PublishRecord(ApiModel):
    """Where a report was written, and the digest of what it says."""

    config_map: Name
    report_digest: Digest
    statements: Count
    citations: Count


class NoteKind(StrEnum):
    """What moved a run's state without an action."""

    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    WAITING = "Waiting"
    WAITING_ENDED = "WaitingEnded"
    REOPENED = "Reopened"
    AWAITING_INPUT = "AwaitingInput"
    INPUT_TAKEN = "InputTaken"
    DEGRADED = "Degraded"


FieldName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
"""The name of something that only the user knows: a `{placeholder}` of a task's texts."""


class AskRecord(ApiModel):
    """What `Ask` asked the user for."""

    fields: Annotated[tuple[FieldName, ...], Field(min_length=1, max_length=10)]


class NoteRecord(ApiModel):
    """A `Note`: state moved without an action."""

    kind: NoteKind
    reason: Word | None = None
    message: Message = ""
    draft_digest: Digest | None = None


class ProposalRecord(ApiModel):
    """The action that a model picked and the controller allowed; the next step carries it out.

    `stripped` names arguments that the action does not have; they were left out. `confidence` is
    how sure the model says it is, in percent: kept for a reader, and asked by no guard (S0.61).
    """

    action: Word
    arguments: Annotated[str, Field(max_length=2400, alias="argumentsJSON")]
    stripped: Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=8)] = ()
    confidence: Annotated[int, Field(ge=0, le=100)] | None = None
