"""The section of `report.md` that has what the sources say, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from controller.api.records import AnswerReason, BlockKind, Certificate, Lines, QuestionState
from controller.evidence.markdown_disagreements import render_disagreement
from controller.evidence.markdown_text import LINE_BREAK, count, escape, fenced, table
from controller.evidence.report_format import (
    Report,
    ReportQuestion,
    ReportReference,
    ReportStatement,
)

_STATES: Final[dict[QuestionState, str]] = {
    QuestionState.OPEN: "Open",
    QuestionState.ANSWERED: "Answered",
    QuestionState.NOT_FOUND: "Not found",
    QuestionState.UNRESOLVED: "Unresolved",
}

BELOW: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
"""Between a heading and the one below it."""

_IN_A_MODELS_WORDS: Final = "*(in a model's words; the quote is the source's)*"
"""What stands after a statement that is not the characters of its quote."""

_SOFT_UNCHECKED: Final = "*(no soft check was made of these words)*"
"""The second mark, where such words need a soft check that was not made."""


def render_findings(report: Report) -> Iterator[str]:
    """Yield the lines of the section."""
    if not report.questions:
        return
    references = {reference.number: reference for reference in report.references}
    yield "## Findings"
    for number, question in enumerate(report.questions, 1):
        yield ""
        yield f"### {number}. {escape(question.text)}"
        yield ""
        yield _verdict(question)
        for disagreement in question.disagreements or ():
            yield ""
            yield from render_disagreement(disagreement)
        for statement in question.statements:
            yield ""
            yield from _said(statement, references)
        if question.certificate:
            yield ""
            yield from _certificate(question.certificate)


def _verdict(question: ReportQuestion) -> str:
    singular = kind_of([question]).lower().removesuffix("s")
    quotes = count(len(question.statements), singular)
    match question.state:
        case QuestionState.ANSWERED if question.reason is AnswerReason.CONTESTED:
            return f"**Contested.** The sources disagree; {quotes} show what each says."
        case QuestionState.ANSWERED:
            return f"**Answered** by {quotes} from {count(question.origins, 'origin')}."
        case QuestionState.NOT_FOUND:
            return "**Not found.** The sources were searched and say nothing that answers this."
        case _:
            partial = (
                f" What is verified so far ({quotes}) is not an answer yet."
                if question.statements
                else ""
            )
            return f"**{state_of(question)}.** This does not mean no.{partial}"


def _said(statement: ReportStatement, references: Mapping[int, ReportReference]) -> Iterator[str]:
    """Yield a statement with its places: a quote as one, a model's words beside their quotes."""
    cited = [references[number] for number in statement.citations]
    if statement.wording is None:
        yield from _quote(statement.text, cited)
        return
    yield f"{escape(statement.text)}{mark_of(statement)}"
    for reference in cited:
        yield ""
        yield from _quote(reference.quote, [reference])


def _quote(text: str, cited: Sequence[ReportReference]) -> Iterator[str]:
    if all(reference.kind is BlockKind.CODE for reference in cited):
        yield from (f"> {line}".rstrip() for line in fenced(text))
    else:
        lines = [escape(line) for line in LINE_BREAK.split(text)]
        lines = [line for line in lines if line]
        yield from (f"> {line}\\" for line in lines[:-1])
        yield from (f"> {line}" for line in lines[-1:])
    yield ">"
    for reference in cited:
        place = BELOW.join(map(escape, (reference.title, *reference.heading_path[-1:])))
        yield f"> — [{reference.number}] {place}{place_of(reference.lines, reference.page)}"


def _certificate(certificate: Certificate) -> Iterator[str]:
    queries = {query.text for query in certificate.queries}
    yield (
        f"The proof: {count(len(queries), 'different query', 'different queries')}, each of them "
        f"complete; {count(certificate.facts_rejected, 'proposed quote')} rejected by the "
        "verifier; none verified."
    )
    if certificate.absent_terms:
        terms = ", ".join(f"“{escape(term.term)}”" for term in certificate.absent_terms)
        yield f"No document that was searched contains {terms}."
    yield ""
    yield from table(
        ("Source", "Query", "Outcome", "Passages"),
        (
            (query.source_name, escape(query.text), query.status, str(query.hits))
            for query in certificate.queries
        ),
    )
    for corpus in certificate.corpora:
        yield ""
        yield (
            f"Searched: {corpus.source_name}, {count(corpus.documents, 'document')}, "
            f"`{corpus.corpus_digest}`."
        )


def mark_of(statement: ReportStatement) -> str:
    """Return what says whose words a statement has, and whether they are unchecked."""
    worded = f" {_IN_A_MODELS_WORDS}" if statement.wording else ""
    return worded + second_mark_of(statement)


def second_mark_of(statement: ReportStatement) -> str:
    """Return what says that words need a soft check that was not made; nothing where not."""
    return f" {_SOFT_UNCHECKED}" if statement.soft_unchecked else ""


def kind_of(questions: Iterable[ReportQuestion]) -> str:
    """Return what the statements of some questions are called."""
    worded = any(statement.wording for q in questions for statement in q.statements)
    return "Statements" if worded else "Quotes"


def markers(statement: ReportStatement) -> str:
    """Return the numbers of a statement's references, as they stand behind it."""
    return " ".join(f"[{number}]" for number in statement.citations)


def state_of(question: ReportQuestion) -> str:
    """Return where a question stands, with the reason."""
    state = _STATES[question.state]
    return f"{state} ({question.reason})" if question.reason else state


def place_of(lines: Lines | None, page: int | None) -> str:
    """Return page or lines of a quote as they stand behind its place; nothing where unknown."""
    if page is not None:
        return f", page {page}"
    if lines is None:
        return ""
    if lines.first == lines.last:
        return f", line {lines.first}"
    return f", lines {lines.first}\N{EN DASH}{lines.last}"
