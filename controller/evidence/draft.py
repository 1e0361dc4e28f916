"""The template draft: verified facts as statements, in their own words.

It needs no model and invents nothing. It is also what the score is taken of before there is a
draft, so that the goal can be judged at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.api.records import Fact, FactKind, Question, QuestionState, Span, Statement
from controller.evidence.disagreements import is_contested, outvoted
from controller.evidence.findings import Findings

MAX_STATEMENTS: Final = 256
"""How many statements one `Draft` step can hold."""

MAX_FACTS_PER_STATEMENT: Final = 16
"""How many facts one statement can rest on."""


def template_draft(findings: Findings, language: str = "en") -> tuple[Statement, ...]:
    """Return one statement a verified claim, in the order of questions, then of the journal.

    Facts that another value was preferred to stand after the others of their question.

    The statement's text is the claim; for a quote that is the quote itself. Facts of one question
    that make the same claim share a statement, and a second quote of the same characters is left
    out, so that nothing is said twice in answer to one question. Questions that are open or
    unresolved have statements too: a report of a run that ended early shows what is verified so
    far, marked as such; the score's coverage counts only answered questions. Where there are more
    than `MAX_STATEMENTS`, every question gives up its lowest-ranked ones alike.
    """
    drafts = [
        list(_statements(question.id, _preferred(findings, question, language)))
        for question in findings.questions
        if findings.state(question.id) is not QuestionState.NOT_FOUND
    ]
    each = _allowance([len(draft) for draft in drafts])
    return tuple(statement for draft in drafts for statement in draft[:each])


def statements_of(findings: Findings, language: str = "en") -> tuple[Statement, ...]:
    """Return the drafted statements, those of the template before there is a draft."""
    if findings.statements is None:
        return template_draft(findings, language)
    return findings.statements


def facts_to_word(findings: Findings, language: str = "en") -> tuple[Fact, ...]:
    """Return the verified facts that a draft may say in words of its own, question by question.

    Where the sources contest an answer, what each says is put side by side, in its own words: a
    sentence over both could side with one of them.
    """
    return tuple(
        fact
        for question in findings.questions
        if findings.state(question.id) is not QuestionState.NOT_FOUND
        and not is_contested(findings, question, language)
        for fact in findings.verified(question.id)
    )


def _preferred(findings: Findings, question: Question, language: str) -> list[Fact]:
    """Return a question's verified facts; those that another value was preferred to, last."""
    last = outvoted(findings, question, language)
    return sorted(findings.verified(question.id), key=lambda fact: fact.id in last)


def _statements(question_id: str, facts: Iterable[Fact]) -> Iterator[Statement]:
    claims: dict[str, list[Fact]] = {}
    seen: set[tuple[str, tuple[Span, ...], str]] = set()
    for fact in facts:
        wording = fact.claim if fact.kind is FactKind.PARAPHRASE else ""
        places = {(c.document_id, c.spans, wording) for c in fact.citations}
        if not places <= seen:
            seen |= places
            claims.setdefault(fact.claim, []).append(fact)
    for claim, group in claims.items():
        ids = tuple(fact.id for fact in group[:MAX_FACTS_PER_STATEMENT])
        yield Statement(question_id=question_id, text=claim, fact_ids=ids)


def _allowance(lengths: list[int]) -> int:
    """Return the most statements that each question may have so that all fit."""
    each = max(lengths, default=0)
    while sum(min(length, each) for length in lengths) > MAX_STATEMENTS:
        each -= 1
    return each
