"""The tiny corpus that every crash is tried on, and the operator's own account."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import apply_operator_account, write_lamp_corpus


@pytest.fixture(scope="session")
def crash_corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus root, with one small corpus: `lamp`."""
    return write_lamp_corpus(tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="session")
def operator_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig of the service account of manifests/base, with the rights that it has there."""
    return apply_operator_account(plane)
