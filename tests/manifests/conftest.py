"""The default overlay, really applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.controlplane.plane import ControlPlane

ROOT: Final = Path(__file__).resolve().parents[2]
MANIFESTS: Final = ROOT / "manifests"

Json = dict[str, Any]


@pytest.fixture(scope="session")
def installed(plane: ControlPlane) -> ControlPlane:
    """The control plane with the operator's manifests applied; no pod ever runs there."""
    plane.kubectl("apply", "--server-side", "-k", str(MANIFESTS / "overlays/default"))
    return plane


def built(plane: ControlPlane, folder: Path) -> list[Json]:
    """Return the objects that a kustomization makes."""
    answer = plane.kubectl("kustomize", str(folder))
    return [found for found in yaml.safe_load_all(answer.stdout) if found]


def stateful_set() -> Json:
    """Return the operator's StatefulSet as its file has it."""
    manifest: Json = yaml.safe_load((MANIFESTS / "base/stateful-set.yaml").read_text("utf-8"))
    return manifest
