"""`fixpoint trace`: the journal as data, that any end of can be torn off and the rest be read."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.api.errors import JournalError
from controller.api.task import ResearchTask
from controller.cli.homes import Home, open_home
from controller.cli.journal_file import JournalFile, parse_journal
from controller.cli.jsonl import line_of
from controller.loop.replay import reduced
from controller.ports import TaskKey
from tests.cli.desk import QUESTIONS, Desk
from tests.golden.files import journal_file

ODD = {"id": "odd", "text": "Was heißt «GLOW_LEVEL»? ما معنى \u200eGLOW_LEVEL\u200f؟ 😀"}


def stored_task(desk: Desk) -> ResearchTask:
    async def get() -> ResearchTask:
        async with open_home(Home(store=desk.store)) as store:
            return await store.get_task(TaskKey("default", "lamp"))

    return asyncio.run(get())


# S2.29, S4.22
def test_each_line_is_a_step_with_its_format_version(desk: Desk) -> None:
    desk.run()
    said = desk.ask("trace")
    assert (said.code, said.err) == (0, "")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["spec"]["index"] for line in lines] == list(range(16))
    assert {line["spec"]["formatVersion"] for line in lines} == {1}


# S4.23
def test_the_lines_fold_to_the_status(desk: Desk) -> None:
    desk.write_task(questions=[ODD, *QUESTIONS])
    desk.run()
    file = desk.folder / "journal.jsonl"
    said = desk.ask("trace", "--output", file)
    assert (said.code, said.out) == (0, "")
    journal = parse_journal(file.read_bytes())
    task = stored_task(desk)
    assert journal.torn is None
    assert task.status.journal is not None
    assert len(journal.steps) == task.status.journal.steps
    assert reduced(task, journal.steps, {1: task.spec}) is None


def test_a_file_a_pipe_and_a_log_hold_the_same_bytes(desk: Desk) -> None:
    desk.write_task(questions=[ODD])
    desk.run("--log", desk.folder / "log.jsonl")
    desk.ask("trace", "-o", desk.folder / "journal.jsonl")
    written = (desk.folder / "journal.jsonl").read_bytes()
    assert written == (desk.folder / "log.jsonl").read_bytes()
    assert desk.ask("trace").out.encode() == written
    assert "😀".encode() in written


def test_a_task_without_a_step_has_an_empty_journal(desk: Desk) -> None:
    desk.write_task(topic="Another", desiredState="Suspended")
    desk.run()
    assert len(desk.ask("trace").out.splitlines()) == 1  # the note that it is suspended


def test_a_file_that_cannot_be_written_is_named(desk: Desk) -> None:
    desk.run()
    said = desk.ask("trace", "-o", desk.folder / "none" / "journal.jsonl")
    assert said.code == 5
    assert "journal.jsonl cannot be written" in said.err


def lines_with_odd_text() -> list[bytes]:
    """Return a journal whose last line has characters of two, three and four bytes."""
    *lines, last = journal_file("complete").read_bytes().splitlines(keepends=True)
    return [*lines, last.replace(b"every goal predicate", "jedes Prädikat \u200fشرط 😀".encode())]


# T19
def test_every_cut_of_the_last_line_leaves_all_whole_lines_and_is_told_of_once() -> None:
    *whole, last = lines_with_odd_text()[-3:]
    steps = parse_journal(b"".join(whole)).steps
    assert "😀".encode() in last
    for length in range(1, len(last) - 1):
        read = parse_journal(b"".join(whole) + last[:length])
        assert read == JournalFile(steps, f"line 3 is torn after {length} bytes; it is left out")


# T19
def test_a_whole_last_line_without_its_newline_is_taken_and_told_of() -> None:
    data = b"".join(lines_with_odd_text())
    whole, cut = parse_journal(data), parse_journal(data[:-1])
    assert whole.torn is None
    assert cut == JournalFile(whole.steps, "line 13 lacks its newline; it is whole, and taken")


def test_a_cut_between_two_lines_is_no_tear() -> None:
    *whole, _ = lines_with_odd_text()
    assert parse_journal(b"".join(whole)).torn is None
    assert parse_journal(b"") == JournalFile(())


# T19
@settings(deadline=None)  # judged by what holds, not by how fast a busy machine shows it
@given(st.integers(min_value=1, max_value=10_000))
def test_what_is_read_of_a_torn_journal_can_be_written_and_read_again(length: int) -> None:
    data = b"".join(lines_with_odd_text())
    read = parse_journal(data[:length])
    again = "".join(map(line_of, read.steps)).encode()
    assert data.startswith(again)
    assert parse_journal(again) == JournalFile(read.steps)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (b"{}\n", "line 14 is no step: metadata: must be set"),
        (b"{\n", "line 14 is no JSON object"),
        (b"[]\n", "line 14 is no JSON object"),
        (b'{"a": "\xff"}\n', "line 14 is no JSON object"),
        (b'{"spec": {"formatVersion": 2}}\n', "step without a name has format version 2"),
    ],
)
def test_a_whole_line_that_is_no_step_makes_the_journal_corrupt(broken: bytes, text: str) -> None:
    data = journal_file("complete").read_bytes()
    with pytest.raises(JournalError, match=text):
        parse_journal(data + broken)
    with pytest.raises(JournalError):
        parse_journal(data + broken + data)


# T19
def test_a_new_log_replaces_a_torn_one(desk: Desk) -> None:
    log = desk.folder / "log.jsonl"
    log.write_bytes(journal_file("complete").read_bytes()[:-7])
    desk.run("--log", log)
    assert parse_journal(log.read_bytes()).torn is None
