"""One task in one file of the local home, with every accepted write kept in the file itself."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from controller.api.base import API_VERSION
from controller.api.task import REQUESTED_AT
from controller.clock import SystemClock
from controller.fault_points import VARIABLE
from controller.ports import TaskKey
from controller.store.local import LocalStore
from tests.crash.figures import Recorded, Write
from tests.operator.forked import ForkedProcess, start

QUESTIONS = [
    {"id": "glow", "text": "What is the default value of GLOW_LEVEL?"},
    {"id": "frost", "text": "What is the default value of FROST_LEVEL?"},
]
"""One that the corpus `lamp` answers, and one that it proves absent."""

MODEL = (
    "ResearchModel",
    "scripted",
    {"backend": "OpenAICompatible", "baseURL": "http://127.0.0.1:9/v1", "model": "scripted"},
)
"""A model object; the process that works on it plays a script instead of calling anybody."""

WITH_MODEL = {
    "modelRef": {"name": "scripted"},
    "progressPolicy": {
        "planningInterval": 0
    },  # an interrupted attempt is a step, and would move it
}

_KEY = TaskKey("default", "task")
_SECONDS = 180.0

_TRAIL = """
CREATE TABLE trail (number INTEGER PRIMARY KEY, kind TEXT, namespace TEXT, name TEXT, body TEXT);
CREATE TRIGGER trail_of_insert AFTER INSERT ON objects BEGIN
    INSERT INTO trail (kind, namespace, name, body)
    VALUES (new.kind, new.namespace, new.name, new.body);
END;
CREATE TRIGGER trail_of_update AFTER UPDATE ON objects BEGIN
    INSERT INTO trail (kind, namespace, name, body)
    VALUES (new.kind, new.namespace, new.name, new.body);
END;
"""
"""The recorder at the destination: what is not committed with its write was not written."""


class LocalRun:
    """A task, and the processes that work on it one after another or at once."""

    def __init__(
        self,
        folder: Path,
        corpora: Path,
        *,
        is_remote: bool = False,
        has_model: bool = False,
        questions: Sequence[Mapping[str, str]] = QUESTIONS,
    ) -> None:
        folder.mkdir()
        self._store = folder / "store.db"
        self._calls = folder / "calls"
        self._options = [
            *(["--remote"] if is_remote else []), *(["--model"] if has_model else [])
        ]  # fmt: skip
        self._corpora = corpora
        self._indexes = folder / "indexes"
        self._numbers = itertools.count()
        with LocalStore.open(self._store, SystemClock()) as store:
            for kind, name, spec in (
                *([MODEL] if has_model else []),
                ("ResearchSource", "lamp", {"type": "Corpus", "corpus": {"directory": "lamp"}}),
                (
                    "ResearchTask",
                    _KEY.name,
                    {
                        "topic": "The lamp",
                        "questions": questions,
                        "sourceRefs": [{"name": "lamp"}],
                        **(WITH_MODEL if has_model else {}),
                    },
                ),
            ):
                metadata = {"name": name, "namespace": _KEY.namespace}
                store.apply(
                    {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
                )
        with closing(sqlite3.connect(self._store)) as database:
            database.executescript(_TRAIL)

    @contextmanager
    def process(self, fault: str | None = None) -> Iterator[ForkedProcess]:
        """Start a process; it ends with the `with` statement at the latest."""
        files = (self._store, self._corpora, self._indexes, self._calls)
        process = start(
            "tests.crash.local_process",
            [*map(str, files), *self._options],
            os.environ | ({VARIABLE: fault} if fault else {}),
            self._store.with_name(f"process-{next(self._numbers)}.log"),
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def run(self, fault: str | None = None) -> int:
        """Let a process work until it ends; return its exit status, negative for a signal."""
        with self.process(fault) as process:
            return process.wait(_SECONDS)

    def ask_again(self) -> None:
        """Ask for another look at the task."""
        with LocalStore.open(self._store, SystemClock()) as store:
            (task,) = store.tasks()
            metadata = {
                "name": _KEY.name,
                "namespace": _KEY.namespace,
                "annotations": {REQUESTED_AT: "monday"},
            }
            spec = task.spec.to_json()
            store.apply(
                {
                    "apiVersion": API_VERSION,
                    "kind": "ResearchTask",
                    "metadata": metadata,
                    "spec": spec,
                }
            )

    def recorded(self) -> Recorded:
        """Return what is stored and what was seen."""
        return asyncio.run(self._recorded())

    async def _recorded(self) -> Recorded:
        with LocalStore.open(self._store, SystemClock()) as store:
            task = await store.get_task(_KEY)
            steps = await store.list_steps(task, 0)
            report = await store.get_report(task)
        with closing(sqlite3.connect(self._store)) as database:
            rows = database.execute("SELECT kind, namespace, name, body FROM trail ORDER BY number")
            trail = tuple(
                Write(kind, namespace, name, json.loads(body))
                for kind, namespace, name, body in rows
            )
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        return Recorded(task, steps, report, trail, tuple(calls))
