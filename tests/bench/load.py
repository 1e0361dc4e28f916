"""What the benchmarks of the loop have in common: tasks, and whose processor time is counted.

The task is small on purpose: three questions over one page, each planned, searched, quoted and
concluded, then drafted and published. What is measured is the loop, not the search.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import psutil

from controller.api.base import API_VERSION
from demo.cluster import install
from tests.bench.bare_client import BareClient, Run, recorded, tasks_path
from tests.controlplane import ControlPlane
from tests.operator.process import OperatorProcess

SOURCE: Final = "lamp"
SAMPLE: Final = "sample"
"""The namespace of the one task whose writes are recorded."""

PARALLEL: Final = 16
"""How many requests are under way at once while a benchmark is prepared."""

_PAGE: Final = """# Lamp

## GLOW_LEVEL

Default: 40 lumens at the lowest dimmer position of the lamp.

## GLOW_COLOUR

Default: warm white, which is 2700 kelvin on every lamp of the series.

## GLOW_DELAY

Default: 300 milliseconds from the press of the switch to the first light.
"""

SPEC: Final = {
    "topic": "The lamp",
    "questions": [
        {"id": "level", "text": "What is the default of GLOW_LEVEL?"},
        {"id": "colour", "text": "What is the default of GLOW_COLOUR?"},
        {"id": "delay", "text": "What is the default of GLOW_DELAY?"},
    ],
    "sourceRefs": [{"name": SOURCE}],
    # All tasks are under way at once: on a slow machine none must end because of that.
    "budgets": {"activeDeadlineSeconds": 86400},
}

_STEP: Final = re.compile(r"([\w-]+)/([\w-]+): step \d+ (\w+) \w+:")


@dataclass(frozen=True)
class Cluster:
    """A control plane with the operator's kinds and rights, and a folder for the operator."""

    plane: ControlPlane
    folder: Path
    kubeconfig: Path

    @classmethod
    def prepare(cls, plane: ControlPlane, folder: Path) -> Self:
        """Install the operator's kinds and rights, and write the corpus."""
        (folder / "corpora" / SOURCE).mkdir(parents=True)
        (folder / "corpora" / SOURCE / "manual.md").write_text(_PAGE, "utf-8")
        return cls(plane, folder, install(plane))

    def operator(self, name: str) -> OperatorProcess:
        """Return an operator process that keeps its log in a folder of this name.

        As in the image, modules are compiled before: the operator that runs the sample does it.
        """
        return OperatorProcess(
            self.kubeconfig,
            self.folder / name,
            corpus_root=self.folder / "corpora",
            environment={
                "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
                "PYTHONDONTWRITEBYTECODE": "",
            },
        )

    def requests_for_tasks(self) -> int:
        """Return how many requests for single tasks or their steps the API server has answered.

        The lists and watches of all tasks are none, nor is the look at one step of all.
        """
        return sum(
            count
            for kind, count in self.plane.request_counts().items()
            if kind.resource in {"researchtasks", "researchsteps"}
            and kind.verb not in {"LIST", "WATCH"}
        )

    def step_log(self, name: str) -> StepLog:
        """Return the steps in the log of the operator that was started under this name."""
        return StepLog(self.folder / name / "operator.log")

    async def add_namespace(self, client: BareClient, name: str) -> None:
        """Create a namespace with the source in it."""
        await client.create("/api/v1/namespaces", {"metadata": {"name": name}})
        source = {
            "apiVersion": API_VERSION,
            "kind": "ResearchSource",
            "metadata": {"name": SOURCE},
            "spec": {"type": "Corpus", "corpus": {"directory": SOURCE}},
        }
        path = f"/apis/{API_VERSION}/namespaces/{name}/researchsources"
        await client.create(path, source)

    async def sample(self, client: BareClient) -> Run:
        """Let an operator run one task, and return its writes."""
        await self.add_namespace(client, SAMPLE)
        with self.operator(SAMPLE) as operator:
            operator.wait_ready()
            async with recorded(client, SAMPLE) as run:
                await add_task(client, SAMPLE, "sample")
                async with asyncio.timeout(120):
                    sample: Run = await run()
            operator.stop()
        return sample


async def add_task(client: BareClient, namespace: str, name: str) -> dict[str, Any]:
    """Create a task; return it as it is stored."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "ResearchTask",
        "metadata": {"name": name},
        "spec": SPEC,
    }
    return await client.create(tasks_path(namespace), body)


async def add_tasks(client: BareClient, namespace: str, number: int) -> list[dict[str, Any]]:
    """Create so many tasks; return them as they are stored."""
    made: list[dict[str, Any]] = []

    async def add(index: int) -> None:
        made.append(await add_task(client, namespace, f"task-{index:05}"))

    await client.each(add, range(number))
    return made


class LoggedStep(NamedTuple):
    """A step that the log of an operator tells of."""

    namespace: str
    task: str
    action: str


class StepLog:
    """The steps that an operator has logged, read as they come: looking often costs nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offset = 0
        self._steps: list[LoggedStep] = []

    def read(self) -> list[LoggedStep]:
        """Return all steps until now, in the order in which they were recorded."""
        with self._file.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        found = _STEP.finditer(complete.decode())
        self._steps += [LoggedStep(step[1], step[2], step[3]) for step in found]
        return self._steps


@dataclass(frozen=True)
class Moment:
    """A moment, and the processor time until then: of each process, and of the whole machine.

    All in seconds; `busy` adds the processors up.
    """

    at: float
    cpu: dict[str, float]
    busy: float

    @classmethod
    def now(cls, plane: ControlPlane, client_pid: int, client: str) -> Self:
        """Look at the clock, at the control plane's processes and at its client's."""
        cpu = {_name(process): _cpu_seconds(process) for process in _components(plane)}
        cpu[client] = _cpu_seconds(psutil.Process(client_pid))
        whole = psutil.cpu_times()
        return cls(time.monotonic(), cpu, sum(whole) - whole.idle - whole.iowait)

    def until(self, later: Moment, steps: int) -> dict[str, Any]:
        """Return what so many steps cost between two moments."""
        seconds = later.at - self.at
        used = {name: cpu - self.cpu.get(name, 0.0) for name, cpu in later.cpu.items()}
        others = max(0.0, later.busy - self.busy - sum(used.values()))
        return {
            "steps": steps,
            "seconds": round(seconds, 2),
            "stepsPerSecond": round(steps / seconds, 1),
            "cpuMillisecondsPerStep": {
                name: round(1000 * cpu / steps, 2) for name, cpu in used.items()
            },
            "processorsBusyWithOthers": round(others / seconds, 2),
        }


def machine() -> dict[str, Any]:
    """Return what the numbers depend on: the processors, and how busy they are with others."""
    return {
        "processors": os.cpu_count(),
        "loadAverages": [round(load, 1) for load in os.getloadavg()],
    }


def _components(plane: ControlPlane) -> list[psutil.Process]:
    """Return the processes of etcd and of the API server."""
    found = []
    for process in psutil.process_iter():
        try:
            arguments = process.cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue  # it ended while we looked
        if any(str(plane.folder) in argument for argument in arguments[1:]):
            found.append(process)
    return [process for process in found if _name(process)]


def _name(process: psutil.Process) -> str:
    """Return which component of a control plane a process is; none: empty."""
    for argument in process.cmdline()[:2]:
        if (name := Path(argument).name) in {"etcd", "kube-apiserver"}:
            return name
    return ""


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
