"""P5: `without` denies the noun after it, and no more."""

from __future__ import annotations

import pytest

from controller.api.records import Block, BlockKind
from controller.evidence.predicates import Passage, check_polarity

QUOTE = "The pump stops after 247 seconds without water, which is the default of IDLE_LIMIT."
PASSAGE = Passage(QUOTE, (Block(start=0, end=len(QUOTE), kind=BlockKind.PARAGRAPH, text=QUOTE),))


@pytest.mark.parametrize(
    "claim",
    [
        "The default of IDLE_LIMIT is not 247 seconds.",
        "By default IDLE_LIMIT is never 247 seconds.",
        "The pump does not stop after 247 seconds of water.",
    ],
)
def test_a_without_bears_out_no_not(claim: str) -> None:
    verdict = check_polarity(claim, [PASSAGE], {})
    assert not verdict.passed
    assert "negations" in verdict.detail


def test_a_without_bears_out_itself() -> None:
    claim = "Without water the pump stops after 247 seconds."
    assert check_polarity(claim, [PASSAGE], {}).passed
