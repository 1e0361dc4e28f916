"""The commands that read, on a real API server: the same answers as from a local store."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from controller.clock import SystemClock
from controller.connections import NOTHING_OPENED, ConnectionGuard
from controller.credentials import SecretReader
from controller.gathering import is_settled
from controller.models.scripted import silent_model
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps, make_source
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_client import connect
from tests.cli.desk import Desk
from tests.controlplane import ControlPlane

NAMESPACE = "command-line"

SOURCE = """
---
apiVersion: research.fixpoint.dev/v1alpha1
kind: ResearchSource
metadata: {name: lamp}
spec: {type: Corpus, corpus: {directory: lamp}}
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Return a desk that leaves the user's caches where they are: kubectl is in one of them."""
    return Desk(tmp_path, capsys)


@pytest.fixture
def kubeconfig(plane: ControlPlane, desk: Desk) -> Path:
    """Return the kubeconfig of a cluster in which the desk's task has been run to its end."""
    found = plane.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found", "--output=name")
    if not found.stdout:
        plane.kubectl("create", "namespace", NAMESPACE)
    manifest = desk.task.read_text("utf-8") + SOURCE
    plane.kubectl("apply", "-n", NAMESPACE, "-f", "-", input=manifest)
    asyncio.run(worked(plane.kubeconfig, desk))
    return plane.kubeconfig_for(
        token=plane.admin_token, name="command-line-user", namespace=NAMESPACE
    )


async def worked(kubeconfig: Path, desk: Desk) -> None:
    """Take the task to its end, as the operator does."""

    async def load(namespace: str, names: object) -> ConfigMaps:
        raise AssertionError(f"no ConfigMap of {namespace} is needed: {names}")

    client = await connect(kubeconfig)
    try:
        store = KubernetesStore(client, SystemClock())
        make = partial(
            make_source,
            corpus_root=desk.folder / "corpora",
            cache_directory=desk.folder / "indexes",
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
            store=store, references=references, clock=SystemClock(), holder="test"
        )
        key = TaskKey(NAMESPACE, "lamp")
        while not is_settled(await store.get_task(key)):
            await reconciler.reconcile(key)
    finally:
        await client.close()  # type: ignore[no-untyped-call]  # the client types it not


@pytest.mark.controlplane
def test_the_cluster_is_read_as_the_local_store_is(
    desk: Desk, plane: ControlPlane, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ("--kubeconfig", kubeconfig)

    watched = desk.fixpoint("watch", "lamp", *home)
    assert watched.code == 0
    assert "14/60  Conclude  3.absent (7)" in watched.out
    assert "ended:      GoalReached" in watched.out

    report = desk.fixpoint("report", "lamp", *home)
    assert report.code == 0
    assert "> Default: 40 lumens at the lowest dimmer position of the lamp." in report.out
    as_data = json.loads(desk.fixpoint("report", "lamp", "--json", *home).out)
    assert as_data["task"]["namespace"] == NAMESPACE

    assert desk.fixpoint("verify", "lamp", *home).out.endswith("everything holds\n")
    assert desk.fixpoint("verify", "-f", desk.task, "-n", NAMESPACE, *home).code == 0
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert desk.fixpoint("verify", "lamp").code == 0

    replayed = desk.fixpoint("replay", "lamp", *home)
    assert replayed.code == 0
    assert "status:     is the fold of the journal\ndecisions:  16 of 16" in replayed.out
    journal, exported = desk.folder / "journal.jsonl", desk.folder / "exported.yaml"
    assert desk.fixpoint("trace", "lamp", "--output", journal, *home).code == 0
    task = plane.kubectl("get", "rtask", "lamp", "-n", NAMESPACE, "--output=yaml")
    exported.write_text(task.stdout, encoding="utf-8")
    assert desk.fixpoint("replay", "--journal", journal, "--task", exported) == replayed

    absent = desk.fixpoint("report", "lamp", "--namespace", "default", *home)
    assert absent.code == 5
    assert absent.err.startswith("error: ")
    assert "default/lamp" in absent.err


@pytest.mark.controlplane
def test_a_report_that_was_changed_in_the_cluster_is_found(
    desk: Desk, plane: ControlPlane, kubeconfig: Path
) -> None:
    stored = json.loads(
        plane.kubectl("get", "cm", "lamp-report", "-n", NAMESPACE, "--output=json").stdout
    )
    lie = stored["data"]["report.json"].replace("40 lumens", "41 lumens")
    patch = json.dumps({"data": {"report.json": lie}})
    plane.kubectl("patch", "cm", "lamp-report", "-n", NAMESPACE, f"--patch={patch}")
    said = desk.fixpoint("verify", "lamp", "--kubeconfig", kubeconfig)
    plane.kubectl("delete", "rtask", "lamp", "-n", NAMESPACE)
    assert said.code == 1
    assert "NOT HELD:   question glow, statement 1" in said.out
