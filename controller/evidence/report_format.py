"""The format of `report.json`: the report of a run as data, from which the other forms are made.

Every field's description ends with what the field is checked against. A field that is checked
for legal values only may be wrong and still pass; one that is checked against the recorded text
cannot differ from it by a character (docs/verification.md). `python -m json.tool` on
`Report.model_json_schema()` shows all of them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic.fields import FieldInfo

from controller.api.base import (
    ApiModel,
    Count,
    Digest,
    Label,
    Locator,
    Message,
    Name,
    Passage,
    Time,
    Title,
    Uid,
    Word,
)
from controller.api.reasons import TerminalReason
from controller.api.records import (
    AnswerReason,
    BlockKind,
    Certificate,
    DocumentId,
    FactId,
    FactKind,
    Lines,
    MatchTier,
    PageNumber,
    QuestionState,
    RejectReason,
    SearchedCorpus,
    Span,
)
from controller.api.task import HandOff, Quality
from controller.evidence.report_changes import ReportChanges
from controller.evidence.report_disagreements import ReportDisagreement

FORMAT_VERSION: Final = 1
"""The version of this format; it grows when a field changes its meaning or goes away."""

CHECKED_TEXT: Final = "Checked against the recorded source text, character for character."
CHECKED_JOURNAL: Final = "Checked against the journal: equal to what a step recorded."
CHECKED_COMPUTED: Final = "Checked by computing it again from the journal."
CHECKED_LEGAL: Final = "Checked for legal values only."


def _described(meaning: str, check: str) -> FieldInfo:
    info = Field(description=f"{meaning} {check}")
    assert isinstance(info, FieldInfo)
    return info


class ReportTask(ApiModel):
    """The task that the report answers."""

    namespace: Annotated[Name, _described("The task's namespace.", CHECKED_LEGAL)]
    name: Annotated[Name, _described("The task's name.", CHECKED_LEGAL)]
    uid: Annotated[Uid, _described("Which object of that name.", CHECKED_LEGAL)]
    generation: Annotated[Count, _described("The generation of its spec.", CHECKED_LEGAL)]
    topic: Annotated[Title, _described("What was to be known.", CHECKED_LEGAL)]


class ReportEnding(ApiModel):
    """Why the run ended, and what to do about it."""

    reason: Annotated[TerminalReason, _described("The terminal reason.", CHECKED_LEGAL)]
    meaning: Annotated[str, _described("The reason's sentence.", CHECKED_LEGAL)]
    remedy: Annotated[str, _described("What a person can do about it.", CHECKED_LEGAL)]
    message: Annotated[Message, _described("What was special about this run.", CHECKED_LEGAL)] = ""
    hand_off: Annotated[
        HandOff | None, _described("Who gets a run that did not succeed.", CHECKED_LEGAL)
    ] = None


class ReportStatement(ApiModel):
    """A sentence of the report, the facts that it rests on and its references."""

    text: Annotated[
        Passage,
        _described(
            "What is said; each predicate of the verifier holds for it.",
            "Checked against the journal: equal to a drafted statement, and supported by its "
            "citations (P3, P4, P5, P7).",
        ),
    ]
    fact_ids: Annotated[
        tuple[FactId, ...],
        Field(min_length=1, max_length=16),
        _described("The verified facts behind it.", CHECKED_JOURNAL),
    ]
    citations: Annotated[
        tuple[Count, ...],
        Field(min_length=1, max_length=128),
        _described("Numbers of references.", CHECKED_COMPUTED),
    ]
    wording: Annotated[
        Literal[FactKind.PARAPHRASE] | None,
        _described(
            "`Paraphrase`: the text is in a model's words, and its references have the source's; "
            "absent where the text is the very characters of a quote.",
            CHECKED_COMPUTED,
        ),
    ] = None
    soft_unchecked: Annotated[
        Literal[True] | None,
        _described(
            "Present where the words need a soft check that was not made: whether they say more "
            "than the quote is for a person to judge.",
            CHECKED_COMPUTED,
        ),
    ] = None


class ReportQuestion(ApiModel):
    """A question, how it was concluded, and what the sources say to it."""

    id: Annotated[Label, _described("The question's id.", CHECKED_JOURNAL)]
    text: Annotated[Title, _described("The question.", CHECKED_JOURNAL)]
    state: Annotated[QuestionState, _described("Where it stands.", CHECKED_JOURNAL)]
    reason: Annotated[
        AnswerReason | None, _described("Why it is unresolved or contested.", CHECKED_JOURNAL)
    ] = None
    origins: Annotated[
        Count, _described("Distinct origins of its verified facts.", CHECKED_COMPUTED)
    ]
    steps: Annotated[Count, _described("Steps that were spent on it.", CHECKED_LEGAL)] = 0
    statements: Annotated[
        tuple[ReportStatement, ...],
        Field(max_length=256),
        _described(
            "What the sources say, best first; partial where the question is not answered.",
            "Checked statement by statement.",
        ),
    ] = ()
    disagreements: Annotated[
        tuple[ReportDisagreement, ...] | None,
        Field(max_length=16),
        _described(
            "Present where verified facts give one thing different values: which, and what is made "
            "of it.",
            CHECKED_COMPUTED,
        ),
    ] = None
    certificate: Annotated[
        Certificate | None,
        _described("The proof that the sources have no answer.", CHECKED_COMPUTED),
    ] = None


class ReportReference(ApiModel):
    """One citation: a quote, and where its characters are."""

    number: Annotated[Count, _described("Its number in this report, from 1.", CHECKED_COMPUTED)]
    document_id: Annotated[DocumentId, _described("The document.", CHECKED_JOURNAL)]
    source_name: Annotated[Name, _described("The source that holds it.", CHECKED_JOURNAL)]
    title: Annotated[Title, _described("The document's title.", CHECKED_JOURNAL)]
    locator: Annotated[Locator, _described("Where the document is.", CHECKED_JOURNAL)]
    text_digest: Annotated[Digest, _described("Digest of its whole text.", CHECKED_JOURNAL)]
    heading_path: Annotated[
        tuple[Title, ...],
        Field(max_length=16),
        _described("The headings above the quote.", CHECKED_JOURNAL),
    ] = ()
    lines: Annotated[Lines | None, _described("Lines of its file.", CHECKED_JOURNAL)] = None
    page: Annotated[PageNumber | None, _described("Page it begins on.", CHECKED_JOURNAL)] = None
    kind: Annotated[BlockKind, _described("What block the quote begins in.", CHECKED_JOURNAL)] = (
        BlockKind.PARAGRAPH
    )
    quote: Annotated[Passage, _described("The source's own characters.", CHECKED_TEXT)]
    spans: Annotated[
        tuple[Span, ...],
        Field(min_length=1, max_length=3),
        _described("Where they are in the document's text, in code points.", CHECKED_TEXT),
    ]
    match_tier: Annotated[
        MatchTier, _described("How the proposed quote was found.", CHECKED_COMPUTED)
    ]


class MissingAnswer(ApiModel):
    """A question without an answer, why, and what a person can do about it."""

    question_id: Annotated[Label, _described("The question.", CHECKED_JOURNAL)]
    why: Annotated[str, _described("The sentence of its state and reason.", CHECKED_COMPUTED)]
    what_to_do: Annotated[str, _described("What may bring an answer.", CHECKED_LEGAL)]


MONEY_BUDGET: Final = "maxCostUSD"
"""The budget of which use and limit are in micro-USD."""


class BudgetUse(ApiModel):
    """How much of one budget the round has used."""

    name: Annotated[
        str, Field(min_length=1, max_length=63), _described("The field of the spec.", CHECKED_LEGAL)
    ]
    used: Annotated[
        Count,
        _described("What was used, in the field's unit; money in micro-USD.", CHECKED_LEGAL),
    ]
    limit: Annotated[
        Count | None, _described("The limit; absent where there is none.", CHECKED_LEGAL)
    ] = None


class RejectedQuotes(ApiModel):
    """How many proposed facts the verifier rejected for one reason."""

    reason: Annotated[
        RejectReason, _described("The first predicate's reason that failed.", CHECKED_COMPUTED)
    ]
    count: Annotated[Count, _described("How many.", CHECKED_COMPUTED)]


class ReportMethod(ApiModel):
    """How much was searched, read and verified."""

    searches: Annotated[Count, _described("Searches, each one query.", CHECKED_COMPUTED)]
    corpora: Annotated[
        tuple[SearchedCorpus, ...],
        Field(max_length=8),
        _described("The corpora as they were searched last.", CHECKED_COMPUTED),
    ] = ()
    documents: Annotated[Count, _described("Documents with recorded evidence.", CHECKED_COMPUTED)]
    facts_verified: Annotated[Count, _described("Facts that passed.", CHECKED_COMPUTED)]
    facts_rejected: Annotated[Count, _described("Facts that did not.", CHECKED_COMPUTED)]
    facts_vetoed: Annotated[
        Count | None,
        _described("Facts that passed and that a soft check took away.", CHECKED_COMPUTED),
    ] = None


class Omitted(ApiModel):
    """What was left out so that the report fits its place; the journal has all of it."""

    statements: Annotated[
        Count, _described("Statements left out, the lowest-ranked.", CHECKED_COMPUTED)
    ] = 0
    certificates: Annotated[Count, _described("Certificates left out.", CHECKED_COMPUTED)] = 0


class SourceSetAside(ApiModel):
    """A source that failed too often in a row, so that it was not asked again in the round."""

    source_name: Annotated[Name, _described("The source.", CHECKED_COMPUTED)]
    error_class: Annotated[
        Word, Field(alias="class"), _described("How it failed.", CHECKED_COMPUTED)
    ]
    failures: Annotated[Count, _described("How often in a row.", CHECKED_COMPUTED)]
    message: Annotated[Message, _described("The last failure's message.", CHECKED_COMPUTED)] = ""

    def __str__(self) -> str:
        return f"{self.source_name} ({self.error_class}, {self.failures} in a row: {self.message})"


class Withheld(ApiModel):
    """The statements are not published, since nobody has approved the draft that holds them."""

    draft_digest: Annotated[
        Digest, _described("The digest of the draft that was to be approved.", CHECKED_LEGAL)
    ]


class ReportJournal(ApiModel):
    """The journal that the report was made from."""

    steps: Annotated[Count, _described("Its number of steps.", CHECKED_LEGAL)]
    digest: Annotated[Digest, _described("The digest of its last step.", CHECKED_LEGAL)]


class ModelSetAside(ApiModel):
    """The model that failed too often: the extractive policy did its part from then on."""

    model_name: Annotated[Name, _described("The ResearchModel.", CHECKED_COMPUTED)]
    error_class: Annotated[
        Word, Field(alias="class"), _described("How it failed.", CHECKED_COMPUTED)
    ]
    message: Annotated[Message, _described("What it said last.", CHECKED_COMPUTED)]

    def __str__(self) -> str:
        return f"{self.model_name} ({self.error_class}: {self.message})"


class Report(ApiModel):
    """The report of a run: what its sources say to each question, and how one can tell."""

    format_version: Annotated[
        Literal[1], _described("The version of this format.", CHECKED_LEGAL)
    ] = FORMAT_VERSION
    generated_at: Annotated[
        Time, _described("The recorded time of the last step; no clock was read.", CHECKED_LEGAL)
    ]
    task: Annotated[ReportTask, _described("The task.", CHECKED_LEGAL)]
    ending: Annotated[ReportEnding, _described("How the run ended.", CHECKED_LEGAL)]
    quality: Annotated[
        Quality,
        _described(
            "The score, its factors and the goal predicates.",
            CHECKED_COMPUTED + " The goal's targets are the spec's: legal values only.",
        ),
    ]
    summary: Annotated[
        tuple[ReportStatement, ...] | None,
        Field(max_length=16),
        _described(
            "What a model says that an exhausted run has found; each sentence is supported by its "
            "citations (P3, P4, P5, P7), and the others were dropped.",
            CHECKED_COMPUTED,
        ),
    ] = None
    questions: Annotated[
        tuple[ReportQuestion, ...],
        Field(max_length=20),
        _described("The questions, in their order.", CHECKED_JOURNAL),
    ]
    changes: Annotated[
        ReportChanges | None,
        _described("What changed since the last report, if there was one.", CHECKED_COMPUTED),
    ] = None
    references: Annotated[
        tuple[ReportReference, ...],
        Field(max_length=4096),
        _described("What the statements cite: no more, no less.", CHECKED_COMPUTED),
    ] = ()
    missing: Annotated[
        tuple[MissingAnswer, ...],
        Field(max_length=20),
        _described("The questions without an answer.", CHECKED_COMPUTED),
    ] = ()
    method: Annotated[ReportMethod, _described("How it was found.", CHECKED_COMPUTED)]
    budgets: Annotated[
        tuple[BudgetUse, ...],
        Field(max_length=16),
        _described("What it cost.", CHECKED_LEGAL),
    ] = ()
    rejected: Annotated[
        tuple[RejectedQuotes, ...],
        Field(max_length=16),
        _described("Proposed facts that were rejected, by reason.", CHECKED_COMPUTED),
    ] = ()
    omitted: Annotated[
        Omitted | None, _described("Present where the report was cut to fit.", CHECKED_COMPUTED)
    ] = None
    withheld: Annotated[
        Withheld | None,
        _described("Present where no approval was given.", CHECKED_COMPUTED),
    ] = None
    set_aside: Annotated[
        tuple[SourceSetAside, ...] | None,
        Field(max_length=8),
        _described("Present where sources were set aside.", CHECKED_COMPUTED),
    ] = None
    model_set_aside: Annotated[
        ModelSetAside | None,
        _described("Present where the model was set aside.", CHECKED_COMPUTED),
    ] = None
    journal: Annotated[ReportJournal, _described("What it was made from.", CHECKED_LEGAL)]
    digest: Annotated[
        Digest,
        _described(
            "Digest of states, statements and citations; an approval is bound to it.",
            CHECKED_COMPUTED,
        ),
    ]


__all__ = [
    "CHECKED_COMPUTED",
    "CHECKED_JOURNAL",
    "CHECKED_LEGAL",
    "CHECKED_TEXT",
    "FORMAT_VERSION",
    "BudgetUse",
    "MissingAnswer",
    "Omitted",
    "RejectedQuotes",
    "Report",
    "ReportEnding",
    "ReportJournal",
    "ReportMethod",
    "ReportQuestion",
    "ReportReference",
    "ReportStatement",
    "ReportTask",
    "SourceSetAside",
    "Withheld",
]
