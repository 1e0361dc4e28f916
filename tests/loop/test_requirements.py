"""The loop, looked at for one requirement each; docs/requirements.md says what a number asks."""

from __future__ import annotations

import pytest

from controller.actions import registry
from controller.actions.attempt import interrupted
from controller.api.base import canonical_json, digest_of
from controller.api.errors import JournalError
from controller.api.reasons import TerminalReason
from controller.api.records import SearchRecord, SearchStatus
from controller.api.step import ActionName, Outcome, StepError
from controller.loop.assessment import assess
from controller.loop.decide import decide
from controller.loop.exchanges import MODEL_ACTIONS
from controller.loop.intents import ARGUMENTS, SearchArguments
from controller.loop.recording import pending_of, record
from controller.loop.run_state import RunState
from controller.loop.situation import Act
from controller.loop.state import apply
from controller.loop.status import build_status
from tests.situations import NOW, planned, situation, task
from tests.steps import step


# S0.12, S0.60
def test_every_action_has_its_arguments_and_what_carries_it_out() -> None:
    assert set(ARGUMENTS) == set(registry._ACTIONS) | MODEL_ACTIONS == set(ActionName)


# S0.13
@pytest.mark.parametrize("action", ActionName)
def test_a_completed_step_without_its_typed_record_is_refused(action: ActionName) -> None:
    arguments = {
        ActionName.DRAFT: '{"basis": "sha256:%s"}' % ("0" * 64),
        ActionName.PUBLISH: '{"configMap": "r", "reportDigest": "sha256:%s"}' % ("0" * 64),
        ActionName.ASK: '{"fields": ["region"]}',
        ActionName.SEARCH: '{"questionId": "q", "sourceName": "s", "query": "x"}',
        ActionName.READ: '{"questionId": "q", "sourceName": "s", "locator": "https://a.example/"}',
        ActionName.PLAN: "{}",
        ActionName.PROPOSE: "{}",
        ActionName.SUMMARIZE: '{"basis": "sha256:%s"}' % ("0" * 64),
        ActionName.NOTE: '{"kind": "Resumed"}',
        ActionName.REVERIFY: '{"round": 1, "documentId": "d-0123456789ab", "sourceName": "s"}',
    }.get(action, '{"questionId": "q"}')
    with pytest.raises(JournalError) as raised:
        apply(planned(), step(index=1, action=action, arguments=arguments))
    assert raised.value.error_class == "IncompleteStep"


def failed(state: RunState, error_class: str, source: str = "manual", query: str = "q") -> RunState:
    """Return the state after a search that failed for good."""
    return after(state, source, query, Outcome.FAILED, error_class)


def clean(state: RunState, source: str = "manual", query: str = "q") -> RunState:
    """Return the state after a search that was completed."""
    return after(state, source, query, Outcome.COMPLETED, None)


def after(
    state: RunState, source: str, query: str, outcome: Outcome, error_class: str | None
) -> RunState:
    arguments = SearchArguments(question_id="glow", source_name=source, query=query)
    error = error_class and StepError(
        error_class=error_class, message="no", subject=f"source/{source}"
    )
    status = SearchStatus.FAILED if error else SearchStatus.COMPLETE
    record = SearchRecord(
        source_name=source, question_id="glow", query=query, status=status, documents=1
    )
    return apply(
        state,
        step(
            index=state.next_index,
            outcome=outcome,
            fingerprint=digest_of(state.next_index),  # something new each time
            arguments=canonical_json(arguments.to_json()),
            error=error or None,
            search=record,
        ),
    )


def reason_of(state: RunState, *sources: str) -> str:
    names = sources or ("manual",)
    decision = decide(situation(state, task(sourceRefs=[{"name": name} for name in names])))
    assert isinstance(decision, Act)
    return decision.intent.decision.reason


# S0.23, S0.25, S1.10, S4.37
def test_three_errors_in_a_row_end_a_run_and_twenty_with_clean_steps_between_do_not() -> None:
    state = planned()
    for number in range(20):
        state = clean(failed(state, "Timeout", query=f"q{number}"), query=f"q{number}")
    assert reason_of(state) == "QueryNotSearched"
    for number in range(3):
        assert reason_of(state) == "QueryNotSearched"
        state = failed(state, "Timeout", query=f"r{number}")
    assert reason_of(state) == TerminalReason.ERROR_THRESHOLD_REACHED


# S0.25, S4.13
def test_a_clean_step_clears_the_errors_of_its_own_subject_alone() -> None:
    state = failed(failed(planned(), "Timeout", "manual", "a"), "Timeout", "wiki", "b")
    assert {s: e.count for s, e in state.errors.items()} == {"source/manual": 1, "source/wiki": 1}
    assert set(clean(state, "wiki", "c").errors) == {"source/manual"}


# S0.25
def test_an_attempt_that_will_be_repeated_counts_for_nothing_yet() -> None:
    again = after(planned(), "manual", "q", Outcome.RETRY_SCHEDULED, "Timeout")
    assert again.errors == {}
    assert again.retry is not None


# S3.8
def test_identical_failures_end_a_run_sooner_than_reworded_ones() -> None:
    once = failed(clean(planned()), "Timeout", query="a")
    identical, reworded = failed(once, "Timeout", query="a"), failed(once, "Timeout", query="b")
    assert reason_of(identical) == TerminalReason.REPEATED_FAILURE
    assert reason_of(reworded) == "QueryNotSearched"
    assert reason_of(failed(reworded, "Timeout", query="c")) == "ErrorThresholdReached"


# S1.17, S1.20
def test_each_stage_can_be_called_alone_and_gives_the_same_again() -> None:
    spec, before = task().spec, planned()
    folded = clean(before)
    assert clean(before) == folded
    assert assess(spec, folded) == assess(spec, folded)
    at = situation(folded)
    decision = decide(at)
    assert decision == decide(at)
    assert isinstance(decision, Act)
    pending = pending_of(at, decision.intent)
    assert pending == pending_of(at, decision.intent)
    attempt = interrupted(decision.intent, NOW)
    assert record(at, pending, attempt) == record(at, pending, attempt)
    assert build_status(at, decision, pending) == build_status(at, decision, pending)
