"""Manuals of Debian by package name: downloaded with apt and unpacked, never installed.

What came is written beside it: the package, its version, and the SHA-256 of the archive. Where a
package cannot be had (no apt, no such package, no network) the strata that need it are skipped,
and the reason stands in the result.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from demo.corpus import corpora_root

FOLDER = "debian"
_SECONDS = 300


class PackageUnavailableError(Exception):
    """A package cannot be had here; the text says why."""


@dataclass(frozen=True)
class Package:
    """A package as it came: its version, and the SHA-256 of its archive."""

    name: str
    version: str
    sha256: str


def unpacked(name: str, root: Path | None = None) -> tuple[Path, Package]:
    """Return the folder that a package is unpacked in, and what came; fetch it if need be.

    Args:
        name: of the Debian package.
        root: the directory of corpora; by default the user's.

    Raises:
        PackageUnavailableError: it is not here, and cannot be fetched.
    """
    folder = (root or corpora_root()) / FOLDER
    target, stamp = folder / name, folder / f"{name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder / f"{name}.lock"):
        if not (target.is_dir() and stamp.is_file()):
            package = _fetch(name, target)
            stamp.write_text(json.dumps(asdict(package), indent=2) + "\n", "utf-8")
    return target, Package(**json.loads(stamp.read_text("utf-8")))


def _fetch(name: str, target: Path) -> Package:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unfinished-") as temporary:
        work = Path(temporary)
        _run(["apt-get", "download", name], work)
        archives = list(work.glob("*.deb"))
        if len(archives) != 1:
            raise PackageUnavailableError(f"apt-get download {name} brought {len(archives)} files")
        version = _run(["dpkg-deb", "--field", str(archives[0]), "Version"], work).strip()
        _run(["dpkg-deb", "--extract", str(archives[0]), "unpacked"], work)
        if target.exists():
            shutil.rmtree(target)
        (work / "unpacked").rename(target)
        sha256 = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    return Package(name, version, sha256)


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except FileNotFoundError:
        raise PackageUnavailableError(f"this machine has no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise PackageUnavailableError(f"{command[0]} took more than {_SECONDS} s") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise PackageUnavailableError(f"{' '.join(command[:3])}: {said}")
    return done.stdout


@contextmanager
def _exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file; the kernel drops the lock when its holder ends, in whatever way."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
