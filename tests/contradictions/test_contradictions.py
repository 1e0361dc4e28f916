"""Planted contradictions are found; a manual without one has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.api.records import (
    Answer,
    AnswerReason,
    BlockKind,
    Evidence,
    Question,
    QuestionState,
)
from controller.evidence.certificates import conclude
from controller.evidence.disagreements import disagreements
from controller.evidence.findings import Findings
from controller.evidence.report_disagreements import Ruling
from controller.evidence.verification import Candidate, verify_fact
from controller.sources.readers import read_file
from demo.corpus import django_docs
from tests.contradictions.corpora import (
    PAGE,
    documented_settings,
    page_of,
    question,
    typed_settings,
    with_changed_defaults,
    write_page,
)
from tests.contradictions.runs import asked
from tests.evidence.recorded import document

SEED = 5
PLANTED = 40


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(django_docs())


def recorded(page: str, number: int, source: str) -> Evidence:
    """Return the page of settings as one document of a source, its fields recorded."""
    text = read_file(page.encode(), PAGE).text
    fields = tuple(block for block in text.blocks if block.kind is BlockKind.FIELD)
    known = {"id": f"d-{number:012}", "source_name": source, "origin_key": source}
    return Evidence.model_construct(
        document=document(text.text).model_copy(update=known), blocks=fields
    )


def concluded(name: str, *pages: Evidence) -> tuple[Answer, Findings, Question]:
    """Return the answer that the fields of a setting give, one from each page."""
    wanted = Question(id="q", text=question(name))
    facts = tuple(
        verify_fact(wanted, Candidate(page.document.id, b.text, b.start), [page], {})
        for page in pages
        for b in page.blocks
        if b.heading_path[-1] == name and b.text.partition(":")[2].strip()
    )
    findings = Findings(questions=(wanted,), evidence=pages, facts=facts)
    return conclude(findings, wanted, min_origins=1, source_names=("a",)), findings, wanted


def test_planted_contradictions_are_contested(page: str) -> None:
    names = typed_settings(page)[:PLANTED]
    changed, changes = with_changed_defaults(page, names, SEED)
    pages = (recorded(page, 1, "manual"), recorded(changed, 2, "mirror"))
    assert len(changes) == PLANTED
    missed = []
    for change in changes:
        answer, findings, wanted = concluded(change.name, *pages)
        assert answer.state is QuestionState.ANSWERED
        if answer.reason is not AnswerReason.CONTESTED:
            missed.append(change)
            continue
        (found,) = disagreements(findings, wanted)
        assert found.ruling is Ruling.CONTESTED
        assert [value.written for value in found.values] == [change.before, change.after]
    assert len(missed) * 100 <= PLANTED * 5, missed


def test_a_manual_and_its_copy_contest_nothing(page: str) -> None:
    pages = (recorded(page, 1, "manual"), recorded(page, 2, "mirror"))
    names = documented_settings(page)
    assert len(names) > 150
    answered = 0
    for name in names:
        answer, findings, wanted = concluded(name, *pages)
        assert answer.reason is not AnswerReason.CONTESTED, name
        assert disagreements(findings, wanted) == ()
        answered += answer.state is QuestionState.ANSWERED
    assert answered > 150


async def test_the_loop_finds_them_and_puts_both_side_by_side(page: str, tmp_path: Path) -> None:
    names = ["FIRST_DAY_OF_WEEK", "SESSION_COOKIE_SAMESITE", "DEBUG"]
    changed, changes = with_changed_defaults(page, names[:2], SEED)
    sources = {
        "manual": write_page(tmp_path / "manual", page),
        "mirror": write_page(tmp_path / "mirror", changed),
    }
    home = tmp_path / "home"
    home.mkdir()
    answers = await asked(home, sources, names)
    assert [answers[name].reason for name in names] == [AnswerReason.CONTESTED] * 2 + [None]
    for change in changes:
        (found,) = answers[change.name].disagreements or ()
        assert found.subject == (change.name,)
        assert found.ruling is Ruling.CONTESTED
        assert {value.value for value in found.values} == {change.before, change.after}
        assert all(value.citations for value in found.values)
