"""Which kubectl is used: that of PATH only if it suits the API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import programs
from tests.controlplane.build import kubernetes_version

_BUILT = Path("/built/controlplane")


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return where PATH looks for kubectl; there is none yet."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setattr("tests.controlplane.build.binary", lambda: _BUILT)
    programs._suitable_kubectl_of_path.cache_clear()
    yield tmp_path / "kubectl"
    programs._suitable_kubectl_of_path.cache_clear()


def script(file: Path, body: str) -> None:
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


@pytest.mark.parametrize(
    ("minors_newer", "suitable"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_kubectl_of_path_may_differ_by_one_minor_version(
    kubectl: Path, minors_newer: int, *, suitable: bool
) -> None:
    major, minor, _ = kubernetes_version()
    version = {"major": str(major), "minor": str(minor + minors_newer), "gitVersion": "v"}
    script(kubectl, f"echo '{json.dumps({'clientVersion': version})}'")
    expected = [str(kubectl)] if suitable else [str(_BUILT), "kubectl"]
    assert programs.command("kubectl") == expected


def test_kubectl_that_fails_is_not_used(kubectl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script(kubectl, "echo no such plugin >&2; exit 1")
    assert programs.command("kubectl") == [str(_BUILT), "kubectl"]
    assert "no such plugin" in capsys.readouterr().err


@pytest.mark.usefixtures("kubectl")
def test_kubectl_is_built_where_path_has_none() -> None:
    assert programs.command("kubectl") == [str(_BUILT), "kubectl"]


def test_incomplete_kubebuilder_assets_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="kube-apiserver does not exist"):
        programs.command("kube-apiserver")
