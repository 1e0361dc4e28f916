"""The section of `report.md` that says what changed since the last report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.api.records import AnswerReason, QuestionState
from controller.evidence.report_changes import ChangedFact, ReportChanges


def render_changes(
    changes: ReportChanges, questions: Mapping[str, str], escape: Callable[[str], str]
) -> Iterator[str]:
    """Yield the lines of the section.

    Args:
        changes: what changed.
        questions: the texts of the report's questions, by id.
        escape: makes one line of Markdown of a text.
    """
    yield "## What changed since the last report"
    yield ""
    yield (
        f"Facts of the last report that hold: {changes.facts_hold}; that are gone: "
        f"{changes.facts_gone}; that could not be checked: {changes.facts_unchecked}. New facts: "
        f"{changes.facts_new}."
    )
    if changes.questions:
        yield ""
        yield "| Question | Before | Now |"
        yield "|---|---|---|"
        for moved in changes.questions:
            text = escape(questions.get(moved.question_id, moved.question_id))
            before = _state(moved.state_before, moved.reason_before)
            yield f"| {text} | {before} | {_state(moved.state, moved.reason)} |"
    yield from _listed("Gone", changes.facts_gone, changes.gone, questions, escape)
    yield from _listed("New", changes.facts_new, changes.new, questions, escape)
    yield from _listed("Not checked", changes.facts_unchecked, changes.unchecked, questions, escape)


def _state(state: QuestionState | None, reason: AnswerReason | None) -> str:
    if state is None:
        return "not asked"
    name = "Not found" if state is QuestionState.NOT_FOUND else state.value
    return f"{name} ({reason})" if reason else name


def _listed(
    title: str,
    count: int,
    facts: Sequence[ChangedFact],
    questions: Mapping[str, str],
    escape: Callable[[str], str],
) -> Iterator[str]:
    if not facts:
        return
    more = f" (the first {len(facts)} of {count})" if count > len(facts) else ""
    yield ""
    yield f"**{title}**{more}:"
    yield ""
    for fact in facts:
        why = f" ({escape(fact.why)})" if fact.why else ""
        asked = escape(questions.get(fact.question_id, fact.question_id))
        yield f"- “{escape(fact.claim)}” on *{asked}*{why}"
