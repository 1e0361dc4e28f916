"""A small world for whole runs in process: a stepped clock, a corpus in memory, the local store.

Nothing here patches the code under test: each double is an implementation of a port.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from controller.api.base import API_VERSION
from controller.api.step import ResearchStep
from controller.api.task import REQUESTED_AT, ResearchTask
from controller.clock import SteppedClock
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import Documents, ScriptedReferences, ScriptedSource
from controller.store.local import LocalStore

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

LAMP_MANUAL = {
    "file:lamp.txt": {
        "GLOW_LEVEL": "Default: 40 lumens at the lowest dimmer position of the lamp.",
        "GLOW_COLOUR": "Default: warm white, which is 2700 kelvin on every lamp of the series.",
        "Safety": "The lamp switches itself off when its housing is hotter than 85 degrees.",
    }
}


class World:
    """One store, one clock, some sources; and as many operators as a test starts."""

    def __init__(self, folder: Path) -> None:
        self.clock = SteppedClock(START)
        uids = count(1)
        self.path = folder / "store.db"
        self.store = LocalStore.open(
            self.path, self.clock, new_uid=lambda: f"{next(uids):08}-0000-0000"
        )
        self.lamp = ScriptedSource("lamp", LAMP_MANUAL)
        self.references = ScriptedReferences({"lamp": self.lamp})
        self._holders = count(1)

    def operator(self) -> Reconciler:
        """Start another operator: a fresh process, as far as the store can tell."""
        return Reconciler(
            store=self.store,
            references=self.references,
            clock=self.clock,
            holder=f"operator-{next(self._holders)}",
        )

    def apply(
        self,
        name: str = "task",
        *,
        requested_at: str | None = None,
        **spec: Any,  # noqa: ANN401 - any field
    ) -> TaskKey:
        """Apply a task; by default with one question that the lamp manual answers."""
        annotations = {} if requested_at is None else {REQUESTED_AT: requested_at}
        manifest = {
            "apiVersion": API_VERSION,
            "kind": "ResearchTask",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {
                "topic": "The lamp",
                "questions": [{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}],
                "sourceRefs": [{"name": "lamp"}],
                **spec,
            },
        }
        self.store.apply(manifest)
        return TaskKey("default", name)

    def now_holds(self, documents: Documents) -> ScriptedSource:
        """Let the corpus hold something else from now on."""
        is_remote = self.lamp.is_remote
        self.lamp = ScriptedSource("lamp", documents, is_remote=is_remote)
        self.references.sources["lamp"] = self.lamp
        return self.lamp

    async def task(self, key: TaskKey) -> ResearchTask:
        """Return the task as it is stored."""
        return await self.store.get_task(key)

    async def steps(self, key: TaskKey) -> tuple[ResearchStep, ...]:
        """Return the task's journal as it is stored."""
        return await self.store.list_steps(await self.task(key), 0)

    async def run(self, key: TaskKey, operator: Reconciler | None = None, turns: int = 500) -> int:
        """Reconcile until nothing is left to do at once; return the number of turns."""
        operator = operator or self.operator()
        for turn in range(1, turns + 1):
            operator.observe(key, "")
            requeue = await operator.reconcile(key)
            if requeue.after != 0:
                return turn
        raise AssertionError(f"{key} is still busy after {turns} turns")

    def tamper(self, step: ResearchStep) -> None:
        """Change one character of a stored step behind the store's back."""
        with sqlite3.connect(self.path) as database:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in database.execute(triggers).fetchall():
                database.execute(f"DROP TRIGGER {name}")
            database.execute(
                "UPDATE objects SET body = replace(body, ?, ?) WHERE name = ?",
                (step.spec.observation.summary, "changed", step.metadata.name),
            )
        database.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()
