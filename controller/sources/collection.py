"""What a corpus consists of at one moment: files by digest, and what had to be left out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
"""A larger file is left out: 10 MiB of text are several books."""

MAX_FILES: Final = 50_000
"""Files beyond this number, in order of their paths, are left out."""

MAX_WARNINGS: Final = 8
"""How many warnings a record has room for."""

_MAX_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file by its path within the corpus; `load` reads it again, for the index.

    `load` raises OSError if the file is gone or cannot be read any more.
    """

    path: str
    locator: str
    sha256: str
    load: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is no document of its corpus, the rule it breaks, and the mend.

    `bars_absence`: an answer may be hidden in it, so nothing is certified absent without it.
    """

    path: str
    rule: str
    mend: str
    bars_absence: bool

    def __str__(self) -> str:
        """Return the warning."""
        return f"{_printable(self.path)} is left out: {self.rule}; {self.mend}"[:_MAX_MESSAGE]


@dataclass(frozen=True, slots=True)
class Collection:
    """A corpus as it was found: files in order of their paths; `scheme` is their locators'."""

    scheme: str
    digest: str
    files: tuple[CorpusFile, ...]
    left_out: tuple[LeftOut, ...]


def collection(scheme: str, files: Iterable[CorpusFile], left_out: Iterable[LeftOut]) -> Collection:
    """Return a collection; its digest is sha256 over the sorted pairs of path and file digest."""
    ordered = tuple(sorted(files, key=lambda file: file.path))
    digest = hashlib.sha256()
    for file in ordered:
        path = file.path.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%b %b\n" % (len(path), path, file.sha256.encode()))
    return Collection(scheme, f"sha256:{digest.hexdigest()}", ordered, tuple(left_out))


def warnings_of(left_out: Iterable[LeftOut]) -> tuple[str, ...]:
    """Return what is left out as warnings, what bars certificates first, the rest by number."""
    ordered = sorted(left_out, key=lambda item: (not item.bars_absence, item.path))
    if len(ordered) <= MAX_WARNINGS:
        return tuple(map(str, ordered))
    shown = [str(item) for item in ordered[: MAX_WARNINGS - 1]]
    return (*shown, f"{len(ordered) - len(shown)} more files are left out, see the log")


def _printable(path: str) -> str:
    """Return a path that can be stored and shown: undecodable bytes become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
