"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.controlplane.plane import ControlPlane

# A busy machine is no defect: how long an example takes is for the benchmarks to say.
settings.register_profile("fixpoint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixpoint")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane with the project's CRDs, one for the whole run."""
    with ControlPlane.start() as started:
        started.kubectl("apply", "--server-side", "-k", str(ROOT / "crds"))
        started.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        started.restart_controllers()
        yield started
