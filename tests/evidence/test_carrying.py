"""Facts over rounds: located again, verified again, or dropped with the reason."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from controller.api.base import digest_of_text
from controller.api.records import Block, BlockKind, Evidence, Fact, FactKind, RejectReason
from controller.api.rounds import Rereading, ReverifyRecord
from controller.api.step import MAX_EVIDENCE_BYTES
from controller.evidence.carrying import Carried, DocumentNow, FormerFacts, carry
from controller.evidence.provenance import fact_id
from controller.evidence.verification import verify_again
from tests.evidence.samples import quote_fact, setting_evidence, setting_question, setting_quote
from tests.store.builders import evidence as plain_evidence

QUESTION = setting_question(0)
BEFORE = setting_evidence(0, 0)
"""A page with the default of a setting."""


def text_of(evidence: Evidence) -> str:
    return "\n".join(block.text for block in evidence.blocks)


def as_now(evidence: Evidence, document_id: str | None = None) -> DocumentNow:
    """Return the document of some evidence as it is read again, whole."""
    text = text_of(evidence)
    document = evidence.document.model_copy(
        update={
            "id": document_id or evidence.document.id,
            "text_digest": digest_of_text(text) if document_id else evidence.document.text_digest,
        }
    )
    return DocumentNow(document, evidence.blocks)


def shifted(evidence: Evidence, line: str) -> Evidence:
    """Return evidence with a line before all of it."""
    by = len(line) + 1
    moved = tuple(
        b.model_copy(update={"start": b.start + by, "end": b.end + by}) for b in evidence.blocks
    )
    first = Block(start=0, end=len(line), kind=BlockKind.PARAGRAPH, text=line)
    return evidence.model_copy(update={"blocks": (first, *moved)})


def former(*facts: Fact, evidence: Sequence[Evidence] = (BEFORE,)) -> FormerFacts:
    return FormerFacts(
        facts=facts,
        evidence={e.document.id: e for e in evidence},
        questions={QUESTION.id: QUESTION.text},
        weights={},
    )


def fact() -> Fact:
    made = quote_fact(QUESTION, BEFORE, setting_quote(0, 0))
    assert made.status == "Verified", made.verdicts
    return made


def carried(now: DocumentNow | None, *facts: Fact) -> Carried:
    return carry(former(*facts), BEFORE.document.id, now, reverified=(), recorded=())


def reasons(found: Carried) -> list[RejectReason | None]:
    return [dropped.reason for dropped in found.dropped]


def test_an_unchanged_document_gives_the_same_fact() -> None:
    found = carried(as_now(BEFORE), fact())
    assert found.facts == (fact(),)
    assert found.dropped == ()


def test_a_quote_that_has_moved_is_cited_where_it_is() -> None:
    after = as_now(shifted(BEFORE, "This page was revised."), "d-00000000000a")
    (again,) = carried(after, fact()).facts
    (citation,) = again.citations
    assert citation.document_id == "d-00000000000a"
    assert citation.spans[0].start == fact().citations[0].spans[0].start + 23
    assert again.id != fact().id
    assert again.claim == fact().claim


def test_a_quote_that_says_something_else_is_gone() -> None:
    changed = tuple(
        b.model_copy(update={"text": b.text.replace("10", "12")}) for b in BEFORE.blocks
    )
    after = as_now(BEFORE.model_copy(update={"blocks": changed}), "d-00000000000a")
    found = carried(after, fact())
    assert found.facts == ()
    assert found.evidence == ()
    assert reasons(found) == [RejectReason.QUOTE_NOT_FOUND]


def test_a_quote_that_is_found_and_does_not_pass_the_verifier_is_gone() -> None:
    menu = tuple(b.model_copy(update={"kind": BlockKind.NAVIGATION}) for b in BEFORE.blocks)
    after = as_now(BEFORE.model_copy(update={"blocks": menu}), "d-00000000000a")
    found = carried(after, fact())
    assert found.facts == ()
    assert reasons(found) == [RejectReason.BOILERPLATE_SPAN]


def test_the_facts_of_a_document_that_is_gone_are_gone() -> None:
    assert reasons(carried(None, fact())) == [RejectReason.UNKNOWN_SOURCE]


@given(st.text(alphabet="ab \n", max_size=60).filter(lambda t: "\n" not in t and t.strip() == t))
def test_whatever_stands_before_it_a_carried_fact_passes_the_verifier(line: str) -> None:
    after = as_now(shifted(BEFORE, line or "x"), "d-00000000000a")
    found = carried(after, fact())
    (again,) = found.facts
    verdicts = verify_again(again, QUESTION.text, found.evidence, {})
    assert all(verdict.passed for verdict in verdicts)
    assert tuple(verdicts) == again.verdicts


def test_evidence_has_room_for_48_kib_and_what_does_not_fit_is_dropped() -> None:
    text = "word " * 9_000 + "end."
    blocks, at = [], 0
    for number in range(2):
        body = f"{number} {text}"
        blocks.append(Block(start=at, end=at + len(body), kind=BlockKind.PARAGRAPH, text=body))
        at += len(body) + 1
    whole = plain_evidence("x").model_copy(update={"blocks": tuple(blocks)})
    cited = [
        replace_citation(fact(), whole, block.start, block.text[:60].rsplit(" ", 1)[0])
        for block in blocks
    ]
    found = carry(
        former(*cited, evidence=(whole,)),
        whole.document.id,
        DocumentNow(whole.document, whole.blocks),
        reverified=(),
        recorded=(),
    )
    assert sum(len(b.text.encode()) for e in found.evidence for b in e.blocks) <= MAX_EVIDENCE_BYTES
    assert found.dropped[-1].reason is None
    assert "no room" in found.dropped[-1].detail


def replace_citation(of: Fact, evidence: Evidence, start: int, quote: str) -> Fact:
    """Return a fact that cites a quote of other evidence."""
    citation = of.citations[0].model_copy(
        update={
            "document_id": evidence.document.id,
            "text_digest": evidence.document.text_digest,
            "quote": quote,
            "spans": (
                of.citations[0]
                .spans[0]
                .model_copy(update={"start": start, "end": start + len(quote)}),
            ),
        }
    )
    made = of.model_copy(update={"claim": quote, "citations": (citation,)})
    return made.model_copy(update={"id": fact_id(of.question_id, quote, [citation])})


def test_a_fact_of_two_documents_is_judged_with_the_last_of_them() -> None:
    other = setting_evidence(0, 1)
    (one,), (two,) = fact().citations, quote_fact(QUESTION, other, setting_quote(0, 1)).citations
    claim = "The default of the setting is 10."
    both = fact().model_copy(
        update={"kind": FactKind.PARAPHRASE, "claim": claim, "citations": (one, two)}
    )
    both = both.model_copy(update={"id": fact_id(QUESTION.id, claim, both.citations)})
    known = former(both, evidence=(BEFORE, other))
    first = carry(known, BEFORE.document.id, as_now(BEFORE), reverified=(), recorded=())
    assert first.facts == ()
    assert first.dropped == ()
    assert first.evidence[0].document.id == BEFORE.document.id
    record = ReverifyRecord(
        document_id=BEFORE.document.id,
        source_name="django-docs",
        rereading=Rereading.READ,
        read_as=BEFORE.document.id,
    )
    second = carry(
        known,
        other.document.id,
        as_now(other),
        reverified=(record,),
        recorded=first.evidence,
    )
    assert len(second.facts) + len(second.dropped) == 1
    gone = carry(
        known,
        other.document.id,
        as_now(other),
        reverified=(record.model_copy(update={"rereading": Rereading.MISSING, "read_as": None}),),
        recorded=(),
    )
    assert reasons(gone) == [RejectReason.UNKNOWN_SOURCE]
