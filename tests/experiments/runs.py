"""One task after another over the Tidewater manual, in process: no network, model or cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from controller.api.base import API_VERSION
from controller.api.task import ResearchTaskStatus
from controller.clock import SteppedClock
from controller.connections import NOTHING_OPENED, ConnectionGuard
from controller.credentials import SecretReader
from controller.models.scripted import silent_model
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps, make_source
from controller.store.local import LocalStore

MANUAL: Final = Path(__file__).parents[2] / "manifests" / "samples" / "manual.yaml"
_SOURCE: Final = "tidewater-manual"


async def run(spec: dict[str, Any]) -> ResearchTaskStatus:
    """Run a task over the manual to its end or to a wait for a person; return its status."""
    clock, key = SteppedClock(datetime(2026, 1, 5, tzinfo=UTC)), TaskKey("default", "task")
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalStore.open(Path(folder) / "store.db", clock) as store,
    ):
        for document in yaml.safe_load_all(MANUAL.read_text("utf-8")):
            if document["kind"] != "ResearchTask":
                document["metadata"]["namespace"] = key.namespace
                store.apply(document)
        store.apply(_task(key, spec))

        async def load(namespace: str, names: Sequence[str]) -> ConfigMaps:
            return ConfigMaps(*await store.load_config_maps(namespace, names))

        make = partial(
            make_source,
            corpus_root=Path(folder),
            cache_directory=Path(folder),
            load_config_maps=load,
        )
        references = Resolver(
            store,
            make,
            make_model=silent_model,
            guard=ConnectionGuard(NOTHING_OPENED),
            secrets=SecretReader(store),
        )
        reconciler = Reconciler(
            store=store, references=references, clock=clock, holder="experiment"
        )
        while (requeue := await reconciler.reconcile(key)).after is not None:
            if requeue.after and (await store.get_task(key)).status.awaiting:
                break
            clock.advance(requeue.after)
        return (await store.get_task(key)).status


def _task(key: TaskKey, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"topic": "Tidewater", "sourceRefs": [{"name": _SOURCE}], **spec},
    }
