"""Measures ten thousand tasks: `python -m tests.bench.scale_benchmark [--tasks N] [--running N]`.

One task is really run; then 10,000 finished tasks get its status, written through the status
subresource, and a copy of its report each. Prints JSON: the seconds until an operator over them is
ready and its resident memory, the seconds from a new task to its first step, and what becomes of
200 running tasks when the operator is stopped in the middle and, later, killed: whether each
journal is whole, and how many steps were repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from controller.api.base import API_VERSION
from controller.api.step import Outcome, ResearchStep, step_name
from controller.api.task import ResearchTaskStatus
from controller.loop.migration import read_step
from controller.loop.run_state import initial
from controller.loop.seal import sealed
from controller.loop.state import fold
from tests.bench.bare_client import BareClient, steps_path, tasks_path
from tests.bench.load import (
    PARALLEL,
    SAMPLE,
    Cluster,
    StepLog,
    add_task,
    add_tasks,
    machine,
)
from tests.controlplane import ControlPlane
from tests.operator.process import OperatorError, OperatorProcess, wait_until

FINISHED: Final = "finished"
NEW: Final = "new"
RUNNING: Final = "running"

_READY_SECONDS: Final = 180.0
_POLL_SECONDS: Final = 0.01
_END_SECONDS: Final = 600.0
_STOPPED_AFTER: Final = 0.2
"""The share of the running tasks' steps after which the operator is stopped."""
_KILLED_AFTER: Final = 0.3
"""The share of the steps after which the next one is killed."""


async def measure(tasks: int, running: int) -> dict[str, Any]:
    """Return the measurement for so many finished and so many running tasks."""
    before = machine()
    # Without controllers: collecting garbage would take of the same two processors.
    with ControlPlane.start(controllers=False) as plane, tempfile.TemporaryDirectory() as name:
        cluster = Cluster.prepare(plane, Path(name))
        async with BareClient(plane.kubeconfig, connections=PARALLEL) as client:
            steps_of_a_task = len((await cluster.sample(client)).steps)
            await finish(client, cluster, tasks)
            start = await started(client, cluster)
            restarts = await restarted(client, cluster, running, steps_of_a_task)
    return {
        "finishedTasks": tasks,
        "runningTasks": running,
        "start": start,
        "restarts": restarts,
        "machineBefore": before,
        "machineAfter": machine(),
    }


async def finish(client: BareClient, cluster: Cluster, tasks: int) -> None:
    """Store so many copies of the task that was run, each with a status and a report of its own."""
    await cluster.add_namespace(client, FINISHED)
    done = await client.get(tasks_path(SAMPLE, "sample"))
    config_map = done["status"]["report"]["configMap"]
    report = await client.get(f"/api/v1/namespaces/{SAMPLE}/configmaps/{config_map}")

    async def copy(index: int) -> None:
        await _copy(client, done, report, f"task-{index:05}")

    await client.each(copy, range(tasks))


async def started(client: BareClient, cluster: Cluster) -> dict[str, Any]:
    """Start an operator over the finished tasks, give it a new one, and let it rest."""
    await cluster.add_namespace(client, NEW)
    before = cluster.requests_for_tasks()
    began = time.monotonic()
    with cluster.operator("start") as operator:
        operator.wait_ready(_READY_SECONDS)
        ready_seconds = time.monotonic() - began
        ready_cpu, ready_rss = operator.cpu_seconds, operator.rss_bytes
        requests = cluster.requests_for_tasks() - before
        first_step = await _seconds_until_first_step(client)
        rss, cpu = operator.rss_bytes, operator.cpu_seconds
        operator.stop()
    return {
        "secondsUntilReady": round(ready_seconds, 1),
        "cpuSecondsUntilReady": round(ready_cpu, 1),
        "requestsForSingleTasksUntilReady": requests,
        "rssMebibytesReady": round(ready_rss / 2**20, 1),
        "rssMebibytesAfterATask": round(rss / 2**20, 1),
        "secondsFromApplyToFirstStep": first_step,
        "cpuSecondsFromReadyToFirstStep": round(cpu - ready_cpu, 1),
    }


async def restarted(
    client: BareClient, cluster: Cluster, running: int, steps_of_a_task: int
) -> dict[str, Any]:
    """Stop the operator in the middle of so many tasks, kill the next one, and look at the end."""
    await cluster.add_namespace(client, RUNNING)
    await add_tasks(client, RUNNING, running)
    expected = running * steps_of_a_task
    with cluster.operator("stopped") as operator:
        stopped = cluster.step_log("stopped")
        _wait_steps(operator, stopped, _STOPPED_AFTER * expected)
        began = time.monotonic()
        exit_status = operator.stop()
        stop_seconds = time.monotonic() - began
    with cluster.operator("killed") as operator:
        killed = cluster.step_log("killed")
        began = time.monotonic()
        _wait_steps(operator, killed, 1)
        resumed_seconds = time.monotonic() - began
        _wait_steps(operator, killed, _KILLED_AFTER * expected)
        operator.kill()
    with cluster.operator("last") as operator:
        await _wait_finished(client, running)
        operator.stop()
    journals = await _journals(client)
    return {
        "stepsAtStop": len(stopped.read()),
        "exitStatusOfStop": exit_status,
        "secondsOfStop": round(stop_seconds, 1),
        "secondsFromStartToNextStep": round(resumed_seconds, 1),
        "stepsBetweenStopAndKill": len(killed.read()),
        "stepsInAll": sum(journal.steps for journal in journals),
        "tasksOfWhichTheJournalFolds": len(journals),
        "tasksThatReachedTheirGoal": sum(j.reason == "GoalReached" for j in journals),
        "interruptedSteps": sum(journal.interrupted for journal in journals),
        "repeatedSteps": sum(len(journal.repeated) for journal in journals),
        "holders": len({holder for journal in journals for holder in journal.holders}),
        "tasksWorkedOnByMoreThanOneProcess": sum(len(j.holders) > 1 for j in journals),
    }


