"""Questions of made-up runs, by where they stand: what the score is computed of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from controller.api.records import Answer, AnswerReason, Certificate, QuestionState
from controller.evidence.findings import Findings
from tests.evidence.samples import setting_evidence, setting_fact, setting_question

ANSWERED, NOT_FOUND = QuestionState.ANSWERED, QuestionState.NOT_FOUND
OPEN, UNRESOLVED = QuestionState.OPEN, QuestionState.UNRESOLVED
CERTIFICATE = Certificate(queries=(), corpora=(), facts_rejected=0)


class Standing(NamedTuple):
    """Where a question of a made-up run stands."""

    state: QuestionState
    origins: int = 0
    contested: bool = False


def findings_of(standings: Sequence[Standing]) -> Findings:
    answers = {}
    for number, (state, origins, contested) in enumerate(standings):
        reason = AnswerReason.CONTESTED if contested and state is ANSWERED else None
        if state is UNRESOLVED:
            reason = AnswerReason.TOO_FEW_ORIGINS
        if state is not OPEN:
            answers[f"q{number}"] = Answer(
                question_id=f"q{number}",
                state=state,
                reason=reason,
                origins=origins,
                certificate=CERTIFICATE if state is NOT_FOUND else None,
            )
    pairs = [(n, o) for n, s in enumerate(standings) for o in range(s.origins)]
    return Findings(
        questions=tuple(setting_question(n) for n in range(len(standings))),
        evidence=tuple(setting_evidence(n, o) for n, o in pairs),
        facts=tuple(setting_fact(n, o) for n, o in pairs),
        answers=answers,
    )


STANDINGS = st.lists(
    st.one_of(
        st.just(Standing(OPEN)),
        st.just(Standing(UNRESOLVED)),
        st.just(Standing(UNRESOLVED, 1)),
        st.just(Standing(NOT_FOUND)),
        st.builds(Standing, st.just(ANSWERED), st.integers(1, 3), st.booleans()),
    ),
    max_size=5,
)
TARGETS = st.integers(1, 4)

ONE, ABSENT = Standing(ANSWERED, 1), Standing(NOT_FOUND)
