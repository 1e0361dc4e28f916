"""A source that fails too often is set aside for the round; only with the last one ends the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.api.meta import ConditionStatus
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import AnswerReason, Query, QuestionState, SearchRecord, SearchStatus
from controller.api.step import StepDecision, Verdict
from controller.api.task import ProgressPolicy, ResearchTask
from controller.loop.assessment import assess, concluded
from controller.loop.breakers import set_aside
from controller.loop.decide import decide
from controller.loop.failures import ErrorCount
from controller.loop.intents import Intent, SearchArguments
from controller.loop.run_state import RunState
from controller.loop.situation import Act, Situation
from controller.loop.state import reopened
from controller.loop.status import build_status
from tests.situations import error, planned, search, situation, task

TWO = task(sourceRefs=[{"name": "manual"}, {"name": "wiki"}])
WIKI_OUT = {"source/wiki": error("Unreachable", "source/wiki", count=3)}


def intent_of(at: Situation) -> Intent:
    """Return what is decided to be done."""
    decision = decide(at)
    assert isinstance(decision, Act)
    return decision.intent


def ending_of(errors: dict[str, ErrorCount], of: ResearchTask = TWO) -> StepDecision:
    """Return the decision on a run that has read something, with these failures in a row."""
    state = planned(errors=errors, searches=(search(query="other"),))
    return intent_of(situation(state, of)).decision


def searched(source: str, status: SearchStatus, *queries: str) -> tuple[SearchRecord, ...]:
    return tuple(search(status, q).model_copy(update={"source_name": source}) for q in queries)


def asked_for(queries: tuple[str, ...], *searches: SearchRecord) -> RunState:
    """Return the state of a run whose question has these queries and searches."""
    return planned(
        queries=tuple(Query(question_id="glow", text=q) for q in queries),
        searches=searches,
        refined=frozenset({"glow"}),
        errors=WIKI_OUT,
    )


def test_the_other_sources_are_searched_and_the_failing_one_is_not() -> None:
    view = assess(TWO.spec, planned(errors=WIKI_OUT)).questions[0]
    assert [name for _, name in view.unsearched] == ["manual"]
    arguments = intent_of(situation(planned(errors=WIKI_OUT), TWO)).arguments
    assert isinstance(arguments, SearchArguments)
    assert arguments.source_name == "manual"


def test_fewer_failures_than_the_limit_set_nothing_aside() -> None:
    twice = {"source/wiki": error("Unreachable", "source/wiki", count=2)}
    assert set_aside(TWO.spec, planned(errors=twice)) == ()


@pytest.mark.parametrize("error_class", ["CredentialsRejected", "QuotaExhausted"])
def test_what_another_request_would_not_mend_sets_a_source_aside_after_one(
    error_class: str,
) -> None:
    once = {"source/wiki": error(error_class, "source/wiki", count=1)}
    (source,) = set_aside(TWO.spec, planned(errors=once))
    assert (source.source_name, source.error_class, source.failures) == ("wiki", error_class, 1)


def test_a_raised_limit_takes_the_source_back() -> None:
    patient = TWO.spec.model_copy(update={"progress_policy": ProgressPolicy(error_threshold=5)})
    assert set_aside(patient, planned(errors=WIKI_OUT)) == ()


def test_a_source_that_the_task_no_longer_has_ends_no_run() -> None:
    removed = {"source/atlas": error("Unreachable", "source/atlas", count=3)}
    assert ending_of(removed).reason == "QueryNotSearched"


@pytest.mark.parametrize(
    ("manual", "wiki", "reason"),
    [
        ("Unreachable", "Unreachable", TerminalReason.ERROR_THRESHOLD_REACHED),
        ("Unreachable", "QuotaExhausted", TerminalReason.QUOTA_EXHAUSTED),
        ("CredentialsRejected", "Unreachable", TerminalReason.CREDENTIALS_REJECTED),
    ],
)
def test_with_the_last_source_the_run_ends_and_a_name_of_its_own_comes_first(
    manual: str, wiki: str, reason: TerminalReason
) -> None:
    decision = ending_of(
        {
            "source/manual": error(manual, count=3),
            "source/wiki": error(wiki, "source/wiki", count=3),
        }
    )
    assert decision.reason == reason
    assert decision.verdict is Verdict.FAIL
    assert f"manual ({manual}, 3 in a row: it was too slow)" in decision.message
    assert f"wiki ({wiki}, 3 in a row: it was too slow)" in decision.message


def test_identical_failures_of_the_last_source_are_repeated_failure() -> None:
    only = task(sourceRefs=[{"name": "wiki"}])
    identical = {"source/wiki": error("Tls", "source/wiki", count=2, identical=2)}
    assert ending_of(identical, only).reason == TerminalReason.REPEATED_FAILURE


def test_where_nothing_was_read_the_sources_are_unavailable() -> None:
    state = planned(
        errors={
            "source/manual": error("CredentialsRejected"),
            "source/wiki": error("Unreachable", "source/wiki"),
        },
        searches=searched("manual", SearchStatus.FAILED, "a"),
    )
    decision = intent_of(situation(state, TWO)).decision
    assert decision.reason == TerminalReason.SOURCES_UNAVAILABLE


class TestAnswers:
    QUERIES = ("one frost", "two frost", "three frost")

    def test_a_question_that_lacks_the_source_is_unresolved_and_never_not_found(self) -> None:
        # Never asked, asked in part, and failed: nothing can be said of what the source holds.
        full = searched("manual", SearchStatus.COMPLETE, *self.QUERIES)
        for of_wiki in (
            (),
            searched("wiki", SearchStatus.COMPLETE, *self.QUERIES[:2]),
            searched("wiki", SearchStatus.FAILED, *self.QUERIES),
        ):
            state = asked_for(self.QUERIES, *full, *of_wiki)
            assessment = assess(TWO.spec, state)
            answer = concluded(TWO.spec, assessment.findings, assessment.questions[0].question)
            assert (answer.state, answer.reason) == (
                QuestionState.UNRESOLVED,
                AnswerReason.SEARCH_FAILED,
            )

    def test_a_question_that_the_source_had_answered_whole_loses_nothing(self) -> None:
        both = [searched(s, SearchStatus.COMPLETE, *self.QUERIES) for s in ("manual", "wiki")]
        state = asked_for(self.QUERIES, *both[0], *both[1])
        assessment = assess(TWO.spec, state)
        answer = concluded(TWO.spec, assessment.findings, assessment.questions[0].question)
        assert answer.reason is not AnswerReason.SEARCH_FAILED

    def test_nothing_left_names_what_was_set_aside(self) -> None:
        full = searched("manual", SearchStatus.COMPLETE, *self.QUERIES)
        state = asked_for(self.QUERIES, *full)
        assessment = assess(TWO.spec, state)
        answer = concluded(TWO.spec, assessment.findings, assessment.questions[0].question)
        decision = intent_of(situation(replace(state, answers={"glow": answer}), TWO)).decision
        assert decision.reason == TerminalReason.SOURCES_EXHAUSTED
        assert "set aside for the round: wiki (Unreachable, 3 in a row" in decision.message


class TestDegraded:
    def test_it_is_there_while_a_source_is_set_aside_and_names_it(self) -> None:
        at = situation(planned(errors=WIKI_OUT), TWO)
        condition = build_status(at, decide(at), None).condition(ConditionType.DEGRADED)
        assert condition is not None
        assert (condition.status, condition.reason) == (ConditionStatus.TRUE, "Unreachable")
        assert "wiki (Unreachable, 3 in a row: it was too slow)" in condition.message

    def test_it_is_absent_otherwise(self) -> None:
        for state in (planned(), reopened(planned(errors=WIKI_OUT))):
            at = situation(state, TWO)
            assert build_status(at, decide(at), None).condition(ConditionType.DEGRADED) is None
