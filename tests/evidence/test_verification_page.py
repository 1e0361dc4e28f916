"""docs/verification.md: its examples are run, and its lists are those of the code."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from controller.api.records import (
    AnswerReason,
    BlockKind,
    FactStatus,
    MatchTier,
    Predicate,
    Question,
    QuestionState,
    RejectReason,
    SearchStatus,
    Verdict,
)
from controller.evidence.discrepancies import AuditRule
from controller.evidence.score import factors, percent
from controller.evidence.verification import Candidate, verify_fact
from tests.evidence.samples import evidence_of
from tests.evidence.standings import Standing, findings_of

PAGE = (Path(__file__).parents[2] / "docs" / "verification.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```yaml example: (.+?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Example(NamedTuple):
    """An example of a predicate that passes, or fails for a reason."""

    predicate: Predicate
    reason: RejectReason | None
    given: dict[str, Any]


def examples() -> dict[str, Example]:
    found = {}
    for title, body in EXAMPLE.findall(PAGE):
        if title != "score":
            predicate, outcome, *reason = title.split()
            assert outcome == ("fails" if reason else "passes")
            expected = RejectReason(reason[0]) if reason else None
            found[title] = Example(Predicate(predicate), expected, yaml.safe_load(body))
    return found


def verdicts_on(given: dict[str, Any]) -> tuple[Verdict, ...]:
    """Return what the verifier says of an example."""
    question = Question(id="example", text=given["question"])
    block = (BlockKind(given.get("kind", "Paragraph")), tuple(given["headings"]), given["text"])
    evidence = evidence_of("file:example.txt", "Example", [block])
    flag = {"injection_suspected": given.get("injectionSuspected", False)}
    flagged = evidence.document.model_copy(update=flag)
    evidence = evidence.model_copy(update={"document": flagged})
    document = given.get("document", evidence.document.id)
    candidate = Candidate(document, given["quote"], claim=given.get("claim"))
    return verify_fact(question, candidate, [evidence], {}).verdicts


@pytest.mark.parametrize("title", examples())
def test_an_example_does_what_its_title_says(title: str) -> None:
    predicate, reason, given = examples()[title]
    verdicts = verdicts_on(given)
    judged = {verdict.predicate: verdict for verdict in verdicts}
    assert judged[predicate].reason is reason, judged[predicate]
    failed = [verdict.predicate for verdict in verdicts if not verdict.passed]
    assert failed == ([predicate] if reason else []), verdicts


def test_each_predicate_has_an_example_that_passes_and_one_that_fails() -> None:
    shown = {(e.predicate, e.reason is None) for e in examples().values()}
    assert shown == {(predicate, passes) for predicate in Predicate for passes in (True, False)}


def test_the_worked_example_of_the_score() -> None:
    ((body),) = [body for title, body in EXAMPLE.findall(PAGE) if title == "score"]
    given = yaml.safe_load(body)
    findings = findings_of(
        [Standing(QuestionState(q["state"]), q.get("origins", 0)) for q in given["questions"]]
    )
    assert len(given["scores"]) == 2
    for expected in given["scores"]:
        exact = factors(findings, expected["targetOrigins"])
        assert exact.coverage == Fraction(expected["coverage"])
        assert percent(exact.quality) == expected["score"]


@pytest.mark.parametrize(
    "names",
    [
        AnswerReason,
        AuditRule,
        FactStatus,
        MatchTier,
        Predicate,
        QuestionState,
        RejectReason,
        SearchStatus,
    ],
    ids=lambda names: names.__name__,
)
def test_the_page_names_every(names: type[StrEnum]) -> None:
    for name in names:
        assert f"`{name}`" in PAGE or f"### {name}: " in PAGE, name
