"""The crash matrix as a file: nothing that was written is lost, whoever else writes."""

from __future__ import annotations

from pathlib import Path

from tests.crash.figures import Figures, Recorded
from tests.crash.table import Table
from tests.situations import task

HOLDS = Figures((), (), (), ())


def row(home: str, case: str, file: Path, figures: Figures = HOLDS) -> None:
    made = Table(home)
    made.add(case, 1, figures, Recorded(task(), (), None, ()))
    made.write(file)


def test_rows_of_several_writers_stand_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "matrix.md"
    row("local", "K1 of Search, Pure", file)
    row("Kubernetes", "K1 of Search, Pure", file)
    row("local", "K2 of Search, Pure", file)
    row("local", "K1 of Search, Pure", file, Figures(("it ends otherwise",), (), (), ()))
    lines = file.read_text("utf-8").splitlines()
    assert [line.split(" | ")[:4] for line in lines[2:]] == [
        ["| Kubernetes", "K1 of Search, Pure", "1", "holds"],
        ["| local", "K1 of Search, Pure", "1", "NO"],
        ["| local", "K2 of Search, Pure", "1", "holds"],
    ]
