"""What a call to a model costs beside the model: processor time of ours, and a task of ten calls.

    python -m tests.bench.models_benchmark

Prints JSON. The endpoint answers at once and is a process of its own, so that nothing of it is
counted. `clientMilliseconds` is the client alone, from a request to a reply; `callMilliseconds` is
all around a call: the prompt is made, asked, settled, read and its quotes are verified;
`stepMilliseconds` is a whole step with a call, in the local home: besides, gather, fold, decide,
store the intent, record. All are processor time of this process. `tasksOfTenCalls` are on a real
API server, from `kubectl apply` to the condition `Finished`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from controller.actions import model as actions
from controller.actions.context import Context
from controller.api.model import ResearchModel
from controller.api.step import ResearchStepSpec
from controller.clock import SystemClock
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.found import Found
from controller.loop.intents import Intent
from controller.models.endpoint import EndpointModel
from controller.ports import Unobserved
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from demo.cluster import install
from tests.controlplane import ControlPlane
from tests.operator.process import OperatorProcess
from tests.world import World

NAMES = ("ALPHA", "BRAVO", "CHARLIE", "DELTA")
"""Four settings, so four questions of two calls; with the plan and the draft ten."""

DEFAULTS = {
    f"{name}_LEVEL": f"Default: {at} lumens at the lowest dimmer position of the {name.lower()}."
    for at, name in enumerate(NAMES, start=21)
}
QUESTIONS = [
    {"id": name.lower().replace("_", "-"), "text": f"What is the default of {name}?"}
    for name in DEFAULTS
]
BUDGETS = {"maxSteps": 60, "maxModelCalls": 30}
NO_TURNS = {"planningInterval": 0}
CALLS = 10


class NoKey:
    """Credentials of an endpoint that asks for none."""

    async def key(self, *, fresh: bool = False) -> str | None:
        """Return that there is none."""


class Timed:
    """A model whose calls are timed: seconds of processor time, without the wait."""

    def __init__(self, model: EndpointModel) -> None:
        self._model = model
        self.terms, self.sampling = model.terms, model.sampling
        self.seconds: list[float] = []

    async def probe(self) -> str | None:
        """Ask nothing."""
        return None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass a request on, and time it."""
        before = time.process_time()
        reply = await self._model.complete(request)
        self.seconds.append(time.process_time() - before)
        return reply


class StepTimes(Unobserved):
    """Times the steps that had a call, from one record to the next."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last = time.process_time()

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """Take the time since the step before."""
        now = time.process_time()
        if step.model_call is not None:
            self.seconds.append(now - self._last)
        self._last = now


@contextmanager
def instant_endpoint() -> Iterator[str]:
    """Run the endpoint that answers at once; yield its base URL."""
    command = [sys.executable, "-m", "tests.bench.instant_endpoint"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def _resource(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchModel",
        "metadata": {"name": "instant", "namespace": "default"},
        "spec": {"backend": "OpenAICompatible", "baseURL": url, "model": "instant",
                 "contextWindowTokens": 32768},
    }  # fmt: skip


@contextmanager
def timed_calls() -> Iterator[list[float]]:
    """Time all that is done around each call: the function that carries out a model's action."""
    original, seconds = actions.perform, list[float]()

    async def perform(context: Context, intent: Intent) -> Found:
        before = time.process_time()
        found = await original(context, intent)
        seconds.append(time.process_time() - before)
        return found

    actions.perform = perform
    try:
        yield seconds
    finally:
        actions.perform = original


