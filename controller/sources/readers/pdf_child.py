"""Reads one PDF document, in a process of its own with limits: run by its path, never imported.

The parser is a large body of C++ and what it parses is anybody's, so it may crash, hang or eat
memory: then this process does. It imports nothing of this project, gets the document on its
standard input, and writes JSON to its standard output, an object a line: first the document, then
each page. The parent (`pdf.py`) trusts none of it.

Its arguments are the limits: bytes of memory, seconds of a processor, seconds, bytes of output,
and pages.
"""

from __future__ import annotations

import ctypes
import json
import math
import resource
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

HYPHENS_AT_LINE_END = (0x02, 0xFFFE)  # what pdfium calls one, by the interface that is asked
LINE_FEED, CARRIAGE_RETURN, SPACE = 0x0A, 0x0D, 0x20

OUT_OF_MEMORY = 3
"""The status that this process ends with where Python itself has no memory left."""

SAMPLED = 8
"""Whether it has a known encoding is asked of every eighth character."""

MAX_UNMAPPED = 0.5
"""A page with more of its characters in none has no text that can be read."""


def bound(memory: int, processor: int, seconds: int, output: int) -> None:
    """Let the kernel end this process where it goes too far, also if nobody waits for it."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123 - no import before the limits
            score.write("1000")  # if memory is short, this process goes and not the operator
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (output, output))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def say(fields: dict[str, object]) -> None:
    """Write one object."""
    sys.stdout.write(json.dumps(fields) + "\n")


def lines_of(textpage: PdfTextPage) -> tuple[list[list[str | float]], int]:
    """Return a page's lines with their places, and how many characters are drawn on it.

    A line is its text, the left and right end, the baseline, and the height of its letters, in
    points from the page's lower left corner. A hyphen that pdfium takes for one at a line's end
    (it puts no line break behind it) is written as U+FFFE and ends its line. There are no lines
    where most characters are in no known encoding.
    """
    from pypdfium2 import raw

    lines: list[list[str | float]] = []
    codes: list[int] = []
    first = last = -1
    characters = sampled = unmapped = 0

    def end_line() -> None:
        nonlocal first, last
        if first >= 0:
            text = "".join(chr(min(code, sys.maxunicode)) for code in codes)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            lines.append([text, *place(textpage, first, last)])
        codes.clear()
        first = last = -1

    for index in range(raw.FPDFText_CountChars(textpage)):
        code = raw.FPDFText_GetUnicode(textpage, index)
        if code in (LINE_FEED, CARRIAGE_RETURN):
            end_line()
            continue
        is_drawn = code > SPACE or raw.FPDFText_IsGenerated(textpage, index) == 0
        if is_drawn:
            characters += 1
            first = index if first < 0 else first
            last = index
        if index % SAMPLED == 0:
            sampled += 1
            unmapped += code == 0 or raw.FPDFText_HasUnicodeMapError(textpage, index) == 1
        is_hyphen = code in HYPHENS_AT_LINE_END
        codes.append(HYPHENS_AT_LINE_END[-1] if is_hyphen else code or 0xFFFD)
        if is_hyphen:
            end_line()
    end_line()
    if unmapped > MAX_UNMAPPED * sampled:
        lines.clear()
    return lines, characters


def place(textpage: PdfTextPage, first: int, last: int) -> list[float]:
    """Return left and right end, baseline and height of the line between two characters."""
    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, first, x, y)
    begin, end = raw.FS_RECTF(), raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage, first, begin)
    raw.FPDFText_GetLooseCharBox(textpage, last, end)
    places = (min(x.value, begin.left), end.right, y.value, abs(begin.top - begin.bottom))
    return [round(value, 1) if math.isfinite(value) else 0.0 for value in places]


def read_page(document: PdfDocument, number: int) -> None:
    """Write what a page holds; `read` is false where it shows something that is no text."""
    from pypdfium2 import PdfiumError, raw

    try:
        page = document[number]
        textpage = page.get_textpage()
    except PdfiumError:
        say({"page": number + 1, "read": False, "lines": []})
        return
    lines, characters = lines_of(textpage)
    shows = characters > 0 or raw.FPDFPage_CountObjects(page) > 0
    say({"page": number + 1, "read": bool(lines) or not shows, "lines": lines})
    textpage.close()
    page.close()


def main(memory: int, processor: int, seconds: int, output: int, most_pages: int) -> None:
    """Read the document."""
    bound(memory, processor, seconds, output)
    from pypdfium2 import PdfDocument, PdfiumError, raw

    try:
        document = PdfDocument(sys.stdin.buffer.read())
    except PdfiumError as error:
        locked = error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        say({"fault": "Encrypted" if locked else "Malformed"})
        return
    say({"pages": len(document), "title": document.get_metadata_value("Title")[:1000]})
    for number in range(min(len(document), most_pages)):
        read_page(document, number)


if __name__ == "__main__":
    try:
        main(*map(int, sys.argv[1:]))
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