@dataclass
class Journal:
    """What is counted in a journal that folds: no index is missing, and no step was changed."""

    reason: str
    steps: int = 0
    interrupted: int = 0
    repeated: list[str] = field(default_factory=list)
    holders: set[str] = field(default_factory=set)


def examine(task: dict[str, Any], steps: list[ResearchStep]) -> Journal:
    """Fold the steps of a task, and count what was done twice.

    A step is repeated where an operation id comes again, or where the same action was completed
    with the same arguments before.

    Raises:
        JournalError: a step is missing, foreign or was changed.
    """
    metadata, status = task["metadata"], task["status"]
    state = initial(metadata["name"], metadata["uid"], task["spec"]["topic"])
    journal = Journal(status.get("terminalReason", ""), steps=len(steps))
    operations: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for step in sorted(steps, key=lambda step: step.spec.index):
        state = fold(state, step)
        spec = step.spec
        operations[spec.operation_id] += 1
        journal.holders.add(spec.holder)
        journal.interrupted += spec.outcome is Outcome.INTERRUPTED
        if spec.outcome is Outcome.COMPLETED:
            done[f"{spec.action} {spec.question_id} {spec.arguments}"] += 1
    if status["journal"] != {"steps": state.next_index, "digest": state.digest}:
        raise ValueError(f"the status of {metadata['name']} does not show its journal")
    for count in (operations, done):
        journal.repeated += [name for name, times in count.items() if times > 1]
    return journal


async def _copy(
    client: BareClient, done: dict[str, Any], report: dict[str, Any], name: str
) -> None:
    stored = await add_task(client, FINISHED, name)
    owner = {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "name": name,
        "uid": stored["metadata"]["uid"],
    }
    metadata = {
        "name": f"{name}-report",
        "labels": dict.fromkeys(report["metadata"]["labels"], name),
        "ownerReferences": [owner],
    }
    body = {"metadata": metadata, "data": report["data"]}
    await client.create(f"/api/v1/namespaces/{FINISHED}/configmaps", body)
    shown = ResearchTaskStatus.model_validate(done["status"])
    assert shown.report is not None
    own = shown.report.model_copy(update={"config_map": f"{name}-report"})
    # With a seal that does not fit, the operator would set out to make the status again.
    status = sealed(shown.model_copy(update={"report": own})).to_json()
    await client.merge_patch(tasks_path(FINISHED, name, "status"), {"status": status})


async def _seconds_until_first_step(client: BareClient) -> float:
    """Create a task; return the seconds until the time that its first step carries."""
    applied_at = datetime.now(UTC)
    task = await add_task(client, NEW, "task")
    path = steps_path(NEW, step_name("task", task["metadata"]["uid"], 0))
    async with asyncio.timeout(_READY_SECONDS):
        while (step := await client.find(path)) is None:  # noqa: ASYNC110 - another process's
            await asyncio.sleep(_POLL_SECONDS)
    recorded_at = datetime.fromisoformat(step["spec"]["endTime"])
    return round((recorded_at - applied_at).total_seconds(), 2)


def _wait_steps(operator: OperatorProcess, log: StepLog, steps: float) -> None:
    wait_until(
        lambda: len(log.read()) >= steps or not operator.is_running,
        f"{steps:.0f} steps",
        seconds=_END_SECONDS,
        every=_POLL_SECONDS,
    )
    if not operator.is_running:
        raise OperatorError(f"it ended before {steps:.0f} steps: {operator.last_line}")


async def _wait_finished(client: BareClient, tasks: int) -> None:
    async with asyncio.timeout(_END_SECONDS):
        while True:
            statuses = [task["status"] async for task in client.items(tasks_path(RUNNING))]
            if sum("terminalReason" in status for status in statuses) == tasks:
                return
            await asyncio.sleep(1)


async def _journals(client: BareClient) -> list[Journal]:
    steps: dict[str, list[ResearchStep]] = {}
    async for item in client.items(steps_path(RUNNING)):
        step = read_step(item)
        steps.setdefault(step.spec.task_uid, []).append(step)
    return [
        examine(task, steps[task["metadata"]["uid"]])
        async for task in client.items(tasks_path(RUNNING))
    ]


def main() -> None:
    """Print the measurement."""
    parser = argparse.ArgumentParser(description="An operator over thousands of tasks.")
    parser.add_argument("--tasks", type=int, default=10_000, help="finished tasks (10,000)")
    parser.add_argument("--running", type=int, default=200, help="running tasks (200)")
    arguments = parser.parse_args()
    result = asyncio.run(measure(arguments.tasks, arguments.running))
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
