"""What is said of a run, as plain lines: the same words on a terminal and in a log file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from controller.api.reasons import TERMINAL, ConditionType, TerminalReason
from controller.api.records import AnswerReason, QuestionState
from controller.api.step import ActionName, Outcome, ResearchStepSpec
from controller.api.task import QuestionStatus, RequireEveryQuestion, ResearchTask, Usage
from controller.cli.observer import StepView
from controller.cli.terminal import count, duration, labelled, visible

STEP_INDENT: Final = 19
"""The column in which a step's line says what was done."""

_ACTION_WIDTH: Final = 8
_REPLY_WIDTH: Final = 200
"""How much of a model's answer a line shows, in characters."""

_SETTLED: Final = frozenset({QuestionState.ANSWERED, QuestionState.NOT_FOUND})


def banner(task: ResearchTask) -> Iterator[str]:
    """Yield what a run sets out to do: topic, questions, budgets, goal, kind of model (S0.48)."""
    spec, budgets = task.spec, task.spec.budgets
    yield labelled("task", f"{task.metadata.namespace}/{task.metadata.name}")
    yield labelled("topic", visible(spec.topic))
    for number, question in enumerate(spec.questions, 1):
        label = "questions" if number == 1 else ""
        yield labelled(label, f"{number}. {question.id}: {visible(question.text)}")
    if not spec.questions:
        yield labelled("questions", "none; the first step makes one of the topic")
    yield labelled("sources", ", ".join(reference.name for reference in spec.source_refs))
    yield labelled(
        "budgets",
        f"{count(budgets.max_steps, 'step')}, {budgets.max_steps_per_question} a question, "
        f"{duration(budgets.active_deadline_seconds)} of active time, "
        f"{count(budgets.max_source_calls, 'call')} to remote sources",
    )
    every = spec.goal.require_every_question is RequireEveryQuestion.ALL
    yield labelled(
        "goal",
        f"quality {spec.quality_threshold} % or more, {count(spec.goal.min_facts, 'fact')} or "
        "more" + (", no question left open" if every else ""),
    )
    yield labelled("model", _models(task))


def _models(task: ResearchTask) -> str:
    spec, budgets = task.spec, task.spec.budgets
    if spec.model_ref is None:
        return "extractive policy, no model and no key needed"
    fallback = f", then {spec.fallback_model_ref.name}" if spec.fallback_model_ref else ""
    money = f", ${budgets.max_cost_usd}" if budgets.max_cost_usd is not None else ""
    return (
        f"{spec.model_ref.name}{fallback}, {spec.decision_policy}; at most "
        f"{count(budgets.max_model_calls, 'call')}, {budgets.max_tokens:,} tokens{money}"
    )


def model_use(task: ResearchTask) -> str:
    """Return what a task's models have used and brought; empty for a task without a model."""
    if task.spec.model_ref is None:
        return ""
    used, budgets = task.status.usage or Usage(), task.spec.budgets
    unknown = f" ({used.unknown_usage_calls} of unknown usage)" if used.unknown_usage_calls else ""
    return (
        f"{used.model_calls} of {count(budgets.max_model_calls, 'call')}{unknown}, "
        f"{used.prompt_tokens:,} + {used.completion_tokens:,} tokens, ${used.cost_usd}, "
        f"{count(used.verifier_rejections, 'proposal')} rejected"
    )


def step_line(view: StepView) -> str:
    """Return the line of a step: budget, action, question and its step, result, time."""
    spec = view.step.spec
    counted = f"{view.used}/{view.limit}" if spec.usage.steps else "-"
    question = ""
    if spec.question_id is not None:
        number = f"{view.question_number}." if view.question_number else ""
        question = f"{number}{spec.question_id} ({view.question_steps})"
    parts = [f"{counted:>7}", f"{spec.action:<{_ACTION_WIDTH}}", question, _result(view)]
    return "  ".join(part for part in parts if part)


def _result(view: StepView) -> str:
    spec = view.step.spec
    took = duration(spec.usage.duration_milliseconds / 1000)
    attempt = f", attempt {spec.attempt}" if spec.attempt > 1 else ""
    call = spec.model_call
    tokens = f", {call.prompt_tokens:,} + {call.completion_tokens:,} tokens" if call else ""
    if spec.outcome is Outcome.COMPLETED:
        return f"{visible(spec.observation.summary) or 'done'}, {took}{tokens}{attempt}"
    cause = f" {spec.error.error_class}: {visible(spec.error.message)}" if spec.error else ""
    return f"{spec.outcome}{cause}, {took}{tokens}{attempt}"


