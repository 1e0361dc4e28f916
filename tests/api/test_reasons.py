"""One row for each ending, and the exit codes that scripts rely on."""

from __future__ import annotations

import re
from typing import Final

import pytest

from controller.api.reasons import (
    TERMINAL,
    AcceptedReason,
    ConditionType,
    ExitCode,
    ReadyReason,
    RunningReason,
    TerminalReason,
)
from controller.api.task import Budgets, ProgressPolicy

_EXIT_CODES: Final = {
    0: {"GoalReached"},
    1: {
        "ModelRefused",
        "RequestRejected",
        "ContextOverflow",
        "ModelUnavailable",
        "SourcesUnavailable",
        "QuotaExhausted",
        "CredentialsRejected",
        "InternalError",
    },
    2: {
        "StepBudgetExhausted",
        "ModelCallBudgetExhausted",
        "TokenBudgetExhausted",
        "SourceCallBudgetExhausted",
        "CostBudgetExhausted",
        "DeadlineExceeded",
    },
    3: {
        "NoProgress",
        "CycleDetected",
        "RepeatedFailure",
        "ErrorThresholdReached",
        "SourcesExhausted",
    },
    4: {"ClarificationExpired", "ApprovalDenied", "ApprovalExpired"},
    5: {"InvalidSpec"},
    6: {"AmbiguousEffect", "JournalCorrupt"},
    7: {"Cancelled"},
}
"""What `fixpoint run` and `fixpoint watch` exit with (S2.22): scripts rely on each number."""


# S0.15
def test_every_reason_has_one_row() -> None:
    assert set(TERMINAL) == set(TerminalReason)
    assert list(TERMINAL) == list(TerminalReason), "the table has the order of the enum"


@pytest.mark.parametrize("code", _EXIT_CODES)
def test_exit_codes(code: int) -> None:
    found = {reason.value for reason, ending in TERMINAL.items() if ending.exit_code == code}
    assert found == _EXIT_CODES[code]


def test_no_other_exit_code_is_used() -> None:
    assert {code.value for code in ExitCode} == set(_EXIT_CODES)


def test_only_the_goal_exits_with_zero() -> None:
    zero = [reason for reason, ending in TERMINAL.items() if ending.exit_code == 0]
    assert zero == [TerminalReason.GOAL_REACHED]


def test_no_two_endings_mean_the_same() -> None:
    meanings = [ending.meaning for ending in TERMINAL.values()]
    assert len(set(meanings)) == len(meanings)


# S1.36, S2.21
@pytest.mark.parametrize("reason", TerminalReason)
def test_meaning_and_remedy_are_sentences(reason: TerminalReason) -> None:
    ending = TERMINAL[reason]
    for sentence in (ending.meaning, ending.remedy):
        assert sentence.endswith("."), sentence
        assert sentence.strip() == sentence
        assert "\n" not in sentence
        assert len(sentence) <= 200
        assert sentence[0].isupper() or sentence.startswith("spec.")


# S2.33
def test_a_remedy_names_fields_that_exist() -> None:
    known = {
        "spec.budgets": Budgets,
        "spec.progressPolicy": ProgressPolicy,
    }
    named = re.findall(
        r"(spec\.(?:budgets|progressPolicy))\.(\w+)",
        " ".join(f"{e.meaning} {e.remedy}" for e in TERMINAL.values()),
    )
    assert len(named) >= 8
    for parent, field in named:
        assert field in known[parent].model_json_schema(by_alias=True)["properties"], field


@pytest.mark.parametrize(
    "names", [TerminalReason, ConditionType, AcceptedReason, RunningReason, ReadyReason]
)
def test_a_reason_is_one_camel_case_word(names: type[TerminalReason]) -> None:
    for name in names:
        assert re.fullmatch(r"([A-Z][a-z]*)+", name.value), name
        assert len(name.value) <= 64


def test_the_enum_is_the_documented_one() -> None:
    assert {reason.value for reason in TerminalReason} == set().union(*_EXIT_CODES.values())
