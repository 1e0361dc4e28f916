"""What only a cluster has: kinds that may be missing, rights, sweeps, namespaces that go."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kubernetes.aio.client import ApiClient

from controller.api.base import GROUP
from controller.api.errors import NotFoundError, RefusedError
from controller.clock import SystemClock
from controller.ports import TaskKey
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_access import check_access
from controller.store.kubernetes_client import connect
from controller.store.kubernetes_lists import (
    count_tasks,
    list_report_metadata,
    list_task_metadata,
)
from controller.store.names import DIGEST_ANNOTATION
from controller.store.rights import RIGHTS, Right
from tests.controlplane.plane import ControlPlane, KubectlError
from tests.store.builders import FixedClock, full_status, report, step, task_manifest
from tests.store.conftest import grant

pytestmark = pytest.mark.controlplane

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def client(operator_kubeconfig: Path) -> AsyncIterator[ApiClient]:
    async with await connect(operator_kubeconfig) as connected:
        yield connected


@pytest.fixture
def own_namespace(plane: ControlPlane, new_name: str) -> str:
    plane.kubectl("create", "namespace", f"ns-{new_name}")
    return f"ns-{new_name}"


def apply_tasks(plane: ControlPlane, namespace: str, count: int) -> list[str]:
    names = [f"task-{number}" for number in range(count)]
    tasks = [task_manifest(name, namespace) for name in names]
    bundle = {"apiVersion": "v1", "kind": "List", "items": tasks}
    plane.kubectl("create", "-f", "-", input=json.dumps(bundle))
    return names


async def test_the_rights_of_the_table_are_all_that_is_asked_for(client: ApiClient) -> None:
    assert await check_access(client) == ()
    assert await check_access(client, "default") == ()


async def test_each_missing_right_is_named_with_what_it_is_for(plane: ControlPlane) -> None:
    few = tuple(
        right._replace(verbs=tuple(verb for verb in right.verbs if verb != "watch"))
        for right in RIGHTS
        if right.resource not in {"researchtasks/status", "secrets"}
    )
    async with await connect(grant(plane, "store-few-rights", few)) as client:
        lines = await check_access(client)

    assert [line.split(" in all namespaces")[0] for line in lines] == [
        "the service account may not watch researchtasks",
        "the service account may not patch researchtasks/status",
        "the service account may not watch researchsources",
        "the service account may not watch researchmodels",
    ]
    assert lines[1].endswith(
        "which it needs to write how far a run has come: grant it the role of manifests/base"
    )


# S0.39, S2.34
async def test_without_the_right_to_read_secrets_only_their_tasks_wait(
    plane: ControlPlane,
) -> None:
    others = tuple(right for right in RIGHTS if right.resource != "secrets")
    async with await connect(grant(plane, "store-no-secrets", others)) as client:
        assert await check_access(client) == ()
        store = KubernetesStore(client, SystemClock())
        with pytest.raises(RefusedError, match='cannot get resource "secrets"'):
            await store.get_secret_value("default", "provider", "api-key")


async def test_rights_in_one_namespace_suffice_for_one_namespace(
    plane: ControlPlane, own_namespace: str
) -> None:
    kubeconfig = grant(plane, "store-one-namespace", RIGHTS, namespace=own_namespace)
    async with await connect(kubeconfig) as client:
        assert await check_access(client, own_namespace) == ()
        everywhere = await check_access(client)
        assert len(everywhere) == sum(len(r.verbs) for r in RIGHTS if not r.is_optional)
        assert apply_tasks(plane, own_namespace, 1) == [
            metadata.name for metadata in await list_task_metadata(client, own_namespace)
        ]


async def test_each_missing_kind_is_named_with_the_command_that_installs_it() -> None:
    with ControlPlane.start(controllers=False) as bare:
        async with await connect(bare.kubeconfig) as client:
            nothing = await check_access(client)
            some = ["researchtasks", "researchmodels"]
            for plural in some:
                bare.kubectl("apply", "--server-side", "-f", str(ROOT / f"crds/{plural}.yaml"))
            bare.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
            half = await check_access(client)

    def missing(plural: str) -> str:
        return (
            f"the CustomResourceDefinition {plural}.{GROUP} is not installed: "
            "kubectl apply --server-side -k crds/"
        )

    assert set(nothing) == {
        missing(f"research{kind}") for kind in ("tasks", "steps", "models", "sources")
    }
    assert set(half) == {missing("researchsteps"), missing("researchsources")}


async def test_a_right_that_is_missing_is_named_where_it_is_needed(
    plane: ControlPlane, own_namespace: str
) -> None:
    reader = (Right(GROUP, "researchtasks", ("get",), "to see the tasks"),)
    apply_tasks(plane, own_namespace, 1)
    async with await connect(grant(plane, "store-reader", reader)) as client:
        store = KubernetesStore(client, FixedClock())
        task = await store.get_task(TaskKey(own_namespace, "task-0"))
        with pytest.raises(RefusedError, match=r"cannot patch resource \"researchtasks/status\""):
            await store.write_status(task, full_status())
        with pytest.raises(RefusedError, match=r"cannot create resource \"researchsteps\""):
            await store.create_step(step(task, 0))


async def test_tasks_are_counted_and_their_metadata_is_listed_in_chunks(
    plane: ControlPlane, client: ApiClient, own_namespace: str
) -> None:
    names = apply_tasks(plane, own_namespace, 5)

    here = await list_task_metadata(client, own_namespace, limit=2)
    everywhere = await list_task_metadata(client, limit=2)

    assert await count_tasks(client, own_namespace) == len(names)
    assert await count_tasks(client, "nowhere") == 0
    assert [metadata.name for metadata in here] == names
    assert all(m.uid and m.resource_version and m.generation == 1 for m in here)
    assert {(m.namespace, m.name) for m in everywhere} >= {(own_namespace, n) for n in names}


async def test_the_metadata_of_all_reports_is_listed_with_their_digests(
    plane: ControlPlane, client: ApiClient, own_namespace: str
) -> None:
    store = KubernetesStore(client, FixedClock())
    names = apply_tasks(plane, own_namespace, 5)
    published = report()
    for name in names:
        task = await store.get_task(TaskKey(own_namespace, name))
        await store.put_report(task, published)
    plane.kubectl("create", "configmap", "unrelated", f"--namespace={own_namespace}")

    here = await list_report_metadata(client, own_namespace, limit=2)
    everywhere = await list_report_metadata(client, limit=2)

    assert [metadata.name for metadata in here] == [f"{name}-report" for name in names]
    assert {m.annotations[DIGEST_ANNOTATION] for m in here} == {published.digest}
    assert {m.uid for m in everywhere} >= {m.uid for m in here}


async def test_a_namespace_that_is_going_has_no_place_for_a_step(
    plane: ControlPlane, client: ApiClient, own_namespace: str
) -> None:
    store = KubernetesStore(client, FixedClock())
    apply_tasks(plane, own_namespace, 1)
    task = await store.get_task(TaskKey(own_namespace, "task-0"))
    keeper = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "keeper",
            "namespace": own_namespace,
            "finalizers": ["example.org/keep"],
        },
    }
    plane.kubectl("create", "-f", "-", input=json.dumps(keeper))
    plane.kubectl("delete", "namespace", own_namespace, "--wait=false")

    with pytest.raises(NotFoundError, match="being terminated"):
        await store.create_step(step(task, 0))

    release = '{"metadata": {"finalizers": null}}'
    plane.kubectl("patch", "configmap", "keeper", f"--namespace={own_namespace}",
                  "--type=merge", f"--patch={release}")  # fmt: skip


async def test_steps_are_found_by_name_without_the_right_to_list_them(
    plane: ControlPlane, own_namespace: str
) -> None:
    """To list them, the server looks at every step of the namespace, for each new task."""
    unlisted = (
        Right(GROUP, "researchtasks", ("get",), "to see the tasks"),
        Right(GROUP, "researchsteps", ("get", "create"), "to see and record single steps"),
    )
    apply_tasks(plane, own_namespace, 1)
    async with await connect(grant(plane, "store-unlisted", unlisted)) as client:
        store = KubernetesStore(client, FixedClock())
        task = await store.get_task(TaskKey(own_namespace, "task-0"))
        assert await store.list_steps(task, 0, by_name=True) == ()
        for index in range(2):
            await store.create_step(step(task, index))
        found = await store.list_steps(task, 0, by_name=True)
        assert [s.spec.index for s in found] == [0, 1]
        with pytest.raises(RefusedError, match=r"cannot list resource \"researchsteps\""):
            await store.list_steps(task, 0)


async def test_a_status_that_counts_steps_cannot_be_wiped(
    plane: ControlPlane, client: ApiClient, own_namespace: str
) -> None:
    """So a status that says nothing at all is that of a task without a counted step."""
    apply_tasks(plane, own_namespace, 1)
    store = KubernetesStore(client, FixedClock())
    task = await store.get_task(TaskKey(own_namespace, "task-0"))
    running = full_status().model_copy(update={"terminal_reason": None, "round": 3})
    await store.write_status(task, running)
    with pytest.raises(KubectlError, match="no counter of usage may fall within a round"):
        plane.kubectl(
            "patch", "researchtask", "task-0", "-n", own_namespace, "--subresource=status",
            "--type=json", "-p", '[{"op": "remove", "path": "/status"}]',
        )  # fmt: skip
