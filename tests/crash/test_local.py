"""The local home: a process is killed at each point, and the next one goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from controller.api.step import ActionClass
from tests.crash.cases import (
    KILLS_IN_A_ROW_OF_A_PAID_ACTION,
    KILLS_IN_A_ROW_OF_AN_EFFECT,
    Case,
    model_cases,
    point_cases,
    round_cases,
)
from tests.crash.figures import Recorded, examine
from tests.crash.local_runs import QUESTIONS, LocalRun
from tests.crash.table import Table
from tests.operator.process import wait_until

pytestmark = [pytest.mark.xdist_group("operator"), pytest.mark.timeout(600)]

_PROCESSES = 2
_SECONDS = 180.0

CASES = {
    case.name: case
    for case in (
        *point_cases(ActionClass.PURE, waits=True),
        *point_cases(ActionClass.PAID, waits=True),
        *point_cases(ActionClass.EFFECT, waits=False),  # a write to the file is one call
        *model_cases(),
        *round_cases(ActionClass.PURE),
        *round_cases(ActionClass.PAID),
        KILLS_IN_A_ROW_OF_AN_EFFECT,
        KILLS_IN_A_ROW_OF_A_PAID_ACTION,
        Case("SIGTERM at K1 of a paid Search", ("K1:Search:1:SIGTERM",), ActionClass.PAID),
        Case("SIGTERM at K2 of a paid Search", ("K2:Search:1:SIGTERM",), ActionClass.PAID),
        Case("SIGTERM at K6 of a paid Search", ("K6:Search:1:SIGTERM",), ActionClass.PAID),
        Case("SIGTERM at K5 of Publish", ("K5:Publish:1:SIGTERM",), ActionClass.EFFECT),
    )
}

PAUSED = {
    name: Case(name, (fault,), action_class, interrupted)
    for name, fault, action_class, interrupted in (
        ("paused with a paid answer", "K3:Search:1:SIGSTOP", ActionClass.PAID, 1),
        ("paused about to publish", "K4:Publish:1:SIGSTOP", ActionClass.EFFECT, 0),
        ("paused when it has published", "K5:Publish:1:SIGSTOP", ActionClass.EFFECT, 0),
        ("paused about to write a status", "K0:Publish:1:SIGSTOP", ActionClass.EFFECT, 0),
    )
}


@dataclass(frozen=True)
class Ran:
    """A case that was run, and how its processes ended."""

    exit_codes: tuple[int, ...]
    last_exit_code: int
    recorded: Recorded


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, crash_corpora: Path
) -> Iterator[Mapping[str, Future[Ran]]]:
    """All cases, two at a time; and for each kind of source the run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("local")
    with ThreadPoolExecutor(_PROCESSES) as pool:
        started = {
            name: pool.submit(_run, case, folder / f"case-{number}", crash_corpora)
            for number, (name, case) in enumerate((_UNDISTURBED | CASES).items())
        }
        yield started
        for future in started.values():
            future.cancel()


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """The rows of this home, written at the end."""
    made = Table("local")
    yield made
    made.write()


def _named(kind: ActionClass, *, in_round: bool, has_model: bool = False) -> str:
    """Return the key of the run that nobody disturbs."""
    if has_model:
        return f"{kind}, with a model"
    return f"{kind}, two rounds" if in_round else kind


_UNDISTURBED: dict[str, Case] = {
    _named(kind, in_round=in_round): Case(kind, (), kind, in_round=in_round)
    for kind in (ActionClass.PURE, ActionClass.PAID)
    for in_round in (False, True)
} | {
    _named(ActionClass.PAID, in_round=False, has_model=True): Case(
        "with a model", (), ActionClass.PAID, has_model=True
    )
}


def _run(case: Case, folder: Path, corpora: Path) -> Ran:
    run = LocalRun(
        folder,
        corpora,
        is_remote=case.action_class is ActionClass.PAID and not case.has_model,
        has_model=case.has_model,
        questions=QUESTIONS[:1] if case.in_round else QUESTIONS,
    )
    if case.in_round:
        assert run.run() == 0
        run.ask_again()
    exit_codes = tuple(run.run(fault) for fault in case.faults)
    return Ran(exit_codes, run.run(), run.recorded())


# T17, T18, S4.33
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fresh_process_goes_on(case: Case, runs: Mapping[str, Future[Ran]], table: Table) -> None:
    ran = runs[case.name].result()
    figures = examine(ran.recorded, _undisturbed(case, runs))
    table.add(case.name, len(case.faults), figures, ran.recorded)
    assert (*ran.exit_codes, ran.last_exit_code) == (*case.exit_codes, 0)
    assert figures.problems == ()
    assert ran.recorded.report_writes == 1 + case.in_round
    assert ran.recorded.interrupted == case.interrupted


def test_two_processes_at_once_repeat_nothing(
    tmp_path: Path, crash_corpora: Path, runs: Mapping[str, Future[Ran]]
) -> None:
    shared = LocalRun(tmp_path / "shared", crash_corpora, is_remote=False)
    with shared.process() as one, shared.process() as other:
        one.wait(_SECONDS)
        other.wait(_SECONDS)
    assert shared.run() == 0  # one that met too many writes of the other gives up
    run = shared.recorded()
    assert examine(run, runs[ActionClass.PURE].result().recorded).problems == ()
    assert run.report_writes == 1


# T17
@pytest.mark.parametrize("case", PAUSED.values(), ids=PAUSED)
def test_a_process_that_wakes_up_after_another_has_gone_on_is_too_late(
    case: Case,
    tmp_path: Path,
    crash_corpora: Path,
    runs: Mapping[str, Future[Ran]],
    table: Table,
) -> None:
    (fault,) = case.faults
    shared = LocalRun(
        tmp_path / "shared", crash_corpora, is_remote=case.action_class is ActionClass.PAID
    )
    with shared.process(fault) as paused:
        wait_until(
            lambda: psutil.Process(paused.pid).status() == psutil.STATUS_STOPPED,
            "it is paused",
            seconds=_SECONDS,
        )
        assert shared.run() == 0
        before = shared.recorded()
        paused.send_signal(signal.SIGCONT)
        assert paused.wait(_SECONDS) == 0
    after = shared.recorded()
    figures = examine(after, _undisturbed(case, runs))
    table.add(case.name, 0, figures, after)
    assert after == before
    assert figures.problems == ()
    assert after.report_writes == 1
    assert after.interrupted == case.interrupted


def _undisturbed(case: Case, runs: Mapping[str, Future[Ran]]) -> Recorded:
    kind = ActionClass.PAID if case.action_class is ActionClass.PAID else ActionClass.PURE
    named = _named(kind, in_round=case.in_round, has_model=case.has_model)
    return runs[named].result().recorded
