"""What every prompt has around what it asks: the task, the budgets, and what went wrong before.

Text that somebody else wrote, a source or a model, stands between delimiters that its author
cannot have known. Passages, facts and claims have short names made for one request: a model never
writes a locator or a number of a citation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from controller.api.base import digest_of
from controller.api.model_call import usd
from controller.api.records import Fact, FactStatus
from controller.api.step import ActionName
from controller.loop.answers import Answer, schema_of
from controller.loop.capacity import Capacity
from controller.loop.clarification import answers_beside, filled
from controller.loop.exchange import ModelRequest
from controller.loop.memory import MAX_ANSWER, Lesson
from controller.loop.situation import Situation
from controller.prompts import INSTRUCTIONS, PromptTemplate

MAX_REJECTIONS: Final = 5
"""How many rejected quotes of a question the next prompt tells of: the newest."""


def asking(
    situation: Situation,
    capacity: Capacity,
    action: ActionName,
    template: PromptTemplate,
    values: Mapping[str, str],
    *,
    answer: type[Answer],
    names: Mapping[str, Sequence[str]] | None = None,
) -> ModelRequest:
    """Return a request that is answered with JSON.

    `names` are the values that a field of the answer may have; they are also what the prompt
    shows of the records, so their number is recorded with the call (S0.62).
    """
    output_tokens = capacity.terms.max_output_tokens
    return ModelRequest(
        instructions=INSTRUCTIONS.text,
        prompt=framed(situation, action, template.filled(**values)),
        max_output_tokens=output_tokens,
        answer_schema=schema_of(answer, output_tokens=output_tokens, names=names),
        template=str(template),
        shown=sum(len(values) for values in (names or {}).values()),
    )


def framed(situation: Situation, action: ActionName, asked: str) -> str:
    """Return a prompt: the task, what is asked, budgets, and what went wrong before."""
    spec = situation.task.spec
    parts = [f"Topic: {filled(spec, spec.topic)}"]
    if spec.guidance:
        parts.append(f"Guidance: {filled(spec, spec.guidance)}")
    if answers := answers_beside(spec):
        told = "\n".join(f"- {field}: {answer}" for field, answer in answers.items())
        parts.append(f"The user's answers:\n{told}")
    parts += [
        asked,
        f"Budgets of the run:\n{budget_lines(situation)}",
        *_feedback(situation, action),
    ]
    return "\n\n".join(parts)


def budget_lines(situation: Situation) -> str:
    """Return what is spent and what is left of each budget, named as such (E13)."""
    budgets, used = situation.task.spec.budgets, situation.state.usage
    rows = [
        ("steps", used.steps, budgets.max_steps),
        ("model calls", used.model_calls, budgets.max_model_calls),
        ("tokens", used.tokens, budgets.max_tokens),
        ("source calls", used.source_calls, budgets.max_source_calls),
    ]
    return "\n".join(
        f"- {name}: {spent} spent, {max(0, limit - spent)} left" for name, spent, limit in rows
    ) + _money_line(situation)


def question_lines(situation: Situation, ids: Iterable[str]) -> str:
    """Return questions, one a line, each after its id."""
    known = {v.question.id: v.question.text for v in situation.assessment.questions}
    return "\n".join(f"- {i}: {known[i]}" for i in ids if i in known)


def delimited(situation: Situation, texts: Mapping[str, str]) -> str:
    """Return texts by their names, each after a delimiter, and a delimiter after the last."""
    delimiter = _delimiter(situation)
    shown = "".join(f"{delimiter} {name}\n{text}\n" for name, text in texts.items())
    return f"{shown}{delimiter} end"


def fact_texts(facts: Iterable[Fact]) -> dict[str, str]:
    """Return what facts say, by the names that they have in a request: claim, then quotes."""
    return {
        f"f{at}": "\n".join(dict.fromkeys((fact.claim, *(c.quote for c in fact.citations))))
        for at, fact in enumerate(facts, start=1)
    }


def rejection_lines(situation: Situation, question_id: str) -> str:
    """Return what the verifier rejected for a question, and why, the newest last (T05)."""
    rejected = [
        fact
        for fact in situation.assessment.findings.facts
        if fact.question_id == question_id and fact.status is not FactStatus.VERIFIED
    ][-MAX_REJECTIONS:]
    told = "\n".join(f"- {_cut(fact.claim, 120)}: {_why(fact)}" for fact in rejected)
    return f"\nRejected before; do not repeat them:\n{told}\n" if told else ""


def _why(fact: Fact) -> str:
    failed = next((v for v in fact.verdicts if not v.passed), None)
    return f"{failed.reason} {failed.detail}".strip() if failed else str(fact.status)


def _money_line(situation: Situation) -> str:
    limit, spent = situation.cost_limit, situation.state.usage.cost_micro_usd
    if limit is None:
        return ""
    return f"\n- US dollars: {usd(spent)} spent, {usd(max(0, limit - spent))} left"


def _feedback(situation: Situation, action: ActionName) -> Iterator[str]:
    """Tell what failed lately; of the newest failure also what the model had answered (S2.11).

    What a model has answered to one action is in no prompt of another: it may repeat what a page
    has ordered, and an order shall reach no prompt that asks for queries or for an action.
    """
    lessons = situation.state.model.lessons
    if not lessons:
        return
    told = "\n".join(f"- {x.action}: {_told(x, action)}" for x in lessons)
    yield f"What failed lately; do not repeat it:\n{told}"
    newest = lessons[-1]
    if newest.answer and newest.action is action and situation.state.retry is not None:
        answer = {"answer": _cut(newest.answer, MAX_ANSWER)}
        yield f"Your last answer, which was not used:\n{delimited(situation, answer)}"


def _told(lesson: Lesson, action: ActionName) -> str:
    """Return a failure's class, and its message where the same action is asked for again."""
    is_same = lesson.action is action
    return f"{lesson.error_class}: {_cut(lesson.message, 300)}" if is_same else lesson.error_class


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _delimiter(situation: Situation) -> str:
    """Return a delimiter that nobody knew when the sources were written: made from the journal.

    Each attempt is recorded, so the next one has another.
    """
    return f"=== {digest_of(['delimiter', situation.state.digest])[7:19]}"
