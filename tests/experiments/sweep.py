"""Does a larger budget of steps bring more? The same task, with one budget after another."""

from __future__ import annotations

from typing import Final

from tests.experiments.runs import run
from tools.reasons import table

QUESTIONS: Final = (
    {"id": "connections", "text": "What is the default value of max_connections?"},
    {"id": "timeout", "text": "What is the default value of ack_timeout?"},
    {"id": "compression", "text": "Which compression algorithm does zstd_level configure?"},
    {"id": "colour", "text": "What is the default value of banner_colour?"},
)
"""Two that the manual answers, and two that it proves absent."""

BUDGETS: Final = (1, 3, 4, 7, 10, 14, 18, 22, 30, 60, 120)


async def sweep() -> str:
    """Return a table of endings by `maxSteps`."""
    rows = []
    for steps in BUDGETS:
        status = await run(
            {"questions": list(QUESTIONS), "budgets": {"maxSteps": steps}, "qualityThreshold": 75}
        )
        assert status.usage is not None
        assert status.quality is not None
        states = [question.state.value for question in status.questions]
        rows.append(
            (
                str(steps),
                str(status.terminal_reason),
                str(status.usage.steps),
                str(states.count("Answered")),
                str(states.count("NotFound")),
                f"{status.quality.score} %",
            )
        )
    head = ("`maxSteps`", "ending", "steps", "answered", "proven absent", "score")
    return table(head, rows)
