"""The cluster as home: operators are killed at each point, requests fail, and others go on.

Every case has a namespace of its own. First each is disturbed by operators of that namespace
alone; then one operator of all namespaces goes on with what they left.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from controller.api.reasons import TerminalReason
from controller.api.step import ActionClass
from tests.controlplane.plane import ControlPlane
from tests.crash.cases import KILLS_IN_A_ROW_OF_AN_EFFECT, Case, point_cases
from tests.crash.figures import Recorded, examine
from tests.crash.kubernetes_runs import KubernetesRuns
from tests.crash.proxy import ChosenFaults, EachOf, Fault, FaultProxy, Request
from tests.crash.table import Table
from tests.operator.process import OperatorProcess, wait_until

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.xdist_group("operator"),
    pytest.mark.timeout(600),
]

_OPERATORS_AT_ONCE = 2
_SECONDS = 120.0
"""For what takes a few seconds on a machine that does nothing else."""

CASES = {
    case.name: case
    for case in (
        *point_cases(ActionClass.PURE, waits=True),
        *point_cases(ActionClass.EFFECT, waits=True),
        KILLS_IN_A_ROW_OF_AN_EFFECT,
        Case("SIGTERM at K2 of Search", ("K2:Search:1:SIGTERM",), ActionClass.PURE),
        Case("SIGTERM at K5 of Publish", ("K5:Publish:1:SIGTERM",), ActionClass.EFFECT),
    )
}

_UNREADABLE = Case("the destination cannot be read", ("K5:Publish:1",), ActionClass.EFFECT)
_PAUSED = {"about to publish": "K4:Publish:1:SIGSTOP", "in mid-search": "K2:Search:1:SIGSTOP"}


@dataclass(frozen=True)
class Injection:
    """One request that fails once, without any kill."""

    method: str
    resource: str
    fault: Fault
    skip: int = 0

    @property
    def name(self) -> str:
        """A sentence; the key of the case."""
        return f"{self.method} {self.resource}: {self.fault}"

    def chosen(self, namespace: str) -> ChosenFaults:
        """Return the fault for a request in a namespace."""

        def is_chosen(request: Request) -> bool:
            return (request.method, request.resource, request.namespace) == (
                self.method,
                self.resource,
                namespace,
            )

        return ChosenFaults(self.fault, is_chosen, skip=self.skip)


_ANY_WRITE = (Fault.LOST_REQUEST, Fault.LOST_ANSWER, Fault.SERVER_ERROR, Fault.TOO_MANY_REQUESTS)

INJECTIONS = {
    injection.name: injection
    for injection in (
        *(Injection("POST", "researchsteps", fault, skip=4) for fault in _ANY_WRITE),
        *(Injection("PATCH", "researchtasks", fault, skip=4) for fault in _ANY_WRITE),
        Injection("PATCH", "researchtasks", Fault.CONFLICT, skip=4),
        *(Injection("POST", "configmaps", fault) for fault in _ANY_WRITE),
    )
}


@dataclass(frozen=True)
class Ran:
    """All that happened, by the names of the cases."""

    exit_codes: Mapping[str, tuple[int, ...]]
    recorded: Mapping[str, Recorded]
    undisturbed: Recorded
    left_faults: Mapping[str, int]
    unreadable_before: Recorded
    paused_exit_codes: Mapping[str, int]


@pytest.fixture(scope="module")
def ran(
    plane: ControlPlane,
    operator_kubeconfig: Path,
    crash_corpora: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ran]:
    """Run everything once."""
    folder = tmp_path_factory.mktemp("kubernetes")
    with FaultProxy(plane) as proxy:
        yield _run(KubernetesRuns(plane, proxy, operator_kubeconfig, crash_corpora, folder))


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """The rows of this home, written at the end."""
    made = Table("Kubernetes")
    yield made
    made.write()


def _run(runs: KubernetesRuns) -> Ran:
    killed = {**CASES, _UNREADABLE.name: _UNREADABLE}
    names = ["undisturbed", *killed, *INJECTIONS, *_PAUSED]
    namespaces = {name: f"crash-{number}" for number, name in enumerate(names)}
    runs.apply(namespaces.values())

    def run(case: Case) -> tuple[int, ...]:
        namespace = namespaces[case.name]
        return tuple(runs.run(namespace, f, number) for number, f in enumerate(case.faults))

    with ExitStack() as stack:
        paused = {
            name: stack.enter_context(
                runs.operator(f"paused-{number}", namespace=namespaces[name], fault=fault)
            )
            for number, (name, fault) in enumerate(_PAUSED.items())
        }
        with ThreadPoolExecutor(_OPERATORS_AT_ONCE) as pool:
            exit_codes = dict(zip(killed, pool.map(run, killed.values()), strict=True))
        for process in paused.values():
            _wait_paused(process)
        unreadable = namespaces[_UNREADABLE.name]
        unreadable_before = runs.recorded()[unreadable]
        faults = {name: i.chosen(namespaces[name]) for name, i in INJECTIONS.items()}
        runs.proxy.faults = EachOf(_forbidden(unreadable), *faults.values())
        with runs.operator("fresh") as fresh:
            runs.wait_finished()
            assert fresh.stop() == 0
        paused_exit_codes = {name: _resumed(process) for name, process in paused.items()}
    recorded = runs.recorded()
    return Ran(
        exit_codes=exit_codes,
        recorded={name: recorded[namespace] for name, namespace in namespaces.items()},
        undisturbed=recorded[namespaces["undisturbed"]],
        left_faults={name: fault.left for name, fault in faults.items()},
        unreadable_before=unreadable_before,
        paused_exit_codes=paused_exit_codes,
    )


def _forbidden(namespace: str) -> ChosenFaults:
    def is_chosen(request: Request) -> bool:
        of_report = request.resource == "configmaps" and request.namespace == namespace
        return of_report and request.method == "GET"

    return ChosenFaults(Fault.FORBIDDEN, is_chosen, times=1000)


def _wait_paused(process: OperatorProcess) -> None:
    wait_until(
        lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED,
        "it is paused",
        seconds=_SECONDS,
    )


def _resumed(process: OperatorProcess) -> int:
    """Wake a paused operator up; return how it ends when it has met what the other one did."""
    process.signal(signal.SIGCONT)
    process.wait_log("gathering again", _SECONDS)
    return process.stop()


# T17, T18
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fresh_process_goes_on(case: Case, ran: Ran, table: Table) -> None:
    run = ran.recorded[case.name]
    figures = examine(run, ran.undisturbed)
    table.add(case.name, len(case.faults), figures, run)
    assert ran.exit_codes[case.name] == case.exit_codes
    assert figures.problems == ()
    assert run.report_writes == 1
    assert run.interrupted == case.interrupted


# T17, T18, E20
@pytest.mark.parametrize("name", INJECTIONS)
def test_a_write_that_fails_once_changes_nothing(name: str, ran: Ran, table: Table) -> None:
    run = ran.recorded[name]
    figures = examine(run, ran.undisturbed)
    table.add(name, 0, figures, run)
    assert ran.left_faults[name] == 0, "the fault never happened"
    assert figures.problems == ()
    assert run.report_writes == 1


# T17
def test_an_effect_that_cannot_be_known_is_not_repeated(ran: Ran, table: Table) -> None:
    run = ran.recorded[_UNREADABLE.name]
    figures = examine(run, ran.undisturbed, reason=TerminalReason.AMBIGUOUS_EFFECT)
    table.add(_UNREADABLE.name, 1, figures, run)
    assert figures.problems == ()
    assert ran.unreadable_before.report_writes == 1, "it was killed before it had published"
    assert run.report_writes == 1
    assert run.task.status.report is None


@pytest.mark.parametrize("name", _PAUSED)
def test_an_operator_that_wakes_up_after_another_has_gone_on_is_too_late(
    name: str, ran: Ran, table: Table
) -> None:
    run = ran.recorded[name]
    figures = examine(run, ran.undisturbed)
    table.add(f"paused {name}, and another goes on", 0, figures, run)
    assert ran.paused_exit_codes[name] == 0
    assert figures.problems == ()
    assert run.report_writes == 1
