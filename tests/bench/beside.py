"""The table that `make bench` ends with: what was measured, beside the nearest peer.

The peer's figures were measured by the project's authors on one API server with Fixpoint, not by
these benchmarks (docs/benchmarks.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NO_END = "no end"

PEER = {
    "API writes a step": "13.8",
    "seconds idle between two steps": "5",
    "requests until HTTP 401 ends the run": NO_END,
    "requests until HTTP 500 ends the run": NO_END,
    "requests until empty replies end the run": NO_END,
}


def table(results: Path) -> str:
    """Return the table of the results that are there; what was not run is said to be so."""
    ours = dict(_measured(results))
    rows = [("what", "Fixpoint", "nearest peer")]
    rows += [(name, ours.get(name, "not run"), peer) for name, peer in PEER.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _measured(results: Path) -> Iterator[tuple[str, str]]:
    api = _read(results / "api.json")
    if api:
        yield "API writes a step", f"{api['writes'] / api['steps']:.2f}"
        yield "seconds idle between two steps", f"{api['secondsIdleBetweenSteps']:.3f}"
    for name, measured in _read(results / "failures.json").get("failures", {}).items():
        verb = "end" if name.endswith("s") else "ends"
        yield f"requests until {name} {verb} the run", str(measured["requests"])


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return content
