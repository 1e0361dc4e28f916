"""The status: conditions that agree, times that move only on transitions, and its bound."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.api.base import canonical_json
from controller.api.meta import ConditionStatus
from controller.api.reasons import (
    TERMINAL,
    AcceptedReason,
    ConditionType,
    RunningReason,
    TerminalReason,
)
from controller.api.task import ResearchTaskStatus
from controller.loop.decide import decide
from controller.loop.situation import Decision, End, MissingReference, Situation, Wait
from controller.loop.status import MAX_STATUS_BYTES, build_status, shortened
from tests.situations import NOW, planned, situation, task, with_

ALWAYS = {
    ConditionType.ACCEPTED,
    ConditionType.SUCCEEDED,
    ConditionType.FINISHED,
    ConditionType.SUSPENDED,
}


def shown(at: Situation, decision: Decision | None = None) -> ResearchTaskStatus:
    return build_status(at, decision or decide(at), None)


def tuples(status: ResearchTaskStatus) -> dict[str, tuple[str, str]]:
    return {c.type: (c.status.value, c.reason) for c in status.conditions}


# S0.15, S1.5, S1.36, S2.5
@pytest.mark.parametrize("reason", [r for r in TerminalReason if r != "JournalCorrupt"])
def test_an_ending_shows_one_reason_everywhere(reason: TerminalReason) -> None:
    status = shown(situation(), End(reason, "as it was"))
    conditions = tuples(status)
    succeeded = "True" if reason is TerminalReason.GOAL_REACHED else "False"
    assert status.terminal_reason is reason
    assert conditions["Succeeded"] == (succeeded, reason)
    assert conditions["Finished"] == ("True", reason)
    assert ("Stalled" in conditions) is (succeeded == "False")
    assert "Reconciling" not in conditions
    message = status.condition(ConditionType.SUCCEEDED)
    assert message is not None
    assert TERMINAL[reason].remedy in message.message


def test_a_corrupt_journal_keeps_what_was_shown() -> None:
    before = shown(situation())
    of = task().model_copy(update={"status": before})
    corrupt = situation(of=of)
    status = shown(corrupt, End(TerminalReason.JOURNAL_CORRUPT, "MissingStep: step 2"))
    assert status.usage == before.usage
    assert tuples(status)["Finished"] == ("True", "JournalCorrupt")
    assert (
        shown(
            replace(corrupt, task=of.model_copy(update={"status": status})),
            End(TerminalReason.JOURNAL_CORRUPT, "MissingStep: step 2"),
        )
        == status
    )


# kstatus: what a generic tool makes of the conditions (docs/researchtask.md).
@pytest.mark.parametrize(
    ("at", "decision", "seen"),
    [
        (situation(), None, "InProgress"),
        (situation(), Wait(RunningReason.BACKING_OFF, "later", NOW), "InProgress"),
        (situation(), Wait(RunningReason.WAITING_FOR_REFERENCE, "source"), "InProgress"),
        (situation(), Wait(RunningReason.SUSPENDED, "suspended"), "Current"),
        (situation(), End(TerminalReason.GOAL_REACHED, "done"), "Current"),
        (situation(), End(TerminalReason.NO_PROGRESS, "stuck"), "Failed"),
        (situation(), End(TerminalReason.CANCELLED, "cancelled"), "Failed"),
    ],
)
def test_generic_tools_read_the_state(at: Situation, decision: Decision | None, seen: str) -> None:
    status = shown(at, decision)
    assert {c.type for c in status.conditions} >= ALWAYS
    assert kstatus(status, generation=1) == seen


def kstatus(status: ResearchTaskStatus, generation: int) -> str:
    if status.observed_generation != generation or status.is_true(ConditionType.RECONCILING):
        return "InProgress"
    return "Failed" if status.is_true(ConditionType.STALLED) else "Current"


def test_before_the_first_look_an_object_is_in_progress() -> None:
    assert kstatus(task().status, generation=1) == "InProgress"


# S1.25
def test_a_transition_time_moves_only_with_the_status() -> None:
    first = shown(situation())
    later = situation(of=task().model_copy(update={"status": first}), now=NOW + timedelta(hours=1))
    waiting = shown(later, Wait(RunningReason.BACKING_OFF, "later"))
    ended = shown(later, End(TerminalReason.NO_PROGRESS, "stuck"))
    succeeded = ConditionType.SUCCEEDED

    def moved(status: ResearchTaskStatus) -> bool:
        condition, before = status.condition(succeeded), first.condition(succeeded)
        assert condition is not None
        assert before is not None
        return condition.last_transition_time != before.last_transition_time

    assert not moved(waiting)
    assert moved(ended)


def test_accepted_is_computed_whichever_guard_wins() -> None:
    missing = MissingReference(AcceptedReason.SOURCE_NOT_READY, "ResearchSource manual: no index")
    for decision in (End(TerminalReason.NO_PROGRESS, ""), Wait(RunningReason.SUSPENDED, "")):
        conditions = shown(with_(missing=missing)(situation()), decision).conditions
        accepted = next(c for c in conditions if c.type == "Accepted")
        assert (accepted.status, accepted.reason) == (ConditionStatus.FALSE, "SourceNotReady")


def test_every_condition_carries_the_generation() -> None:
    status = shown(situation(of=task(generation=5)))
    assert {c.observed_generation for c in status.conditions} == {5}


# S0.18
@pytest.mark.parametrize("character", ["a", "é", "漢", "🜁"])
def test_the_status_fits_whatever_the_texts_are_made_of(character: str) -> None:
    questions = [{"id": f"q{i}", "text": character * 499 + chr(65 + i)} for i in range(20)]
    state = planned(questions={}, queries=())
    at = situation(state, task(questions=questions))
    status = shown(at, End(TerminalReason.NO_PROGRESS, character * 1024))
    size = len(canonical_json(status.to_json()).encode())
    assert size <= MAX_STATUS_BYTES
    assert len(status.questions) == 20
    assert status.usage is not None


def test_a_shortened_text_says_so() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"
