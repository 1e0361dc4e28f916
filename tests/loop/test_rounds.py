"""Rounds in the fold and in the decision: what a round carries over, and when one is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from functools import reduce

import pytest

from controller.api.base import digest_of
from controller.api.errors import JournalError
from controller.api.reasons import TerminalReason
from controller.api.rounds import RoundTotals
from controller.api.step import ActionName, ResearchStep
from controller.loop.decide import decide
from controller.loop.intents import ReverifyArguments
from controller.loop.journal import kept
from controller.loop.rounds import expired, source_marks, sources_seen, total
from controller.loop.run_state import RunState, initial
from controller.loop.situation import Act, Decision, End, Remove, Situation
from controller.loop.state import fold
from controller.loop.usage import Usage
from tests.golden.files import read
from tests.situations import NOW, closing, planned, search, situation, task
from tests.steps import step

STEPS: Sequence[ResearchStep] = read("second-round").steps
OPENS = next(at for at, s in enumerate(STEPS) if s.spec.opening is not None)
LAST_WEEK, TODAY = digest_of("last week"), digest_of("today")


def folded(steps: Sequence[ResearchStep]) -> RunState:
    of = read("second-round").task
    return reduce(fold, steps, initial(of.metadata.name, of.metadata.uid, of.spec.topic))


# S0.19, S1.15
def test_a_journal_that_begins_with_a_round_folds_to_the_same() -> None:
    reverified = next(at for at, s in enumerate(STEPS) if s.spec.reverify is not None)
    for end in range(reverified + 1, len(STEPS) + 1):
        assert folded(STEPS[OPENS:end]) == folded(STEPS[:end])


def test_what_is_left_of_a_deleted_round_is_passed_over() -> None:
    for first in range(1, OPENS + 1):
        assert kept(STEPS[first:]) == STEPS[OPENS:]
    assert kept(STEPS) == STEPS


# S1.15
@pytest.mark.parametrize("missing", [OPENS - 2, OPENS, OPENS + 2])
def test_a_hole_is_no_deletion(missing: int) -> None:
    left = [s for at, s in enumerate(STEPS) if at > 0 and at != missing]
    with pytest.raises(JournalError) as raised:
        folded(kept(left))
    assert raised.value.error_class == "MissingStep"


def test_a_round_that_is_not_the_next_one_is_refused() -> None:
    opening = STEPS[OPENS].spec
    state = replace(folded(STEPS[:OPENS]), round=3)
    with pytest.raises(JournalError) as raised:
        fold(state, STEPS[OPENS])
    assert raised.value.error_class == "ForeignStep"
    assert opening.round == 1


def test_the_totals_have_every_counter_of_a_round() -> None:
    assert set(RoundTotals.model_fields) == set(asdict(Usage()))
    before, after = folded(STEPS[:OPENS]), folded(STEPS)
    assert total(before) == before.usage
    assert total(after).steps == before.usage.steps + after.usage.steps


def test_the_steps_of_rounds_beyond_the_limit_expire_from_the_lowest_on() -> None:
    assert expired(STEPS, 1) == tuple(range(OPENS))
    assert expired(STEPS, 2) == ()
    assert expired((), 1) == ()


# When a round is due.


def succeeded(request: str | None = None) -> RunState:
    """Return the state of a run that has reached its goal on the manual of last week."""
    seen = search().model_copy(update={"corpus_digest": LAST_WEEK})
    last = step(index=0, action=ActionName.PUBLISH, end_time=NOW)
    return planned(
        closing=closing(TerminalReason.GOAL_REACHED, request=request),
        closed=True,
        searches=(seen,),
        last=last,
    )


def at(seconds: int, of: Situation) -> Decision:
    return decide(replace(of, now=NOW + timedelta(seconds=seconds)))


def opened_for(decision: Decision) -> str | None:
    """Return why a decision opens a round, None: it does not."""
    if isinstance(decision, Act) and decision.intent.opens_round:
        return decision.intent.decision.reason
    return None


# S1.24
def test_a_round_is_due_to_the_second() -> None:
    of = situation(succeeded(), task(refreshIntervalSeconds=600))
    early = at(599, of)
    assert isinstance(early, End)
    assert (early.until, early.wake_up_reason) == (NOW + timedelta(seconds=600), "Refresh")
    assert opened_for(at(600, of)) == "RefreshInterval"
    assert opened_for(at(10**6, situation(succeeded(), task()))) is None


# S1.24
def test_a_changed_source_opens_a_round_and_names_what_it_holds() -> None:
    of = situation(succeeded(), source_digests={"manual": TODAY})
    decision = decide(of)
    assert opened_for(decision) == "SourceChanged"
    assert isinstance(decision, Act)
    assert decision.intent.arguments == ReverifyArguments(
        round=1, source_name="manual", corpus_digest=TODAY
    )


@pytest.mark.parametrize(
    "digests",
    [{"manual": LAST_WEEK}, {}, {"another": TODAY}],
    ids=["it holds the same", "it is not known", "another source has changed"],
)
def test_what_has_not_changed_opens_no_round(digests: dict[str, str]) -> None:
    assert isinstance(decide(situation(succeeded(), source_digests=digests)), End)


def test_a_source_that_changed_during_the_round_has_no_one_digest() -> None:
    state = succeeded()
    later = search(query="GLOW_LEVEL").model_copy(update={"corpus_digest": TODAY})
    assert sources_seen(state) == {"manual": LAST_WEEK}
    changed = replace(state, searches=(*state.searches, later))
    assert sources_seen(changed) == {"manual": None}
    assert source_marks(situation(changed)) == ("?",)
    assert source_marks(situation()) == ("-",)


# S1.24
@pytest.mark.parametrize(
    ("ended_under", "asked", "reason"),
    [
        (None, "monday", "RefreshRequested"),
        ("monday", "tuesday", "RefreshRequested"),
        ("monday", "monday", None),
        ("monday", None, None),
    ],
)
def test_only_a_new_request_opens_a_round(
    ended_under: str | None, asked: str | None, reason: str | None
) -> None:
    assert opened_for(decide(situation(succeeded(ended_under), task(request=asked)))) == reason


def test_a_task_that_is_kept_no_longer_is_deleted_and_not_refreshed() -> None:
    of = task(refreshIntervalSeconds=600, ttlSecondsAfterFinished=0)
    assert isinstance(at(1000, situation(succeeded(), of)), Remove)


@pytest.mark.parametrize(
    "reason", [r for r in TerminalReason if r is not TerminalReason.GOAL_REACHED]
)
def test_an_ending_that_is_no_success_gets_no_round(reason: TerminalReason) -> None:
    state = replace(succeeded(), closing=closing(reason))
    of = situation(state, task(refreshIntervalSeconds=600), source_digests={"manual": TODAY})
    assert opened_for(at(1000, of)) is None
