"""A small world to score, report and audit: documents, questions, searches, verified facts.

Facts are made by the verifier from quotes of the documents, never written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from controller.api.base import digest_of_text
from controller.api.reasons import TerminalReason
from controller.api.records import (
    Answer,
    Block,
    BlockKind,
    Document,
    Evidence,
    Extractor,
    Fact,
    Hit,
    Lines,
    Query,
    Question,
    QuestionState,
    SearchRecord,
    SearchStatus,
    Span,
    TermWeight,
)
from controller.api.task import GoalPredicate, HandOff, PredicateMet, PredicateName, Quality
from controller.evidence.certificates import conclude
from controller.evidence.findings import Findings
from controller.evidence.report import RunSummary
from controller.evidence.report_format import BudgetUse
from controller.evidence.score import score
from controller.evidence.support import question_weights
from controller.evidence.terms import term_weight, weighed_terms
from controller.evidence.tokens import Words
from controller.evidence.verification import Candidate, verify_fact

CORPUS = "sha256:" + "c0" * 32
PASSAGES = 1000

SETTINGS = "file:ref/settings.txt"
TRANSACTIONS = "file:topics/db/transactions.txt"


def evidence_of(
    locator: str,
    title: str,
    blocks: Sequence[tuple[BlockKind, tuple[str, ...], str]],
    *,
    source: str = "django-docs",
    origin: str = "django",
) -> Evidence:
    """Return a document that consists of these blocks, all of them recorded."""
    text = "\n".join(block for _, _, block in blocks)
    placed, at, line = [], 0, 1
    for kind, path, block in blocks:
        last = line + block.count("\n")
        placed.append(
            Block(
                start=at,
                end=at + len(block),
                kind=kind,
                heading_path=path,
                lines=Lines(first=line, last=last),
                text=block,
            )
        )
        at, line = at + len(block) + 1, last + 2
    digest = digest_of_text(text)
    return Evidence(
        document=Document(
            id="d-" + digest_of_text(f"{source} {locator} {digest}")[7:19],
            source_name=source,
            locator=locator,
            title=title,
            content_type="text/plain",
            charset="utf-8",
            bytes_digest=digest,
            text_digest=digest,
            bytes=len(text.encode()),
            characters=len(text),
            extractor=Extractor(name="sample", version="1"),
            origin_key=origin,
            priority=50,
            corpus_digest=CORPUS,
        ),
        blocks=tuple(placed),
    )


def quote_fact(
    question: Question,
    evidence: Evidence,
    wording: str,
    searches: Sequence[SearchRecord] = (),
) -> Fact:
    """Return what the verifier makes of a quote from a document."""
    weights = question_weights(Findings(searches=tuple(searches)), question.id)
    return verify_fact(question, Candidate(evidence.document.id, wording), [evidence], weights)


def search(
    question: Question,
    query: str,
    evidence: Sequence[Evidence] = (),
    *,
    source: str = "django-docs",
    status: SearchStatus = SearchStatus.COMPLETE,
    corpus: str | None = CORPUS,
    blocks_dropped: int = 0,
) -> SearchRecord:
    """Return a search that found each block of some evidence, with the weights of the terms."""
    hits = [
        Hit(
            locator=e.document.locator,
            title=e.document.title,
            rank=rank,
            relevance=1000 - rank,
            document_id=e.document.id,
            span=Span(start=block.start, end=block.end),
        )
        for e in evidence
        for rank, block in enumerate(e.blocks)
    ]
    found = [Words([b.text, *b.heading_path]) for e in evidence for b in e.blocks]
    weights = []
    for term in weighed_terms(question.text):
        frequency = sum(words.has(term) for words in found)
        weight = term_weight(frequency, PASSAGES)
        weights.append(TermWeight(term=term, document_frequency=frequency, weight=weight))
    return SearchRecord(
        source_name=source,
        question_id=question.id,
        query=query,
        status=status,
        hits=tuple(hits),
        total=len(hits),
        corpus_digest=corpus,
        documents=342,
        term_weights=tuple(weights),
        blocks_dropped=blocks_dropped,
    )


def searches_for(
    question: Question, evidence: Sequence[Evidence] = (), *, source: str = "django-docs"
) -> tuple[SearchRecord, ...]:
    """Return three different complete searches of a source."""
    terms = weighed_terms(question.text)
    queries = (" ".join(terms), terms[-1], f"{terms[-1]} setting reference")
    return tuple(search(question, query, evidence, source=source) for query in queries)


def concluded(
    findings: Findings, *, min_origins: int = 1, source_names: Sequence[str] = ("django-docs",)
) -> Findings:
    """Return the findings with every question concluded from them."""
    answers: dict[str, Answer] = {
        question.id: conclude(
            findings, question, min_origins=min_origins, source_names=source_names
        )
        for question in findings.questions
    }
    return replace(findings, answers=answers)


ATOMIC = ("Settings", "Databases", "ATOMIC_REQUESTS")

SETTINGS_EVIDENCE = evidence_of(
    SETTINGS,
    "Settings",
    [
        (BlockKind.HEADING, ("Settings", "Databases"), "ATOMIC_REQUESTS"),
        (BlockKind.FIELD, ATOMIC, "Default: False"),
        (
            BlockKind.PARAGRAPH,
            ATOMIC,
            (
                "Set this to True to wrap each view in a transaction. The default value of False "
                "keeps autocommit, the database's own behaviour."
            ),
        ),
    ],
)
SAVEPOINT_QUOTE = (
    "A savepoint is a marker within a transaction that enables you to roll back part of a "
    "transaction, rather than the full transaction."
)

TRANSACTIONS_EVIDENCE = evidence_of(
    TRANSACTIONS,
    "Database transactions",
    [
        (
            BlockKind.PARAGRAPH,
            ("Database transactions", "Savepoints"),
            (
                SAVEPOINT_QUOTE + " Savepoints are available with the "
                "SQLite, PostgreSQL, Oracle, and MySQL (when using the InnoDB storage engine) "
                "backends."
            ),
        ),
        (
            BlockKind.CODE,
            ("Database transactions", "Savepoints"),
            (
                "from django.db import transaction\n\n\n"
                "# open a transaction\n@transaction.atomic\ndef viewfunc(request):\n"
                "    a.save()\n    # transaction now contains a.save()\n\n"
                "    sid = transaction.savepoint()"
            ),
        ),
    ],
)

DEFAULT_QUESTION = Question(
    id="atomic-default", text="What is the default value of ATOMIC_REQUESTS?"
)
SAVEPOINT_QUESTION = Question(id="savepoint", text="What is a savepoint in a transaction?")
ABSENT_QUESTION = Question(id="retry-limit", text="What is the default of ATOMIC_RETRY_LIMIT?")


@cache
def django_findings() -> Findings:
    """Return an answered question with two quotes, one with a quote and code, one not found."""
    evidence = (SETTINGS_EVIDENCE, TRANSACTIONS_EVIDENCE)
    questions = (DEFAULT_QUESTION, SAVEPOINT_QUESTION, ABSENT_QUESTION)
    searches = (
        *searches_for(DEFAULT_QUESTION, evidence),
        *searches_for(SAVEPOINT_QUESTION, evidence),
        *searches_for(ABSENT_QUESTION),
    )
    facts = (
        quote_fact(DEFAULT_QUESTION, SETTINGS_EVIDENCE, "Default: False", searches),
        quote_fact(
            DEFAULT_QUESTION,
            SETTINGS_EVIDENCE,
            "The default value of False keeps autocommit, the database's own behaviour.",
            searches,
        ),
        quote_fact(SAVEPOINT_QUESTION, TRANSACTIONS_EVIDENCE, SAVEPOINT_QUOTE, searches),
        quote_fact(
            SAVEPOINT_QUESTION,
            TRANSACTIONS_EVIDENCE,
            TRANSACTIONS_EVIDENCE.blocks[1].text,
            searches,
        ),
        quote_fact(ABSENT_QUESTION, SETTINGS_EVIDENCE, "Default: False", searches),
    )
    return concluded(
        Findings(
            questions=questions,
            queries=tuple(Query(question_id=s.question_id, text=s.query) for s in searches),
            searches=searches,
            evidence=evidence,
            facts=facts,
        )
    )


def setting_question(number: int) -> Question:
    """Return the question for a setting that the documents of `setting_evidence` have."""
    return Question(id=f"q{number}", text=f"What is the default of SETTING_{number}?")


def setting_quote(number: int, origin: int) -> str:
    """Return what an origin says of a setting."""
    return f"In release {origin + 1} the default of SETTING_{number} is {number + 10} requests."


@cache
def setting_evidence(number: int, origin: int) -> Evidence:
    """Return the document of one origin on one setting."""
    quote = (BlockKind.PARAGRAPH, ("Settings", f"SETTING_{number}"), setting_quote(number, origin))
    return evidence_of(f"file:{origin}/{number}.txt", "Notes", [quote], origin=f"origin-{origin}")


@cache
def setting_fact(number: int, origin: int) -> Fact:
    """Return the verified fact of one origin on one setting."""
    evidence = setting_evidence(number, origin)
    return quote_fact(setting_question(number), evidence, setting_quote(number, origin))


def quality_of(
    findings: Findings, *, target_origins: int = 1, threshold: int = 70, min_facts: int = 1
) -> Quality:
    """Return the score of some findings with the goal predicates as the loop has them."""
    found = score(findings, target_origins)
    settled = {QuestionState.ANSWERED, QuestionState.NOT_FOUND}
    goals = (
        (PredicateName.QUALITY, found.quality, threshold),
        (PredicateName.FACTS, len(findings.verified()), min_facts),
        (
            PredicateName.QUESTIONS,
            sum(findings.state(q.id) in settled for q in findings.questions),
            len(findings.questions),
        ),
    )
    return Quality(
        score=found.quality,
        coverage=found.coverage,
        citation_recall=found.citation_recall,
        citation_precision=found.citation_precision,
        predicates=tuple(
            GoalPredicate(
                name=name,
                met=PredicateMet.TRUE if current >= target else PredicateMet.FALSE,
                current=current,
                target=target,
            )
            for name, current, target in goals
        ),
    )


def run_summary(
    findings: Findings, ending: TerminalReason = TerminalReason.GOAL_REACHED
) -> RunSummary:
    """Return a run that ended with these findings."""
    return RunSummary(
        namespace="research",
        name="django-orm",
        uid="0b8f2c1e-7a55-4f0e-9c3d-5d5b6d0f6a11",
        generation=1,
        topic="Transactions in the Django ORM",
        ending=ending,
        quality=quality_of(findings),
        journal_steps=21,
        journal_digest="sha256:" + "5a" * 32,
        recorded_at=datetime(2026, 3, 1, 9, 30, 12, 345_000, tzinfo=UTC),
        budgets=(
            BudgetUse(name="maxSteps", used=18, limit=18),
            BudgetUse(name="maxSourceCalls", used=0, limit=60),
            BudgetUse(name="activeDeadlineSeconds", used=7, limit=900),
        ),
        question_steps={question.id: 2 for question in findings.questions},
        hand_off=HandOff(queue="research-desk", message="Please look at what is missing."),
    )


@cache
def huge_findings() -> Findings:
    """Return findings whose whole report does not fit its place: 250 long quotes in Chinese."""
    question = setting_question(0)
    sentences = [f"The default of SETTING_0 in case {n} is {'好' * 550}." for n in range(250)]
    evidence = evidence_of(
        "file:huge.txt", "Huge", [(BlockKind.PARAGRAPH, ("Settings",), s) for s in sentences]
    )
    searches = (*searches_for(question), *searches_for(ABSENT_QUESTION))
    facts = tuple(quote_fact(question, evidence, s, searches) for s in sentences)
    return concluded(
        Findings(
            questions=(question, ABSENT_QUESTION),
            searches=searches,
            evidence=(evidence,),
            facts=facts,
        )
    )
