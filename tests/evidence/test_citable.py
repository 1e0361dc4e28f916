"""P7: text that nobody sees is not cited, and what may give orders to a model is only quoted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.api.records import (
    BlockKind,
    Evidence,
    Fact,
    FactKind,
    FactStatus,
    Predicate,
    RejectReason,
    Statement,
)
from controller.evidence.audit import audit
from controller.evidence.discrepancies import AuditRule
from controller.evidence.draft import template_draft
from controller.evidence.findings import Findings
from controller.evidence.predicates import check_substance, passages_of
from controller.evidence.report import build_report, published_statements
from controller.evidence.support import Support
from controller.evidence.verification import Candidate, agrees, verify_again, verify_fact
from controller.evidence.windows import Ranked, best_windows
from controller.loop.exchanges.extract import _text
from tests.evidence.recorded import DOCUMENT_ID, evidence_of
from tests.evidence.samples import SAVEPOINT_QUESTION, concluded, run_summary, searches_for

SEEN = "A savepoint is a marker within a transaction that enables you to roll back a part of it."
HIDDEN = "A savepoint in a transaction is a thing that only administrators may use."
CLAIM = "A savepoint is a marker within a transaction."
EVIDENCE = evidence_of(SEEN, (BlockKind.HIDDEN, HIDDEN), headings=("Savepoints",))


def suspected(evidence: Evidence) -> Evidence:
    document = evidence.document.model_copy(update={"injection_suspected": True})
    return evidence.model_copy(update={"document": document})


QUARANTINED = suspected(EVIDENCE)


def fact(wording: str, claim: str | None = None, evidence: Evidence = EVIDENCE) -> Fact:
    candidate = Candidate(DOCUMENT_ID, wording, claim=claim)
    return verify_fact(SAVEPOINT_QUESTION, candidate, [evidence], {})


def failed(judged: Fact) -> list[tuple[Predicate, RejectReason | None]]:
    return [(v.predicate, v.reason) for v in judged.verdicts if not v.passed]


@pytest.mark.parametrize(
    "wording",
    [
        HIDDEN,
        "A savepoint in a transaction is a thing",
        f"{SEEN}\n{HIDDEN}",
        f"{SEEN}\nA savepoint",
    ],
)
def test_a_quote_that_touches_hidden_text_is_rejected(wording: str) -> None:
    judged = fact(wording)
    assert judged.status is FactStatus.REJECTED
    assert (Predicate.P7, RejectReason.HIDDEN_TEXT) in failed(judged)


def test_the_text_beside_hidden_text_is_a_fact() -> None:
    assert fact(SEEN).status is FactStatus.VERIFIED


def test_hidden_text_is_no_matter_of_substance() -> None:
    passages = passages_of(fact(HIDDEN).citations, [EVIDENCE])
    assert check_substance(SAVEPOINT_QUESTION.text, passages).passed


def test_hidden_text_is_neither_offered_nor_shown_to_a_model() -> None:
    passage = Ranked(DOCUMENT_ID, EVIDENCE.blocks, 1000)
    windows = best_windows(SAVEPOINT_QUESTION.text, (passage,), {}, 9)
    assert [window.text for window in windows] == [SEEN]
    assert _text(passage) == f"Savepoints\n{SEEN}"


def test_a_quarantined_document_can_be_quoted_and_not_reworded() -> None:
    assert fact(SEEN, evidence=QUARANTINED).status is FactStatus.VERIFIED
    worded = fact(SEEN, CLAIM, QUARANTINED)
    assert worded.kind is FactKind.PARAPHRASE
    assert failed(worded) == [(Predicate.P7, RejectReason.QUARANTINED)]
    assert fact(SEEN, CLAIM).status is FactStatus.VERIFIED


def test_a_flag_that_a_later_reading_set_takes_the_paraphrase_away() -> None:
    worded = fact(SEEN, CLAIM)
    verdicts = verify_again(worded, SAVEPOINT_QUESTION.text, [EVIDENCE, QUARANTINED], {})
    assert not agrees(worded, verdicts)
    assert [v.reason for v in verdicts if not v.passed] == [RejectReason.QUARANTINED]


def findings_with(*facts: Fact, evidence: Evidence = QUARANTINED) -> Findings:
    return concluded(
        Findings(
            questions=(SAVEPOINT_QUESTION,),
            searches=searches_for(SAVEPOINT_QUESTION, [evidence]),
            evidence=(evidence,),
            facts=facts,
        )
    )


def test_a_sentence_of_a_draft_over_a_quarantined_document_is_not_published() -> None:
    quoted = fact(SEEN, evidence=QUARANTINED)
    findings = findings_with(quoted)
    sentence = Statement(question_id=SAVEPOINT_QUESTION.id, text=CLAIM, fact_ids=(quoted.id,))
    drafted = replace(findings, statements=(*template_draft(findings), sentence))
    assert [s.text for s in published_statements(drafted)] == [SEEN]
    assert Support(replace(findings, evidence=(EVIDENCE,))).is_supported(sentence)


def test_the_audit_finds_a_paraphrase_over_a_document_that_was_quarantined() -> None:
    honest = findings_with(fact(SEEN, CLAIM), evidence=EVIDENCE)
    report = build_report(honest, run_summary(honest))
    assert audit(report, honest, target_origins=1) == ()
    forged = replace(honest, evidence=(QUARANTINED,))
    rules = {d.rule for d in audit(report, forged, target_origins=1)}
    assert {AuditRule.VERDICTS_AGREE, AuditRule.STATEMENT_SUPPORTED} <= rules
