"""`report.md`: the report for people, made from `report.json` and from nothing else.

Text from sources and users is shown, never interpreted (`markdown_text`). The same report gives
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller.api.base import format_time
from controller.api.model_call import usd
from controller.api.records import AnswerReason, QuestionState
from controller.evidence.markdown_changes import render_changes
from controller.evidence.markdown_disagreements import said_values
from controller.evidence.markdown_findings import (
    BELOW,
    kind_of,
    mark_of,
    markers,
    place_of,
    render_findings,
    second_mark_of,
    state_of,
)
from controller.evidence.markdown_text import LINE_BREAK, count, escape, table
from controller.evidence.report_disagreements import Ruling
from controller.evidence.report_format import (
    MONEY_BUDGET,
    BudgetUse,
    Report,
    ReportMethod,
    ReportQuestion,
    ReportStatement,
)

_SHORT_ANSWER: Final = 120
"""How long a quote may be to be shown in the summary, in characters."""

_SHORT_DIGEST: Final = len("sha256:") + 12


def render(report: Report) -> str:
    """Return `report.md`: what was asked, what the sources say, and how one can tell."""
    sections = [
        _opening(report),
        _summary(report),
        _changes(report),
        render_findings(report),
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
            f"{count(report.omitted.statements, 'quote')} of the lowest rank and "
            f"{count(report.omitted.certificates, 'certificate')} were left out. "
            "The journal has all of them."
        )


def _summary(report: Report) -> Iterator[str]:
    yield "## Summary"
    yield ""
    if not report.questions:
        yield "There is no question yet."
        return
    yield from table(
        ("Question", "State", "Answer", kind_of(report.questions), "Origins"),
        (
            (
                f"{number}. {escape(question.text)}",
                state_of(question),
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
            yield f"{escape(statement.text)}{second_mark_of(statement)} {markers(statement)}"


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
    if question.reason is AnswerReason.CONTESTED:
        contested = [d for d in question.disagreements or () if d.ruling is Ruling.CONTESTED]
        return "; ".join(map(said_values, contested)) or "quoted below"
    best = question.statements[0]
    if len(best.text) > _SHORT_ANSWER or LINE_BREAK.search(best.text):
        return "quoted below"
    return f"{escape(best.text)}{mark_of(best)} {markers(best)}"


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
    yield from table(
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
        path = BELOW.join(map(escape, reference.heading_path))
        parts = (
            f"*{escape(reference.title)}*" if reference.title.strip() else "",
            f"{escape(reference.locator)}{place_of(reference.lines, reference.page)}",
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
        f"{count(report.journal.steps, 'step')}, {on_questions} of them on "
        f"{count(len(report.questions), 'question')}; "
        f"{count(method.searches, 'search', 'searches')}; "
        f"evidence from {count(method.documents, 'document')}; "
        f"{count(method.facts_verified, 'fact')} verified and {method.facts_rejected} rejected"
        f"{_vetoed(method)}. "
        "Every quote stands, character for character, in the recorded text of its document. "
        "That the source is right, or that the quote is read as it was meant, is not checked."
    )
    unchecked = sum(statement.soft_unchecked is True for statement in _said_in(report))
    if unchecked:
        yield ""
        yield (
            f"{count(unchecked, 'statement')} in a model's words may say more than the quotes, in "
            "a way that code cannot see: a soft check was needed, and not made."
        )
    yield ""
    yield (
        f"Score: {_score(report)}. It is the product of coverage {quality.coverage} %, citation "
        f"recall {quality.citation_recall} % and citation precision {quality.citation_precision} %."
    )
    if quality.predicates:
        yield ""
        yield from table(
            ("Goal", "Now", "Target", "Met"),
            (
                (p.name, str(p.current), str(p.target), "yes" if p.met == "True" else "no")
                for p in quality.predicates
            ),
        )
    if method.corpora:
        yield ""
        yield from table(
            ("Corpus", "Documents", "Digest"),
            ((c.source_name, str(c.documents), f"`{c.corpus_digest}`") for c in method.corpora),
        )


def _said_in(report: Report) -> Iterator[ReportStatement]:
    for question in report.questions:
        yield from question.statements
    yield from report.summary or ()


def _vetoed(method: ReportMethod) -> str:
    return f", {method.facts_vetoed} taken away by a soft check" if method.facts_vetoed else ""


def _budgets(report: Report) -> Iterator[str]:
    if not report.budgets:
        return
    yield "## Budgets"
    yield ""
    yield from table(
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
    yield from table(("Reason", "Count"), ((r.reason, str(r.count)) for r in report.rejected))


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
        f"Made from {count(report.journal.steps, 'step')} of the journal, "
        f"`{report.journal.digest}`. Digest of what is said: `{report.digest}`. "
        "`fixpoint verify` checks every quote again."
    )


def _score(report: Report) -> str:
    threshold = next(
        (p.target for p in report.quality.predicates if p.name == "QualityThreshold"), None
    )
    return f"{report.quality.score} %" + (f" ({threshold} % asked for)" if threshold else "")
