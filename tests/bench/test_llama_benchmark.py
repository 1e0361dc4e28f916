"""What a run of many minutes has measured can be printed at its end."""

from __future__ import annotations

import json

from tests.bench.llama_benchmark import Measured, printed


def test_a_measurement_is_printed_as_json() -> None:
    measured = Measured(questions=40)
    measured.rejected_by_reason["P1 QuoteNotFound"] += 64
    measured.endings["StepBudgetExhausted"] += 5

    shown = json.loads(printed(measured, seconds=712, load=1.9))

    assert shown["benchmark"] == "llama"
    assert shown["questions"] == 40
    assert shown["rejected_by_reason"] == {"P1 QuoteNotFound": 64}
    assert shown["endings"] == {"StepBudgetExhausted": 5}
    assert (shown["seconds"], shown["load"]) == (712, 1.9)