def step_details(task: ResearchTask, view: StepView) -> Iterator[str]:
    """Yield what a step decided, was asked for and found (S0.52): the lines of verbosity 3."""
    spec = view.step.spec
    decision = spec.decision
    yield f"decided: {decision.verdict} {decision.reason} {visible(decision.message)}".rstrip()
    yield f"arguments: {visible(spec.arguments)}"
    if spec.search is not None:
        yield (
            f"search: {spec.search.status}, {len(spec.search.hits)} of "
            f"{count(spec.search.total, 'passage')}, "
            f"evidence from {count(len(spec.evidence), 'document')}"
        )
    if spec.read is not None:
        state = f"closed by {spec.read.closed_by}" if spec.read.closed_by else "read"
        yield (
            f"read: {state}, {count(len(spec.read.passages), 'passage')}, "
            f"{count(spec.read.blocks_dropped, 'block')} not recorded: {visible(spec.read.locator)}"
        )
    yield from _reply_details(spec)
    if spec.extract is not None:
        for fact in spec.extract.facts:
            reasons = ", ".join(v.reason for v in fact.verdicts if v.reason)
            yield f"fact: {fact.id} {fact.status} {reasons}".rstrip()
    yield (
        f"journal: {view.step.metadata.name} {spec.digest[:19]}, fingerprint "
        f"{spec.fingerprint[:19]}, quality {_quality(task)}"
    )


def _reply_details(spec: ResearchStepSpec) -> Iterator[str]:
    """Yield what a model answered, and whether it passed, with what was wrong with it (S2.19)."""
    call = spec.model_call
    if call is None:
        return
    answer = visible(call.answer or "")
    yield f"reply: {answer[:_REPLY_WIDTH]}{'…' if len(answer) > _REPLY_WIDTH else ''}"
    vetoes = spec.review.vetoes if spec.review else ()
    faults = [f"{spec.error.error_class}: {visible(spec.error.message)}"] if spec.error else []
    faults += [f"{veto.fact_id} vetoed: {visible(veto.reason)}" for veto in vetoes]
    if call.flags:
        yield f"flags: {', '.join(call.flags)}"
    yield f"check: {'FAIL' if spec.error else 'PASS'}"
    yield from (f"- {fault}" for fault in faults)


def question_line(task: ResearchTask, question: QuestionStatus, number: int) -> str:
    """Return the line of a question that is settled, or at its limit (S0.50, S0.53)."""
    head = f"question {number}/{len(task.status.questions)} {question.id}"
    reason = f" ({question.reason})" if question.reason else ""
    limit = task.spec.budgets.max_steps_per_question
    if question.reason is AnswerReason.STEP_LIMIT:
        return (
            f"{head}: {question.state}{reason}, its {count(limit, 'step')} are used up "
            "(spec.budgets.maxStepsPerQuestion)"
        )
    return (
        f"{head}: {question.state}{reason}, {count(question.facts, 'fact')} from "
        f"{count(question.origins, 'origin')} in {count(question.steps, 'step')}; "
        f"quality {_quality(task)}"
    )


def closing(task: ResearchTask) -> Iterator[str]:
    """Yield how a run ended: reason, quality, facts, questions, steps, time (S0.54, S0.67)."""
    status = task.status
    reason = status.terminal_reason
    if reason is not None:
        yield labelled("ended", f"{reason}: {TERMINAL[reason].meaning}")
        if message := _message(task, reason):
            yield labelled("", message)
    quality = status.quality
    if quality is not None:
        yield labelled(
            "quality",
            f"{quality.score} % of {task.spec.quality_threshold} % asked for "
            f"(coverage {quality.coverage} %, recall {quality.citation_recall} %, "
            f"precision {quality.citation_precision} %)",
        )
    yield labelled("facts", f"{sum(q.facts for q in status.questions)} verified")
    yield labelled("questions", _tally(status.questions))
    if told := model_use(task):
        yield labelled("model", told)
    used = status.usage.steps if status.usage else 0
    written = status.journal.steps if status.journal else 0
    yield labelled(
        "steps",
        f"{used} of {task.spec.budgets.max_steps}; {written} in the journal, "
        "with notes and closing steps",
    )
    if status.start_time and status.completion_time:
        elapsed = (status.completion_time - status.start_time) / timedelta(seconds=1)
        active = status.usage.active_seconds if status.usage else 0
        deadline = task.spec.budgets.active_deadline_seconds
        yield labelled(
            "elapsed", f"{duration(elapsed)}; {active} of {deadline} s of active time are used"
        )


def next_line(task: ResearchTask) -> str:
    """Return what a person should do next (S2.21): the remedy of the terminal reason."""
    reason = task.status.terminal_reason
    return labelled("next", TERMINAL[reason].remedy if reason else "Wait for the run to end.")


def _message(task: ResearchTask, reason: TerminalReason) -> str:
    """Return what was special about the ending, without the remedy that `next` repeats."""
    condition = task.status.condition(ConditionType.SUCCEEDED)
    if condition is None:
        return ""
    return visible(condition.message.removesuffix(TERMINAL[reason].remedy))


def _tally(questions: Sequence[QuestionStatus]) -> str:
    done = sum(q.state in _SETTLED for q in questions)
    states = [
        f"{found} {state}"
        for state in QuestionState
        if (found := sum(q.state is state for q in questions))
    ]
    return f"{done} of {len(questions)} done" + (f": {', '.join(states)}" if states else "")


def _quality(task: ResearchTask) -> str:
    score = task.status.quality.score if task.status.quality else 0
    return f"{score} %, {'enough' if score >= task.spec.quality_threshold else 'not enough'}"


def is_milestone(view: StepView) -> bool:
    """Say whether a step is told of at verbosity 1."""
    spec = view.step.spec
    return spec.action in {ActionName.NOTE, ActionName.PUBLISH} or spec.outcome in {
        Outcome.FAILED,
        Outcome.INTERRUPTED,
    }
