"""The demo's corpus: Django 5.2's documentation, fetched once with pip, pinned by its hash.

pip is the only way in that works behind every proxy and mirror a developer's machine is set up
for; `--require-hashes` makes sure that what comes is what was measured. `python -m demo.corpus`
prints the directory.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

NAME: Final = "django-docs"
REQUIREMENT: Final = "django==5.2"
SHA256: Final = "1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89"

_TREE: Final = "docs"
_MAX_FILE_BYTES: Final = 32 * 1024 * 1024


class CorpusUnavailableError(Exception):
    """The corpus could not be fetched; the text says why, and what to do."""


def corpora_root() -> Path:
    """Return this user's directory of corpora, after the XDG base directory rules."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, empty, or relative, which the rules say to ignore
        base = Path.home() / ".cache"
    return base / "fixpoint" / "corpora"


def django_docs(root: Path | None = None) -> Path:
    """Return a directory that holds Django's `docs/` tree and nothing else; fetch it if need be.

    Args:
        root: the directory of corpora; by default the user's (`corpora_root`).

    Raises:
        CorpusUnavailableError: pip cannot fetch it.
    """
    root = root or corpora_root()
    directory = root / NAME
    stamp = root / f"{NAME}.sha256"
    if _is_complete(directory, stamp):
        return directory
    root.mkdir(parents=True, exist_ok=True)
    with _exclusive(root / f"{NAME}.lock"):
        if not _is_complete(directory, stamp):
            _fetch(directory, stamp)
    return directory


def _is_complete(directory: Path, stamp: Path) -> bool:
    return directory.is_dir() and stamp.is_file() and stamp.read_text(encoding="ascii") == SHA256


def _fetch(directory: Path, stamp: Path) -> None:
    _report(f"fetching {REQUIREMENT} with pip (11 MB, once), for its documentation")
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".unfinished-") as temporary:
        archive = _download(Path(temporary))
        unpacked = Path(temporary) / NAME
        files = unpack_tree(archive, _TREE, unpacked)
        stamp.unlink(missing_ok=True)
        if directory.exists():
            shutil.rmtree(directory)
        unpacked.rename(directory)
        stamp.write_text(SHA256, encoding="ascii")
    _report(f"{files} files are in {directory}")


def _download(directory: Path) -> Path:
    """Return the source distribution, whose hash pip has compared."""
    requirements = directory / "requirements.txt"
    requirements.write_text(f"{REQUIREMENT} --hash=sha256:{SHA256}\n", encoding="ascii")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", str(directory)]
    result = subprocess.run(
        [*command, "--requirement", str(requirements)],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    archives = list(directory.glob("*.tar.gz"))
    if result.returncode or len(archives) != 1:
        raise CorpusUnavailableError(
            f"pip could not fetch {REQUIREMENT}: {result.stderr.strip()[-2000:]}\n"
            "Check that this Python has pip, and pip an index (pip config list)."
        )
    return archives[0]


def unpack_tree(archive: Path, tree: str, target: Path) -> int:
    """Unpack the regular files of one top directory of a source distribution; return how many.

    Raises:
        CorpusUnavailableError: a name leads out of the tree, or a file is larger than 32 MiB.
    """
    count = 0
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            path = PurePosixPath(member.name)
            if not member.isreg() or path.parts[1:2] != (tree,):
                continue
            if path.is_absolute() or ".." in path.parts or member.size > _MAX_FILE_BYTES:
                raise CorpusUnavailableError(f"{archive.name} holds {member.name!r}: refused")
            place = target.joinpath(*path.parts[1:])
            place.parent.mkdir(parents=True, exist_ok=True)
            content = members.extractfile(member)
            assert content is not None
            with place.open("xb") as file:
                shutil.copyfileobj(content, file)
            count += 1
    return count


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file; the kernel drops the lock when its holder ends, in whatever way."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _report("waiting for another process that fetches the documentation")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _report(line: str) -> None:
    """Print a line of progress to standard error: standard output is for results."""
    sys.stderr.write(f"corpus: {line}\n")
    sys.stderr.flush()


def main() -> int:
    """Fetch the corpus if need be, and print its directory."""
    try:
        print(django_docs())
    except CorpusUnavailableError as error:
        _report(str(error))
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
