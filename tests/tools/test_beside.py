"""The table that `make bench` ends with."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bench.beside import PEER, table


def test_what_was_measured_stands_beside_the_peer(tmp_path: Path) -> None:
    api = {"writes": 36, "steps": 16, "secondsIdleBetweenSteps": 0.0042}
    (tmp_path / "api.json").write_text(json.dumps(api), "utf-8")
    failures = {
        "HTTP 401": {"requests": 1}, "HTTP 500": {"requests": 6}, "empty replies": {"requests": 7}
    }  # fmt: skip
    (tmp_path / "failures.json").write_text(json.dumps({"failures": failures}), "utf-8")
    lines = [line.split("  ") for line in table(tmp_path).splitlines()]
    shown = {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in lines[1:]}
    assert shown == {
        "API writes a step": ["2.25", "13.8"],
        "seconds idle between two steps": ["0.004", "5"],
        "requests until HTTP 401 ends the run": ["1", "no end"],
        "requests until HTTP 500 ends the run": ["6", "no end"],
        "requests until empty replies end the run": ["7", "no end"],
    }


def test_what_was_not_run_is_said_to_be_so(tmp_path: Path) -> None:
    assert table(tmp_path).count("not run") == len(PEER)
