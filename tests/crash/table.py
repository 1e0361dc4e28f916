"""Writes the crash matrix as one table: build/crash-matrix.md, a row for each case and home."""

from __future__ import annotations

from pathlib import Path

from tests.crash.figures import Figures, Recorded

FILE = Path(__file__).resolve().parents[2] / "build" / "crash-matrix.md"

_HEADER = (
    "home", "case", "processes that ended", "right ending", "complete trajectory",
    "duplicate effects", "verifier's place", "interrupted", "steps",
)  # fmt: skip


class Table:
    """The rows of one home; those of another one that are in the file stay there."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._rows: dict[str, str] = {}

    def add(self, case: str, ended: int, figures: Figures, run: Recorded) -> None:
        """Add a row."""
        cells = (
            self._home, case, ended, _holds(figures.ending), _holds(figures.trajectory),
            len(figures.effects), _holds(figures.verifier), run.interrupted, len(run.steps),
        )  # fmt: skip
        self._rows[case] = _line(cells)

    def write(self) -> None:
        """Write the file."""
        before = FILE.read_text(encoding="utf-8").splitlines()[2:] if FILE.exists() else []
        others = [line for line in before if not line.startswith(f"| {self._home} |")]
        lines = [_line(_HEADER), _line(["---"] * len(_HEADER)), *others, *self._rows.values()]
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _holds(problems: tuple[str, ...]) -> str:
    return "NO" if problems else "holds"


def _line(cells: tuple[object, ...] | list[str]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
