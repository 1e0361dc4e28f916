"""Operators that are killed all the time, on an API server that fails now and then.

A number of tasks is always under way: each first ends with its steps used up, is given more, and
then reaches its goal. Operators are killed at random times, and the proxy before the API server
refuses, loses and delays. At the end each task is examined like one of the crash matrix.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from controller.api.reasons import TerminalReason
from controller.api.step import Outcome
from tests.controlplane.plane import ControlPlane
from tests.crash.figures import Recorded, examine
from tests.crash.kubernetes_runs import KubernetesRuns, TaskShape
from tests.crash.proxy import Fault, FaultProxy, RandomFaults, Request
from tests.operator.process import OperatorError, OperatorProcess

_SETTINGS: Final = ("GLOW", "DIM", "WARM", "BLINK", "FADE")
_FIRST_STEPS: Final = 9
"""So many steps are given at first; about a third of what the goal takes."""

_MORE_STEPS: Final = {"budgets": {"maxSteps": 100}}
_DEADLINE_SECONDS: Final = 86_400
"""None of them is to end for the time that operators were dead."""

_END_SECONDS: Final = 300.0


@dataclass(frozen=True, kw_only=True)
class Soak:
    """What is done: all of it follows from the seed, the machine's own timing apart.

    Attributes:
        seed: of the kills and the faults.
        kills: how many operators are killed.
        tasks: how many tasks are worked on in all, at the least.
        at_once: how many of them are under way at any time.
        operators: how many operators work on all tasks at the same time.
        percent: the share of requests that fail.
        latency_seconds: the most that a request is late.
        watch_seconds: the most that an event of a watch is late.
        life_seconds: the least and the most that an operator works before it is killed.
    """

    seed: int
    kills: int
    tasks: int
    at_once: int
    operators: int = 1
    percent: float = 5
    latency_seconds: float = 0.1
    watch_seconds: float = 1.0
    life_seconds: tuple[float, float] = (0.3, 1.5)

    @property
    def calm(self) -> str:
        """The namespace of the task that nobody disturbs."""
        return f"soak-{self.seed}-calm"


def split_brain(seed: int, kills: int, tasks: int) -> Soak:
    """Return a soak of two operators that see each other's writes soon, and live longer."""
    return Soak(
        seed=seed,
        kills=kills,
        tasks=tasks,
        at_once=tasks,
        operators=2,
        watch_seconds=0.3,
        life_seconds=(1.0, 4.0),
    )


@dataclass(frozen=True)
class Result:
    """What came of it; `problems` is empty when the four figures hold for every task.

    Attributes:
        kills: operators that were killed at work.
        ended_by_themselves: operators that ended because of a fault, and were started again.
        intents_in_doubt: tasks whose status held an intent when an operator was killed.
        steps_adopted: creations of a step that met `AlreadyExists`.
        status_conflicts: status writes that the API server itself refused as outdated.
        injected: faults by kind.
        problems: all that does not hold, by task.
        defects_logged: lines of the operators' logs that tell of a defect of ours.
    """

    soak: Soak
    seconds: float
    kills: int
    ended_by_themselves: int
    tasks: int
    tasks_with_right_ending: int
    tasks_with_complete_trajectory: int
    duplicate_effects: int
    tasks_verified_from_right_place: int
    steps: int
    steps_retried: int
    reports_written: int
    intents_in_doubt: int
    steps_adopted: int
    status_conflicts: int
    injected: dict[str, int]
    problems: tuple[str, ...]
    defects_logged: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it for a file."""
        return asdict(self)


class _PatientFaults(RandomFaults):
    """Spares the checks at an operator's start: a refusal there ends the process, as it should."""

    def fault(self, request: Request) -> Fault | None:
        if request.resource in {"", "selfsubjectaccessreviews"}:
            return None
        return super().fault(request)


@dataclass
class _Tally:
    """What is counted while operators die."""

    kills: int = 0
    ended_by_themselves: int = 0
    intents_in_doubt: int = 0
    defects: list[str] = field(default_factory=list)


