"""One SQLite file of API objects: versions, owners, and writes that are whole or not at all.

Several processes may have the file open: each write is a transaction that takes the write lock
before it reads (`BEGIN IMMEDIATE`), and is on the disk before it returns (`synchronous=FULL`).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from controller.api.errors import AlreadyExistsError, UnavailableError, UserError

_APPLICATION_ID: Final = 0x46495850
"""`FIXP`: what SQLite's own header says that the file is for."""

_FORMAT_VERSION: Final = 1

_BUSY_SECONDS: Final = 10.0
"""How long a write waits for another process's; theirs take milliseconds."""

_RETRY_SECONDS: Final = 0.01

_SCHEMA: Final = (
    """
    CREATE TABLE objects (
        kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
        uid TEXT NOT NULL UNIQUE,
        owner_uid TEXT NOT NULL,  -- removed with this object; empty: with none
        task_uid TEXT NOT NULL,   -- a step's spec.taskUID, else empty
        body TEXT NOT NULL,       -- metadata, spec, status as JSON
        PRIMARY KEY (kind, namespace, name)
    )
    """,
    "CREATE INDEX objects_by_owner ON objects (owner_uid) WHERE owner_uid <> ''",
    "CREATE INDEX steps_by_task ON objects (task_uid) WHERE task_uid <> ''",
    """
    CREATE TRIGGER steps_are_records BEFORE UPDATE ON objects WHEN old.kind = 'ResearchStep'
    BEGIN SELECT RAISE(ABORT, 'a ResearchStep is a record and may not be changed'); END
    """,
    "CREATE TABLE versions (last INTEGER NOT NULL)",
    "INSERT INTO versions VALUES (0)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_FORMAT_VERSION}",
)

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_NOT_USABLE: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)
_TRY_AGAIN: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PROTOCOL,
    }
)


@dataclass(frozen=True)
class Row:
    """An object as it is stored: its key, whom it goes with, and all of it as JSON."""

    kind: str
    namespace: str
    name: str
    uid: str
    body: dict[str, Any]
    owner_uid: str = ""
    task_uid: str = ""


