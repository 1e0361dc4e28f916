"""The folder that keeps what is slow to make, and how processes share it.

Building the control plane takes minutes, so its results outlive a test run, and two runs at the
same time (or the workers of one) must neither collide nor do the work twice.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Return this user's folder for the control plane, after the XDG base directory rules."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, empty, or relative, which the rules say to ignore
        base = Path.home() / ".cache"
    return base / "fixpoint" / "controlplane"


@contextmanager
def exclusive(lock: Path, *, waiting_for: str) -> Iterator[None]:
    """Hold a lock file for the body; say what is waited for if another process holds it.

    The kernel drops the lock when its holder ends, in whatever way, so no lock is ever stale.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another process: {waiting_for}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def report(line: str) -> None:
    """Print a line of progress to standard error: standard output is for results."""
    sys.stderr.write(f"controlplane: {line}\n")
    sys.stderr.flush()