def write_corpus(root: Path) -> Path:
    """Write a corpus of a few settings; return the root."""
    folder = root / "lamp"
    folder.mkdir(parents=True)
    sections = (
        f"## {name}_LEVEL\n\nThe default value of {name}_LEVEL is {10 + number} units of the "
        f"{name.lower()} scale.\n"
        for number, name in enumerate(_SETTINGS)
    )
    (folder / "manual.md").write_text("# The lamp\n\n" + "\n".join(sections), encoding="utf-8")
    return root


def run_soak(plane: ControlPlane, kubeconfig: Path, folder: Path, soak: Soak) -> Result:
    """Run a soak on a control plane that has the kinds; `kubeconfig` is the operator's."""
    began = time.monotonic()
    corpora = write_corpus(folder / "corpora")
    with FaultProxy(plane) as proxy:
        runs = KubernetesRuns(plane, proxy, kubeconfig, corpora, folder, shape=_shape())
        _run_calmly(runs, soak.calm)
        proxy.faults = _PatientFaults(
            soak.seed,
            percent=soak.percent,
            latency_seconds=soak.latency_seconds,
            watch_seconds=soak.watch_seconds,
        )
        tasks = _Tasks(runs, soak)
        tally = _Tally()
        _kill(runs, soak, tasks, tally)
        _end(runs, tasks, tally)
        recorded = {name: run for name, run in runs.recorded().items() if name in runs.names}
        return _result(soak, proxy, tally, recorded, time.monotonic() - began)


def _shape() -> TaskShape:
    asked = (*_SETTINGS[:-1], "FROST")  # the last is answered by none: it is proven absent
    questions = [
        {"id": name.lower(), "text": f"What is the default value of {name}_LEVEL?"}
        for name in asked
    ]
    budgets = {"maxSteps": _FIRST_STEPS, "activeDeadlineSeconds": _DEADLINE_SECONDS}
    return TaskShape(questions, {"budgets": budgets})


class _Tasks:
    """The tasks under way: a new one begins when one has reached its goal."""

    def __init__(self, runs: KubernetesRuns, soak: Soak) -> None:
        self.names: list[str] = []
        self._runs = runs
        self._soak = soak
        self._raised: set[str] = set()
        self.top_up(is_over=False)

    def top_up(self, *, is_over: bool) -> bool:
        """Raise budgets that are used up, begin new tasks; say whether all are done."""
        ended = self._ended()
        for name in self.names:
            if ended.get(name) == TerminalReason.STEP_BUDGET_EXHAUSTED and name not in self._raised:
                self._raised.add(name)
                self._runs.change(name, _MORE_STEPS)
        first = (None, TerminalReason.STEP_BUDGET_EXHAUSTED)
        under_way = sum(ended.get(name) in first for name in self.names)
        known = len(self.names)
        wanted = self._soak.tasks - known if is_over else self._soak.at_once - under_way
        new = [f"soak-{self._soak.seed}-{known + i}" for i in range(wanted)]
        if new:
            self._runs.apply(new)
            self.names.extend(new)
        return not new and not under_way

    def _ended(self) -> dict[str, str | None]:
        """Return the terminal reason that each task's last accepted status shows."""
        return {
            write.namespace: write.body["status"]["terminalReason"]
            for write in self._runs.proxy.trail
            if write.kind == "ResearchTask"
        }

    def in_doubt(self) -> int:
        """Count the tasks whose last accepted status holds an intent."""
        last = {
            write.namespace: write.body["status"]["pending"]
            for write in self._runs.proxy.trail
            if write.kind == "ResearchTask"
        }
        return sum(pending is not None for pending in last.values())


def _run_calmly(runs: KubernetesRuns, name: str) -> None:
    """Take the same task to its end without kill and fault."""
    runs.apply([name])
    with runs.operator(name, namespace=name) as process:
        process.wait_ready()
        runs.wait_ended(name, TerminalReason.STEP_BUDGET_EXHAUSTED)
        runs.change(name, _MORE_STEPS)
        runs.wait_ended(name, TerminalReason.GOAL_REACHED)
        process.stop()


