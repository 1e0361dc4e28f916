"""What a report puts side by side: the values on which the facts behind its statements disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.api.records import Question
from controller.evidence.disagreements import Disagreement, disagreements
from controller.evidence.findings import Findings
from controller.evidence.references import References
from controller.evidence.report_disagreements import ReportDisagreement, ReportValue

MAX_DISAGREEMENTS: Final = 16
"""How many disagreements a report names of a question."""

_MAX_VALUES: Final = 64
_MAX_QUALIFIERS: Final = 32
_MAX_WRITTEN: Final = 500


def juxtaposed(
    findings: Findings, question: Question, references: References, language: str = "en"
) -> tuple[ReportDisagreement, ...]:
    """Return what a question's sources disagree on, each value with its references.

    A value without a reference in the report is left out: nothing is said that is not quoted.
    """
    found = (
        _juxtaposed(disagreement, findings, references)
        for disagreement in disagreements(findings, question, language)
    )
    return tuple(d for d in found if d is not None)[:MAX_DISAGREEMENTS]


def _juxtaposed(
    disagreement: Disagreement, findings: Findings, references: References
) -> ReportDisagreement | None:
    values = tuple(_values(disagreement, findings, references))[:_MAX_VALUES]
    if len(values) < 2:  # noqa: PLR2004 - side by side
        return None
    return ReportDisagreement(
        subject=disagreement.subject,
        attribute=disagreement.attribute,
        kind=disagreement.kind,
        ruling=disagreement.ruling,
        values=values,
    )


def _values(
    disagreement: Disagreement, findings: Findings, references: References
) -> Iterator[ReportValue]:
    facts = {fact.id: fact for fact in findings.facts}
    for value in disagreement.values:
        citations = (c for i in value.fact_ids for c in facts[i].citations)
        numbers = references.numbers(citations)
        if numbers:
            yield ReportValue(
                value=value.written[:_MAX_WRITTEN],
                citations=numbers,
                origins=value.origins,
                qualifiers=value.qualifiers[:_MAX_QUALIFIERS],
            )
