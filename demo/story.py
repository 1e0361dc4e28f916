"""The course of the demonstration: follow three tasks, raise a budget, check what came of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from controller.api.step import ResearchStep
from controller.api.task import ResearchTask
from controller.cli.observer import Follower
from controller.clock import SystemClock
from controller.gathering import is_settled
from controller.ports import TaskKey
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_client import connect
from demo import cluster, expectations
from demo.expectations import Ended, Outcome
from demo.process import OperatorProcess
from demo.view import DemoView
from tests.controlplane import ControlPlane

ANSWERS: Final = "answers"
SMALL_BUDGET: Final = "small-budget"
RAISED_BUDGET: Final = "raised-budget"
TASKS: Final = (ANSWERS, SMALL_BUDGET, RAISED_BUDGET)

FIRST_BUDGET: Final = 3
"""`maxSteps` of the two small tasks, as their files have it."""

SECOND_BUDGET: Final = 60

_LOOK_SECONDS: Final = 0.2


class TookTooLongError(Exception):
    """The tasks did not end in time; the text says how they stand."""


@dataclass(frozen=True)
class Story:
    """How it ended: what was expected and found, and the tasks by name."""

    outcomes: tuple[Outcome, ...]
    tasks: dict[str, Ended]


Ending = Callable[[dict[str, Ended], Sequence[ResearchStep]], Iterator[Outcome]]
"""What is expected of the tasks, and of the steps that a run had before its budget was raised."""


@dataclass(frozen=True)
class Script:
    """What a demonstration applies, what must come of it, and in how many seconds."""

    objects: Sequence[dict[str, Any]]
    expected: Ending
    seconds: int
    options: tuple[str, ...] = ()
    """Of the operator's command line."""

    applied: str = "demo/source.yaml demo/tasks/"
    """What the objects are, in words."""


async def play(
    script: Script, plane: ControlPlane, operator: OperatorProcess, view: DemoView
) -> Story:
    """Follow the tasks that were applied to their ends, and check them.

    Raises:
        OperatorEndedError: the operator ended.
        TookTooLongError: the tasks did not end.
    """
    async with _store(plane) as store, asyncio.TaskGroup() as group:
        waiting = group.create_task(_kubectl_wait(plane, script.seconds))
        stage = _Stage(store, operator, view, script.seconds)
        await stage.follow_until(lambda tasks: all(map(is_settled, tasks.values())))
        before = await stage.steps(RAISED_BUDGET)
        view.say(
            f"$ kubectl patch rtask {RAISED_BUDGET} --type=merge "
            f"""--patch='{{"spec": {{"budgets": {{"maxSteps": {SECOND_BUDGET}}}}}}}'"""
        )
        await asyncio.to_thread(cluster.raise_budget, plane, RAISED_BUDGET, SECOND_BUDGET)
        await stage.follow_until(lambda tasks: _goes_on_no_more(tasks[RAISED_BUDGET]))
        ended = {name: await stage.ended(name) for name in TASKS}
        verdicts = await asyncio.gather(*(_verify(plane, name) for name in TASKS))
        outcomes = (*script.expected(ended, before), *verdicts, await waiting)
    return Story(outcomes, ended)


def _goes_on_no_more(task: ResearchTask) -> bool:
    return task.spec.budgets.max_steps == SECOND_BUDGET and is_settled(task)


def without_model() -> Script:
    """Return the demonstration of the extractive policy."""
    return Script(cluster.source_and_tasks(), _all_as_asked, seconds=120)


def _all_as_asked(ended: dict[str, Ended], before: Sequence[ResearchStep]) -> Iterator[Outcome]:
    yield from expectations.goal_reached(ended[ANSWERS])
    yield from expectations.budget_exhausted(ended[SMALL_BUDGET], FIRST_BUDGET)
    yield from expectations.goal_reached(ended[RAISED_BUDGET])
    yield from expectations.went_on(before, ended[RAISED_BUDGET])


class _Stage:
    """The tasks as they are followed."""

    def __init__(
        self, store: KubernetesStore, operator: OperatorProcess, view: DemoView, seconds: int
    ) -> None:
        self._store = store
        self._operator = operator
        self._followers = {name: Follower(store, _key(name), [view]) for name in TASKS}
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    async def follow_until(self, reached: Callable[[dict[str, ResearchTask]], bool]) -> None:
        """Look at all tasks again and again, until they are as they should."""
        while True:
            tasks = {name: await follower.look() for name, follower in self._followers.items()}
            if reached(tasks):
                return
            self._operator.require_running()
            if time.monotonic() > self._deadline:
                states = ", ".join(f"{n}: {t.status.terminal_reason}" for n, t in tasks.items())
                raise TookTooLongError(f"after {self._seconds} s the tasks are: {states}")
            await asyncio.sleep(_LOOK_SECONDS)

    async def steps(self, name: str) -> tuple[ResearchStep, ...]:
        """Return the journal of a task."""
        return await self._store.list_steps(await self._store.get_task(_key(name)), 0)

    async def ended(self, name: str) -> Ended:
        """Return a task with its journal and report."""
        task = await self._store.get_task(_key(name))
        return Ended(
            task, await self._store.list_steps(task, 0), await self._store.get_report(task)
        )


def _key(name: str) -> TaskKey:
    return TaskKey(cluster.NAMESPACE, name)


@asynccontextmanager
async def _store(plane: ControlPlane) -> AsyncIterator[KubernetesStore]:
    client = await connect(plane.kubeconfig)
    try:
        yield KubernetesStore(client, SystemClock())
    finally:
        await client.close()  # type: ignore[no-untyped-call]  # the client types it not


async def _kubectl_wait(plane: ControlPlane, seconds: int) -> Outcome:
    """Wait for all tasks as a script would: one condition for every ending."""
    arguments = ["wait", "--for=condition=Finished", "rtask", "--all"]
    arguments.append(f"--timeout={seconds * 3 // 4}s")
    status, said = await _run([*plane.kubectl_command(), *arguments], plane.kubectl_environment())
    return Outcome(f"kubectl {' '.join(arguments)} ends", status == 0, said)


async def _verify(plane: ControlPlane, name: str) -> Outcome:
    """Run `fixpoint verify`, as a reader of the report would."""
    command = [sys.executable, "-m", "controller.cli.main", "verify", name]
    status, said = await _run(command, plane.kubectl_environment())
    return Outcome(f"fixpoint verify {name} finds every quote in its source", status == 0, said)


async def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Run a command, and return its exit status and what it said; it ends with us."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.communicate()
        raise
    return process.returncode, said.decode().strip()