class Database:
    """The file. Reads see the last committed write; writes happen inside `writing`."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, and make it first if it is not there; the caller closes it.

        Raises:
            UserError: the file is damaged, another program's, or newer than this program.
            UnavailableError: another process holds it for too long.
        """
        with _errors_of(path):
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        database = cls(path, connection)
        try:
            database._prepare()
        except BaseException:
            database.close()
            raise
        return database

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Take an open connection. Use `open`."""
        self._path = path
        self._connection = connection

    def close(self) -> None:
        """Close the file. May be called more than once."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Do all that happens inside as one write: whole, alone, and on the disk at the end."""
        with _errors_of(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def get(self, kind: str, namespace: str, name: str) -> str | None:
        """Return an object as JSON, None where there is none."""
        found = self._bodies(
            "SELECT body FROM objects WHERE kind = ? AND namespace = ? AND name = ?",
            (kind, namespace, name),
        )
        return found[0] if found else None

    def all_of(self, kind: str) -> list[str]:
        """Return all objects of a kind as JSON, by namespace and name."""
        return self._bodies(
            "SELECT body FROM objects WHERE kind = ? ORDER BY namespace, name", (kind,)
        )

    def owned_by(self, kind: str, owner_uid: str) -> list[str]:
        """Return all objects of a kind with this owner as JSON, in the order of their names."""
        return self._bodies(
            "SELECT body FROM objects WHERE kind = ? AND owner_uid = ? ORDER BY name",
            (kind, owner_uid),
        )

    def steps_of(self, task_uid: str) -> list[str]:
        """Return all steps whose `spec.taskUID` is this as JSON, in the order of their names."""
        return self._bodies(
            "SELECT body FROM objects WHERE task_uid = ? ORDER BY name", (task_uid,)
        )

    def has_uid(self, uid: str) -> bool:
        """Say whether an object with this uid is stored."""
        with _errors_of(self._path):
            found = self._connection.execute("SELECT 1 FROM objects WHERE uid = ?", (uid,))
            return found.fetchone() is not None

    def next_version(self) -> str:
        """Return a resource version above all that the file ever had; inside `writing`."""
        self._connection.execute("UPDATE versions SET last = last + 1")
        last = self._connection.execute("SELECT last FROM versions").fetchone()[0]
        return str(last)

    def insert(self, row: Row) -> None:
        """Store a new object; inside `writing`.

        Raises:
            AlreadyExistsError: the name is taken.
        """
        if self.get(row.kind, row.namespace, row.name) is not None:
            raise AlreadyExistsError(
                f"the {row.kind} {row.namespace}/{row.name} exists in {self._path}"
            )
        self._connection.execute(
            "INSERT INTO objects (kind, namespace, name, uid, owner_uid, task_uid, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                row.kind, row.namespace, row.name, row.uid, row.owner_uid, row.task_uid,
                json.dumps(row.body, ensure_ascii=False),
            ),
        )  # fmt: skip

    def replace(self, uid: str, body: dict[str, Any]) -> None:
        """Replace all of an object but its key; inside `writing`."""
        self._connection.execute(
            "UPDATE objects SET body = ? WHERE uid = ?",
            (json.dumps(body, ensure_ascii=False), uid),
        )

    def delete_with_owned(self, uid: str) -> None:
        """Remove an object and all that it owns, directly or not; inside `writing`."""
        self._connection.execute(
            """
            WITH RECURSIVE gone (uid) AS (
                VALUES (?)
                UNION SELECT objects.uid FROM objects JOIN gone ON objects.owner_uid = gone.uid
            )
            DELETE FROM objects WHERE uid IN gone
            """,
            (uid,),
        )

    def _bodies(self, query: str, parameters: tuple[str, ...]) -> list[str]:
        with _errors_of(self._path):
            return [body for (body,) in self._connection.execute(query, parameters)]

    def _prepare(self) -> None:
        """Check whose file it is, make the tables of a new one, and set how it is written."""
        with _errors_of(self._path):
            self._check_owner()
            self._use_write_ahead_log()
            self._connection.execute("PRAGMA synchronous = FULL")
        with self.writing():
            # Read again under the lock: another process may have just made the tables.
            if self._pragma("application_id") == 0:
                for statement in _SCHEMA:
                    self._connection.execute(statement)
        with _errors_of(self._path):
            if self._pragma("quick_check") != "ok":
                raise _damaged(self._path)

    def _use_write_ahead_log(self) -> None:
        """Switch a new file over; this is the one lock that SQLite itself does not wait for."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def _check_owner(self) -> None:
        # One read of all three: another process may be making the tables at this moment.
        self._connection.execute("BEGIN")
        try:
            application = self._pragma("application_id")
            version = self._pragma("user_version")
            tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        if application != _APPLICATION_ID and (application != 0 or tables != 0):
            raise UserError(
                f"{self._path} is a database of another program: a file of Fixpoint holds "
                "nothing else; name another file"
            )
        if application == _APPLICATION_ID and version != _FORMAT_VERSION:
            raise UserError(
                f"{self._path} was written by another version of Fixpoint: this one reads format "
                f"{_FORMAT_VERSION}; use that version, or name another file"
            )

    def _pragma(self, name: str) -> object:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Map what SQLite raises by what must be done about it; what is a defect stays as it is."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _DAMAGED:
            raise _damaged(path) from error
        if code in _NOT_USABLE:
            raise UserError(
                f"{path} cannot be opened for writing ({error}): its folder must exist and be "
                "writable; create the folder, or name another file"
            ) from error
        if code in _TRY_AGAIN:
            raise UnavailableError(f"{path} cannot be written now: {error}") from error
        raise


def _damaged(path: Path) -> UserError:
    return UserError(
        f"{path} is no SQLite database, or a damaged one: nothing is read from it or written to "
        "it; restore it from a copy, or move it away and run again"
    )
