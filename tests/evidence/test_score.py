"""The score Q: its table, its properties, its exactness."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from controller.api.records import (
    FactStatus,
)
from controller.evidence.draft import template_draft
from controller.evidence.findings import Findings
from controller.evidence.score import distinct_origins, factors, percent, score
from controller.evidence.support import question_weights
from tests.evidence.samples import (
    search,
    setting_evidence,
    setting_fact,
    setting_question,
)
from tests.evidence.standings import (
    ABSENT,
    ANSWERED,
    ONE,
    OPEN,
    UNRESOLVED,
    Standing,
    findings_of,
)


# S0.26, S0.56
@pytest.mark.parametrize(
    ("standings", "with_one", "with_two"),
    [
        pytest.param([ONE] * 4, 100, 70, id="all answered, one origin each"),
        pytest.param([ONE] * 3 + [ABSENT], 90, 67, id="three answered, one not found"),
        pytest.param([ONE] + [ABSENT] * 3, 70, 62, id="one answered, three not found"),
        pytest.param([ABSENT] * 4, 60, 60, id="all not found"),
        pytest.param([Standing(ANSWERED, 2)] * 2, 100, 100, id="two origins each"),
        pytest.param([Standing(ANSWERED, 1, contested=True)], 50, 35, id="contested"),
        pytest.param([ONE, Standing(OPEN)], 50, 35, id="one answered, one open"),
        pytest.param([ONE, Standing(UNRESOLVED, 1)], 50, 35, id="an unresolved one adds nothing"),
        pytest.param([Standing(ANSWERED)], 0, 0, id="an answer without a verified fact"),
        pytest.param([], 0, 0, id="no question"),
    ],
)
def test_the_table(standings: list[Standing], with_one: int, with_two: int) -> None:
    findings = findings_of(standings)
    assert score(findings, 1).quality == with_one
    assert score(findings, 2).quality == with_two


def test_three_times_seven_tenths_reach_seventy() -> None:
    findings = findings_of([ONE] * 3)
    assert factors(findings, 2).quality == Fraction(7, 10)
    assert score(findings, 2).quality == 70
    assert (0.7 + 0.7 + 0.7) / 3 < 0.7


def test_percents_are_floored() -> None:
    assert percent(Fraction(2, 3)) == 66
    assert percent(Fraction(6999, 10000)) == 69


# S0.26
def test_a_rejected_fact_supports_nothing() -> None:
    findings = findings_of([ONE])
    drafted = template_draft(findings)
    rejected = findings.facts[0].model_copy(update={"status": FactStatus.REJECTED})
    exact = factors(replace(findings, facts=(rejected,), statements=drafted), 1)
    assert exact.citation_recall == exact.citation_precision == 0


def test_a_citation_of_another_text_supports_nothing() -> None:
    findings = findings_of([ONE])
    drafted = template_draft(findings)
    document = findings.evidence[0].document
    other = document.model_copy(update={"text_digest": "sha256:" + "00" * 32})
    evidence = (findings.evidence[0].model_copy(update={"document": other}),)
    exact = factors(replace(findings, evidence=evidence, statements=drafted), 1)
    assert exact.citation_recall == exact.citation_precision == 0


def test_documents_that_are_not_recorded_are_no_origins() -> None:
    assert distinct_origins((setting_fact(0, 0),), ()) == 0


def test_an_absence_without_a_certificate_is_worth_nothing() -> None:
    findings = findings_of([ABSENT])
    uncertified = {"q0": findings.answers["q0"].model_copy(update={"certificate": None})}
    assert factors(replace(findings, answers=uncertified), 1).quality == 0


def test_no_statement_counts_only_when_every_question_is_certified_absent() -> None:
    assert factors(findings_of([ABSENT, Standing(OPEN)]), 1).citation_recall == 0
    assert factors(findings_of([ABSENT, ABSENT]), 1).citation_recall == 1


def test_a_quote_changed_by_a_number_is_not_supported() -> None:
    findings = findings_of([ONE])
    (drafted,) = template_draft(findings)
    changed = drafted.model_copy(update={"text": drafted.text.replace("10", "11")})
    assert factors(replace(findings, statements=(changed,)), 1).citation_recall == 0


def test_a_term_keeps_the_weight_that_was_recorded_first() -> None:
    question = setting_question(0)
    first = search(question, "a", [setting_evidence(0, 0)])
    later = search(question, "b", [])
    weights = question_weights(Findings(searches=(first, later)), "q0")
    assert weights == {w.term: w.weight for w in first.term_weights}
    assert weights != {w.term: w.weight for w in later.term_weights}
    assert question_weights(Findings(searches=(first,)), "q1") == {}
