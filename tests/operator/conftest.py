"""The operator's account, as the manifests grant it, and a namespace and a folder for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess

_BASE = Path(__file__).resolve().parents[2] / "manifests" / "base"
_SYSTEM = "fixpoint-system"
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def operator_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig of the service account of manifests/base, with the rights that it has there."""
    for part in ("namespace", "service-account", "cluster-role", "cluster-role-binding"):
        options = () if part == "namespace" else (f"--namespace={_SYSTEM}",)
        plane.kubectl("apply", "-f", str(_BASE / f"{part}.yaml"), *options)
    return plane.service_account_kubeconfig(_SYSTEM, "fixpoint")


@pytest.fixture
def cluster(plane: ControlPlane) -> Cluster:
    """A namespace of the control plane that no other test uses."""
    namespace = f"operator-{next(_NUMBERS)}"
    plane.kubectl("create", "namespace", namespace)
    return Cluster(plane, namespace)


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """The corpus root, with one small corpus: `lamp`."""
    folder = tmp_path / "corpora" / "lamp"
    folder.mkdir(parents=True)
    (folder / "manual.md").write_text(
        "# The lamp\n\n## GLOW_LEVEL\n\n"
        "The default value of GLOW_LEVEL is 40 lumens at the lowest position of the dimmer.\n",
        encoding="utf-8",
    )
    return tmp_path / "corpora"


@pytest.fixture
def operator(
    operator_kubeconfig: Path, cluster: Cluster, corpora: Path, tmp_path: Path
) -> Callable[..., OperatorProcess]:
    """Make an operator of the test's namespace; the test starts it, and may make more."""
    numbers = itertools.count()

    def make(*options: str) -> OperatorProcess:
        return OperatorProcess(
            operator_kubeconfig,
            tmp_path / f"operator-{next(numbers)}",
            corpus_root=corpora,
            options=(f"--namespace={cluster.namespace}", *options),
        )

    return make
