"""`fixpoint verify --against-sources`: what became of each citation in its source."""

from __future__ import annotations

import re
import shutil

import pytest

from controller.api.records import Lines, Span
from controller.evidence.carrying import DocumentNow
from controller.evidence.report import build_report
from controller.evidence.report_format import ReportReference
from controller.evidence.rereading import Fate, citation_now
from tests.cli.desk import LAMP_MANUAL, Desk, Said
from tests.evidence.samples import django_findings, run_summary

CITATION = re.compile(r"^citation: +\[(\d+)\] ([a-z ]+), (.*)$", re.MULTILINE)


@pytest.fixture
def published(desk: Desk) -> Desk:
    assert desk.run().code == 0
    return desk


def against_sources(desk: Desk, *arguments: str) -> Said:
    corpora = desk.folder / "corpora"
    return desk.ask("verify", "--against-sources", "--corpus-root", corpora, *arguments)


def fates(said: Said) -> list[str]:
    return [fate for _, fate, _ in CITATION.findall(said.out)]


def hold(desk: Desk, text: str) -> None:
    (desk.folder / "corpora" / "lamp" / "manual.md").write_text(text, encoding="utf-8")


def test_what_has_not_changed_is_the_same(published: Desk) -> None:
    said = against_sources(published)
    assert said.code == 0, said
    assert set(fates(said)) == {"same"}
    assert "lamp file:manual.md, line 7" in said.out
    assert "1 certificate run again: hold" in said.out


def test_without_the_option_no_source_is_read(published: Desk) -> None:
    shutil.rmtree(published.folder / "corpora")
    said = published.ask("verify")
    assert said.code == 0
    assert fates(said) == []


def test_a_quote_at_another_place_has_moved(published: Desk) -> None:
    hold(published, LAMP_MANUAL.replace("## Settings", "A new paragraph.\n\n## Settings"))
    said = against_sources(published)
    assert said.code == 0, said
    assert set(fates(said)) == {"moved"}
    assert "lamp file:manual.md, line 9" in said.out
    assert "1 certificate run again: hold" in said.out
    assert "lamp: the corpus is sha256:" in said.out  # which is told, and breaks no proof


def test_a_quote_that_the_source_says_no_more_is_gone(published: Desk) -> None:
    hold(published, LAMP_MANUAL.replace("40 lumens", "45 lumens"))
    said = against_sources(published)
    assert said.code == 1
    assert "gone" in fates(said)
    assert "same" in fates(said)  # what stands below is where it was
    assert "the quote is not in the document as it is now" in said.out
    assert "everything holds" in said.out  # the report says what was recorded, all the same


def test_a_document_that_is_not_there_any_more_takes_its_quotes_along(published: Desk) -> None:
    folder = published.folder / "corpora" / "lamp"
    (folder / "manual.md").rename(folder / "other.md")
    said = against_sources(published)
    assert said.code == 1
    assert set(fates(said)) == {"gone"}


def test_a_source_that_cannot_be_read_leaves_its_citations_unread(published: Desk) -> None:
    shutil.rmtree(published.folder / "corpora" / "lamp")
    said = against_sources(published)
    assert said.code == 1
    assert set(fates(said)) == {"not read"}
    assert "Unreachable" in said.out
    assert "was not run to its end" in said.out


def test_a_proof_of_absence_is_broken_by_what_is_there_now(published: Desk) -> None:
    hold(published, LAMP_MANUAL + "\n### GLOW_FLAVOUR\n\nDefault: vanilla.\n")
    said = against_sources(published)
    assert said.code == 1
    assert set(fates(said)) == {"same"}
    assert "1 certificate run again: NOT HELD" in said.out
    assert "'GLOW_FLAVOUR' occurs in" in said.out


def test_a_corpus_root_that_is_none_is_an_error(published: Desk) -> None:
    said = published.ask("verify", "--against-sources", "--corpus-root", "/nowhere")
    assert said.code == 5
    assert "the corpus root /nowhere is no folder" in said.err


# --- What became of one citation -----------------------------------------------------------------

FINDINGS = django_findings()
REFERENCE = build_report(FINDINGS, run_summary(FINDINGS)).references[0]
EVIDENCE = next(e for e in FINDINGS.evidence if e.document.id == REFERENCE.document_id)


def test_a_document_is_read_as_it_is() -> None:
    now = DocumentNow(EVIDENCE.document, EVIDENCE.blocks)
    found = citation_now(REFERENCE, now)
    assert (found.fate, found.lines, found.is_same_text) == (Fate.SAME, REFERENCE.lines, True)
    assert citation_now(REFERENCE, None).fate is Fate.GONE


def test_the_same_place_with_another_character_is_gone() -> None:
    blocks = tuple(
        b.model_copy(update={"text": b.text.replace("False", "Falze")}) for b in EVIDENCE.blocks
    )
    assert citation_now(REFERENCE, DocumentNow(EVIDENCE.document, blocks)).fate is Fate.GONE


@pytest.mark.parametrize("shift", [1, 40])
def test_a_place_that_is_not_where_it_was_recorded_has_moved(shift: int) -> None:
    spans = tuple(Span(start=s.start + shift, end=s.end + shift) for s in REFERENCE.spans)
    elsewhere: ReportReference = REFERENCE.model_copy(update={"spans": spans})
    found = citation_now(elsewhere, DocumentNow(EVIDENCE.document, EVIDENCE.blocks))
    assert (found.fate, found.lines) == (Fate.MOVED, REFERENCE.lines)
    assert isinstance(found.lines, Lines)
