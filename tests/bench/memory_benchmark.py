"""Measures the operator's memory at rest: `python -m tests.bench.memory_benchmark [TASKS]`.

One task is really run on a control plane; then 1,000 finished tasks get its status, written
through the status subresource, and a copy of its report each. A fresh operator process is
started over them. Prints JSON: the resident memory (VmRSS) once the operator is ready, and when a
minute of sweeps has passed over the finished tasks, and the seconds and processor time until
ready.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from controller.api.base import API_VERSION
from controller.store.kubernetes_client import connect
from controller.store.kubernetes_requests import CORE, RESEARCH, Requests, Resource
from controller.store.names import TASKS
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess, wait_until

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "finished"
REST_SECONDS = 60
PARALLEL = 16

_TASKS = Resource(RESEARCH, TASKS)
_CONFIG_MAPS = Resource(CORE, "configmaps")


def measure(tasks: int) -> dict[str, Any]:
    """Return the measurement for so many finished tasks."""
    with (
        tempfile.TemporaryDirectory() as name,
        ControlPlane.start() as plane,
    ):
        folder = Path(name)
        corpus = folder / "corpora" / "lamp"
        corpus.mkdir(parents=True)
        text = "# The lamp\n\nThe default value of GLOW_LEVEL is 40 lumens on every lamp.\n"
        (corpus / "manual.md").write_text(text, encoding="utf-8")
        plane.kubectl("apply", "--server-side", "-k", str(ROOT / "crds"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        plane.kubectl("create", "namespace", NAMESPACE)
        cluster = Cluster(plane, NAMESPACE)
        task, report = _run_one(cluster, folder)
        asyncio.run(_copy(plane.kubeconfig, task, report, tasks - 1))
        return _measure(plane, folder, tasks)


def _run_one(cluster: Cluster, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    cluster.apply_source()
    cluster.apply_task()
    with _operator(cluster.plane, folder / "first") as process:
        status = cluster.wait_finished()
        process.stop()
    return cluster.get("rtask", "task"), cluster.get("configmap", status["report"]["configMap"])


async def _copy(
    kubeconfig: Path, task: dict[str, Any], report: dict[str, Any], number: int
) -> None:
    """Store so many copies of a finished task, each with the status and a report of its own."""
    client = await connect(kubeconfig, connections=PARALLEL)
    async with client:
        requests = Requests(client)
        slots = asyncio.Semaphore(PARALLEL)

        async def copy(index: int) -> None:
            async with slots:
                await _copy_one(requests, task, report, f"task-{index:05}")

        await asyncio.gather(*(copy(index) for index in range(number)))


async def _copy_one(
    requests: Requests, task: dict[str, Any], report: dict[str, Any], name: str
) -> None:
    stored = await requests.create(
        "create a task",
        _TASKS.path(NAMESPACE),
        {
            "apiVersion": API_VERSION,
            "kind": "ResearchTask",
            "metadata": {"name": name},
            "spec": task["spec"],
        },
    )
    owner = task["metadata"] | stored["metadata"]
    reference = {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "name": name,
        "uid": owner["uid"],
    }
    metadata = {
        "name": f"{name}-report",
        "labels": dict.fromkeys(report["metadata"]["labels"], name),
        "ownerReferences": [reference],
    }
    await requests.create(
        "create a report",
        _CONFIG_MAPS.path(NAMESPACE),
        {"metadata": metadata, "data": report["data"]},
    )
    await requests.merge_patch(
        "write a status",
        _TASKS.path(NAMESPACE, name, "status"),
        {"status": task["status"]},
    )


def _measure(plane: ControlPlane, folder: Path, tasks: int) -> dict[str, Any]:
    began = time.monotonic()
    with _operator(plane, folder / "measured") as process:
        process.wait_ready(120)
        ready_seconds = time.monotonic() - began
        ready_bytes, ready_cpu = process.rss_bytes, process.cpu_seconds
        rest_until = time.monotonic() + REST_SECONDS
        wait_until(
            lambda: time.monotonic() > rest_until,
            "the operator has rested",
            seconds=REST_SECONDS + 10,
            every=1,
        )
        return {
            "finished_tasks": tasks,
            "rss_mebibytes_ready": round(ready_bytes / 2**20, 1),
            "rss_mebibytes_at_rest": round(process.rss_bytes / 2**20, 1),
            "seconds_until_ready": round(ready_seconds, 1),
            "cpu_seconds_until_ready": round(ready_cpu, 1),
            "cpu_milliseconds_a_second_at_rest": round(
                1000 * (process.cpu_seconds - ready_cpu) / REST_SECONDS, 1
            ),
        }


def _operator(plane: ControlPlane, folder: Path) -> OperatorProcess:
    corpora = folder.parent / "corpora"
    return OperatorProcess(plane.kubeconfig, folder, corpus_root=corpora)


if __name__ == "__main__":
    json.dump(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1000), sys.stdout, indent=2)
    sys.stdout.write("\n")
