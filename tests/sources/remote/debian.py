"""Programs of Debian, unpacked into this user's cache: nothing is installed, no right is needed.

Where a package cannot be had (another system, no network), `DebianUnavailableError` says so in one
line, for a test to be skipped with.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_SECONDS: Final = 240


class DebianUnavailableError(Exception):
    """A package cannot be had; the text says which, and why."""


def unpacked(
    name: str, packages: Sequence[str], prepare: Callable[[Path], None] = lambda _: None
) -> Path:
    """Return a folder that holds packages as they would lie below `/`; fetch them if need be.

    Args:
        name: the folder's own name.
        packages: the names of the packages; what they depend on is not fetched.
        prepare: changes what was unpacked before anybody uses it.

    Raises:
        DebianUnavailableError: one of them cannot be had.
    """
    folder = _cache() / name
    if folder.is_dir():
        return folder
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise DebianUnavailableError(f"{', '.join(packages)}: there is no {program} here")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.parent / f"{name}.lock"):
        if not folder.is_dir():
            _unpack(packages, folder, prepare)
    return folder


def _cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, empty, or relative, which the rules say to ignore
        base = Path.home() / ".cache"
    return base / "fixpoint" / "debian"


def _unpack(packages: Sequence[str], folder: Path, prepare: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        at = Path(temporary)
        _run(["apt-get", "-qq", "download", *packages], at)
        root = at / "root"
        for archive in sorted(at.glob("*.deb")):
            _run(["dpkg", "-x", str(archive), str(root)], at)
        prepare(root)
        root.rename(folder)


def _run(command: Sequence[str], at: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=at, check=False, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DebianUnavailableError(f"{' '.join(command[:3])}: {error}") from None
    if done.returncode != 0:
        (*_, last) = ("no word", *done.stderr.strip().splitlines())
        raise DebianUnavailableError(f"{' '.join(command[:3])}: {last}")


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file; the kernel drops it when its holder ends, in whatever way."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
