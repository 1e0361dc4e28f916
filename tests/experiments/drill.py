"""Ten cases offline, and a chart of how they end: to be looked at before a model is changed."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from tests.experiments.runs import run
from tools.reasons import table


def _asks(text: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {"questions": [{"id": "asked", "text": text}], **spec}


CASES: Final[dict[str, dict[str, Any]]] = {
    "a value": _asks("What is the default value of max_connections?"),
    "another value": _asks("What is the default value of ack_timeout?"),
    "a value that has changed": _asks("What is the default of tls_mode since version 3.0?"),
    "a fact in a sentence": _asks("How many file descriptors does each connection take?"),
    "other words than the manual's": _asks("How long may a client stay silent?"),
    "a setting that does not exist": _asks("What is the default value of banner_colour?"),
    "another one": _asks("Which compression algorithm does zstd_level configure?"),
    "too few steps": _asks(
        "What is the default value of max_connections?", budgets={"maxSteps": 2}
    ),
    "a field that only a person knows": _asks("What is the default value of {setting}?"),
    "a draft that must be approved": _asks(
        "What is the default value of ack_timeout?", approval={"mode": "Required"}
    ),
}


async def drill() -> str:
    """Return a table of the cases and a chart of their endings."""
    rows, endings = [], Counter[str]()
    for name, spec in CASES.items():
        status = await run(spec)
        ending = str(status.terminal_reason or "AwaitingInput")
        states = ", ".join(
            f"{q.state} ({q.reason})" if q.reason else q.state for q in status.questions
        )
        assert status.usage is not None
        endings[ending] += 1
        rows.append((name, states, ending, str(status.usage.steps)))
    chart = [(ending, "█" * count + f" {count}") for ending, count in endings.most_common()]
    cases = table(("case", "question", "ending", "steps"), rows)
    return cases + "\n" + table(("ending", "cases"), chart)
