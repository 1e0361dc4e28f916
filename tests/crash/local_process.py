"""A process of the local home, wired as `fixpoint run` is, to be killed.

    python -m tests.crash.local_process STORE CORPORA INDEXES CALLS [--remote] [--model]

It drives the only task of the store. With `--remote` its sources are remote ones: each call is
written to the append-only file CALLS, under the operation id that it is made for, before it is
answered. This version has no remote source of its own. With `--model` its model plays a script, and
writes each request down in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from pathlib import Path

from controller.api.model import ResearchModel
from controller.api.model_call import terms_of
from controller.api.source import ResearchSource
from controller.cli.local import drive, stop_on_interrupt
from controller.cli.observer import Follower
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.credentials import SecretReader
from controller.holders import local_holder
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.scripted import ScriptedModel, answer
from controller.ports import Model, Reread, SearchOutcome, Source, SourceObservation, TaskKey
from controller.reconcile import Reconciler
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps, make_source
from controller.store.local import LocalStore


class RemoteSource:
    """A corpus behind a wire, as far as the loop can tell: its calls are counted and charged."""

    is_remote = True

    def __init__(self, corpus: Source, store: LocalStore, key: TaskKey, calls: Path) -> None:
        self.name = corpus.name
        self.max_results = corpus.max_results
        self._corpus = corpus
        self._store = store
        self._key = key
        self._calls = calls

    async def observe(self) -> SourceObservation:
        """Return what the corpus holds."""
        return await self._corpus.observe()

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Write the call down, then answer it."""
        pending = (await self._store.get_task(self._key)).status.pending
        assert pending is not None, "a call without an intent"
        _append(self._calls, pending.operation_id)
        return await self._corpus.search(query, limit=limit, terms=terms)

    async def read(self, locator: str) -> Reread:
        """Write the call down, then answer it."""
        pending = (await self._store.get_task(self._key)).status.pending
        assert pending is not None, "a call without an intent"
        _append(self._calls, pending.operation_id)
        return await self._corpus.read(locator)


def main() -> int:
    """Drive the task to its end, or to a stop."""
    parser = argparse.ArgumentParser()
    for name in ("store", "corpora", "indexes", "calls"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--remote", action="store_true")
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    with LocalStore.open(options.store, SystemClock()) as store:
        return asyncio.run(_drive(options, store))


async def _drive(options: argparse.Namespace, store: LocalStore) -> int:
    (task,) = store.tasks()
    key = TaskKey(task.metadata.namespace, task.metadata.name)

    async def load(namespace: str, names: Sequence[str]) -> ConfigMaps:
        return ConfigMaps(*await store.load_config_maps(namespace, names))

    make_corpus = partial(
        make_source,
        corpus_root=options.corpora,
        cache_directory=options.indexes,
        load_config_maps=load,
    )

    def make(resource: ResearchSource) -> Source:
        corpus = make_corpus(resource)
        return RemoteSource(corpus, store, key, options.calls) if options.remote else corpus

    def make_model(resource: ResearchModel) -> Model:
        async def answered(request: ModelRequest) -> ModelReply:
            pending = (await store.get_task(key)).status.pending
            assert pending is not None, "a call without an intent"
            _append(options.calls, pending.operation_id)
            await asyncio.sleep(0)  # an answer from outside is waited for
            return found(request)

        return ScriptedModel(repeat(answered), terms_of(resource))

    reconciler = Reconciler(
        store=store,
        references=Resolver(
            store,
            make,
            make_model=make_model,
            guard=ConnectionGuard(OpenedOrigins.parse(["http://127.0.0.1:9"])),
            secrets=SecretReader(store),
        ),
        clock=SystemClock(),
        holder=local_holder(),
    )
    with stop_on_interrupt(reconciler) as stop:
        await drive(reconciler, key, await Follower.from_now_on(store, key, ()), stop)
    return 0


def found(request: ModelRequest) -> ModelReply:
    """Answer as a model does that copies the line which says what the lamp's level is."""
    line = re.search(r"^.*40 lumens.*$", request.prompt, re.MULTILINE)
    is_asked = "GLOW_LEVEL" in request.prompt.partition("===")[0]
    quotes = [{"passage": "p1", "quote": line[0]}] if line and is_asked else []
    return answer({"queries": [], "quotes": quotes})


def _append(path: Path, line: str) -> None:
    """Add a line, and return when it is on the disk."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)


if __name__ == "__main__":
    sys.exit(main())