async def _local(url: str, folder: Path, repeats: int) -> dict[str, list[float]]:
    """Return the times of clients, calls and steps of some tasks in the local home."""
    world = World(folder)
    world.references.sources["lamp"] = ScriptedSource("lamp", {"file:lamp.txt": DEFAULTS})
    steps = StepTimes()
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as client:
        made = _resource(url)
        made["metadata"] |= {"uid": "m", "generation": 1}
        resource = ResearchModel.model_validate({key: made[key] for key in ("metadata", "spec")})
        model = Timed(
            EndpointModel(resource, client=client, credentials=NoKey(), clock=SystemClock())
        )
        world.references.models["instant"] = model
        operator = Reconciler(
            store=world.store, references=world.references, clock=world.clock,
            holder="bench", observer=steps,
        )  # fmt: skip
        with timed_calls() as calls:
            await _tasks(world, operator, repeats)
    world.close()
    # The first task loads the SDK and opens the connection.
    return {
        name: seconds[CALLS:]
        for name, seconds in {"client": model.seconds, "call": calls, "step": steps.seconds}.items()
    }


async def _tasks(world: World, operator: Reconciler, repeats: int) -> None:
    for at in range(repeats):
        key = world.apply(
            f"task-{at}", questions=QUESTIONS, budgets=BUDGETS, modelRef={"name": "instant"},
            progressPolicy=NO_TURNS,
        )  # fmt: skip
        while (task := await world.task(key)).status.terminal_reason is None:
            await operator.reconcile(key)
        assert task.status.terminal_reason == "GoalReached", task.status.conditions


def _on_a_cluster(url: str) -> dict[str, Any]:
    """Return how long a task of ten calls takes on a real API server."""
    manual = "# Lamp\n" + "".join(f"\n## {name}\n\n{text}\n" for name, text in DEFAULTS.items())
    source = {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchSource",
        "metadata": {"name": "lamp"},
        "spec": {"type": "Corpus", "corpus": {"directory": "lamp"}},
    }
    with ControlPlane.start(controllers=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpora" / "lamp").mkdir(parents=True)
        (folder / "corpora" / "lamp" / "manual.md").write_text(manual, "utf-8")
        kubeconfig = install(plane)
        for made in (source, _resource(url)):
            plane.kubectl("apply", "-f", "-", input=json.dumps(made))
        origin = url.removesuffix("/v1")
        with OperatorProcess(
            kubeconfig, folder, corpus_root=folder / "corpora", options=("--allow-origin", origin)
        ) as operator:
            operator.wait_ready()
            for kind in ("rsource/lamp", "rmodel/instant"):
                plane.kubectl("wait", "--for=condition=Ready", kind, "--timeout=30s")
            return {"first": _one(plane, "first"), "second": _one(plane, "second")}


def _one(plane: ControlPlane, name: str) -> dict[str, Any]:
    task = {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchTask",
        "metadata": {"name": name},
        "spec": {"topic": "The lamp", "questions": QUESTIONS, "budgets": BUDGETS,
                 "sourceRefs": [{"name": "lamp"}], "modelRef": {"name": "instant"},
                 "progressPolicy": NO_TURNS},
    }  # fmt: skip
    began = time.monotonic()
    plane.kubectl("apply", "-f", "-", input=json.dumps(task))
    plane.kubectl("wait", "--for=condition=Finished", f"rtask/{name}", "--timeout=60s")
    seconds = time.monotonic() - began
    status = json.loads(plane.kubectl("get", "rtask", name, "-o", "json").stdout)["status"]
    assert status["terminalReason"] == "GoalReached", status
    usage = status["usage"]
    return {"seconds": round(seconds, 2), "modelCalls": usage["modelCalls"],
            "steps": usage["steps"]}  # fmt: skip


def _milliseconds(seconds: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(seconds) * 1000, 2),
        "largest": round(max(seconds) * 1000, 2),
    }


def measure() -> dict[str, Any]:
    """Measure both homes."""
    with instant_endpoint() as url, tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(_local(url, Path(folder), repeats=6))
        tasks = _on_a_cluster(url)
    return {
        "benchmark": "models",
        "calls": len(seconds["call"]),
        **{f"{name}Milliseconds": _milliseconds(spent) for name, spent in seconds.items()},
        "tasksOfTenCalls": tasks,
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
