"""The guards: their order as a whole, each alone, and what each decision says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import reduce

import pytest

from controller.api.base import digest_of
from controller.api.errors import JournalError
from controller.api.model_call import ModelTerms
from controller.api.reasons import AcceptedReason, RunningReason, TerminalReason
from controller.api.records import NoteKind, Question, SearchStatus
from controller.api.step import ActionName
from controller.api.task import (
    Budgets,
    DecisionPolicy,
    DesiredState,
    Goal,
    ProgressPolicy,
    RequireEveryQuestion,
)
from controller.loop.decide import GUARDS, decide
from controller.loop.failures import Retry
from controller.loop.intents import NoteArguments
from controller.loop.pace import Pace
from controller.loop.progress import Fingerprints
from controller.loop.situation import (
    Act,
    Decision,
    End,
    Interrupt,
    MissingReference,
    Remove,
    Situation,
    Spend,
    Wait,
)
from controller.loop.usage import Usage
from tests.situations import (
    NOW,
    Change,
    closing,
    error,
    pending,
    planned,
    search,
    situation,
    task,
    with_,
    with_spec,
    with_state,
)

TERMS = ModelTerms(
    name="large",
    generation=1,
    context_window_tokens=8192,
    max_output_tokens=512,
    input_price=1_000_000,
    output_price=2_000_000,
)
FALLBACK = TERMS.model_copy(update={"name": "small", "context_window_tokens": 4096})

ORDER = [
    "journal_corrupt",
    "round_due",
    "already_terminal",
    "reopening",
    "pending_in_doubt",
    "cancelled",
    "spec_invalid",
    "suspended",
    "goal_reached",
    "awaiting_clarification",
    "deadline_exceeded",
    "references_not_ready",
    "pause_ended",
    "step_budget",
    "source_call_budget",
    "model_budget",
    "sources_unavailable",
    "repeated_failure",
    "error_threshold",
    "cycle_detected",
    "no_progress",
    "backing_off",
    "degrade",
    "spend_ceiling",
    "model_busy",
    "planning_interval",
    "soft_check",
    "next_action",
    "nothing_left",
]

OTHER = digest_of("the manual of today")
SEARCHED = search().model_copy(update={"corpus_digest": digest_of("the manual of last week")})

EASY_GOAL = Goal(min_facts=0, require_every_question=RequireEveryQuestion.NONE)

APPLIES: dict[str, Change] = {
    "journal_corrupt": with_(journal_error=JournalError("BrokenChain", "step 3 is foreign")),
    "round_due": lambda s: with_state(
        closing=closing(TerminalReason.GOAL_REACHED), closed=True, searches=(SEARCHED,)
    )(with_(source_digests={"manual": OTHER})(s)),
    "already_terminal": with_state(closing=closing(TerminalReason.NO_PROGRESS), closed=True),
    "pending_in_doubt": with_(pending=pending()),
    "cancelled": with_spec(desired_state=DesiredState.CANCELLED),
    "spec_invalid": with_spec(
        questions=(
            Question(id="glow", text="What is it?"),
            Question(id="again", text="What is it?"),
        )
    ),
    "suspended": with_spec(desired_state=DesiredState.SUSPENDED),
    "goal_reached": with_spec(quality_threshold=0, goal=EASY_GOAL),
    "awaiting_clarification": with_spec(guidance="for {region}"),
    "deadline_exceeded": with_state(usage=Usage(active_milliseconds=900_000, steps=60)),
    "references_not_ready": with_(
        missing=MissingReference(AcceptedReason.SOURCE_NOT_FOUND, "ResearchSource manual")
    ),
    "pause_ended": with_state(pause=NoteKind.SUSPENDED),
    "step_budget": with_state(usage=Usage(steps=60, active_milliseconds=1)),
    "source_call_budget": lambda s: with_spec(budgets=Budgets(max_source_calls=0))(
        with_(remote_sources=frozenset({"manual"}))(s)
    ),
    "model_budget": lambda s: with_spec(budgets=Budgets(max_model_calls=0))(
        with_(models=(TERMS,))(with_state(usage=Usage(steps=10))(s))
    ),
    "repeated_failure": with_state(errors={"operator": error(identical=2, count=2)}),
    "error_threshold": with_state(errors={"operator": error(identical=1, count=3)}),
    "cycle_detected": with_state(progress=Fingerprints(recent=("a", "b"), cycle=True)),
    "no_progress": with_state(progress=Fingerprints(recent=("a",), stalled_steps=4)),
    "backing_off": with_state(
        retry=Retry(ActionName.SEARCH, "{}", 1, "Timeout", "too slow", "source/manual", NOW, None)
    ),
    "degrade": lambda s: with_state(usage=Usage(steps=50))(with_(models=(TERMS, FALLBACK))(s)),
    "spend_ceiling": lambda s: with_state(usage=Usage(steps=10))(
        with_(models=(TERMS,), spend=Spend(limit=10, spent=9))(s)
    ),
    "model_busy": lambda s: with_state(usage=Usage(steps=10))(
        with_(models=(TERMS,), paces={"large": Pace("large", max_concurrent=1, under_way=1)})(s)
    ),
    "planning_interval": lambda s: with_state(usage=Usage(steps=10))(with_(models=(TERMS,))(s)),
}


def reason_of(decision: Decision) -> str:
    """Return what a decision is about, in one word."""
    if isinstance(decision, End | Wait):
        return decision.reason
    if isinstance(decision, Interrupt | Remove):
        return type(decision).__name__
    arguments = decision.intent.arguments
    return (
        arguments.kind if isinstance(arguments, NoteArguments) else decision.intent.decision.reason
    )


EXPECTED = {
    "journal_corrupt": "JournalCorrupt",
    "round_due": "SourceChanged",
    "already_terminal": "NoProgress",
    "pending_in_doubt": "Test",
    "cancelled": "Cancelled",
    "spec_invalid": "InvalidSpec",
    "suspended": "Suspended",
    "goal_reached": "GoalReached",
    "awaiting_clarification": "FieldsMissing",
    "deadline_exceeded": "DeadlineExceeded",
    "references_not_ready": "Waiting",
    "pause_ended": "Resumed",
    "step_budget": "StepBudgetExhausted",
    "source_call_budget": "SourceCallBudgetExhausted",
    "model_budget": "ModelCallBudgetExhausted",
    "repeated_failure": "RepeatedFailure",
    "error_threshold": "ErrorThresholdReached",
    "cycle_detected": "CycleDetected",
    "no_progress": "NoProgress",
    "backing_off": "BackingOff",
    "degrade": "Degraded",
    "spend_ceiling": "Queued",
    "model_busy": "Queued",
    "planning_interval": "PlanningInterval",
}


NO_ROUND = [("round_due", name) for name in ("cancelled", "spec_invalid", "suspended")]
"""A task that succeeded and is not to run, or cannot, gets no round: it stays as it has ended."""


NO_TURN = [("model_budget", "backing_off")]
"""That call is a planning turn, and there is none while an attempt is to be repeated."""


def test_a_call_that_no_budget_is_left_for_is_not_waited_for() -> None:
    proposing = with_spec(
        budgets=Budgets(max_model_calls=0), decision_policy=DecisionPolicy.MODEL_PROPOSED
    )
    backing_off = APPLIES["backing_off"](with_(models=(TERMS,))(situation()))
    assert reason_of(decide(backing_off)) == "BackingOff"
    assert reason_of(decide(proposing(backing_off))) == "ModelCallBudgetExhausted"


# S1.24
@pytest.mark.parametrize("name", [name for _, name in NO_ROUND])
def test_a_task_that_succeeded_and_is_not_to_run_gets_no_round(name: str) -> None:
    due = APPLIES["round_due"](APPLIES[name](situation()))
    assert reason_of(decide(due)) == "GoalReached"


# S0.24
def test_the_order_of_the_guards_is_the_contract() -> None:
    assert [guard.__name__ for guard in GUARDS] == ORDER


# S0.23, S1.17, S2.5
@pytest.mark.parametrize("name", APPLIES)
def test_each_guard_applies_alone(name: str) -> None:
    assert reason_of(decide(APPLIES[name](situation()))) == EXPECTED[name]


# S0.24, S0.25
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (first, second)
        for at, first in enumerate(APPLIES)
        for second in list(APPLIES)[at + 1 :]
        if EXPECTED[first] != EXPECTED[second] and (first, second) not in NO_ROUND + NO_TURN
    ],
)
def test_of_two_guards_that_apply_the_earlier_wins(first: str, second: str) -> None:
    # The later one's change is made first, so that it cannot undo the earlier one's.
    both = reduce(_combined, (second, first), situation())
    assert reason_of(decide(both)) == EXPECTED[first]


def _combined(before: Situation, name: str) -> Situation:
    """Apply a change without losing the usage and errors that an earlier change made."""
    after = APPLIES[name](before)
    merged = Usage(
        steps=max(before.state.usage.steps, after.state.usage.steps),
        active_milliseconds=max(
            before.state.usage.active_milliseconds, after.state.usage.active_milliseconds
        ),
    )
    return with_state(usage=merged)(after)


def test_without_a_reason_to_stop_the_policy_acts() -> None:
    decision = decide(situation())
    assert isinstance(decision, Act)
    assert decision.intent.action is ActionName.SEARCH


class TestTerminal:
    def test_an_ended_run_rests_for_its_generation_and_request(self) -> None:
        ended = planned(closing=closing(TerminalReason.NO_PROGRESS), closed=True)
        assert decide(situation(ended)) == End(TerminalReason.NO_PROGRESS, "as it was")

    @pytest.mark.parametrize("change", [{"generation": 2}, {"request": "now"}])
    def test_a_new_generation_or_request_reopens_it(self, change: dict[str, object]) -> None:
        ended = planned(closing=closing(TerminalReason.NO_PROGRESS), closed=True)
        decision = decide(situation(ended, task(**change)))  # type: ignore[arg-type]
        assert reason_of(decision) == NoteKind.REOPENED

    def test_a_run_that_is_closing_goes_on_closing_under_the_same_reason(self) -> None:
        state = planned(closing=closing(TerminalReason.STEP_BUDGET_EXHAUSTED), statements=())
        decision = decide(situation(state, task(qualityThreshold=0)))
        assert isinstance(decision, Act)
        assert decision.intent.decision.reason == TerminalReason.STEP_BUDGET_EXHAUSTED

    def test_a_corrupt_journal_is_not_touched(self) -> None:
        corrupt = with_(journal_error=JournalError("MissingStep", "step 2 is missing"))
        decision = decide(corrupt(situation()))
        assert decision == End(TerminalReason.JOURNAL_CORRUPT, "MissingStep: step 2 is missing")


class TestPendingInDoubt:
    # S1.7
    def test_the_effect_of_another_process_is_asked_for_under_its_own_intent(self) -> None:
        decision = decide(situation(pending=pending(ActionName.PUBLISH)))
        assert isinstance(decision, Act)
        assert decision.intent.action is ActionName.PUBLISH

    # S4.8
    def test_a_pure_action_of_another_process_is_decided_anew(self) -> None:
        decision = decide(situation(pending=pending(ActionName.CONCLUDE)))
        assert isinstance(decision, Act)
        assert decision.intent.action is ActionName.SEARCH

    # S4.8
    def test_a_paid_action_of_another_process_is_charged(self) -> None:
        remote = frozenset({"manual"})
        decision = decide(situation(pending=pending(ActionName.SEARCH), remote_sources=remote))
        assert isinstance(decision, Interrupt)

    # S4.8
    def test_a_paid_action_of_a_process_that_may_live_is_left_to_it_for_its_time(self) -> None:
        def at(seconds: float, action: ActionName = ActionName.SEARCH) -> Decision:
            return decide(
                situation(
                    pending=pending(action),
                    remote_sources=frozenset({"manual"}),
                    holder_may_live=True,
                    now=NOW + timedelta(seconds=seconds),
                )
            )

        waits = at(119.9)
        assert isinstance(waits, Wait)
        assert waits.until == NOW + timedelta(seconds=120)  # spec.progressPolicy
        assert isinstance(at(120), Interrupt)
        assert isinstance(at(0, ActionName.PUBLISH), Act)  # asked for by its operation id
        assert isinstance(at(0, ActionName.CONCLUDE), Act)  # costs nothing to do again

    def test_one_of_this_process_is_not_in_doubt(self) -> None:
        own = pending(ActionName.SEARCH, holder="operator-1")
        remote = frozenset({"manual"})
        assert isinstance(decide(situation(pending=own, remote_sources=remote)), Act)

    def test_one_whose_step_is_recorded_is_settled(self) -> None:
        recorded = pending(ActionName.PUBLISH, index=0)
        decision = decide(situation(pending=recorded))
        assert isinstance(decision, Act)
        assert decision.intent.action is ActionName.SEARCH


class TestTime:
    def test_the_deadline_names_its_field(self) -> None:
        late = with_state(usage=Usage(active_milliseconds=900_000))(situation())
        decision = decide(late)
        assert isinstance(decision, Act)
        assert "activeDeadlineSeconds is 900" in decision.intent.decision.message

    def test_one_millisecond_before_the_deadline_the_run_goes_on(self) -> None:
        early = with_state(usage=Usage(active_milliseconds=899_999))(situation())
        assert reason_of(decide(early)) == "QueryNotSearched"

    def test_waiting_for_a_reference_ends_at_the_deadline_and_names_it(self) -> None:
        missing = MissingReference(AcceptedReason.SOURCE_NOT_FOUND, "ResearchSource manual")
        waiting = planned(pause=NoteKind.WAITING, pause_reason="SourceNotFound")
        decision = decide(situation(waiting, missing=missing))
        assert isinstance(decision, Wait)
        assert decision.until == NOW + timedelta(seconds=900)
        late = replace(waiting, usage=Usage(active_milliseconds=900_000))
        ending = decide(situation(late, missing=missing))
        assert isinstance(ending, Act)
        assert "missing: ResearchSource manual" in ending.intent.decision.message

    # S1.25, S1.29
    def test_back_off_doubles_and_obeys_the_other_side(self) -> None:
        def wake(attempts: int, not_before: timedelta | None = None) -> timedelta:
            asked = NOW + not_before if not_before else None
            retry = Retry(
                ActionName.SEARCH, "{}", attempts, "Timeout", "slow", "source/manual", NOW, asked
            )
            decision = decide(situation(planned(retry=retry)))
            assert isinstance(decision, Wait)
            assert decision.until is not None
            return decision.until - NOW

        assert [wake(n).total_seconds() for n in (1, 2, 3, 9)] == [1, 2, 4, 60]
        assert wake(1, timedelta(seconds=7)).total_seconds() == 7

    def test_a_retry_that_may_only_come_after_the_deadline_ends_at_once(self) -> None:
        # S1.29: the other side asked for 1,000 s, the task has 900.
        asked = NOW + timedelta(seconds=1000)
        retry = Retry(
            ActionName.SEARCH, "{}", 1, "RateLimited", "slow down", "source/manual", NOW, asked
        )
        decision = decide(situation(planned(retry=retry)))
        assert reason_of(decision) == TerminalReason.SOURCES_UNAVAILABLE
        assert isinstance(decision, Act)
        message = decision.intent.decision.message
        assert "2026-01-05 09:16:40 UTC" in message
        assert "2026-01-05 09:15:00 UTC" in message

    def test_after_the_back_off_the_same_action_is_the_next_attempt(self) -> None:
        first = decide(situation())
        assert isinstance(first, Act)
        retry = Retry(
            ActionName.SEARCH,
            first.intent.arguments_json,
            1,
            "Timeout",
            "slow",
            "operator",
            NOW,
            None,
        )
        again = decide(situation(planned(retry=retry), now=NOW + timedelta(seconds=1)))
        assert isinstance(again, Act)
        assert again.intent.attempt == 2


class TestSuspension:
    def test_it_is_noted_then_waited_for_then_ended(self) -> None:
        stop = task(desiredState="Suspended")
        assert reason_of(decide(situation(of=stop))) == NoteKind.SUSPENDED
        noted = planned(pause=NoteKind.SUSPENDED)
        assert decide(situation(noted, stop)) == Wait(
            RunningReason.SUSPENDED, "suspended by spec.desiredState"
        )
        assert reason_of(decide(situation(noted))) == NoteKind.RESUMED


class TestNothingLeft:
    # S0.6, S0.29, S1.33, S1.34
    def test_a_question_at_its_own_limit_names_it(self) -> None:
        limited = planned(question_steps={"glow": 16})
        decision = decide(situation(limited))
        assert isinstance(decision, Act)
        assert decision.intent.decision.reason == TerminalReason.STEP_BUDGET_EXHAUSTED
        assert "maxStepsPerQuestion is used up for glow" in decision.intent.decision.message

    def test_every_source_failed_and_nothing_was_read(self) -> None:
        failed = planned(
            searches=(search(SearchStatus.FAILED),), errors={"source/manual": error("Unreachable")}
        )
        decision = decide(situation(failed))
        assert reason_of(decision) == TerminalReason.SOURCES_UNAVAILABLE


class TestErrors:
    def test_a_class_with_a_name_of_its_own_ends_under_that_name(self) -> None:
        failing = planned(errors={"source/manual": error("QuotaExhausted", count=3)})
        assert reason_of(decide(situation(failing))) == TerminalReason.QUOTA_EXHAUSTED

    # S4.19
    def test_a_defect_of_ours_ends_at_once(self) -> None:
        failing = planned(errors={"operator": error("InternalError", "operator")})
        assert reason_of(decide(situation(failing))) == TerminalReason.INTERNAL_ERROR

    # S0.59
    @pytest.mark.parametrize(
        ("reason", "error_class", "ending"),
        [
            (TerminalReason.GOAL_REACHED, "ReportNameTaken", TerminalReason.REPEATED_FAILURE),
            (TerminalReason.GOAL_REACHED, "InternalError", TerminalReason.INTERNAL_ERROR),
            (TerminalReason.NO_PROGRESS, "ReportNameTaken", TerminalReason.NO_PROGRESS),
        ],
    )
    def test_a_report_that_cannot_be_written_is_no_success(
        self, reason: TerminalReason, error_class: str, ending: TerminalReason
    ) -> None:
        broken = planned(
            closing=closing(reason),
            statements=(),
            errors={"report": error(error_class, "report", count=2, identical=2)},
        )
        decision = decide(situation(broken))
        assert isinstance(decision, End)
        assert decision.reason is ending
        assert "it was too slow" in decision.message

    def test_a_closing_step_that_will_be_repeated_backs_off(self) -> None:
        state = planned(closing=closing(TerminalReason.NO_PROGRESS))
        draft = decide(situation(state))
        assert isinstance(draft, Act)
        retry = Retry(
            ActionName.DRAFT,
            draft.intent.arguments_json,
            1,
            "ReportChanged",
            "changed",
            "report",
            NOW,
            None,
        )
        again = situation(replace(state, retry=retry))
        assert reason_of(decide(again)) == RunningReason.BACKING_OFF


# S0.28, S3.7
def test_budgets_are_read_from_the_spec_alone() -> None:
    used = planned(usage=Usage(steps=5))
    assert reason_of(decide(situation(used, task(budgets={"maxSteps": 6})))) == "QueryNotSearched"
    decision = decide(situation(used, task(budgets={"maxSteps": 5})))
    assert reason_of(decision) == TerminalReason.STEP_BUDGET_EXHAUSTED


# S3.7
def test_stop_rules_are_read_from_the_spec_alone() -> None:
    stalled = planned(progress=Fingerprints(recent=("a",), stalled_steps=4))
    patient = task(progressPolicy=ProgressPolicy(max_stalled_steps=5).to_json())
    assert reason_of(decide(situation(stalled, patient))) == "QueryNotSearched"
