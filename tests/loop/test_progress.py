"""Progress is what is known: busy runs are stopped, learning ones never are (S1.27)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import Hit, SearchRecord, SearchStatus, Span
from controller.api.step import ActionName, Outcome
from controller.loop.progress import SEARCHES_FOR_ABSENCE, Fingerprints, fingerprint
from tests.steps import step


def searched(
    query: str, *starts: int, status: SearchStatus = SearchStatus.COMPLETE
) -> SearchRecord:
    hits = tuple(
        Hit(locator="file:a", title="a", rank=i, relevance=1, span=Span(start=s, end=s + 1))
        for i, s in enumerate(starts)
    )
    return SearchRecord(
        source_name="s", question_id="q", query=query, status=status, hits=hits, documents=1
    )


def known(*searches: SearchRecord, facts: tuple[str, ...] = (), state: str = "Open") -> str:
    return fingerprint(
        facts=facts, question_states=[("q", state)], predicates_met=(), searches=searches
    )


# S1.22
def test_each_improvement_changes_the_fingerprint() -> None:
    base = known(searched("a", 1))
    assert known(searched("a", 1, 2)) != base
    assert known(searched("a", 1), facts=("f-1",)) != base
    assert known(searched("a", 1), state="Answered") != base
    assert known(searched("a", 1), searched("b")) != base


def test_the_same_search_again_is_no_progress() -> None:
    assert known(searched("a", 1), searched("a", 1)) == known(searched("a", 1))


def test_a_failed_search_is_no_progress() -> None:
    assert known(searched("a", status=SearchStatus.FAILED)) == known()


def test_queries_beyond_those_a_certificate_needs_are_no_progress() -> None:
    searches = [searched(str(n)) for n in range(SEARCHES_FOR_ABSENCE + 2)]
    enough = known(*searches[:SEARCHES_FOR_ABSENCE])
    assert known(*searches[: SEARCHES_FOR_ABSENCE - 1]) != enough
    assert known(*searches) == enough


def after(*fingerprints: str, action: ActionName = ActionName.SEARCH) -> Fingerprints:
    seen = Fingerprints()
    for index, value in enumerate(fingerprints):
        seen = seen.after(step(index=index, action=action, fingerprint=value))
    return seen


def test_stalled_steps_are_counted_in_a_row() -> None:
    assert after("a", "a", "a").stalled_steps == 2
    assert after("a", "a", "b").stalled_steps == 0
    assert after("a", "a", "b").last_progress_step == 2


def test_planning_does_not_stall() -> None:
    assert after("a", "a", "a", action=ActionName.REFINE).stalled_steps == 0


def test_only_completed_steps_that_go_on_count() -> None:
    seen = after("a")
    for outcome in (Outcome.FAILED, Outcome.RETRY_SCHEDULED, Outcome.INTERRUPTED):
        assert seen.after(step(fingerprint="a", outcome=outcome)) == seen
    assert seen.after(step(action=ActionName.DRAFT, fingerprint="b")) == seen


def test_an_earlier_fingerprint_is_a_cycle() -> None:
    assert after("a", "b", "a").cycle
    assert not after("a", "b", "b", "c").cycle


@given(st.lists(st.sampled_from("abcdef"), max_size=30))
def test_a_cycle_is_found_exactly_when_a_value_returns(values: list[str]) -> None:
    changes = [v for i, v in enumerate(values) if i == 0 or v != values[i - 1]]
    assert after(*values).cycle is (len(set(changes)) < len(changes))


@given(st.integers(1, 40))
def test_a_run_that_learns_at_each_step_never_stalls(steps: int) -> None:
    seen = after(*(str(n) for n in range(steps)))
    assert seen.stalled_steps == 0
    assert not seen.cycle
    assert len(seen.recent) <= 16


def test_a_restart_forgets_stalling_and_cycles() -> None:
    stuck = after("a", "b", "a", "a")
    assert stuck.restarted() == Fingerprints(
        recent=("a",), stalled_steps=0, last_progress_step=2, cycle=False
    )
