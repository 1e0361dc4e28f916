"""A small world for whole runs in process: a stepped clock, a corpus in memory, the local store.

Nothing here patches the code under test: each double is an implementation of a port.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from controller.api.base import API_VERSION, digest_of, digest_of_text
from controller.api.errors import ActionError
from controller.api.reasons import AcceptedReason
from controller.api.records import (
    Block,
    BlockKind,
    Document,
    Extractor,
    Lines,
    SearchStatus,
    TermWeight,
)
from controller.api.step import ResearchStep
from controller.api.task import REQUESTED_AT, ResearchTask
from controller.evidence.terms import content_terms, term_weight
from controller.loop.situation import MissingReference
from controller.ports import (
    Passage,
    References,
    Reread,
    SearchOutcome,
    Source,
    SourceObservation,
    TaskKey,
)
from controller.reconcile import Reconciler
from controller.store.local import LocalStore

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

LAMP_MANUAL = {
    "file:lamp.txt": {
        "GLOW_LEVEL": "Default: 40 lumens at the lowest dimmer position of the lamp.",
        "GLOW_COLOUR": "Default: warm white, which is 2700 kelvin on every lamp of the series.",
        "Safety": "The lamp switches itself off when its housing is hotter than 85 degrees.",
    }
}


class StepClock:
    """A clock that moves by a fixed step each time it is read, and by hand."""

    def __init__(self, step: timedelta = timedelta(milliseconds=10)) -> None:
        self.time = START
        self._step = step

    def now(self) -> datetime:
        """Return the time, and move on."""
        self.time += self._step
        return self.time

    def advance(self, seconds: float) -> None:
        """Move on by hand."""
        self.time += timedelta(seconds=seconds)


class MemorySource:
    """A corpus in memory: documents of headed paragraphs, found by the words they share."""

    is_remote = False
    max_results = 10

    def __init__(self, name: str, documents: Mapping[str, Mapping[str, str]]) -> None:
        self.name = name
        self.searches: list[str] = []
        self.reads: list[str] = []
        self.failures: list[ActionError] = []
        self.texts = {at: "\n".join(text.values()) for at, text in documents.items()}
        self._digest = digest_of({k: dict(v) for k, v in documents.items()})
        self._passages = [p for at, text in documents.items() for p in self._of(at, text)]
        self._documents = len(documents)

    async def observe(self) -> SourceObservation:
        """Return the digest of what the documents say."""
        return SourceObservation(self._digest, self._documents)

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Return the passages that share most words with the query, or the next failure."""
        self.searches.append(query)
        if self.failures:
            raise self.failures.pop(0)
        wanted = set(content_terms(query.casefold()))
        scored = [(len(wanted & self._words(p)), p) for p in self._passages]
        found = sorted((s for s in scored if s[0]), key=lambda s: -s[0])
        best = found[0][0] if found else 1
        return SearchOutcome(
            status=SearchStatus.COMPLETE,
            passages=tuple(
                Passage(p.document, p.blocks, 1000 * score // best) for score, p in found[:limit]
            ),
            total=len(found),
            documents=self._documents,
            term_weights=tuple(self._weight(term) for term in terms),
            corpus_digest=self._digest,
        )

    async def read(self, locator: str) -> Reread:
        """Return a document as it is now, or the next failure."""
        self.reads.append(locator)
        if self.failures:
            raise self.failures.pop(0)
        found = [p for p in self._passages if p.document.locator == locator]
        if not found:
            return Reread(None, corpus_digest=self._digest)
        blocks = tuple(block for passage in found for block in passage.blocks)
        return Reread(found[0].document, blocks, self._digest)

    def _weight(self, term: str) -> TermWeight:
        frequency = sum(term.casefold() in self._words(p) for p in self._passages)
        return TermWeight(
            term=term,
            document_frequency=frequency,
            weight=term_weight(frequency, len(self._passages)),
        )

    def _words(self, passage: Passage) -> set[str]:
        text = " ".join((*passage.blocks[0].heading_path, passage.blocks[0].text))
        return set(content_terms(text.casefold()))

    def _of(self, locator: str, sections: Mapping[str, str]) -> list[Passage]:
        text = "\n".join(sections.values())
        document = Document(
            id="d-" + digest_of_text(locator + text)[7:19],
            source_name=self.name,
            locator=locator,
            title=locator,
            content_type="text/plain",
            charset="utf-8",
            bytes_digest=digest_of_text(text),
            text_digest=digest_of_text(text),
            bytes=len(text.encode()),
            characters=len(text),
            extractor=Extractor(name="memory", version="1"),
            origin_key=self.name,
            priority=50,
            corpus_digest=self._digest,
        )
        passages, at = [], 0
        for line, (heading, body) in enumerate(sections.items(), start=1):
            block = Block(
                start=at,
                end=at + len(body),
                kind=BlockKind.PARAGRAPH,
                heading_path=(heading,),
                lines=Lines(first=line, last=line),
                text=body,
            )
            passages.append(Passage(document, (block,), 1000))
            at += len(body) + 1
        return passages


@dataclass
class StaticReferences:
    """References as a test sets them."""

    sources: dict[str, Source] = field(default_factory=dict)

    async def resolve(self, task: ResearchTask) -> References:
        """Return the sources, or the first that is not there."""
        for reference in task.spec.source_refs:
            if reference.name not in self.sources:
                message = f"ResearchSource {reference.name} is not there"
                return References({}, MissingReference(AcceptedReason.SOURCE_NOT_FOUND, message))
        digests = {
            name: (await source.observe()).digest
            for name, source in self.sources.items()
            if not source.is_remote
        }
        return References(self.sources, digests=digests)


class World:
    """One store, one clock, some sources; and as many operators as a test starts."""

    def __init__(self, folder: Path) -> None:
        self.clock = StepClock()
        uids = count(1)
        self.path = folder / "store.db"
        self.store = LocalStore.open(
            self.path, self.clock, new_uid=lambda: f"{next(uids):08}-0000-0000"
        )
        self.lamp = MemorySource("lamp", LAMP_MANUAL)
        self.references = StaticReferences({"lamp": self.lamp})
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

    def now_holds(self, documents: Mapping[str, Mapping[str, str]]) -> MemorySource:
        """Let the corpus hold something else from now on."""
        is_remote = self.lamp.is_remote
        self.lamp = MemorySource("lamp", documents)
        self.lamp.is_remote = is_remote
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
