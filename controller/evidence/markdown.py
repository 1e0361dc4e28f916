"""`report.md`: the report for people, made from `report.json` and from nothing else.

Text from sources and users is shown, never interpreted: no markup, link, image or HTML of theirs
takes effect, whatever reads the file. The same report gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from controller.api.base import format_time
from controller.api.model_call import usd
from controller.api.records import AnswerReason, BlockKind, Certificate, Lines, QuestionState
from controller.evidence.markdown_changes import render_changes
from controller.evidence.report_format import (
    MONEY_BUDGET,
    BudgetUse,
    Report,
    ReportMethod,
    ReportQuestion,
    ReportReference,
    ReportStatement,
)

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, which a terminal would obey."""

_ALWAYS: Final = re.compile(r"[\\`*\[\]<>|~$]|&(?=#?\w+;)")

_UNDERSCORES: Final = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""Runs of underscores that are not inside a word: only those can begin or end emphasis."""

_HASH: Final = re.compile(r"(?:^|(?<=\s))#")
"""What begins a heading, or closes one."""

_LINE_START: Final = re.compile(r"^(?:[-+=:](?=[-=:\s]|$))")
"""What begins a list, a rule, a table or the underline of a heading."""

_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")

_ADDRESS: Final = re.compile(r"(?i)(?:\b(?:mailto|xmpp)|(?<=\w))(:)(?=//|[^\s@]{1,64}@)|\bwww(\.)")
"""Where a viewer that looks for addresses would make a link of one."""

_STATES: Final[dict[QuestionState, str]] = {
    QuestionState.OPEN: "Open",
    QuestionState.ANSWERED: "Answered",
    QuestionState.NOT_FOUND: "Not found",
    QuestionState.UNRESOLVED: "Unresolved",
}

_BELOW: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
"""Between a heading and the one below it."""

_SHORT_ANSWER: Final = 120
"""How long a quote may be to be shown in the summary, in characters."""

_IN_A_MODELS_WORDS: Final = "*(in a model's words; the quote is the source's)*"
"""What stands after a statement that is not the characters of its quote."""

_SHORT_DIGEST: Final = len("sha256:") + 12


def escape(text: str) -> str:
    """Return a text as one line of Markdown that shows exactly its characters.

    Line breaks become spaces and control characters the replacement character; white space at
    the ends is dropped, as Markdown would drop it.
    """
    line = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _LINE_BREAK.sub(" ", text)).strip()
    line = _ALWAYS.sub(r"\\\g<0>", line)
    line = _UNDERSCORES.sub(lambda m: r"\_" * len(m[0]), line)
    line = _ADDRESS.sub(lambda m: f"{m[0][:-1]}\\{m[0][-1]}", line)
    line = _HASH.sub(r"\#", line)
    line = _LINE_START.sub(r"\\\g<0>", line)
    return _NUMBERED.sub(r"\1\\\2", line)


def render(report: Report) -> str:
    """Return `report.md`: what was asked, what the sources say, and how one can tell."""
    references = {reference.number: reference for reference in report.references}
    sections = [
        _opening(report),
        _summary(report),
        _changes(report),
        _findings(report, references),
        _missing(report),
        _set_aside(report),
        _references(report),
        _method(report),
        _budgets(report),
        _rejected(report),
        _closing(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines) + "\n"


def _opening(report: Report) -> Iterator[str]:
    task, ending = report.task, report.ending
    yield f"# {escape(task.topic)}"
    yield ""
    yield (
        f"Generated at {format_time(report.generated_at)} for the task "
        f"`{task.namespace}/{task.name}`, generation {task.generation}."
    )
    yield ""
    yield f"**{ending.reason}**: {ending.meaning} Score: {_score(report)}."
    if ending.message:
        yield ""
        yield escape(ending.message)
    if report.withheld:
        yield ""
        yield (
            "**What was found is withheld**: the draft was not approved. Its digest is "
            f"`{report.withheld.draft_digest}`; `fixpoint report --draft` shows it."
        )
    if report.omitted:
        yield ""
        yield (
            "**This report was cut to fit its place**: "
            f"{_count(report.omitted.statements, 'quote')} of the lowest rank and "
            f"{_count(report.omitted.certificates, 'certificate')} were left out. "
            "The journal has all of them."
        )


def _summary(report: Report) -> Iterator[str]:
    yield "## Summary"
    yield ""
    if not report.questions:
        yield "There is no question yet."
        return
    yield from _table(
        ("Question", "State", "Answer", _kind_of(report.questions), "Origins"),
        (
            (
                f"{number}. {escape(question.text)}",
                _state(question),
                _short_answer(question),
                str(len(question.statements)),
                str(question.origins),
            )
            for number, question in enumerate(report.questions, 1)
        ),
    )
    if report.summary:
        yield ""
        yield "In a model's words, as far as the quotes below bear it out:"
        yield ""
        for statement in report.summary:
            yield f"{escape(statement.text)} {_markers(statement)}"


def _changes(report: Report) -> Iterator[str]:
    if report.changes is not None:
        texts = {question.id: question.text for question in report.questions}
        yield from render_changes(report.changes, texts, escape)


def _short_answer(question: ReportQuestion) -> str:
    """Return the best quote where it is short enough to be shown whole; it is never cut."""
    if question.state is QuestionState.NOT_FOUND:
        return "no source says it"
    if question.state is not QuestionState.ANSWERED or not question.statements:
        return "not known"
    best = question.statements[0]
    whole = len(best.text) <= _SHORT_ANSWER and not _LINE_BREAK.search(best.text)
    if question.reason is AnswerReason.CONTESTED or not whole:
        return "quoted below"
    mark = f" {_IN_A_MODELS_WORDS}" if best.wording else ""
    return f"{escape(best.text)}{mark} {_markers(best)}"


def _kind_of(questions: Iterable[ReportQuestion]) -> str:
    """Return what the statements of some questions are called."""
    worded = any(statement.wording for q in questions for statement in q.statements)
    return "Statements" if worded else "Quotes"


def _markers(statement: ReportStatement) -> str:
    return " ".join(f"[{number}]" for number in statement.citations)


def _findings(report: Report, references: dict[int, ReportReference]) -> Iterator[str]:
    if not report.questions:
        return
    yield "## Findings"
    for number, question in enumerate(report.questions, 1):
        yield ""
        yield f"### {number}. {escape(question.text)}"
        yield ""
        yield _verdict(question)
        for statement in question.statements:
            yield ""
            yield from _said(statement, references)
        if question.certificate:
            yield ""
            yield from _certificate(question.certificate)


def _verdict(question: ReportQuestion) -> str:
    singular = _kind_of([question]).lower().removesuffix("s")
    quotes = _count(len(question.statements), singular)
    match question.state:
        case QuestionState.ANSWERED if question.reason is AnswerReason.CONTESTED:
            return f"**Contested.** The sources disagree; {quotes} show what each says."
        case QuestionState.ANSWERED:
            return f"**Answered** by {quotes} from {_count(question.origins, 'origin')}."
        case QuestionState.NOT_FOUND:
            return "**Not found.** The sources were searched and say nothing that answers this."
        case _:
            partial = (
                f" What is verified so far ({quotes}) is not an answer yet."
                if question.statements
                else ""
            )
            return f"**{_state(question)}.** This does not mean no.{partial}"


def _said(statement: ReportStatement, references: dict[int, ReportReference]) -> Iterator[str]:
    """Yield a statement with its places: a quote as one, a model's words beside their quotes."""
    cited = [references[number] for number in statement.citations]
    if statement.wording is None:
        yield from _quote(statement.text, cited)
        return
    yield f"{escape(statement.text)} {_IN_A_MODELS_WORDS}"
    for reference in cited:
        yield ""
        yield from _quote(reference.quote, [reference])