def _kill(runs: KubernetesRuns, soak: Soak, tasks: _Tasks, tally: _Tally) -> None:
    """Keep the operators running, and kill one after another."""
    dice = random.Random(soak.seed)  # noqa: S311 - repeatable, not secret
    with ExitStack() as stack:
        processes = [
            stack.enter_context(runs.operator(f"operator-{number}"))
            for number in range(soak.operators)
        ]
        while tally.kills < soak.kills:
            number = dice.randrange(soak.operators)
            is_at_work = _wait_at_work(processes[number])
            if is_at_work:
                tasks.top_up(is_over=False)  # now, so that all operators see them begin
                time.sleep(dice.uniform(*soak.life_seconds))  # this is the point of it
                tally.intents_in_doubt += tasks.in_doubt()
                is_at_work = processes[number].is_running
            processes[number].kill()
            tally.kills += is_at_work
            tally.ended_by_themselves += not is_at_work
            tally.defects += _defects(processes[number])
            processes[number] = stack.enter_context(runs.operator(f"operator-{number}"))


def _end(runs: KubernetesRuns, tasks: _Tasks, tally: _Tally) -> None:
    """Let one operator, started again if it ends, bring all tasks to their end."""
    deadline = time.monotonic() + _END_SECONDS
    while True:
        with runs.operator("operator-0") as process:
            while process.is_running:
                if tasks.top_up(is_over=True):
                    tally.defects += _defects(process)
                    return
                if time.monotonic() > deadline:
                    raise OperatorError("\n".join(["not all tasks ended", process.log[-3000:]]))
                time.sleep(0.2)
            tally.ended_by_themselves += 1
            tally.defects += _defects(process)


def _wait_at_work(process: OperatorProcess) -> bool:
    """Return when an operator has passed its checks; say whether it has."""
    try:
        process.wait_log("working as ", seconds=60)
    except OperatorError:
        return False
    return True


def _defects(process: OperatorProcess) -> list[str]:
    """Return what the log says of our own defects."""
    return [line for line in process.log.splitlines() if "Traceback" in line or "defect" in line]


def _result(
    soak: Soak, proxy: FaultProxy, tally: _Tally, recorded: Mapping[str, Recorded], seconds: float
) -> Result:
    calm = recorded[soak.calm]
    disturbed = {name: run for name, run in recorded.items() if name != soak.calm}
    found = {name: examine(run, calm) for name, run in disturbed.items()}
    retried = sum(
        step.spec.outcome is Outcome.RETRY_SCHEDULED
        for run in disturbed.values()
        for step in run.steps
    )
    return Result(
        soak=soak,
        seconds=round(seconds, 1),
        kills=tally.kills,
        ended_by_themselves=tally.ended_by_themselves,
        tasks=len(disturbed),
        tasks_with_right_ending=sum(not figures.ending for figures in found.values()),
        tasks_with_complete_trajectory=sum(not f.trajectory for f in found.values()),
        duplicate_effects=sum(len(figures.effects) for figures in found.values()),
        tasks_verified_from_right_place=sum(not f.verifier for f in found.values()),
        steps=sum(len(run.steps) for run in disturbed.values()),
        steps_retried=retried,
        reports_written=sum(run.report_writes for run in disturbed.values()),
        intents_in_doubt=tally.intents_in_doubt,
        steps_adopted=proxy.requests["POST", "researchsteps", HTTPStatus.CONFLICT],
        status_conflicts=proxy.requests["PATCH", "researchtasks", HTTPStatus.CONFLICT],
        injected={fault: proxy.injected[fault] for fault in Fault if proxy.injected[fault]},
        problems=tuple(
            f"{name}: {problem}" for name, figures in found.items() for problem in figures.problems
        ),
        defects_logged=tuple(tally.defects),
    )
