"""How a question's state may move (S1.4): one table, by which a journal is checked.

A question's state is computed from the records each time, so nothing sets it. What may be
stated, and is stated here, is which moves a step can bring about under one spec. A pair that the
table lacks is illegal, whatever the step. The fold refuses a conclusion that is none; a replay
names the first illegal move (docs/question-states.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from controller.api.records import QuestionState
from controller.api.step import ActionName
from controller.loop.assessment import Assessment

_OPEN, _ANSWERED = QuestionState.OPEN, QuestionState.ANSWERED
_NOT_FOUND, _UNRESOLVED = QuestionState.NOT_FOUND, QuestionState.UNRESOLVED


class Move(NamedTuple):
    """From which state to which."""

    before: QuestionState
    after: QuestionState


class Ways(NamedTuple):
    """The actions whose steps can move a question so, and why it moves then."""

    actions: frozenset[ActionName]
    why: str


_LOOKING: Final = frozenset({ActionName.SEARCH, ActionName.READ})
_NEW_QUERIES: Final = frozenset({ActionName.PLAN, ActionName.REFINE})
_REOPENING: Final = frozenset({ActionName.NOTE})
_NEW_ROUND: Final = frozenset({ActionName.REVERIFY})
_WORK: Final = frozenset(
    {
        ActionName.PLAN,
        ActionName.SEARCH,
        ActionName.READ,
        ActionName.EXTRACT,
        ActionName.REVIEW,
        ActionName.REFINE,
        ActionName.CONCLUDE,
    }
)

LEGAL_MOVES: Final[Mapping[Move, Ways]] = {
    Move(_OPEN, _ANSWERED): Ways(
        _LOOKING | {ActionName.CONCLUDE, ActionName.EXTRACT},
        "verified facts of enough origins answer it; or an earlier conclusion holds again",
    ),
    Move(_OPEN, _NOT_FOUND): Ways(
        _LOOKING | {ActionName.CONCLUDE},
        "the searches prove that no source has the answer; or they do so again",
    ),
    Move(_OPEN, _UNRESOLVED): Ways(
        _WORK,
        "the records prove neither; or the step was the last that the question may take; or a "
        "soft check took its facts away, and an earlier conclusion holds again",
    ),
    Move(_ANSWERED, _OPEN): Ways(
        _LOOKING | _NEW_ROUND,
        "its document was found in another source as well, so that its origins are too few; or a "
        "round begins, and concludes it anew",
    ),
    Move(_ANSWERED, _UNRESOLVED): Ways(
        _LOOKING,
        "the same, and the question has no step left to look further",
    ),
    Move(_NOT_FOUND, _OPEN): Ways(
        _NEW_QUERIES | _REOPENING | _NEW_ROUND,
        "a query or a source has become possible that was not tried; or a round begins",
    ),
    Move(_NOT_FOUND, _UNRESOLVED): Ways(
        _NEW_QUERIES | _REOPENING,
        "such a query or source, and the question has no step left to try it",
    ),
    Move(_UNRESOLVED, _OPEN): Ways(
        _NEW_QUERIES | _REOPENING | _NEW_ROUND | _LOOKING,
        "a query or source has become possible that was not tried; what was read or set aside "
        "since gives another conclusion; or a round begins",
    ),
    Move(_UNRESOLVED, _ANSWERED): Ways(
        _LOOKING,
        "it had no step left, and an earlier conclusion holds again",
    ),
    Move(_UNRESOLVED, _NOT_FOUND): Ways(
        _LOOKING,
        "the same",
    ),
}
"""Every legal move under one spec; whatever is not in it is illegal."""


def is_legal(move: Move, action: ActionName) -> bool:
    """Say whether a step of an action may move a question so; to stay is no move."""
    ways = LEGAL_MOVES.get(move)
    return move.before is move.after or (ways is not None and action in ways.actions)


def illegal_move(action: ActionName, before: Assessment, after: Assessment) -> str | None:
    """Return the first illegal move of a step, for people; None: there is none.

    Both assessments are of the same spec: the state before the step, and the one after it.
    """
    states = {v.question: v.state for v in before.questions}
    for view in after.questions:
        move = Move(states.get(view.question, QuestionState.OPEN), view.state)
        if not is_legal(move, action):
            return f"{view.question.id}: {move.before} to {move.after} by {action}"
    return None
