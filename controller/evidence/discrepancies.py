"""What an audit can find: the rules that hold of a report, and where one is broken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AuditRule(StrEnum):
    """What must hold of a report; docs/verification.md lists them."""

    STATEMENT_DRAFTED = "StatementDrafted"
    FACT_RECORDED = "FactRecorded"
    VERDICTS_AGREE = "VerdictsAgree"
    REFERENCES_COMPLETE = "ReferencesComplete"
    DOCUMENT_KNOWN = "DocumentKnown"
    TEXT_DIGEST_AGREES = "TextDigestAgrees"
    QUOTE_STANDS = "QuoteStands"
    CITATION_RECORDED = "CitationRecorded"
    STATEMENT_SUPPORTED = "StatementSupported"
    WORDING_MARKED = "WordingMarked"
    QUESTION_AGREES = "QuestionAgrees"
    CERTIFICATE_HOLDS = "CertificateHolds"
    SCORE_AGREES = "ScoreAgrees"
    CONTENT_AGREES = "ContentAgrees"


@dataclass(frozen=True)
class Discrepancy:
    """One thing in a report that does not hold.

    `statement` counts from 1 within its question; `citation` is the number of a reference.
    """

    rule: AuditRule
    message: str
    question_id: str | None = None
    statement: int | None = None
    citation: int | None = None

    def __str__(self) -> str:
        places = (
            f"question {self.question_id}" if self.question_id else "",
            f"statement {self.statement}" if self.statement else "",
            f"citation [{self.citation}]" if self.citation else "",
        )
        place = ", ".join(filter(None, places)) or "the report"
        return f"{place}: {self.message} ({self.rule})"


@dataclass(frozen=True)
class Place:
    """Where in a report something is said, counted as in a `Discrepancy`."""

    question_id: str | None = None
    statement: int | None = None
    citation: int | None = None

    def breaks(self, rule: AuditRule, message: str) -> Discrepancy:
        """Return that a rule does not hold here."""
        return Discrepancy(rule, message, self.question_id, self.statement, self.citation)
