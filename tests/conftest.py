"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.controlplane.plane import ControlPlane
from tests.llama.server import LlamaServer

# A busy machine is no defect: how long an example takes is for the benchmarks to say.
settings.register_profile("fixpoint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixpoint")

ROOT = Path(__file__).resolve().parent.parent


LLAMA = ROOT / "tests" / "llama"
"""The lane with a real model, which is run by its marker alone: `make test-llama`."""


def _is_for_llama(config: pytest.Config) -> bool:
    return "llama" in config.getoption("markexpr")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the lane with a real model out, unless `-m` speaks of it."""
    if _is_for_llama(config):
        return
    of_lane = [item for item in items if item.get_closest_marker("llama")]
    config.hook.pytest_deselected(items=of_lane)
    items[:] = [item for item in items if item not in of_lane]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say that the lane with a real model was left out, where it would have been run."""
    named = (Path(argument.partition("::")[0]).resolve() for argument in config.args)
    if not _is_for_llama(config) and any(LLAMA.is_relative_to(p) or p == LLAMA for p in named):
        terminalreporter.write_line(
            "left out: the tests with a real model (marker llama), which need a model server and "
            "its weights; make test-llama runs them"
        )


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane with the project's CRDs, one for the whole run."""
    with ControlPlane.start() as started:
        started.kubectl("apply", "--server-side", "-k", str(ROOT / "crds"))
        started.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        started.restart_controllers()
        yield started


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """A real server with a small model, one for the whole lane: two slots, and a key."""
    with LlamaServer() as server:
        yield server
