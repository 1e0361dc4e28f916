"""docs/question-states.md, made from the table of legal moves."""

from __future__ import annotations

from itertools import permutations

from controller.api.records import QuestionState
from controller.loop.moves import LEGAL_MOVES, Move
from tools.reasons import table


def question_states_page() -> str:
    """Return `docs/question-states.md`."""
    rows = [
        (
            move.before.value,
            move.after.value,
            ", ".join(f"`{a}`" for a in sorted(ways.actions)),
            ways.why,
        )
        for move, ways in LEGAL_MOVES.items()
    ]
    illegal = [Move(*pair) for pair in permutations(QuestionState, 2)]
    never = ", ".join(
        f"{move.before} to {move.after}" for move in illegal if move not in LEGAL_MOVES
    )
    return (
        "# How a question's state moves\n\n"
        "<!-- Generated from controller/loop/moves.py by `make docs`; do not edit. -->\n\n"
        "Nothing sets a question's state: it is computed from the recorded searches, facts and\n"
        "conclusions each time. So a state moves only as far as records move it. Under one spec\n"
        "these are all the moves that a step can bring about:\n\n"
        + table(("from", "to", "by a step of", "because"), rows)
        + f"\nIllegal under one spec, whatever the step: {never}. A conclusion that says `Open`\n"
        "does not fold (`JournalCorrupt`). `fixpoint replay` computes the states before and after\n"
        "each step and names the first illegal move.\n\n"
        "A changed spec is no step. Under the new spec every state is computed anew: a question\n"
        "whose recorded conclusion would not be drawn again is `Open` until it is concluded, one\n"
        "whose earlier conclusion holds again has it back, and one without steps left is\n"
        "`Unresolved`. A question with another text is another question, and begins as `Open`.\n"
    )
