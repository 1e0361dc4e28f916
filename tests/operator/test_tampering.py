"""Other people's writes: foreign steps, missing steps, and a status that somebody edits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from controller.api.step import step_name
from controller.loop.seal import is_sealed
from tests.controlplane.plane import KubectlError
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess, wait_until

pytestmark = pytest.mark.controlplane

Operator = Callable[..., OperatorProcess]


def finished_step(cluster: Cluster, index: int) -> dict[str, Any]:
    """Return a step of a finished task, ready to be created again under another name."""
    step = cluster.items("rstep")[index]
    keep = ("name", "namespace", "ownerReferences")
    step["metadata"] = {k: v for k, v in step["metadata"].items() if k in keep}
    return step


def create(cluster: Cluster, manifest: dict[str, Any]) -> None:
    cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))


# S1.28
def test_a_foreign_step_ends_the_run_and_is_left_alone(
    operator: Operator, cluster: Cluster
) -> None:
    with operator() as process:
        cluster.apply_source()
        cluster.apply_task("first")
        cluster.wait_finished("first")
        process.stop()
    foreign = finished_step(cluster, 0)
    cluster.apply_task("second")
    uid = cluster.get("rtask", "second")["metadata"]["uid"]
    foreign["metadata"]["name"] = step_name("second", uid, 0)
    foreign["metadata"].pop("ownerReferences")
    create(cluster, foreign)
    with operator():
        status = cluster.wait_finished("second")
        assert status["terminalReason"] == "JournalCorrupt"
        message = cluster.condition("rtask", "second", "Succeeded")["message"]
        assert foreign["metadata"]["name"] in message
        assert [s["metadata"]["name"] for s in cluster.items("rstep")].count(
            foreign["metadata"]["name"]
        ) == 1
        assert "second-report" not in cluster.kubectl("get", "configmaps", "-o", "name")


# S0.17
def test_a_step_cannot_be_edited(operator: Operator, cluster: Cluster) -> None:
    with operator():
        cluster.apply_source()
        cluster.apply_task()
        cluster.wait_finished()
        name = cluster.items("rstep")[1]["metadata"]["name"]
        patch = '{"spec":{"attempt":9}}'
        with pytest.raises(KubectlError, match="is a record and may not be changed"):
            cluster.kubectl("patch", "rstep", name, "--type=merge", f"--patch={patch}")


def test_a_missing_step_ends_the_run_as_corrupt(operator: Operator, cluster: Cluster) -> None:
    with operator() as process:
        cluster.apply_source()
        cluster.apply_task()
        cluster.wait_finished()
        process.stop()
    cluster.kubectl("delete", "rstep", cluster.items("rstep")[1]["metadata"]["name"])
    patch = '{"spec":{"qualityThreshold":71}}'
    cluster.kubectl("patch", "rtask", "task", "--type=merge", f"--patch={patch}")
    usage = cluster.get("rtask", "task")["status"]["usage"]
    with operator():
        cluster.wait_condition("rtask", "task", "Finished", reason="JournalCorrupt")
        assert cluster.get("rtask", "task")["status"]["usage"] == usage


# S0.19, S1.16
def test_a_status_that_somebody_edits_is_made_from_the_journal_again(
    operator: Operator, cluster: Cluster
) -> None:
    with operator():
        cluster.apply_task()  # its source is missing: it waits, and its status stays as it is
        cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotFound")
        cluster.kubectl(
            "patch",
            "rtask",
            "task",
            "--subresource=status",
            "--type=merge",
            '--patch={"status":{"questions":[],"startTime":null}}',
        )
        wait_until(
            lambda: bool(cluster.get("rtask", "task")["status"].get("questions")),
            "the questions are shown again",
        )
        with pytest.raises(KubectlError, match="no counter of usage may fall"):
            cluster.kubectl(
                "patch",
                "rtask",
                "task",
                "--subresource=status",
                "--type=merge",
                '--patch={"status":{"usage":null}}',
            )


# S0.19, S1.16
def test_the_status_of_a_finished_task_is_made_from_the_journal_again(
    operator: Operator, cluster: Cluster
) -> None:
    with operator() as process:
        cluster.apply_source()
        cluster.apply_task()
        before = cluster.wait_finished()
        assert is_sealed(before)
        cluster.kubectl(
            "patch",
            "rtask",
            "task",
            "--subresource=status",
            "--type=merge",
            '--patch={"status":{"questions":[],"quality":null,"lastStep":null}}',
        )
        wait_until(
            lambda: bool(cluster.get("rtask", "task")["status"].get("questions")),
            "the questions are shown again",
        )
        after = cluster.get("rtask", "task")
        assert is_sealed(after["status"])
        for name in ("questions", "quality", "lastStep", "usage", "terminalReason", "report"):
            assert after["status"][name] == before[name]
        process.stop()
    with operator():  # a fresh process finds it right, and writes nothing
        cluster.apply_task("other")
        cluster.wait_finished("other")
        version = cluster.get("rtask", "task")["metadata"]["resourceVersion"]
        assert version == after["metadata"]["resourceVersion"]


def test_a_report_of_somebody_else_is_not_overwritten(operator: Operator, cluster: Cluster) -> None:
    cluster.kubectl("create", "configmap", "task-report", "--from-literal=mine=yes")
    with operator():
        cluster.apply_source()
        cluster.apply_task()
        status = cluster.wait_finished()
        assert status["terminalReason"] == "RepeatedFailure"
        assert "task-report" in cluster.condition("rtask", "task", "Succeeded")["message"]
        assert cluster.get("configmap", "task-report")["data"] == {"mine": "yes"}
