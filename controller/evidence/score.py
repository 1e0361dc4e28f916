"""The quality score Q: coverage of the questions, times how well the statements are cited.

Q = coverage * citation recall * citation precision, in exact fractions: in floating point three
answers worth 0.7 each average to 0.6999999999999998, and miss a threshold of 70. Only verified
facts count, and nothing is gained by saying more (docs/verification.md, the score).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from controller.api.records import AnswerReason, Evidence, Fact, Question, QuestionState
from controller.evidence.clusters import clusters_of
from controller.evidence.draft import statements_of
from controller.evidence.findings import Findings
from controller.evidence.support import Support

NOT_FOUND_SHARE: Final = Fraction(3, 5)
"""What a certified absence is worth: resolved, but less than an answer."""

FIRST_ORIGIN_SHARE: Final = Fraction(7, 10)
"""What an answer from one origin is worth where several are asked for."""


@dataclass(frozen=True)
class Factors:
    """The factors of Q, exact, each in [0, 1]."""

    coverage: Fraction
    citation_recall: Fraction
    citation_precision: Fraction

    @property
    def quality(self) -> Fraction:
        """Q, the product of the factors."""
        return self.coverage * self.citation_recall * self.citation_precision


@dataclass(frozen=True)
class Score:
    """Q and its factors in floored percent, as status and report show them."""

    quality: int
    coverage: int
    citation_recall: int
    citation_precision: int


def score(findings: Findings, target_origins: int, language: str = "en") -> Score:
    """Return the score of what was found; before there is a draft, that of the template draft.

    Args:
        findings: the records that count now.
        target_origins: the distinct origins at which an answered question counts in full.
        language: of the task, an ISO 639-1 code.
    """
    exact = factors(findings, target_origins, language)
    return Score(
        quality=percent(exact.quality),
        coverage=percent(exact.coverage),
        citation_recall=percent(exact.citation_recall),
        citation_precision=percent(exact.citation_precision),
    )


def factors(findings: Findings, target_origins: int, language: str = "en") -> Factors:
    """Return the exact factors of Q.

    Citation recall is the share of statements that their citations support; citation precision
    the share of citations that are needed, or suffice alone, for the statement that they are
    attached to. A citation without a verified fact supports nothing and still counts. Without
    statements both are 1 if every question is `NotFound` with a certificate, else 0.
    """
    covered = coverage(findings, target_origins)
    statements = statements_of(findings, language)
    if not statements:
        proven = bool(findings.questions) and all(
            _is_certified(findings, question) for question in findings.questions
        )
        return Factors(covered, Fraction(proven), Fraction(proven))
    support = Support(findings, language)
    judged = [support.judge(statement) for statement in statements]
    return Factors(
        coverage=covered,
        citation_recall=Fraction(sum(j.supported for j in judged), len(judged)),
        citation_precision=Fraction(sum(j.precise for j in judged), sum(j.counted for j in judged)),
    )


def coverage(findings: Findings, target_origins: int) -> Fraction:
    """Return the mean share of the questions that is answered; 0 where there is no question."""
    if not findings.questions:
        return Fraction(0)
    shares = [_share(findings, question, target_origins) for question in findings.questions]
    return Fraction(sum(shares), len(shares))


def distinct_origins(facts: Iterable[Fact], evidence: Sequence[Evidence]) -> int:
    """Return from how many clusters of documents the citations of facts come.

    Citations of documents without recorded evidence count for nothing.
    """
    clusters = clusters_of(evidence)
    cited = {citation.document_id for fact in facts for citation in fact.citations}
    return len({clusters[document_id] for document_id in cited if document_id in clusters})


def percent(share: Fraction) -> int:
    """Return a share as floored percent: 70 is reached, never rounded to."""
    return math.floor(100 * share)


def _is_certified(findings: Findings, question: Question) -> bool:
    answer = findings.answers.get(question.id)
    return (
        answer is not None
        and answer.state is QuestionState.NOT_FOUND
        and answer.certificate is not None
    )


def _share(findings: Findings, question: Question, target_origins: int) -> Fraction:
    answer = findings.answers.get(question.id)
    if answer is None:
        return Fraction(0)
    if answer.state is QuestionState.NOT_FOUND:
        return NOT_FOUND_SHARE if answer.certificate else Fraction(0)
    origins = distinct_origins(findings.verified(question.id), findings.evidence)
    if answer.state is not QuestionState.ANSWERED or origins == 0:
        return Fraction(0)
    contested = answer.reason is AnswerReason.CONTESTED
    return _origins_share(origins, target_origins) * Fraction(1, 2 if contested else 1)


def _origins_share(origins: int, target_origins: int) -> Fraction:
    if target_origins <= 1:
        return Fraction(1)
    further = min(Fraction(1), Fraction(origins - 1, target_origins - 1))
    return FIRST_ORIGIN_SHARE + (1 - FIRST_ORIGIN_SHARE) * further
