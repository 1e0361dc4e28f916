"""The files of a directory corpus: which are taken, what they are called, whether they changed.

Nothing outside the directory is ever read: a link is followed only if what it leads to lies
inside, and files are opened by their resolved path without following links again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from controller.api.errors import SourceNotReadyError
from controller.api.reasons import ReadyReason
from controller.sources.collection import (
    MAX_FILE_BYTES,
    MAX_FILES,
    Collection,
    CorpusFile,
    LeftOut,
    collection,
)
from controller.sources.readers import SUFFIXES

_MAX_LOCATOR: Final = 2048
_CORPORA: Final = 64


def resolve_directory(directory: str, corpus_root: Path | None) -> Path:
    """Return the real path of a corpus directory, which lies below the real corpus root.

    Raises:
        SourceNotReadyError: it is not allowed, not there, or cannot be read.
    """
    if corpus_root is None:
        raise _not_ready(
            ReadyReason.DIRECTORY_NOT_ALLOWED,
            f"directory {directory!r}: no corpus root is configured",
            "configure the corpus root and place the directory below it",
        )
    parts = PurePosixPath(directory)
    if parts.is_absolute() or ".." in parts.parts or "\x00" in directory:
        raise _not_ready(
            ReadyReason.DIRECTORY_NOT_ALLOWED,
            f"directory {directory!r}: it must be a relative path without '..'",
            "name a directory below the corpus root",
        )
    try:
        root = corpus_root.resolve(strict=True)
        resolved = (root / parts).resolve(strict=True)
    except FileNotFoundError:
        raise _not_ready(
            ReadyReason.DIRECTORY_NOT_FOUND,
            f"directory {directory!r}: there is none of this name below {corpus_root}",
            "create it, or correct spec.corpus.directory",
        ) from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before 3.13
        raise _unreadable(directory, error) from error
    if not resolved.is_relative_to(root):
        raise _not_ready(
            ReadyReason.DIRECTORY_NOT_ALLOWED,
            f"directory {directory!r}: it is a link that leads out of {corpus_root}",
            "place the files themselves below the corpus root",
        )
    if not resolved.is_dir():
        raise _not_ready(
            ReadyReason.DIRECTORY_NOT_FOUND,
            f"directory {directory!r}: it is not a directory",
            "correct spec.corpus.directory",
        )
    return resolved


def collect(directory: str, root: Path) -> Collection:
    """Hash the documents below a resolved directory; an unchanged file is not read again.

    Raises:
        SourceNotReadyError: the directory itself cannot be listed.
    """
    known = _known_files(root)
    seen: dict[str, tuple[_Fingerprint, str]] = {}
    walk = _Walk(root)
    files: list[CorpusFile] = []
    try:
        for path, real in walk.files():
            file = _corpus_file(path, real, known, seen, walk.left_out)
            if file is not None:
                files.append(file)
    except _RootError as error:
        raise _unreadable(directory, error.__cause__ or error) from error
    known.clear()
    known.update(seen)
    return collection("file", files, walk.left_out)


@dataclass(frozen=True, slots=True)
class _Fingerprint:
    """What says that a file is as it was: nothing is read again while this is the same."""

    size: int
    modified: int
    changed: int
    inode: int


@lru_cache(maxsize=_CORPORA)
def _known_files(_root: Path) -> dict[str, tuple[_Fingerprint, str]]:
    """Return the digests of a directory's files, kept as long as this process runs."""
    return {}


class _RootError(Exception):
    """The corpus directory itself cannot be listed."""


