"""The overlay that the documentation shows for mounting documents does what it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.manifests.conftest import ROOT, built


@pytest.mark.controlplane
@pytest.mark.timeout(1200)
def test_the_volume_of_the_corpora_is_replaced(installed: ControlPlane, tmp_path: Path) -> None:
    page = (ROOT / "docs/researchsource.md").read_text("utf-8")
    (overlay,) = re.findall(
        r"^```yaml\n(# overlays/corpora.*?)^```", page, re.MULTILINE | re.DOTALL
    )
    for part in ("crds", "manifests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    folder = tmp_path / "manifests/overlays/corpora"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(overlay, "utf-8")

    (stateful_set,) = (f for f in built(installed, folder) if f["kind"] == "StatefulSet")
    volumes = {v["name"]: v for v in stateful_set["spec"]["template"]["spec"]["volumes"]}
    assert volumes["corpora"] == {
        "name": "corpora",
        "persistentVolumeClaim": {"claimName": "corpora", "readOnly": True},
    }
    assert "emptyDir" in volumes["cache"]
    installed.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(folder))
