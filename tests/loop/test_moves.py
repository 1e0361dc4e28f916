"""The moves of a question's state: the table is closed, and what it lacks is refused."""

from __future__ import annotations

from itertools import product

import pytest

from controller.api.errors import JournalError
from controller.api.records import Answer, AnswerReason, Query, QuestionState
from controller.api.step import ActionName
from controller.loop.assessment import assess
from controller.loop.moves import LEGAL_MOVES, Move, illegal_move, is_legal
from controller.loop.replay import decided_again
from controller.loop.run_state import RunState
from controller.loop.state import apply
from tests.golden.files import read
from tests.situations import planned, task
from tests.steps import step

EXPECTED = {
    ("Open", "Answered"): {"Conclude", "Extract", "Search", "Read"},
    ("Open", "NotFound"): {"Conclude", "Search", "Read"},
    ("Open", "Unresolved"): {"Plan", "Search", "Read", "Extract", "Review", "Refine", "Conclude"},
    ("Answered", "Open"): {"Search", "Read", "Reverify"},
    ("Answered", "Unresolved"): {"Search", "Read"},
    ("NotFound", "Open"): {"Plan", "Refine", "Note", "Reverify"},
    ("NotFound", "Unresolved"): {"Plan", "Refine", "Note"},
    ("Unresolved", "Open"): {"Plan", "Refine", "Note", "Search", "Read", "Reverify"},
    ("Unresolved", "Answered"): {"Search", "Read"},
    ("Unresolved", "NotFound"): {"Search", "Read"},
}


# S1.4
@pytest.mark.parametrize(
    ("before", "after", "action"), list(product(QuestionState, QuestionState, ActionName))
)
def test_every_pair_is_legal_or_refused(
    before: QuestionState, after: QuestionState, action: ActionName
) -> None:
    expected = before is after or action in EXPECTED.get((before.value, after.value), set())
    assert is_legal(Move(before, after), action) is expected


# S1.4
def test_no_step_makes_an_answer_of_an_absence_or_an_absence_of_an_answer() -> None:
    assert Move(QuestionState.NOT_FOUND, QuestionState.ANSWERED) not in LEGAL_MOVES
    assert Move(QuestionState.ANSWERED, QuestionState.NOT_FOUND) not in LEGAL_MOVES


# S1.4
def test_a_conclusion_that_is_none_does_not_fold() -> None:
    open_again = Answer(question_id="glow", state=QuestionState.OPEN, origins=0)
    with pytest.raises(JournalError) as raised:
        apply(
            planned(),
            step(
                index=1,
                action=ActionName.CONCLUDE,
                arguments='{"questionId": "glow"}',
                answer=open_again,
            ),
        )
    assert raised.value.error_class == "IllegalMove"


def unresolved(state: RunState) -> RunState:
    """Return the state after a conclusion that too few queries were asked."""
    answer = Answer(
        question_id="glow",
        state=QuestionState.UNRESOLVED,
        reason=AnswerReason.TOO_FEW_QUERIES,
        origins=0,
    )
    return apply(
        state,
        step(
            index=1,
            action=ActionName.CONCLUDE,
            arguments='{"questionId": "glow"}',
            answer=answer,
        ),
    )


# S1.4
def test_a_move_is_named_by_its_question_states_and_action() -> None:
    spec = task().spec
    before = unresolved(planned(queries=()))
    new_query = (Query(question_id="glow", text="another"),)
    after = assess(spec, unresolved(planned(queries=new_query)))
    assert illegal_move(ActionName.REFINE, assess(spec, before), after) is None
    named = illegal_move(ActionName.DRAFT, assess(spec, before), after)
    assert named == "glow: Unresolved to Open by Draft"


# S1.4
def test_a_replay_looks_at_every_move() -> None:
    golden = read("complete")
    assert decided_again(golden.task, golden.steps, golden.specs).divergence is None
