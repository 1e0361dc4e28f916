"""PDF documents: their paragraphs by page, and that a process that fails costs one file."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from controller.api.records import BlockKind, SearchStatus
from controller.sources.readers import DocumentFault, UnreadableDocumentError, pdf, read_file
from controller.sources.readers.pdf import Limits, Pages, PdfProcessError
from controller.sources.readers.text import Text
from tests.sources.conftest import MakeCorpus
from tests.sources.pdfs import IMAGE, UNKNOWN_CHARACTERS, Run, content, document

Shown = tuple[str, int | None, str]


def shown(text: Text) -> list[Shown]:
    return [(block.kind.value, block.page, block.text) for block in text.blocks]


def read(*pages: bytes, title: str = "") -> Text:
    text, _ = pdf.read(document(pages, title=title), "hint")
    assert text.text == "\n".join(block.text for block in text.blocks)
    for block in text.blocks:
        assert text.text[block.start : block.end] == block.text
        assert block.lines is None
    return text


LINES = ["The first line of a paragraph that goes on to", "a second line, which ends it here."]

LAYOUTS: dict[str, tuple[list[bytes], list[Shown]]] = {
    "a gap parts paragraphs, the next page another": (
        [content([*LINES, "", "After a gap."]), content(["On another page."])],
        [
            ("Paragraph", 1, " ".join(LINES)),
            ("Paragraph", 1, "After a gap."),
            ("Paragraph", 2, "On another page."),
        ],
    ),
    "a short line that ends a sentence ends a paragraph": (
        [content([LINES[0], "An end.", "The next paragraph begins without any gap,", "too."])],
        [
            ("Paragraph", 1, f"{LINES[0]} An end."),
            ("Paragraph", 1, "The next paragraph begins without any gap, too."),
        ],
    ),
    "an indent begins a paragraph": (
        [
            content(
                [
                    LINES[0],
                    "that ends at the end of a line, at its right.",
                    Run("  An indented one.", left=90),
                ]
            )
        ],
        [
            ("Paragraph", 1, f"{LINES[0]} that ends at the end of a line, at its right."),
            ("Paragraph", 1, "An indented one."),
        ],
    ),
    "bullets and numbers begin items": (
        [
            content(
                ["There are two:", "\u2022 one of them, and", "\u2022 the other.", "1. A third."]
            )
        ],
        [
            ("Paragraph", 1, "There are two:"),
            ("Item", 1, "\u2022 one of them, and"),
            ("Item", 1, "\u2022 the other."),
            ("Item", 1, "1. A third."),
        ],
    ),
    "larger letters make headings": (
        [content([Run("Chapter", 30, size=20), Run("Section", 24, size=14), *LINES])],
        [
            ("Heading", 1, "Chapter"),
            ("Heading", 1, "Section"),
            ("Paragraph", 1, " ".join(LINES)),
        ],
    ),
    "a line in pieces is one line": (
        [content([Run("left", 0), Run("right", left=200), "below it"])],
        [("Paragraph", 1, "left right below it")],
    ),
    "a second column is another paragraph": (
        [
            content(
                [*LINES, Run("A column beside them,", -14, left=350), Run("and above.", left=350)]
            )
        ],
        [
            ("Paragraph", 1, " ".join(LINES)),
            ("Paragraph", 1, "A column beside them,"),
            ("Paragraph", 1, "and above."),
        ],
    ),
    "a field under a heading": (
        [content([Run("TIMEOUT", 24, size=18), "Default: 30"])],
        [("Heading", 1, "TIMEOUT"), ("Field", 1, "Default: 30")],
    ),
    "a page that is blank": (
        [content(["One."]), b"", content(["Three."])],
        [("Paragraph", 1, "One."), ("Paragraph", 3, "Three.")],
    ),
    "letters beyond ASCII": (
        [content(["Größe: 5 µm \u2014 “quoted”, naïve."])],
        [("Paragraph", 1, "Größe: 5 µm \u2014 “quoted”, naïve.")],
    ),
}


@pytest.mark.parametrize("situation", LAYOUTS)
def test_layout(situation: str) -> None:
    pages, expected = LAYOUTS[situation]
    assert shown(read(*pages)) == expected


def test_headings_stand_above_what_follows_on_later_pages() -> None:
    text = read(
        content([Run("Chapter", 30, size=20), Run("First", 24, size=14), *LINES]),
        content([*LINES, "", Run("Second", 24, size=14), "Words."]),
    )
    paths = [block.heading_path for block in text.blocks]
    assert paths[3] == ("Chapter", "First")
    assert paths[-1] == ("Chapter", "Second")


def test_the_title_is_the_documents_else_its_first_heading_else_the_hint() -> None:
    page = content([Run("Heading", 30, size=20), *LINES])
    assert read(page, title="Title").title == "Title"
    assert read(page).title == "Heading"
    assert read(content(LINES)).title == "hint"


HYPHENS = {
    "a word that a line's end parts": (
        ["The docu-", "mentation is here."],
        "The documentation is here.",
    ),
    "a hyphen that the word has elsewhere": (
        ["A well-known fact, and a well-", "known one."],
        "A well-known fact, and a well-known one.",
    ),
    "a word that is there both ways": (
        ["A wellknown, well-known, well-", "known fact."],
        "A wellknown, well-known, wellknown fact.",
    ),
    "a dash at the end of a line": (["From here -", "to there."], "From here - to there."),
}


@pytest.mark.parametrize("situation", HYPHENS)
def test_hyphens_at_line_ends(situation: str) -> None:
    lines, expected = HYPHENS[situation]
    assert read(content(lines)).text == expected


def test_running_heads_and_feet_are_navigation() -> None:
    pages = [
        content(
            [
                Run(f"Manual of everything, page {number}", 40),
                f"What page {word} says is a long line, which does not end before",
                f"it comes to the word {word},",
                f"and is no longer there, {word}.",
                Run("", 560),
                str(number),
            ]
        )
        for number, word in enumerate(("one", "two", "three", "four"), start=1)
    ]
    text = read(*pages)
    apart = [block.text for block in text.blocks if block.kind is BlockKind.NAVIGATION]
    assert len(apart) == 8
    assert sum(block.kind is BlockKind.PARAGRAPH for block in text.blocks) == 4
    assert {block.page for block in text.blocks if block.kind is BlockKind.PARAGRAPH} == {
        1,
        2,
        3,
        4,
    }


def test_what_is_all_that_pages_show_is_no_running_head() -> None:
    text = read(*(content([f"Slide {number}"]) for number in range(5)))
    assert {block.kind for block in text.blocks} == {BlockKind.PARAGRAPH}


REFUSED = {
    "a password": (document([content(["x"])], encrypted=True), DocumentFault.ENCRYPTED),
    "scans alone": (document([IMAGE, IMAGE]), DocumentFault.NO_TEXT_LAYER),
    "a scan and a blank page": (document([IMAGE, b""]), DocumentFault.NO_TEXT_LAYER),
    "letters of no known alphabet": (document([UNKNOWN_CHARACTERS]), DocumentFault.NO_TEXT_LAYER),
    "no pages": (document([]), DocumentFault.MALFORMED),
    "a header alone": (b"%PDF-1.7", DocumentFault.MALFORMED),
    "the first half": (document([content(LINES)])[:400], DocumentFault.MALFORMED),
    "zeros": (b"%PDF-1.7\n" + bytes(5000), DocumentFault.MALFORMED),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_holds_no_text_is_refused_by_its_class(what: str) -> None:
    data, fault = REFUSED[what]
    with pytest.raises(UnreadableDocumentError, match=fault.value) as refused:
        read_file(data, "a")
    assert refused.value.fault is fault
    assert refused.value.bars_absence


def test_a_document_of_blank_pages_has_no_text() -> None:
    reading = read_file(document([b"", b""]), "a")
    assert (reading.text.text, reading.pages) == ("", Pages(2))


def test_pages_without_text_make_a_document_partial() -> None:
    reading = read_file(document([content(["A."]), IMAGE, IMAGE, b"", UNKNOWN_CHARACTERS]), "a")
    assert reading.pages == Pages(5, (2, 3, 5))
    assert reading.fields()["pages"] == 5
    assert reading.fields()["unread_pages"] == "2-3, 5"
    assert reading.text.text == "A."


def test_pages_beyond_the_limit_are_unread() -> None:
    pages = [content([f"Words of page {number}."]) for number in range(502)]
    reading = read_file(document(pages), "a")
    assert reading.pages == Pages(502, (501, 502))
    assert reading.text.blocks[-1].page == 500


def test_many_unread_pages_fit_a_record() -> None:
    pages = Pages(400, tuple(range(1, 401, 2)))
    reading = read_file(document([content(["A."])]), "a")
    fields = replace(reading, pages=pages).fields()
    assert len(fields["unread_pages"]) <= 128
    assert fields["unread_pages"].endswith(", ...")


async def test_a_partial_document_is_searched_and_proves_no_absence(
    make_corpus: MakeCorpus,
) -> None:
    files = {"a.pdf": document([content(["The answer."]), IMAGE]), "b.txt": "Nothing."}
    source = make_corpus(files)
    observation = await source.observe()
    assert observation.documents == 2
    (warning,) = observation.warnings
    assert warning.startswith("a.pdf, page 2 of 2 is left out: ")
    assert "PartialText" in warning
    outcome = await source.search("answer", limit=5, terms=[])
    assert outcome.status is SearchStatus.PARTIAL
    (passage,) = outcome.passages
    assert (passage.document.pages, passage.document.unread_pages) == (2, "2")
    assert passage.blocks[0].page == 1


# What the process may do to its parent: a program in its place, and the outcome.
PROGRAMS: dict[str, tuple[str, type[Exception], str]] = {
    "crashes": ("import os; os.kill(os.getpid(), 11)", UnreadableDocumentError, "crashes"),
    "aborts": ("import os; os.abort()", UnreadableDocumentError, "crashes"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", UnreadableDocumentError, "TooLarge"),
    "hangs": ("import time; time.sleep(60)", UnreadableDocumentError, "TooLarge"),
    "does not listen": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        UnreadableDocumentError,
        "TooLarge",
    ),
    "says nothing": ("", UnreadableDocumentError, "no whole answer"),
    "says nonsense": ('print(\'{"pages": "many"}\')', UnreadableDocumentError, "no whole answer"),
    "leaves pages out": ("print('{\"pages\": 2}')", UnreadableDocumentError, "no whole answer"),
    "says too much": (
        'print(\'{"pages": 1}\\n{"page": 1, "read": true, "lines": [], "shell": "rm"}\')',
        UnreadableDocumentError,
        "no whole answer",
    ),
    "invents places": (
        'print(\'{"pages": 1}\\n{"page": 1, "read": true, "lines": [["a", 0, 0, 1e999, 1]]}\')',
        UnreadableDocumentError,
        "no whole answer",
    ),
    "counts to a trillion": (
        "print('{\"pages\": 1000000000000}')",
        UnreadableDocumentError,
        "whole",
    ),
    "has no memory": ("import sys; sys.exit(3)", UnreadableDocumentError, "TooLarge"),
    "has a defect": ("raise LookupError('oops')", PdfProcessError, "LookupError: oops"),
}


@pytest.fixture
def left_behind() -> Callable[[], list[str]]:
    """Say what this process has that it had not before: children and open files."""
    process = psutil.Process()

    def open_files() -> int:
        gc.collect()
        return process.num_fds()

    before = open_files()
    others = set(process.children(recursive=True))  # of other tests: the control plane, an operator
    return lambda: [
        *(child.name() for child in process.children(recursive=True) if child not in others),
        *["a file"] * (open_files() - before),
    ]


@pytest.mark.parametrize("situation", PROGRAMS)
def test_whatever_the_process_does_it_costs_the_file_alone(
    situation: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    left_behind: Callable[[], list[str]],
) -> None:
    program, error, match = PROGRAMS[situation]
    path = tmp_path / "program.py"
    path.write_text(program)
    monkeypatch.setattr(pdf, "_CHILD", path)
    started = time.monotonic()
    with pytest.raises(error, match=match):
        pdf.read(document([content(["x"])]), "hint", Limits(seconds=2))
    assert time.monotonic() - started < 30
    assert left_behind() == []


def compressed(drawing: bytes) -> bytes:
    return document([drawing], compressed=True)


ENDLESS = b"BT /F1 11 Tf 72 700 Td " + b"(a) Tj " * 5_000_000 + b"ET"
LONG = document([content(["words " * 12] * 50) for _ in range(40)])

BOMBS: dict[str, tuple[bytes, Limits, DocumentFault]] = {
    "a processor's time": (
        compressed(ENDLESS),
        Limits(processor_seconds=1, memory=8 * 2**30),
        DocumentFault.TOO_LARGE,
    ),
    "time": (compressed(ENDLESS), Limits(seconds=1, memory=8 * 2**30), DocumentFault.TOO_LARGE),
    "memory": (
        compressed(b" " * (400 * 2**20)),
        Limits(memory=200 * 2**20),
        DocumentFault.MALFORMED,
    ),
    "output": (LONG, Limits(output=20_000), DocumentFault.TOO_LARGE),
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
@pytest.mark.parametrize("what", BOMBS)
def test_the_kernel_ends_a_document_that_eats(
    what: str, left_behind: Callable[[], list[str]]
) -> None:
    data, limits, fault = BOMBS[what]
    with pytest.raises(UnreadableDocumentError) as refused:
        pdf.read(data, "hint", limits)
    assert refused.value.fault is fault
    assert left_behind() == []


async def test_a_crash_leaves_the_rest_of_the_corpus(
    make_corpus: MakeCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os; os.abort()")
    monkeypatch.setattr(pdf, "_CHILD", program)
    source = make_corpus({"a.pdf": document([content(["x"])]), "b.txt": "The answer."})
    observation = await source.observe()
    assert observation.documents == 1
    assert observation.warnings[0].startswith("a.pdf is left out: it crashes the PDF parser")
    outcome = await source.search("answer", limit=5, terms=[])
    assert outcome.status is SearchStatus.PARTIAL


def test_the_process_knows_nothing_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXPOINT_SECRET", "hunter2")
    told = tmp_path / "told"
    program = tmp_path / "program.py"
    program.write_text(
        "import os, pathlib\n"
        f"pathlib.Path({str(told)!r}).write_text(repr((sorted(os.environ), os.getcwd(), "
        "sorted(map(int, os.listdir('/proc/self/fd')))[:-1])))"
    )
    monkeypatch.setattr(pdf, "_CHILD", program)
    with suppress(UnreadableDocumentError), (tmp_path / "other").open("w"):
        pdf.read(document([content(["x"])]), "hint")
    environment = told.read_text()
    assert "SECRET" not in environment
    assert environment.endswith("'/', [0, 1, 2])")


def test_damage_anywhere_has_an_outcome(left_behind: Callable[[], list[str]]) -> None:
    """The damage is the same in each run; none of it may raise anything else."""
    chosen = random.Random(5)  # noqa: S311 - a fixed sequence is what is wanted
    whole = document([content([Run("Title", 30, size=20), *LINES]), IMAGE, content(LINES)])
    outcomes = set()
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(chosen.randint(1, 20)):
            at = chosen.randrange(8, len(data))
            data[at : at + chosen.randint(0, 3)] = chosen.randbytes(chosen.randint(0, 3))
        try:
            reading = read_file(bytes(data), "a")
        except UnreadableDocumentError as error:
            outcomes.add(error.fault.value)
        else:
            outcomes.add("read")
            assert all(reading.text.text[b.start : b.end] == b.text for b in reading.text.blocks)
    assert "read" in outcomes
    assert left_behind() == []


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="needs the proc file system")
def test_the_limits_are_those_of_the_kernel(tmp_path: Path) -> None:
    """A copy of the process's program says what it may use, instead of reading."""
    source = Path(pdf._CHILD).read_text(encoding="utf-8")
    program = tmp_path / "program.py"
    told = "print(open('/proc/self/limits').read(), open('/proc/self/oom_score_adj').read())"
    first = "    from pypdfium2 import PdfDocument, PdfiumError, raw\n"
    program.write_text(source.replace(first, f"    {told}\n    sys.exit()\n", 1))
    arguments = [str(300 * 2**20), "7", "60", "1000000", "5"]
    written = subprocess.run(
        [sys.executable, program, *arguments], check=True, capture_output=True, text=True
    ).stdout
    rows = {row[:25].strip(): row[26:].split() for row in written.splitlines() if row}
    assert rows["Max address space"][0] == arguments[0]
    assert rows["Max cpu time"][0] == "7"
    assert rows["Max file size"][0] == "1000000"
    assert rows["Max core file size"][0] == "0"
    assert written.split()[-1] == "1000"
