"""Writes the crash matrix as one table: build/crash-matrix.md, a row for each case and home."""

from __future__ import annotations

import fcntl
from pathlib import Path

from tests.crash.figures import Figures, Recorded

FILE = Path(__file__).resolve().parents[2] / "build" / "crash-matrix.md"

_HEADER = (
    "home", "case", "processes that ended", "right ending", "complete trajectory",
    "duplicate effects", "verifier's place", "interrupted", "steps",
)  # fmt: skip


class Table:
    """The rows of one home. Rows that are in the file stay, until their case is run again.

    Tests of one home may be spread over processes, and each writes what it has.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._rows: dict[str, str] = {}

    def add(self, case: str, ended: int, figures: Figures, run: Recorded) -> None:
        """Add a row."""
        cells = (
            self._home, case, ended, _holds(figures.ending), _holds(figures.trajectory),
            len(figures.effects), _holds(figures.verifier), run.interrupted, len(run.steps),
        )  # fmt: skip
        self._rows[f"{self._home} | {case}"] = _line(cells)

    def write(self, file: Path = FILE) -> None:
        """Write the file."""
        file.parent.mkdir(exist_ok=True)
        with file.open("a+", encoding="utf-8") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            opened.seek(0)
            before = opened.read().splitlines()[2:]
            rows = {" | ".join(line.strip("| ").split(" | ")[:2]): line for line in before}
            ordered = [row for _, row in sorted((rows | self._rows).items())]
            opened.truncate(0)
            lines = [_line(_HEADER), _line(["---"] * len(_HEADER)), *ordered]
            opened.write("\n".join([*lines, ""]))


def _holds(problems: tuple[str, ...]) -> str:
    return "NO" if problems else "holds"


def _line(cells: tuple[object, ...] | list[str]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
