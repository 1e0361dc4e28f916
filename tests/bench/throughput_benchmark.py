"""Measures steps a second: `python -m tests.bench.throughput_benchmark [--tasks 1000]`.

One operator process runs all the tasks, on an API server on the same machine; before and after
it, a bare client makes the same writes of the same sizes. Prints JSON: the steps a second of both
and their ratio, the processor time that a step takes of each process, and, of two namespaces with
99 % and 1 % of the tasks, at which share of all steps the small one was done. The ratio of the
processor times is that of the rates where all processors are busy; it depends less on what else
the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from controller.settings import Settings
from tests.bench.bare_client import BareClient, Run, repeat, steps_path, tasks_path
from tests.bench.load import (
    PARALLEL,
    Cluster,
    LoggedStep,
    Moment,
    StepLog,
    add_tasks,
    machine,
)
from tests.controlplane import ControlPlane
from tests.operator.process import OperatorError, OperatorProcess

CROWD: Final = "crowd"
FEW: Final = "few"
BARE: Final = "bare"
WORKERS: Final = Settings().workers
"""How many tasks the operator works on at the same moment; the bare client does too."""

_LAST_ACTION: Final = "Publish"
_RUNNING: Final = "none yet"
_STILL_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1


async def measure(tasks: int) -> dict[str, Any]:
    """Return the measurement for so many tasks."""
    before = machine()
    # Without controllers: collecting garbage would take of the same two processors.
    with ControlPlane.start(controllers=False) as plane, tempfile.TemporaryDirectory() as name:
        cluster = Cluster.prepare(plane, Path(name))
        async with BareClient(plane.kubeconfig, connections=PARALLEL) as client:
            run = await cluster.sample(client)
            first = await bare(cluster, client, run, f"{BARE}-first", tasks // 4)
            operator, fairness = await operated(cluster, client, tasks)
            last = await bare(cluster, client, run, f"{BARE}-last", tasks // 4)
    bare_rate = (first["steps"] + last["steps"]) / (first["seconds"] + last["seconds"])
    record_bytes, status_bytes = run.mean_bytes
    return {
        "tasks": tasks,
        "stepsOfATask": len(run.steps),
        "meanBytesOfAStep": record_bytes,
        "meanBytesOfAStatus": status_bytes,
        "workers": WORKERS,
        "operator": operator,
        "bareClientBefore": first,
        "bareClientAfter": last,
        "bareStepsPerSecond": round(bare_rate, 1),
        "ratio": round(operator["stepsPerSecond"] / bare_rate, 2),
        "ratioOfProcessorTime": round(_cpu_of(first, last) / _cpu_of(operator), 2),
        "fairness": fairness,
        "machineBefore": before,
        "machineAfter": machine(),
    }


async def bare(
    cluster: Cluster, client: BareClient, run: Run, namespace: str, tasks: int
) -> dict[str, Any]:
    """Make the writes of so many runs, as the operator's own account."""
    await cluster.add_namespace(client, namespace)
    made = await add_tasks(client, namespace, tasks)
    async with BareClient(cluster.kubeconfig, connections=WORKERS) as writer:

        async def write(task: dict[str, Any]) -> None:
            await repeat(writer, run, namespace, task)

        began = Moment.now(cluster.plane, os.getpid(), "bareClient")
        await writer.each(write, made)
        ended = Moment.now(cluster.plane, os.getpid(), "bareClient")
    # No operator runs these tasks: one that finds them would look at each, and that is not asked.
    await client.delete_all(tasks_path(namespace))
    await client.delete_all(steps_path(namespace))
    return began.until(ended, tasks * len(run.steps))


async def operated(
    cluster: Cluster, client: BareClient, tasks: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let an operator run so many tasks; return what a step costs, and how fair it was."""
    few = max(1, tasks // 100)
    await cluster.add_namespace(client, CROWD)
    await cluster.add_namespace(client, FEW)
    await add_tasks(client, CROWD, tasks - few)
    await add_tasks(client, FEW, few)
    with cluster.operator("measured") as operator:
        log = cluster.step_log("measured")
        await _until_finished(operator, log, 0, every=0.01)
        began = Moment.now(cluster.plane, operator.pid, "operator")
        already = len(log.read())
        await _until_finished(operator, log, tasks)
        ended = Moment.now(cluster.plane, operator.pid, "operator")
        rss = operator.rss_bytes
        await _until_ended(client)
        operator.stop()
    steps = log.read()
    reasons = await _reasons(client)
    if reasons != {"GoalReached": tasks}:
        raise OperatorError(f"not all of {tasks} tasks have reached their goal: {reasons}")
    cost = began.until(ended, len(steps) - already)
    return cost | {"rssMebibytes": round(rss / 2**20, 1)}, _fairness(steps, few)


async def _until_finished(
    operator: OperatorProcess, log: StepLog, tasks: int, *, every: float = _POLL_SECONDS
) -> None:
    """Wait until the log tells of a step, and of the last step of so many tasks."""
    seen, seen_at = 0, time.monotonic()
    while True:
        steps = log.read()
        if steps and sum(step.action == _LAST_ACTION for step in steps) >= tasks:
            return
        if len(steps) > seen:
            seen, seen_at = len(steps), time.monotonic()
        if not operator.is_running or time.monotonic() > seen_at + _STILL_SECONDS:
            raise OperatorError(f"no step for {_STILL_SECONDS:g} s; {operator.last_line}")
        await asyncio.sleep(every)


async def _until_ended(client: BareClient) -> None:
    """Wait until the status of the last tasks says what their last step has brought about."""
    async with asyncio.timeout(_STILL_SECONDS):
        while _RUNNING in await _reasons(client):  # noqa: ASYNC110 - another process's doing
            await asyncio.sleep(1)


async def _reasons(client: BareClient) -> dict[str, int]:
    """Return how many tasks have ended for each reason."""
    reasons: dict[str, int] = {}
    for namespace in (CROWD, FEW):
        async for task in client.items(tasks_path(namespace)):
            reason = task.get("status", {}).get("terminalReason", _RUNNING)
            reasons[reason] = reasons.get(reason, 0) + 1
    return reasons


def _cpu_of(*costs: dict[str, Any]) -> float:
    """Return the mean processor time of a step in all processes together, in milliseconds."""
    return sum(sum(cost["cpuMillisecondsPerStep"].values()) for cost in costs) / len(costs)


def _fairness(steps: list[LoggedStep], few: int) -> dict[str, Any]:
    """Return at which share of all steps the namespace with few tasks had its last one."""
    last = max(number for number, step in enumerate(steps, 1) if step.namespace == FEW)
    return {
        "tasksOfTheSmallNamespace": few,
        "stepsUntilTheyHadFinished": last,
        "stepsInAll": len(steps),
        "percentOfAllSteps": round(100 * last / len(steps), 1),
    }


def main() -> None:
    """Print the measurement."""
    parser = argparse.ArgumentParser(description="Steps a second of the operator.")
    parser.add_argument("--tasks", type=int, default=1000, help="at least 4 (default: 1000)")
    result = asyncio.run(measure(parser.parse_args().tasks))
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
