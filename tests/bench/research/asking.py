"""Asking a question as a task does: the real loop, the real source, the report that is published.

Nothing of the policy is copied here. A task with one question runs to its end in a local store;
what counts is what its report quotes, in its order.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from controller.actions.publish import JSON_FILE
from controller.api.base import API_VERSION
from controller.api.meta import ObjectMeta
from controller.api.records import Certificate, SearchRecord
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType
from controller.api.task import ResearchTask
from controller.clock import SteppedClock
from controller.evidence.certificates import recheck
from controller.evidence.queries import first_query
from controller.evidence.report_format import Report, ReportQuestion
from controller.ports import Passage, References, Source, TaskKey
from controller.reconcile import Reconciler
from controller.sources.corpus import ConfigMaps, IndexedCorpus, make_source
from controller.store.local import LocalStore

_QUESTION: Final = "asked"
_TURNS: Final = 500

BASELINE: Final = 3
"""How many passages the baseline returns."""

_START: Final = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Quote:
    """A quote of a report: its characters, its document, and the first line of its block."""

    text: str
    locator: str
    line: int | None
    headings: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """What came of a question: its state and reason, the run's ending, the quotes in order.

    `certificate` says whether a proof of absence was given that holds when its queries are run
    again; None: none was given. `seconds` are of the processor.
    """

    state: str
    reason: str
    ending: str
    quotes: tuple[Quote, ...]
    certificate: bool | None
    steps: int
    seconds: float


class Desk:
    """Runs tasks over sources that are made once; to be used in a `with` statement."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        """Take the sources that every task refers to."""
        self._sources = dict(sources)
        self._digests: dict[str, str] = {}
        self._opened = ExitStack()
        self._asked = 0

    def __enter__(self) -> Self:
        folder = self._opened.enter_context(tempfile.TemporaryDirectory())
        self._clock = SteppedClock(_START)
        self._store = self._opened.enter_context(
            LocalStore.open(Path(folder) / "store.db", self._clock)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    async def resolve(self, task: ResearchTask) -> References:  # noqa: ARG002 - as the port's
        """Return the sources; each is observed once, since nothing changes while it is asked."""
        if not self._digests:
            for name, source in self._sources.items():
                digest = (await source.observe()).digest
                if digest is not None:
                    self._digests[name] = digest
        return References(self._sources, digests=self._digests)

    async def ask(self, question: str, **spec: Any) -> Asked:  # noqa: ANN401 - any field
        """Run a task with one question to its end, and read its report."""
        key = TaskKey("default", f"question-{self._asked}")
        self._asked += 1
        self._store.apply(_task(key, question, list(self._sources), spec))
        began = time.process_time()
        ended = await self._run(key)
        seconds = time.process_time() - began
        task = await self._store.get_task(key)
        stored = await self._store.get_report(task)
        assert stored is not None, f"{question!r} ended as {ended} without a report"
        report = Report.model_validate(json.loads(stored.files[JSON_FILE]))
        (answered,) = report.questions
        certificate = answered.certificate
        return Asked(
            state=answered.state,
            reason=answered.reason or "",
            ending=ended,
            quotes=tuple(_quotes(report, answered)),
            certificate=None if certificate is None else await self._holds(question, certificate),
            steps=task.status.usage.steps if task.status.usage else 0,
            seconds=round(seconds, 4),
        )

    async def _run(self, key: TaskKey) -> str:
        reconciler = Reconciler(
            store=self._store, references=self, clock=self._clock, holder="benchmark"
        )
        for _ in range(_TURNS):
            requeue = await reconciler.reconcile(key)
            if requeue.after is None:
                return str((await self._store.get_task(key)).status.terminal_reason)
            self._clock.advance(requeue.after)
        raise AssertionError(f"{key} came to no end in {_TURNS} turns")

    async def _holds(self, question: str, certificate: Certificate) -> bool:
        """Run the queries of a certificate again, and say whether it still holds."""
        terms = [weight.term for weight in certificate.absent_terms]
        again = []
        for query in certificate.queries:
            source = self._sources[query.source_name]
            outcome = await source.search(query.text, limit=source.max_results, terms=terms)
            again.append(
                SearchRecord(
                    source_name=query.source_name,
                    question_id=_QUESTION,
                    query=query.text,
                    status=outcome.status,
                    total=outcome.total,
                    corpus_digest=outcome.corpus_digest,
                    documents=outcome.documents,
                    term_weights=outcome.term_weights,
                )
            )
        named = {weight.term for record in again for weight in record.term_weights}
        assert named.issuperset(terms), f"{question!r}: a source gave no weights"
        return bool(again) and bool(terms) and not recheck(certificate, again)


def _quotes(report: Report, question: ReportQuestion) -> Iterator[Quote]:
    references = {reference.number: reference for reference in report.references}
    for statement in question.statements:
        reference = references[statement.citations[0]]
        yield Quote(
            text=reference.quote,
            locator=reference.locator,
            line=reference.lines.first if reference.lines else None,
            headings=reference.heading_path,
        )


def _task(
    key: TaskKey, question: str, sources: Sequence[str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {
            "topic": "A benchmark",
            "questions": [{"id": _QUESTION, "text": question}],
            "sourceRefs": [{"name": name} for name in sources],
            **spec,
        },
    }


def corpus_source(folder: Path, indexes: Path) -> IndexedCorpus:
    """Return a source over a folder, as a `ResearchSource` of that name would be."""
    resource = ResearchSource(
        metadata=ObjectMeta(name=folder.name),
        spec=ResearchSourceSpec(type=SourceType.CORPUS, corpus=Corpus(directory=folder.name)),
    )
    return make_source(
        resource, corpus_root=folder.parent, cache_directory=indexes, load_config_maps=_none
    )


async def _none(_namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps({}, tuple(names))


def ask_all(folder: Path, indexes: Path, questions: Sequence[str]) -> list[Asked]:
    """Ask questions of a corpus, one task each."""

    async def ask() -> list[Asked]:
        with Desk({folder.name: corpus_source(folder, indexes)}) as desk:
            return [await desk.ask(question) for question in questions]

    return asyncio.run(ask())


def best_passages(folder: Path, indexes: Path, questions: Sequence[str]) -> list[tuple[Quote, ...]]:
    """Return the baseline's answers: the three best passages of the first search, as they are."""

    async def search() -> list[tuple[Quote, ...]]:
        source = corpus_source(folder, indexes)
        found = []
        for question in questions:
            outcome = await source.search(first_query(question), limit=BASELINE, terms=())
            found.append(tuple(_as_quote(passage) for passage in outcome.passages))
        return found

    return asyncio.run(search())


def _as_quote(passage: Passage) -> Quote:
    first = passage.blocks[0]
    return Quote(
        text="\n".join(block.text for block in passage.blocks),
        locator=passage.document.locator,
        line=first.lines.first if first.lines else None,
        headings=first.heading_path,
    )


def observe(folder: Path, indexes: Path) -> tuple[str, int]:
    """Index a corpus if that was not done; return its digest and how many documents it has.

    Raises:
        SourceNotReadyError: it cannot be indexed.
    """
    seen = asyncio.run(corpus_source(folder, indexes).observe())
    assert seen.digest is not None
    assert seen.documents is not None
    return seen.digest, seen.documents
