"""The real process on the real control plane: what it does, and how it lives and ends."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest

from controller.api.base import GROUP
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess, wait_until

pytestmark = [pytest.mark.controlplane, pytest.mark.xdist_group("operator")]

Operator = Callable[..., OperatorProcess]

_WITHIN_FIVE_SECONDS = 10.0
"""Five seconds are promised; the rest is for a busy machine and for kubectl."""


def test_a_task_reaches_its_goal(operator: Operator, cluster: Cluster) -> None:
    with operator() as process:
        process.wait_ready()
        assert process.probe("livez") == (HTTPStatus.OK, "ok\n")
        cluster.apply_source()
        cluster.apply_task()
        status = cluster.wait_finished()
        assert status["terminalReason"] == "GoalReached"
        report = cluster.get("configmap", status["report"]["configMap"])
        assert "40 lumens" in report["data"]["report.md"]
        assert process.stop() == 0
        assert "stopped on request" in process.last_line


def test_a_source_and_a_model_say_whether_they_are_ready(
    operator: Operator, cluster: Cluster
) -> None:
    with operator() as process:
        process.wait_ready()
        cluster.apply_source()
        cluster.apply_source("attic", directory="attic")
        cluster.apply_model("parrot")
        cluster.wait_condition("rsource", "lamp", "Ready", reason="Ready")
        status = cluster.get("rsource", "lamp")["status"]
        assert status["documents"] == 1
        assert status["digest"].startswith("sha256:")
        assert status["observedGeneration"] == 1
        cluster.wait_condition("rsource", "attic", "Ready", reason="DirectoryNotFound")
        ready = cluster.wait_condition("rmodel", "parrot", "Ready", reason="AddressBlocked")
        assert ready["status"] == "False"


def test_a_source_is_looked_at_again_for_changes(
    operator: Operator, cluster: Cluster, corpora: Path
) -> None:
    cluster.apply_source()
    with operator("--corpus-check-seconds=1") as process:
        process.wait_ready()
        cluster.wait_condition("rsource", "lamp", "Ready", reason="Ready")
        before = cluster.get("rsource", "lamp")["status"]
        (corpora / "lamp" / "more.md").write_text("# More\n\nThe lamp is blue.\n", encoding="utf-8")
        wait_until(
            lambda: cluster.get("rsource", "lamp")["status"]["documents"] == 2,
            "the new document is counted",
        )
        after = cluster.get("rsource", "lamp")["status"]
        assert after["digest"] != before["digest"]
        (ready,), (known,) = after["conditions"], before["conditions"]
        assert ready["lastTransitionTime"] == known["lastTransitionTime"]


def test_a_task_waits_for_a_source_that_does_not_exist_yet(
    operator: Operator, cluster: Cluster
) -> None:
    with operator() as process:
        process.wait_ready()
        cluster.apply_task()
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotFound")
        assert accepted["status"] == "False"
        assert "the ResearchSource lamp does not exist" in accepted["message"]
        cluster.apply_source()
        cluster.wait_condition(
            "rtask", "task", "Accepted", reason="Accepted", seconds=_WITHIN_FIVE_SECONDS
        )
        assert cluster.wait_finished()["terminalReason"] == "GoalReached"


def test_a_task_waits_for_a_directory_that_nobody_watches(
    operator: Operator, cluster: Cluster, corpora: Path
) -> None:
    (corpora / "lamp").rename(corpora / "away")
    with operator() as process:
        process.wait_ready()
        cluster.apply_source()
        cluster.apply_task()
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotReady")
        assert "DirectoryNotFound" in accepted["message"]
        (corpora / "away").rename(corpora / "lamp")
        cluster.wait_condition(
            "rtask", "task", "Accepted", reason="Accepted", seconds=_WITHIN_FIVE_SECONDS
        )
        assert cluster.wait_finished()["terminalReason"] == "GoalReached"
        cluster.wait_condition("rsource", "lamp", "Ready", reason="Ready", seconds=10)


def test_waiting_writes_once_and_then_nothing(operator: Operator, cluster: Cluster) -> None:
    cluster.apply_source(directory="attic")
    with operator() as process:
        process.wait_ready()
        cluster.apply_task()
        cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotReady")
        cluster.wait_condition("rsource", "lamp", "Ready", reason="DirectoryNotFound")
        version = cluster.get("rtask", "task")["metadata"]["resourceVersion"]
        cluster.apply_task("later")
        cluster.wait_condition("rtask", "later", "Accepted", reason="SourceNotReady")
        deadline = time.monotonic() + 9  # two looks at the directory
        wait_until(lambda: time.monotonic() > deadline, "the time is over")
        assert cluster.get("rtask", "task")["metadata"]["resourceVersion"] == version


def test_a_model_that_cannot_be_used_makes_its_task_wait(
    operator: Operator, cluster: Cluster
) -> None:
    with operator() as process:
        process.wait_ready()
        cluster.apply_source()
        cluster.apply_task(modelRef={"name": "parrot"})
        cluster.wait_condition("rtask", "task", "Accepted", reason="ModelNotFound")
        cluster.apply_model("parrot")
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="ModelNotReady")
        assert "AddressBlocked" in accepted["message"]


def test_a_stop_leaves_no_intent_in_doubt_and_the_next_process_goes_on(
    operator: Operator, cluster: Cluster
) -> None:
    names = [f"task-{number}" for number in range(12)]
    cluster.apply_source()
    for name in names:
        cluster.apply_task(name)
    with operator("--workers=2") as process:
        process.wait_log("step 1 ")
        assert process.stop() == 0
    unfinished = [t for t in cluster.items("rtask") if "terminalReason" not in t["status"]]
    assert unfinished, "the stop came too late to show anything"
    assert not [t["metadata"]["name"] for t in unfinished if "pending" in t["status"]]
    with operator() as process:
        for name in names:
            status = cluster.wait_finished(name)
            assert status["terminalReason"] == "GoalReached"
            assert status["usage"]["interrupted"] == 0


# S1.12, S4.3
def test_a_killed_process_is_succeeded_by_another(operator: Operator, cluster: Cluster) -> None:
    names = [f"task-{number}" for number in range(6)]
    cluster.apply_source()
    for name in names:
        cluster.apply_task(name)
    with operator("--workers=2") as process:
        process.wait_log("step 1 ")
        process.kill()
    with operator() as process:
        for name in names:
            status = cluster.wait_finished(name)
            assert status["terminalReason"] == "GoalReached"
    steps = Counter((s["spec"]["taskName"], s["spec"]["index"]) for s in cluster.items("rstep"))
    assert set(steps.values()) == {1}


# S1.24
def test_a_report_that_was_deleted_is_written_again(operator: Operator, cluster: Cluster) -> None:
    cluster.apply_source()
    cluster.apply_task()
    with operator("--report-sweep-seconds=1") as process:
        process.wait_ready()
        status = cluster.wait_finished()
        name = status["report"]["configMap"]
        before = cluster.get("configmap", name)
        cluster.kubectl("delete", "configmap", name)
        wait_until(
            lambda: name in cluster.kubectl("get", "configmaps", "--output=name"),
            "the report is there again",
        )
        after = cluster.get("configmap", name)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert after["data"] == before["data"]
        assert cluster.get("rtask", "task")["status"] == status


def test_a_finished_task_causes_no_request_of_its_own(
    operator: Operator, cluster: Cluster, plane: ControlPlane
) -> None:
    cluster.apply_source()
    for name in ("one", "two", "three"):
        cluster.apply_task(name)
    with operator("--report-sweep-seconds=2") as process:
        process.wait_ready()
        for name in ("one", "two", "three"):
            cluster.wait_finished(name)
        _wait_for_lists(plane, 1)
        before = _requests(plane)
        _wait_for_lists(plane, 3)
        after = _requests(plane)
    spent = after - before
    lists = spent.pop(("configmaps", "", "LIST"))
    assert lists in {3, 4}, "one list for all reports a sweep"
    assert not spent


def test_the_operator_goes_on_when_the_api_server_comes_back(
    operator: Operator, cluster: Cluster, plane: ControlPlane
) -> None:
    cluster.apply_task()
    with operator("--report-sweep-seconds=1") as process:
        process.wait_ready()
        cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotFound")
        plane.stop_api_server()
        process.wait_log("a sweep failed and is tried again")
        process.wait_log("failed; will retry")
        plane.start_api_server()
        cluster.apply_source()
        assert cluster.wait_finished(seconds=90)["terminalReason"] == "GoalReached"
        process.wait_ready()
        assert process.stop() == 0


def test_a_deleted_task_is_forgotten(operator: Operator, cluster: Cluster) -> None:
    with operator() as process:
        process.wait_ready()
        cluster.apply_task()
        cluster.wait_condition("rtask", "task", "Accepted", reason="SourceNotFound")
        cluster.kubectl("delete", "rtask", "task")
        cluster.apply_source()
        cluster.apply_task()
        assert cluster.wait_finished()["terminalReason"] == "GoalReached"
        assert process.stop() == 0
        assert "WARNING" not in process.log


def test_an_edit_reopens_a_finished_task(operator: Operator, cluster: Cluster) -> None:
    cluster.apply_source()
    cluster.apply_task(budgets={"maxSteps": 1})
    with operator() as process:
        process.wait_ready()
        assert cluster.wait_finished()["terminalReason"] == "StepBudgetExhausted"
        cluster.apply_task(budgets={"maxSteps": 20})
        cluster.wait_condition("rtask", "task", "Succeeded", reason="GoalReached")


def test_the_log_can_be_json(operator: Operator) -> None:
    with operator("--log-format=json") as process:
        process.wait_ready()
        assert process.stop() == 0
        entries = [json.loads(line) for line in process.log.splitlines()]
    assert {"time", "level", "logger", "message"} <= set(entries[0])
    assert entries[-1]["message"] == "stopped on request"


def _requests(plane: ControlPlane) -> Counter[tuple[str, str, str]]:
    """Count what was asked of tasks, journals, sources, models, reports and events."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for group, resource in ((GROUP, None), ("", "configmaps"), ("", "events")):
        for kind, count in plane.request_counts(group=group, resource=resource).items():
            if kind.verb != "WATCH":
                counts[kind.resource, kind.subresource, kind.verb] += count
    return counts


def _wait_for_lists(plane: ControlPlane, more: int) -> None:
    """Return after so many further lists of reports."""
    key = ("configmaps", "", "LIST")
    goal = _requests(plane)[key] + more
    wait_until(lambda: _requests(plane)[key] >= goal, f"{more} more lists of reports", seconds=60)
