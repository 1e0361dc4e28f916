"""A namespace of its own for each file of tests."""

from __future__ import annotations

import secrets

import pytest

from tests.controlplane.plane import ControlPlane


@pytest.fixture(scope="module")
def namespace(plane: ControlPlane) -> str:
    name = f"crds-{secrets.token_hex(4)}"
    plane.kubectl("create", "namespace", name)
    return name
