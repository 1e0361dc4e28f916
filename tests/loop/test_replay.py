"""Replay: what differs is found, at the first step at which it does, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from controller.api.base import canonical_json
from controller.api.errors import JournalError
from controller.api.reasons import RunningReason, TerminalReason
from controller.api.records import FactStatus
from controller.api.step import ActionName, ResearchStep, ResearchStepSpec
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.loop import journal
from controller.loop.assessment import assess
from controller.loop.replay import (
    ASSESSED_FIELDS,
    FOLDED_FIELDS,
    Specs,
    decided_again,
    reduced,
)
from controller.loop.run_state import initial
from controller.loop.situation import Situation, Wait
from controller.loop.state import fold
from controller.loop.status import build_status
from tests.evidence.recorded import cases
from tests.golden.files import Golden, read
from tests.situations import NOW

Change = Callable[[ResearchStepSpec], ResearchStepSpec]

OF_THE_MOMENT = {
    "observed_generation",
    "conditions",
    "terminal_reason",
    "completion_time",
    "last_handled_requested_at",
    "pending",
    "next_wake_up_time",
    "wake_up_reason",
    "awaiting",
    "digest",
}
"""What a status shows of the task, the clock and the next decision: the journal has none of it."""


def with_step(steps: Sequence[ResearchStep], index: int, change: Change) -> list[ResearchStep]:
    """Return the journal as if step `index` had been recorded otherwise: the chain is closed."""
    made: list[ResearchStep] = []
    for step in steps:
        spec = change(step.spec) if step.spec.index == index else step.spec
        if made:
            spec = spec.model_copy(update={"previous_digest": made[-1].spec.digest})
        made.append(step.model_copy(update={"spec": journal.seal(spec)}))
    return made


def field(**values: Any) -> Change:  # noqa: ANN401 - any field
    return lambda spec: spec.model_copy(update=values)


def first(golden: Golden, action: ActionName) -> int:
    return next(s.spec.index for s in golden.steps if s.spec.action is action)


def decided_later(spec: ResearchStepSpec) -> ResearchStepSpec:
    late = spec.start_time + timedelta(hours=1)
    return spec.model_copy(update={"start_time": late, "end_time": late})


def another_question(spec: ResearchStepSpec) -> ResearchStepSpec:
    arguments = canonical_json({"questionId": "absent"})
    return spec.model_copy(
        update={
            "arguments": arguments,
            "question_id": "absent",
            "operation_id": journal.operation_id(spec.task_uid, spec.index, spec.action, arguments),
        }
    )


def shorter_quote(spec: ResearchStepSpec) -> ResearchStepSpec:
    assert spec.extract is not None
    fact = spec.extract.facts[0]
    changed = fact.model_copy(update={"claim": fact.claim[:-1]})
    return spec.model_copy(
        update={"extract": spec.extract.model_copy(update={"facts": (changed,)})}
    )


def rejected_fact(spec: ResearchStepSpec) -> ResearchStepSpec:
    assert spec.extract is not None
    facts = tuple(f.model_copy(update={"status": FactStatus.REJECTED}) for f in spec.extract.facts)
    return spec.model_copy(update={"extract": spec.extract.model_copy(update={"facts": facts})})


def other_query(spec: ResearchStepSpec) -> ResearchStepSpec:
    assert spec.plan is not None
    query = spec.plan.queries[0].model_copy(update={"text": "lumens"})
    queries = (query, *spec.plan.queries[1:])
    return spec.model_copy(update={"plan": spec.plan.model_copy(update={"queries": queries})})


def other_certificate(spec: ResearchStepSpec) -> ResearchStepSpec:
    assert spec.answer is not None
    assert spec.answer.certificate is not None
    certificate = spec.answer.certificate.model_copy(update={"facts_rejected": 9})
    answer = spec.answer.model_copy(update={"certificate": certificate})
    return spec.model_copy(update={"answer": answer})


def no_statements(spec: ResearchStepSpec) -> ResearchStepSpec:
    return spec.model_copy(update={"statements": ()})


DIVERGENCES = {
    "another reason": (1, field(decision=read("complete").steps[2].spec.decision), "decision.re"),
    "another question": (3, another_question, "decision.arguments"),
    "another attempt": (2, field(attempt=2), "decision.attempt"),
    "a step after its deadline": (4, decided_later, "decision.action"),
    "a plan with another query": (0, other_query, "Plan.plan.queries[0].text"),
    "one character of a fact": (2, shorter_quote, "Extract.extract.facts[0].claim"),
    "a verdict": (2, rejected_fact, "Extract.extract.facts[0].status"),
    "a certificate": (10, other_certificate, "Conclude.answer.certificate.factsRejected"),
    "a draft": (11, no_statements, "Draft.statements"),
    "the id of an operation": (5, field(operation_id=journal.UNSEALED), "sealed with.operationId"),
    "the fingerprint": (6, field(fingerprint=journal.UNSEALED), "sealed with.fingerprint"),
}


@pytest.mark.parametrize(("index", "change", "what"), cases(DIVERGENCES))
def test_the_first_difference_is_named_by_its_step(index: int, change: Change, what: str) -> None:
    golden = read("complete")
    steps = with_step(golden.steps, index, change)
    found = decided_again(golden.task, steps, golden.specs).divergence
    assert found is not None
    assert found.index == index
    assert found.what.startswith(what)
    assert str(found).startswith(f"step {index}: {what}")
    assert found.recorded != found.again


def test_the_message_of_a_decision_is_wording() -> None:
    golden = read("complete")
    reworded = golden.steps[-1].spec.decision.model_copy(update={"message": "all is found"})
    steps = with_step(golden.steps, 12, field(decision=reworded))
    assert decided_again(golden.task, steps, golden.specs).divergence is None


@pytest.mark.parametrize("name", ["complete", "reopened", "interrupted", "waiting", "clarified"])
def test_each_beginning_of_a_journal_replays(name: str) -> None:
    golden = read(name)
    task = golden.task.model_copy(update={"status": ResearchTaskStatus()})
    for length in range(len(golden.steps) + 1):
        steps = golden.steps[:length]
        assert reduced(task, steps, golden.specs) is None
        replayed = decided_again(task, steps, golden.specs)
        assert (replayed.divergence, replayed.decisions) == (None, length)


def test_steps_of_a_generation_whose_spec_is_not_known_are_counted_and_left_out() -> None:
    golden = read("reopened")
    newest = golden.task.metadata.generation
    replayed = decided_again(golden.task, golden.steps, {newest: golden.specs[newest]})
    older = sum(step.spec.generation < newest for step in golden.steps)
    assert replayed.divergence is None
    assert replayed.unknown_spec == older > 0
    assert replayed.decisions == len(golden.steps) - older


def test_another_spec_than_the_recorded_one_is_found() -> None:
    golden = read("reopened")
    wrong: Specs = dict.fromkeys(golden.specs, golden.specs[2])
    found = decided_again(golden.task, golden.steps, wrong).divergence
    assert found is not None
    assert (found.index, found.again) == (3, '"Conclude"')


def test_an_effect_that_another_process_began_keeps_its_first_reason() -> None:
    golden = read("taken-over")
    late = with_step(golden.steps, 5, decided_later)
    assert golden.steps[5].spec.holder != golden.steps[4].spec.holder
    assert decided_again(golden.task, late, golden.specs).divergence is None


def test_an_interrupted_attempt_of_another_generation_is_in_doubt() -> None:
    golden = read("interrupted")
    budgets = golden.specs[1].budgets.model_copy(update={"max_source_calls": 0})
    newer = {**golden.specs, 2: golden.specs[1].model_copy(update={"budgets": budgets})}
    steps = with_step(golden.steps[:2], 1, field(generation=2))
    task = golden.task.model_copy(update={"status": ResearchTaskStatus()})
    replayed = decided_again(task, steps, newer)
    assert (replayed.divergence, replayed.in_doubt, replayed.decisions) == (None, 1, 1)
    same_generation = decided_again(task, golden.steps[:2], {1: newer[2]})
    assert same_generation.divergence is not None
    assert same_generation.divergence.index == 1


def changed(task: ResearchTask, **status: Any) -> ResearchTask:  # noqa: ANN401 - any field
    return task.model_copy(update={"status": task.status.model_copy(update=status)})


def test_an_intent_that_the_status_shows_is_decided_again() -> None:
    golden = read("unfinished")
    pending = golden.task.status.pending
    assert pending is not None
    other = pending.model_copy(update={"action": ActionName.CONCLUDE})
    found = decided_again(changed(golden.task, pending=other), golden.steps, golden.specs)
    assert found.divergence is not None
    assert (found.divergence.index, found.divergence.again) == (6, '"Refine"')


def test_an_ending_that_the_status_shows_is_decided_again() -> None:
    golden = read("unfinished")
    task = changed(golden.task, pending=None, terminal_reason="NoProgress")
    found = decided_again(task, golden.steps, golden.specs).divergence
    assert found is not None
    assert (found.index, found.what, found.recorded) == (6, "ending", "End NoProgress")


STATUS = {
    "a counter": ("usage", {"steps": 12}, "status.usage.steps"),
    "the journal's digest": ("journal", {"digest": journal.UNSEALED}, "status.journal.digest"),
    "the score": ("quality", {"score": 92}, "status.quality.score"),
    "the progress": ("progress", {"stalled_steps": 3}, "status.progress.stalledSteps"),
    "the newest step": ("last_step", {"action": ActionName.DRAFT}, "status.lastStep.action"),
    "the report": ("report", {"statements": 7}, "status.report.statements"),
}


@pytest.mark.parametrize(("name", "values", "what"), cases(STATUS))
def test_a_status_that_is_not_the_fold_is_found(
    name: str, values: dict[str, Any], what: str
) -> None:
    golden = read("complete")
    value = getattr(golden.task.status, name).model_copy(update=values)
    found = reduced(changed(golden.task, **{name: value}), golden.steps, golden.specs)
    assert found is not None
    assert (found.index, found.what) == (None, what)
    assert str(found).startswith(f"the status: {what}: recorded ")


def test_a_question_that_the_status_shows_otherwise_is_found_unless_it_is_cut() -> None:
    golden = read("complete")
    glow, absent = golden.task.status.questions
    cut = glow.model_copy(update={"text": glow.text[:10] + "…"})
    assert (
        reduced(changed(golden.task, questions=(cut, absent)), golden.steps, golden.specs) is None
    )
    other = glow.model_copy(update={"text": "What is the default of SHINE_LEVEL?"})
    found = reduced(changed(golden.task, questions=(other, absent)), golden.steps, golden.specs)
    assert found is not None
    assert found.what == "status.questions[0].text"


@pytest.mark.parametrize("reason", [None, TerminalReason.NO_PROGRESS])
def test_the_terminal_reason_is_that_of_the_fold(reason: TerminalReason | None) -> None:
    golden = read("complete")
    found = reduced(changed(golden.task, terminal_reason=reason), golden.steps, golden.specs)
    assert found is not None
    assert (found.what, found.again) == ("status.terminalReason", '"GoalReached"')


@pytest.mark.parametrize(("ahead", "what"), [(0, None), (1, None), (2, "journal.steps")])
def test_the_journal_may_be_one_step_ahead_of_the_status_and_no_more(
    ahead: int, what: str | None
) -> None:
    golden, count = read("complete"), 5
    state = initial(golden.task.metadata.name, golden.task.metadata.uid, golden.task.spec.topic)
    for step in golden.steps[:count]:
        state = fold(state, step)
    assessment = assess(golden.task.spec, state)
    before = Situation(golden.task, state, assessment, state.last_time or NOW, "operator-1")
    status = build_status(before, Wait(RunningReason.RUNNING, "as it was"), None)
    task = golden.task.model_copy(update={"status": status})
    steps = golden.steps[: count + ahead]
    found = reduced(task, steps, golden.specs)
    assert (found.what if found else None) == what
    assert decided_again(task, steps, golden.specs).divergence is None


def test_a_status_ahead_of_its_journal_is_a_missing_step() -> None:
    golden = read("complete")
    with pytest.raises(JournalError) as raised:
        reduced(golden.task, golden.steps[:-1], golden.specs)
    assert raised.value.error_class == "MissingStep"


@pytest.mark.parametrize("mode", [reduced, decided_again])
def test_a_journal_that_does_not_fold_is_not_replayed(mode: Callable[..., object]) -> None:
    golden = read("complete")
    broken = (*golden.steps[:3], *golden.steps[4:])
    with pytest.raises(JournalError):
        mode(golden.task, broken, golden.specs)


def test_every_field_of_a_status_is_compared_or_known_to_show_the_moment() -> None:
    compared = FOLDED_FIELDS | ASSESSED_FIELDS
    assert not compared & OF_THE_MOMENT
    assert compared | OF_THE_MOMENT == ResearchTaskStatus.model_fields.keys()


def test_replaying_again_gives_the_same() -> None:
    golden = read("complete")
    one = decided_again(golden.task, golden.steps, golden.specs)
    assert decided_again(golden.task, golden.steps, golden.specs) == one
