"""Conclusions: answered, not found with a certificate, unresolved; certificates run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import (
    Answer,
    AnswerReason,
    BlockKind,
    Certificate,
    Evidence,
    Fact,
    Question,
    QuestionState,
    ReadRecord,
    SearchRecord,
    SearchStatus,
)
from controller.evidence.certificates import MAX_QUERIES_PER_SOURCE, conclude, recheck
from controller.evidence.findings import Findings
from controller.evidence.terms import weighed_terms
from tests.evidence.samples import (
    ABSENT_QUESTION,
    CORPUS,
    SETTINGS_EVIDENCE,
    TRANSACTIONS_EVIDENCE,
    django_findings,
    evidence_of,
    quote_fact,
    search,
    searches_for,
    setting_evidence,
    setting_fact,
    setting_question,
)

OLD_CORPUS = "sha256:" + "0d" * 32
PLAIN = Question(id="plain", text="What is the colour of the sky at noon?")


def concluded(
    searches: Sequence[SearchRecord],
    *,
    question: Question = ABSENT_QUESTION,
    evidence: Sequence[Evidence] = (),
    facts: Sequence[Fact] = (),
    reads: Sequence[ReadRecord] = (),
    sources: Sequence[str] = ("django-docs",),
    min_origins: int = 1,
) -> Answer:
    findings = Findings(
        questions=(question,),
        searches=tuple(searches),
        reads=tuple(reads),
        evidence=tuple(evidence),
        facts=tuple(facts),
    )
    return conclude(findings, question, min_origins=min_origins, source_names=sources)


def replaced(searches: Sequence[SearchRecord], at: int, **update: object) -> list[SearchRecord]:
    changed = list(searches)
    changed[at] = changed[at].model_copy(update=update)
    return changed


ABSENT = searches_for(ABSENT_QUESTION, [SETTINGS_EVIDENCE])
ELSEWHERE = searches_for(ABSENT_QUESTION, source="wiki")
PLAINLY = searches_for(PLAIN, [TRANSACTIONS_EVIDENCE])
DROPPED = [s.model_copy(update={"blocks_dropped": 1}) for s in PLAINLY]
REMOTE = [s.model_copy(update={"corpus_digest": None}) for s in PLAINLY]
NAMED = [
    s.model_copy(
        update={
            "hits": tuple(h.model_copy(update={"document_id": None, "span": None}) for h in s.hits),
            "term_weights": (),
        }
    )
    for s in REMOTE
]


def read_of(evidence: Evidence, **update: Any) -> ReadRecord:  # noqa: ANN401 - any field
    """Return the record of a document that was read and contains no word of the question."""
    record = ReadRecord(
        source_name="django-docs",
        question_id=PLAIN.id,
        locator=evidence.document.locator,
        document_id=evidence.document.id,
        absent_terms=weighed_terms(PLAIN.text),
    )
    return record.model_copy(update=update)


PARTLY = [TRANSACTIONS_EVIDENCE.model_copy(update={"blocks": TRANSACTIONS_EVIDENCE.blocks[:1]})]

UNPROVEN: dict[str, tuple[AnswerReason | None, Callable[[], Answer]]] = {
    "three different complete queries of the one source prove it": (
        None,
        lambda: concluded(ABSENT),
    ),
    "of two sources, each needs its three": (
        None,
        lambda: concluded([*ABSENT, *ELSEWHERE], sources=("django-docs", "wiki")),
    ),
    "one source of two was never asked": (
        AnswerReason.TOO_FEW_QUERIES,
        lambda: concluded(ABSENT, sources=("django-docs", "wiki")),
    ),
    "no source at all": (AnswerReason.TOO_FEW_QUERIES, lambda: concluded(ABSENT, sources=())),
    "two queries": (AnswerReason.TOO_FEW_QUERIES, lambda: concluded(ABSENT[:2])),
    "three queries that differ in the order of words alone": (
        AnswerReason.TOO_FEW_QUERIES,
        lambda: concluded(
            [
                search(ABSENT_QUESTION, query)
                for query in ("default of LIMIT_A", "LIMIT_A default", "the default, LIMIT_A?")
            ]
        ),
    ),
    "the same query three times": (
        AnswerReason.TOO_FEW_QUERIES,
        lambda: concluded([ABSENT[0], ABSENT[0], ABSENT[0]]),
    ),
    "one search failed": (
        AnswerReason.SEARCH_FAILED,
        lambda: concluded(replaced(ABSENT, 1, status=SearchStatus.FAILED)),
    ),
    "one search saw a part": (
        AnswerReason.SOURCE_PARTIAL,
        lambda: concluded(replaced(ABSENT, 2, status=SearchStatus.PARTIAL)),
    ),
    "a failure is named before a part": (
        AnswerReason.SEARCH_FAILED,
        lambda: concluded(
            replaced(
                replaced(ABSENT, 0, status=SearchStatus.PARTIAL), 1, status=SearchStatus.FAILED
            )
        ),
    ),
    "a failed search that was done again proves it": (
        None,
        lambda: concluded([ABSENT[0].model_copy(update={"status": SearchStatus.FAILED}), *ABSENT]),
    ),
    "searches of an older corpus do not count": (
        AnswerReason.TOO_FEW_QUERIES,
        lambda: concluded(replaced(ABSENT, 0, corpus_digest=OLD_CORPUS)),
    ),
    "searches for another question do not count": (
        AnswerReason.TOO_FEW_QUERIES,
        lambda: concluded(replaced(ABSENT, 0, question_id="other")),
    ),
    "hits without a key term in the question, all recorded": (
        None,
        lambda: concluded(PLAINLY, question=PLAIN, evidence=[TRANSACTIONS_EVIDENCE]),
    ),
    "a hit that did not fit, recorded by another search": (
        None,
        lambda: concluded(DROPPED, question=PLAIN, evidence=[TRANSACTIONS_EVIDENCE]),
    ),
    "a hit that did not fit and was never recorded": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(DROPPED, question=PLAIN, evidence=PARTLY),
    ),
    "a hit that did not fit and was recorded without its beginning": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(
            DROPPED,
            question=PLAIN,
            evidence=[
                TRANSACTIONS_EVIDENCE.model_copy(
                    update={"blocks": TRANSACTIONS_EVIDENCE.blocks[1:]}
                )
            ],
        ),
    ),
    "hits that did not fit, of a document that was never recorded": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(DROPPED, question=PLAIN),
    ),
    "a hit that did not fit, where a key term occurs nowhere": (
        None,
        lambda: concluded(replaced(ABSENT, 0, blocks_dropped=7)),
    ),
    "a hit without a place that did not fit": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(
            replaced(
                PLAINLY,
                0,
                blocks_dropped=1,
                hits=(PLAINLY[0].hits[0].model_copy(update={"span": None}),),
            ),
            question=PLAIN,
            evidence=[TRANSACTIONS_EVIDENCE],
        ),
    ),
    "a remote source whose first hits were read": (
        None,
        lambda: concluded(REMOTE, question=PLAIN, evidence=[TRANSACTIONS_EVIDENCE]),
    ),
    "a remote source whose hits were not read": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(REMOTE, question=PLAIN, evidence=[SETTINGS_EVIDENCE]),
    ),
    "a remote source of which only documents are known, and each was read": (
        None,
        lambda: concluded(NAMED, question=PLAIN, reads=[read_of(TRANSACTIONS_EVIDENCE)]),
    ),
    "a remote document that was not read": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(NAMED, question=PLAIN),
    ),
    "a remote document that was read for another question": (
        AnswerReason.HITS_UNREAD,
        lambda: concluded(
            NAMED,
            question=PLAIN,
            reads=[read_of(TRANSACTIONS_EVIDENCE, question_id="another")],
        ),
    ),
    "a remote document that is gone": (
        None,
        lambda: concluded(
            NAMED,
            question=PLAIN,
            reads=[read_of(TRANSACTIONS_EVIDENCE, closed_by="Gone", absent_terms=())],
        ),
    ),
    "a remote document that may not be read": (
        AnswerReason.SOURCE_PARTIAL,
        lambda: concluded(
            NAMED,
            question=PLAIN,
            reads=[read_of(TRANSACTIONS_EVIDENCE, closed_by="RobotsDisallowed", bars_absence=True)],
        ),
    ),
    "a remote document that contains a word of the question": (
        AnswerReason.LOW_CONFIDENCE,
        lambda: concluded(
            NAMED,
            question=PLAIN,
            reads=[read_of(TRANSACTIONS_EVIDENCE, absent_terms=("colour", "sky"))],
        ),
    ),
}


# S2.28
@pytest.mark.parametrize("sentence", UNPROVEN)
def test_when_an_absence_is_proven(sentence: str) -> None:
    reason, conclusion = UNPROVEN[sentence]
    answer = conclusion()
    assert answer.reason is reason
    assert answer.state is (QuestionState.UNRESOLVED if reason else QuestionState.NOT_FOUND)
    assert bool(answer.certificate) is (reason is None)
    assert answer.origins == 0


@pytest.mark.parametrize(
    ("origins", "min_origins", "state", "reason"),
    [
        pytest.param(1, 1, QuestionState.ANSWERED, None, id="one of one"),
        pytest.param(1, 2, QuestionState.UNRESOLVED, AnswerReason.TOO_FEW_ORIGINS, id="one of two"),
        pytest.param(2, 2, QuestionState.ANSWERED, None, id="two of two"),
    ],
)
def test_an_answer_needs_its_origins(
    origins: int, min_origins: int, state: QuestionState, reason: AnswerReason | None
) -> None:
    facts = [setting_fact(0, o) for o in range(origins)]
    answer = concluded(
        searches_for(setting_question(0)),
        question=setting_question(0),
        evidence=[setting_evidence(0, o) for o in range(origins)],
        facts=facts,
        min_origins=min_origins,
    )
    assert (answer.state, answer.reason, answer.origins) == (state, reason, origins)
    assert answer.fact_ids == tuple(f.id for f in facts)
    assert answer.certificate is None


def test_an_answer_names_at_most_as_many_facts_as_its_record_holds() -> None:
    facts = [setting_fact(0, 0).model_copy(update={"id": f"f-{n:012x}"}) for n in range(70)]
    answer = concluded(
        (), question=setting_question(0), evidence=[setting_evidence(0, 0)], facts=facts
    )
    assert len(answer.fact_ids) == 64
    Answer.model_validate(answer.to_json())


def test_a_certificate_says_what_was_asked_of_which_corpus() -> None:
    answer = django_findings().answers[ABSENT_QUESTION.id]
    certificate = answer.certificate
    assert certificate is not None
    assert [q.text for q in certificate.queries] == [s.query for s in ABSENT]
    assert {(q.source_name, q.status, q.hits) for q in certificate.queries} == {
        ("django-docs", SearchStatus.COMPLETE, 0)
    }
    (corpus,) = certificate.corpora
    assert (corpus.corpus_digest, corpus.documents) == (CORPUS, 342)
    (weight,) = certificate.absent_terms
    assert (weight.term, weight.document_frequency) == ("ATOMIC_RETRY_LIMIT", 0)
    assert certificate.facts_rejected == 1


def test_a_term_is_absent_only_if_every_source_has_none_of_it() -> None:
    there = [
        s.model_copy(
            update={
                "term_weights": tuple(
                    w.model_copy(update={"document_frequency": 1}) for w in s.term_weights
                )
            }
        )
        for s in ELSEWHERE
    ]
    sources = ("django-docs", "wiki")
    assert concluded([*ABSENT, *there], sources=sources).reason is AnswerReason.LOW_CONFIDENCE
    for searches, count in (([*ABSENT, *ELSEWHERE], 1),):
        certificate = concluded(searches, sources=sources).certificate
        assert certificate is not None
        assert len(certificate.absent_terms) == count


def test_a_certificate_holds_the_queries_of_eight_sources() -> None:
    sources = [f"source-{n}" for n in range(8)]
    searches = [
        search(ABSENT_QUESTION, f"word{n}", source=source) for source in sources for n in range(12)
    ]
    certificate = concluded(searches, sources=sources).certificate
    assert certificate is not None
    assert len(certificate.queries) == 8 * MAX_QUERIES_PER_SOURCE
    assert Certificate.model_validate(certificate.to_json()) == certificate


def test_a_remote_source_has_no_corpus_in_its_certificate() -> None:
    certificate = concluded(REMOTE, question=PLAIN, evidence=[TRANSACTIONS_EVIDENCE]).certificate
    assert certificate is not None
    assert certificate.corpora == ()


def test_rejected_quotes_are_counted() -> None:
    text = "A savepoint is a marker within a transaction."
    evidence = evidence_of("file:a", "A", [(BlockKind.PARAGRAPH, (), text)])
    rejected = [quote_fact(PLAIN, evidence, text), quote_fact(PLAIN, evidence, "nowhere to see")]
    certificate = concluded(
        PLAINLY, question=PLAIN, evidence=[TRANSACTIONS_EVIDENCE, evidence], facts=rejected
    ).certificate
    assert certificate is not None
    assert certificate.facts_rejected == 2


@given(st.permutations(ABSENT))
def test_the_order_of_searches_changes_no_conclusion(searches: list[SearchRecord]) -> None:
    again = concluded(searches)
    assert again.state is QuestionState.NOT_FOUND
    assert again.certificate is not None
    assert {q.text for q in again.certificate.queries} == {s.query for s in ABSENT}


CERTIFICATE = concluded(ABSENT).certificate
FOUND = ABSENT[0].term_weights[-1].model_copy(update={"document_frequency": 3})

RECHECKS: dict[str, tuple[tuple[str, ...], list[SearchRecord]]] = {
    "nothing differs": ((), list(ABSENT)),
    "the order does not matter": ((), list(reversed(ABSENT))),
    "a query was not run": (
        (f"django-docs: query {ABSENT[2].query!r} was not run again",),
        list(ABSENT[:2]),
    ),
    "a query fails now": (
        (f"django-docs: query {ABSENT[1].query!r} was Complete, is Failed",),
        replaced(ABSENT, 1, status=SearchStatus.FAILED),
    ),
    "a query finds more": (
        (f"django-docs: query {ABSENT[0].query!r} finds 9 passages, not 3",),
        replaced(ABSENT, 0, total=9),
    ),
    "the corpus has another digest": (
        (f"django-docs: the corpus is {OLD_CORPUS}, not {CORPUS}",),
        [s.model_copy(update={"corpus_digest": OLD_CORPUS}) for s in ABSENT],
    ),
    "the corpus has no digest": (
        (f"django-docs: the corpus is unknown, not {CORPUS}",),
        [s.model_copy(update={"corpus_digest": None}) for s in ABSENT],
    ),
    "the corpus has more documents": (
        ("django-docs: 343 documents, not 342",),
        [s.model_copy(update={"documents": 343}) for s in ABSENT],
    ),
    "an absent term occurs": (
        ("django-docs: 'ATOMIC_RETRY_LIMIT' occurs in 3 passages, not in none",),
        replaced(ABSENT, 2, term_weights=(FOUND,)),
    ),
    "nothing was run": (
        (
            "django-docs: was not searched again",
            *(f"django-docs: query {s.query!r} was not run again" for s in ABSENT),
        ),
        [],
    ),
}


@pytest.mark.parametrize("sentence", RECHECKS)
def test_a_certificate_run_again(sentence: str) -> None:
    lines, searches = RECHECKS[sentence]
    assert CERTIFICATE is not None
    assert recheck(CERTIFICATE, searches) == lines
