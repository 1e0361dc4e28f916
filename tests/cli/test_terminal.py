"""What a terminal shows: lines that fit, a view that is drawn again, a report that is drawn."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from controller.cli.live import LiveProgress
from controller.cli.observer import Follower
from controller.cli.panels import task_view
from controller.cli.terminal import Verbosity, duration, is_live, visible, write
from controller.clock import SystemClock
from controller.ports import TaskKey
from controller.store.local import LocalStore
from tests.cli.desk import Desk

WIDTHS = [80, 120]


def terminal(width: int) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, soft_wrap=True, highlight=False
    )


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_line_that_is_too_long_goes_on_below_its_text(width: int) -> None:
    console = terminal(width)
    write(console, "label:      " + "word " * 60)
    lines = shown(console).splitlines()
    assert len(lines) > 1
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith("label:      word")
    assert all(line.startswith(" " * 12 + "word") for line in lines[1:])


def test_wide_characters_are_measured_by_their_cells() -> None:
    console = terminal(80)
    write(console, "label:      " + "\N{CJK UNIFIED IDEOGRAPH-8A9E} " * 40)
    first = shown(console).splitlines()[0]
    assert console.measure(first).maximum <= 80
    assert len(first) < 70


@pytest.mark.parametrize("width", WIDTHS)
def test_a_task_is_drawn_with_its_questions_budgets_and_conditions(desk: Desk, width: int) -> None:
    desk.run()
    console = terminal(width)
    with LocalStore.open(desk.store, SystemClock()) as store:
        (task,) = store.tasks()
    console.print(task_view(task), soft_wrap=False)
    text = shown(console)
    assert "Answered" in text
    assert "NotFound" in text
    assert "14 of 60" in text
    assert "Finished=True" in text
    assert all(console.measure(line).maximum <= width for line in text.splitlines())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lines_of_a_live_view_stay(desk: Desk, width: int) -> None:
    desk.run()
    console = terminal(width)
    with (
        LocalStore.open(desk.store, SystemClock()) as store,
        LiveProgress(console, Verbosity.STEPS) as progress,
    ):
        asyncio.run(Follower(store, TaskKey("default", "lamp"), [progress]).look())
    text = shown(console)
    assert "14/60  Conclude" in text
    assert text.index("topic:") < text.index("1/60  Plan") < text.index("question 3/3")


def test_a_dumb_terminal_and_a_pipe_get_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_live(terminal(80))
    assert not is_live(Console(file=io.StringIO()))
    monkeypatch.setenv("TERM", "dumb")
    assert not is_live(Console(file=io.StringIO(), force_terminal=True))


VISIBLE = {
    "plain text stays": ("a b", "a b"),
    "white space is one space": (" a\n\tb ", "a b"),
    "an escape is not obeyed": ("\x1b[2Ja", "\N{REPLACEMENT CHARACTER}[2Ja"),
    "nor is a C1 control character": ("\x9b2J", "\N{REPLACEMENT CHARACTER}2J"),
    "other scripts stay": (
        "\u05e9\u05dc\u05d5\u05dd \U0001f9ea",
        "\u05e9\u05dc\u05d5\u05dd \U0001f9ea",
    ),
}


@pytest.mark.parametrize(("text", "expected"), VISIBLE.values(), ids=VISIBLE.keys())
def test_visible(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.041, "41 ms"), (3.14, "3.1 s"), (125, "2 min 5 s"), (900, "15 min"),
     (3600, "1 h"), (12_000, "3 h 20 min")],
)  # fmt: skip
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