class _Walk:
    """Finds the files below a directory: each real file once, links after what they lead to."""

    def __init__(self, root: Path) -> None:
        self.left_out: list[LeftOut] = []
        self._root = root
        self._visited: set[Path] = set()
        self._found: set[Path] = set()

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield path within the corpus and real path of at most `MAX_FILES` files."""
        links: list[Path] = []
        yield from self._bounded(self._below(self._root, PurePosixPath(), links))
        while links and len(self._found) < MAX_FILES:
            links, pending = [], links
            for link in pending:
                yield from self._bounded(self._behind(link, links))

    def _bounded(self, files: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
        for path, real in files:
            if len(self._found) == MAX_FILES:
                rule = f"a corpus has at most {MAX_FILES} files, what follows neither"
                self._leave_out(path, rule, "divide it into several sources")
                return
            if real not in self._found:
                self._found.add(real)
                yield path, real

    def _below(
        self, directory: Path, path: PurePosixPath, links: list[Path]
    ) -> Iterator[tuple[str, Path]]:
        """Yield the files below a real directory, in order; keep links for later."""
        pending = [(directory, path)]
        while pending:
            directory, path = pending.pop()
            if directory in self._visited:
                continue
            self._visited.add(directory)
            below: list[tuple[Path, PurePosixPath]] = []
            for entry in self._entries(directory, path):
                name = path / entry.name
                if entry.is_symlink():
                    links.append(self._root / name)
                elif entry.is_dir(follow_symlinks=False):
                    below.append((directory / entry.name, name))
                elif name.suffix.lower() in SUFFIXES:
                    yield str(name), directory / entry.name
            pending += reversed(below)

    def _entries(self, directory: Path, path: PurePosixPath) -> list[os.DirEntry[str]]:
        """Return what a directory holds, without hidden names (such as a volume's `..data`)."""
        try:
            with os.scandir(directory) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            if directory == self._root:
                raise _RootError from error
            rule = f"it cannot be listed ({error.strerror})"
            self._leave_out(f"{path}/", rule, "let the operator's user read it")
            return []
        return sorted(visible, key=lambda entry: entry.name)

    def _behind(self, link: Path, links: list[Path]) -> Iterator[tuple[str, Path]]:
        """Yield what a link leads to, if that lies in the corpus."""
        path = PurePosixPath(link.relative_to(self._root))
        wanted = path.suffix.lower() in SUFFIXES
        try:
            real = link.resolve(strict=True)
        except FileNotFoundError:
            return  # a dangling link hides no text
        except (OSError, RuntimeError):
            if wanted:
                self._leave_out(str(path), "it is a link in a circle", "remove the link")
            return
        if not real.is_relative_to(self._root):
            if wanted or real.is_dir():
                rule = "it is a link that leads out of the corpus directory"
                self._leave_out(str(path), rule, "place the file itself there", bars=False)
        elif real.is_dir():
            yield from self._below(real, path, links)
        elif wanted:
            yield str(path), real

    def _leave_out(self, path: str, rule: str, mend: str, *, bars: bool = True) -> None:
        self.left_out.append(LeftOut(path, rule, mend, bars))


def _corpus_file(
    path: str,
    real: Path,
    known: dict[str, tuple[_Fingerprint, str]],
    seen: dict[str, tuple[_Fingerprint, str]],
    left_out: list[LeftOut],
) -> CorpusFile | None:
    locator = "file:" + quote(os.fsencode(path), safe="/!$&'()*+,;=:@~")
    if len(locator) > _MAX_LOCATOR:
        rule = f"its locator is longer than {_MAX_LOCATOR} characters"
        left_out.append(LeftOut(path, rule, "shorten its path", bars_absence=True))
        return None
    load = partial(_read, real)
    try:
        status = real.stat(follow_symlinks=False)
        fingerprint = _Fingerprint(
            status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        )
        before = known.get(path)
        if before is not None and before[0] == fingerprint:
            sha256 = before[1]
        else:
            sha256 = hashlib.sha256(load()).hexdigest()
        seen[path] = (fingerprint, sha256)
    except FileNotFoundError:
        return None  # deleted since it was listed
    except _TooLargeError:
        rule = f"it is larger than {MAX_FILE_BYTES // 1024**2} MiB"
        left_out.append(LeftOut(path, rule, "split it", bars_absence=True))
        return None
    except OSError as error:
        rule = f"it cannot be read ({error.strerror})"
        left_out.append(LeftOut(path, rule, "let the operator's user read it", bars_absence=True))
        return None
    return CorpusFile(path, locator, sha256, load)


class _TooLargeError(OSError):
    """A file is larger than a document may be."""


def _read(real: Path) -> bytes:
    """Read a regular file; never a link, never more than the limit, never waiting for a pipe."""
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise _TooLargeError
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _TooLargeError
    return data


def _not_ready(reason: ReadyReason, what: str, mend: str) -> SourceNotReadyError:
    return SourceNotReadyError(reason, f"{what}; {mend}")


def _unreadable(directory: str, error: BaseException) -> SourceNotReadyError:
    why = getattr(error, "strerror", None) or str(error)
    return _not_ready(
        ReadyReason.DIRECTORY_NOT_READABLE,
        f"directory {directory!r}: it cannot be read ({why})",
        "let the operator's user read it",
    )