def _quote(text: str, cited: Sequence[ReportReference]) -> Iterator[str]:
    if all(reference.kind is BlockKind.CODE for reference in cited):
        yield from (f"> {line}".rstrip() for line in _fenced(text))
    else:
        lines = [escape(line) for line in _LINE_BREAK.split(text)]
        lines = [line for line in lines if line]
        yield from (f"> {line}\\" for line in lines[:-1])
        yield from (f"> {line}" for line in lines[-1:])
    yield ">"
    for reference in cited:
        place = _BELOW.join(map(escape, (reference.title, *reference.heading_path[-1:])))
        yield f"> — [{reference.number}] {place}{_place(reference.lines, reference.page)}"


def _fenced(text: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    for line in _LINE_BREAK.split(text):
        yield _CONTROL.sub("\N{REPLACEMENT CHARACTER}", line)
    yield fence


def _certificate(certificate: Certificate) -> Iterator[str]:
    queries = {query.text for query in certificate.queries}
    yield (
        f"The proof: {_count(len(queries), 'different query', 'different queries')}, each of them "
        f"complete; {_count(certificate.facts_rejected, 'proposed quote')} rejected by the "
        "verifier; none verified."
    )
    if certificate.absent_terms:
        terms = ", ".join(f"“{escape(term.term)}”" for term in certificate.absent_terms)
        yield f"No document that was searched contains {terms}."
    yield ""
    yield from _table(
        ("Source", "Query", "Outcome", "Passages"),
        (
            (query.source_name, escape(query.text), query.status, str(query.hits))
            for query in certificate.queries
        ),
    )
    for corpus in certificate.corpora:
        yield ""
        yield (
            f"Searched: {corpus.source_name}, {_count(corpus.documents, 'document')}, "
            f"`{corpus.corpus_digest}`."
        )


def _missing(report: Report) -> Iterator[str]:
    if not report.missing:
        return
    texts = {question.id: question.text for question in report.questions}
    yield "## What is missing"
    yield ""
    for missing in report.missing:
        yield f"- **{escape(texts.get(missing.question_id, missing.question_id))}** {missing.why}"
        yield f"  What to do: {missing.what_to_do}"


def _set_aside(report: Report) -> Iterator[str]:
    if (model := report.model_set_aside) is not None:
        yield "## Model set aside"
        yield ""
        yield (
            f"{model.model_name} failed too often in a row: {model.error_class}, "
            f"{escape(model.message)}. The extractive policy did its part from then on."
        )
        if report.set_aside:
            yield ""
    if not report.set_aside:
        return
    yield "## Sources set aside"
    yield ""
    yield "These failed too often in a row. After that they were not asked again:"
    yield ""
    yield from _table(
        ("Source", "Failure", "In a row", "The last one"),
        (
            (s.source_name, s.error_class, str(s.failures), escape(s.message))
            for s in report.set_aside
        ),
    )


def _references(report: Report) -> Iterator[str]:
    if not report.references:
        return
    yield "## References"
    yield ""
    for reference in report.references:
        path = _BELOW.join(map(escape, reference.heading_path))
        parts = (
            f"*{escape(reference.title)}*" if reference.title.strip() else "",
            f"{escape(reference.locator)}{_place(reference.lines, reference.page)}",
            path,
            f"source {reference.source_name}",
            f"text `{reference.text_digest[:_SHORT_DIGEST]}`",
        )
        yield f"- [{reference.number}] " + "; ".join(filter(None, parts))


def _method(report: Report) -> Iterator[str]:
    method, quality = report.method, report.quality
    on_questions = sum(question.steps for question in report.questions)
    yield "## Method and score"
    yield ""
    yield (
        f"{_count(report.journal.steps, 'step')}, {on_questions} of them on "
        f"{_count(len(report.questions), 'question')}; "
        f"{_count(method.searches, 'search', 'searches')}; "
        f"evidence from {_count(method.documents, 'document')}; "
        f"{_count(method.facts_verified, 'fact')} verified and {method.facts_rejected} rejected"
        f"{_vetoed(method)}. "
        "Every quote stands, character for character, in the recorded text of its document. "
        "That the source is right, or that the quote is read as it was meant, is not checked."
    )
    yield ""
    yield (
        f"Score: {_score(report)}. It is the product of coverage {quality.coverage} %, citation "
        f"recall {quality.citation_recall} % and citation precision {quality.citation_precision} %."
    )
    if quality.predicates:
        yield ""
        yield from _table(
            ("Goal", "Now", "Target", "Met"),
            (
                (p.name, str(p.current), str(p.target), "yes" if p.met == "True" else "no")
                for p in quality.predicates
            ),
        )
    if method.corpora:
        yield ""
        yield from _table(
            ("Corpus", "Documents", "Digest"),
            ((c.source_name, str(c.documents), f"`{c.corpus_digest}`") for c in method.corpora),
        )


def _vetoed(method: ReportMethod) -> str:
    return f", {method.facts_vetoed} taken away by a soft check" if method.facts_vetoed else ""


def _budgets(report: Report) -> Iterator[str]:
    if not report.budgets:
        return
    yield "## Budgets"
    yield ""
    yield from _table(
        ("Budget", "Used", "Limit"),
        ((escape(b.name), _amount(b, b.used), _amount(b, b.limit)) for b in report.budgets),
    )


def _amount(budget: BudgetUse, amount: int | None) -> str:
    if amount is None:
        return "none"
    return usd(amount) if budget.name == MONEY_BUDGET else str(amount)


def _rejected(report: Report) -> Iterator[str]:
    if not report.rejected:
        return
    yield "## Rejected quotes"
    yield ""
    yield from _table(("Reason", "Count"), ((r.reason, str(r.count)) for r in report.rejected))


def _closing(report: Report) -> Iterator[str]:
    ending = report.ending
    yield "## Ending"
    yield ""
    yield f"{ending.reason}: {ending.meaning}"
    yield ""
    yield f"What to do: {ending.remedy}"
    if ending.hand_off:
        yield ""
        message = f": {escape(ending.hand_off.message)}" if ending.hand_off.message else ""
        yield f"Handed off to {escape(ending.hand_off.queue)}{message}"
    yield ""
    yield "---"
    yield ""
    yield (
        f"Made from {_count(report.journal.steps, 'step')} of the journal, "
        f"`{report.journal.digest}`. Digest of what is said: `{report.digest}`. "
        "`fixpoint verify` checks every quote again."
    )


def _score(report: Report) -> str:
    threshold = next(
        (p.target for p in report.quality.predicates if p.name == "QualityThreshold"), None
    )
    return f"{report.quality.score} %" + (f" ({threshold} % asked for)" if threshold else "")


def _state(question: ReportQuestion) -> str:
    state = _STATES[question.state]
    return f"{state} ({question.reason})" if question.reason else state


def _place(lines: Lines | None, page: int | None) -> str:
    if page is not None:
        return f", page {page}"
    if lines is None:
        return ""
    if lines.first == lines.last:
        return f", line {lines.first}"
    return f", lines {lines.first}\N{EN DASH}{lines.last}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
