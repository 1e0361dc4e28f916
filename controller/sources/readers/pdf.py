"""PDF documents: read by pdfium in a process of its own, which may fail without harm.

What the process says is checked like any other input. Its limits are the kernel's, so that it ends
even where nobody waits for it; it writes to a file in memory, so that nothing is left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from controller.sources.readers.faults import DocumentFault, UnreadableDocumentError
from controller.sources.readers.pdf_layout import add_pages
from controller.sources.readers.pdf_pages import Line, Page
from controller.sources.readers.text import Text, TextBuilder

MAX_PAGES: Final = 500
"""Pages beyond are not read: the document is partial."""

_MAX_COUNT: Final = 100_000
_CHILD: Final = Path(__file__).with_name("pdf_child.py")

_OUT_OF_TIME: Final = frozenset({signal.SIGXCPU, signal.SIGALRM})
_TOO_MUCH: Final = frozenset({signal.SIGKILL, signal.SIGXFSZ})
_PYTHON_FAILED: Final = 1
_PYTHON_OUT_OF_MEMORY: Final = 3


class PdfProcessError(RuntimeError):
    """The process failed by a defect of its own program; the text is its last words."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process may use: bytes of memory and output, seconds of a processor and in all."""

    memory: int = 512 * 2**20
    processor_seconds: int = 30
    seconds: int = 120
    output: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Pages:
    """How many pages a document has, and which of them show something that was not read."""

    count: int
    unread: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the unread pages as people write them: `3-5, 9`."""
        ranges: list[list[int]] = []
        for page in self.unread:
            if ranges and page == ranges[-1][1] + 1:
                ranges[-1][1] = page
            else:
                ranges.append([page, page])
        return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in ranges)


class _Head(BaseModel):
    """What the process writes first: a fault, or the number of pages and the title."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fault: DocumentFault | None = None
    pages: Annotated[int, Field(ge=0, le=_MAX_COUNT)] = 0
    title: str = ""


class _Page(BaseModel):
    """What it writes of each page."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    page: int
    read: bool
    lines: tuple[Line, ...]


def read(data: bytes, title_hint: str, limits: Limits | None = None) -> tuple[Text, Pages]:
    """Read a PDF document; its title is its own, else its first heading's.

    Raises:
        UnreadableDocumentError: it needs a password (Encrypted), no page that shows anything
            holds text (NoTextLayer), it cannot be parsed (Malformed), or reading it takes more
            memory or time than it may (TooLarge).
    """
    head, pages = _understood(_written(data, limits or Limits()))
    unread = [page.number for page in pages if not page.read]
    unread += range(len(pages) + 1, head.pages + 1)
    if unread and not any(page.lines for page in pages):
        raise UnreadableDocumentError(
            DocumentFault.NO_TEXT_LAYER,
            "its pages hold no text, only images or unknown characters (NoTextLayer)",
            "add a text layer with a program for optical character recognition",
        )
    builder = TextBuilder()
    heading = add_pages(builder, pages)
    title = head.title.strip() or heading or title_hint
    return builder.build(title), Pages(head.pages, tuple(unread))


def _written(data: bytes, limits: Limits) -> bytes:
    """Return what the process writes about a document."""
    with _file(data) as document, _file() as output, _file() as last_words:
        process = subprocess.Popen(
            [
                sys.executable,
                *("-I", "-B", str(_CHILD)),
                *map(str, (limits.memory, limits.processor_seconds, limits.seconds)),
                *map(str, (limits.output, MAX_PAGES)),
            ],
            stdin=document,
            stdout=output,
            stderr=last_words,
            cwd="/",
            env={},
        )
        try:
            status = process.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            status = -signal.SIGALRM
        finally:
            process.kill()
            process.wait()
        if status == _PYTHON_FAILED:
            last_words.seek(0)
            words = last_words.read(64 * 1024).decode("utf-8", "replace").strip().split("\n")
            raise PdfProcessError(words[-1])
        if status != 0:
            raise _failure(status)
        output.seek(0)
        return output.read()


def _failure(status: int) -> UnreadableDocumentError:
    """Return what it means that the process has ended with a status, or by a signal (negative)."""
    if -status in _OUT_OF_TIME:
        rule = "reading it takes longer than a document may take (TooLarge)"
    elif -status in _TOO_MUCH or status == _PYTHON_OUT_OF_MEMORY:
        rule = "reading it takes more memory, or gives more text, than a document may (TooLarge)"
    else:
        return _malformed("it crashes the PDF parser, by damage or for want of memory")
    return UnreadableDocumentError(DocumentFault.TOO_LARGE, rule, "split it")


def _understood(written: bytes) -> tuple[_Head, list[Page]]:
    """Return what the process says of the document and of each page that it has read.

    Raises:
        UnreadableDocumentError: it names a fault, or does not say what it should.
    """
    first, *others = written.splitlines() or [b""]
    try:
        head = _Head.model_validate_json(first)
        if head.fault is DocumentFault.ENCRYPTED:
            raise UnreadableDocumentError(
                head.fault, "it cannot be opened without a password (Encrypted)", "decrypt it"
            )
        if head.fault is not None:
            raise _malformed("it starts as a PDF and cannot be parsed as one")
        said = [_Page.model_validate_json(line) for line in others]
    except ValidationError as error:
        raise _malformed("the PDF parser has given no whole answer") from error
    pages = [Page(one.page, one.read, one.lines) for one in said]
    if [page.number for page in pages] != list(range(1, min(head.pages, MAX_PAGES) + 1)):
        raise _malformed("the PDF parser has given no whole answer")
    return head, pages


def _malformed(rule: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        DocumentFault.MALFORMED, f"{rule} (Malformed)", "save it again with a current program"
    )


@contextmanager
def _file(data: bytes = b"") -> Iterator[IO[bytes]]:
    """Yield a file without a name that holds some bytes: in memory, where there are such files."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("fixpoint-pdf"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below
    with file:
        file.write(data)
        file.seek(0)
        yield file
