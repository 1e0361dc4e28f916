"""The operator's account, as the manifests grant it, and a namespace and a folder for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import Cluster, apply_operator_account, write_lamp_corpus
from tests.operator.process import OperatorProcess

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def operator_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig of the service account of manifests/base, with the rights that it has there."""
    return apply_operator_account(plane)


@pytest.fixture
def cluster(plane: ControlPlane) -> Cluster:
    """A namespace of the control plane that no other test uses."""
    namespace = f"operator-{next(_NUMBERS)}"
    plane.kubectl("create", "namespace", namespace)
    return Cluster(plane, namespace)


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """The corpus root, with one small corpus: `lamp`."""
    return write_lamp_corpus(tmp_path / "corpora")


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
