"""The index as a file: its schema, how it is written whole or not at all, how damage is found.

The index is a cache: everything in it can be made again from the corpus. A file is written under
a temporary name, sealed with the digest of its bytes and renamed, so that a name that is there
names an index that was finished; the seal finds what happened to it since.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

FORMAT_VERSION: Final = 2
"""Of the schema, the passages and the readers: part of the file's name, raise it with each."""

KEPT_INDEXES: Final = 32
"""How many indexes a cache directory keeps; the least recently used go first."""

_APPLICATION_ID: Final = 0x46495854
_HEADER: Final = ("application_id", "user_version")
_SEAL_BYTES: Final = 32

_TOKENIZER: Final = "unicode61 remove_diacritics 2 tokenchars '_'"

SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL,
    text BLOB NOT NULL
);
CREATE TABLE passages (
    number INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents,
    blocks BLOB NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5 (
    context, body, content = '', tokenize = "porter {_TOKENIZER}"
);
CREATE VIRTUAL TABLE exact USING fts5 (context, body, content = '', tokenize = "{_TOKENIZER}");
CREATE VIRTUAL TABLE unspaced USING fts5 (context, body, content = '', tokenize = 'trigram');
CREATE VIRTUAL TABLE unspaced_terms USING fts5vocab (unspaced, row);
"""


class DamagedIndexError(Exception):
    """An index is not what was once written: it must be built again."""


def index_path(cache_directory: Path, scheme: str, digest: str) -> Path:
    """Return where the index of a corpus is; any source over the same corpus shares it."""
    name = f"corpus-{scheme}-v{FORMAT_VERSION}-{digest.removeprefix('sha256:')}.sqlite"
    return cache_directory / name


def connect(path: Path) -> sqlite3.Connection:
    """Open a finished index for reading.

    Raises:
        FileNotFoundError: there is none.
        DamagedIndexError: its seal is broken, or it is something else.
    """
    status = path.stat()
    if not _is_sealed(path, status.st_ino, status.st_size, status.st_mtime_ns):
        raise DamagedIndexError(f"{path.name}: its bytes are not those that were written")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
    )
    try:
        header = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _HEADER]
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DamagedIndexError(f"{path.name}: {error}") from error
    if header != [_APPLICATION_ID, FORMAT_VERSION]:
        connection.close()
        raise DamagedIndexError(f"{path.name}: it has another schema")
    return connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Write an index: an empty database for the body, sealed and renamed at its end.

    The caller holds `exclusive(path.parent)`. If the body raises, nothing is left behind.
    """
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    connection = sqlite3.connect(unfinished, isolation_level=None)
    try:
        connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;" + SCHEMA
        )
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.close()
        digest = _digest(unfinished, unfinished.stat().st_size)
        with unfinished.open("ab") as file:
            file.write(digest)  # SQLite reads the pages that its header counts, nothing behind
        unfinished.replace(path)
    finally:
        connection.close()
        unfinished.unlink(missing_ok=True)


@contextmanager
def exclusive(cache_directory: Path) -> Iterator[None]:
    """Let one thread of all processes build at a time; the kernel drops the lock of a dead one."""
    cache_directory.mkdir(parents=True, exist_ok=True)
    with (cache_directory / "corpora.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def remove_unused(cache_directory: Path) -> None:
    """Delete the indexes that were not used for longest, beyond the number that is kept."""
    indexes = []
    for path in cache_directory.glob("corpus-*.sqlite"):
        try:
            indexes.append((path.stat().st_atime_ns, path))
        except FileNotFoundError:
            continue
    for _, path in sorted(indexes, reverse=True)[KEPT_INDEXES:]:
        path.unlink(missing_ok=True)


def mark_used(path: Path) -> None:
    """Note that an index is in use, whether or not the file system keeps access times."""
    with suppress(OSError):  # in a cache that cannot be written, nothing is removed either
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


@lru_cache(maxsize=4 * KEPT_INDEXES)
def _is_sealed(path: Path, _inode: int, size: int, _modified: int) -> bool:
    """Say whether a file ends with the digest of what comes before; asked once for each state."""
    if size <= _SEAL_BYTES:
        return False
    digest = _digest(path, size - _SEAL_BYTES)
    with path.open("rb") as file:
        file.seek(size - _SEAL_BYTES)
        return file.read() == digest


def _digest(path: Path, size: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (data := file.read(min(size, 1 << 20))):
            digest.update(data)
            size -= len(data)
    return digest.digest()
