"""`manifests/kind/up.sh`: what it asks for, and what it does in which order.

Docker and kind are other people's programs: here a script of each name writes down how it was
called, so that the order can be seen where neither is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.manifests.conftest import MANIFESTS, ROOT, stateful_set

_SCRIPT: Final = MANIFESTS / "kind/up.sh"
_TOOLS: Final = ("docker", "kind", "kubectl")
_COMMANDS: Final = ("dirname", "mktemp", "rm", "grep")
"""What the script takes from every system."""

_RECORDER: Final = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
  "get clusters") printf '%s' "$CLUSTERS" ;;
  info) exit "$DOCKER_INFO" ;;
esac
"""


class Shell:
    """Runs the script where exactly some programs are to be found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = folder / "calls"
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name in (*_COMMANDS, "bash", "basename"):
            found = shutil.which(name)
            assert found is not None
            (self._programs / name).symlink_to(found)
        for name in _TOOLS:
            program = self._programs / name
            program.write_text(_RECORDER, "utf-8")
            program.chmod(0o755)

    def without(self, program: str) -> None:
        (self._programs / program).unlink()

    def run(self, *, clusters: str = "", docker_info: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(self._programs),
            "HOME": str(self._folder),
            "TMPDIR": str(self._folder),
            "CALLS": str(self._calls),
            "CLUSTERS": clusters,
            "DOCKER_INFO": str(docker_info),
        }
        bash = shutil.which("bash")
        assert bash is not None
        return subprocess.run(
            [bash, str(_SCRIPT)],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
        )

    def calls(self) -> list[str]:
        return self._calls.read_text("utf-8").splitlines() if self._calls.exists() else []


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize("tool", _TOOLS)
def test_a_missing_tool_is_named_with_how_to_get_it(shell: Shell, tool: str) -> None:
    shell.without(tool)
    done = shell.run()
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tool} was not found; install ")
    assert shell.calls() == []


def test_a_docker_that_does_not_answer_is_named(shell: Shell) -> None:
    done = shell.run(docker_info=1)
    assert done.returncode == 1
    assert done.stderr.startswith("error: docker does not answer; ")
    assert shell.calls() == ["docker info"]


def test_everything_is_done_in_order(shell: Shell) -> None:
    done = shell.run()
    assert (done.returncode, done.stderr) == (0, "")
    image = stateful_set()["spec"]["template"]["spec"]["containers"][0]["image"]
    beginnings = [
        "docker info",
        "kind get clusters",
        f"kind create cluster --name fixpoint --config {MANIFESTS}/kind/cluster.yaml",
        f"docker build --build-arg BASE=python:3.13-slim --tag {image} {ROOT}",
        f"kind load docker-image {image} --name fixpoint",
        f"kubectl apply --server-side -k {MANIFESTS}/overlays/default",
        "kubectl wait --for=condition=Established crd",
        "kubectl --namespace fixpoint-system rollout restart statefulset/fixpoint",
        "kubectl --namespace fixpoint-system rollout status statefulset/fixpoint",
        f"kubectl --namespace default apply -k {MANIFESTS}/samples",
        "kubectl --namespace default wait --for=condition=Finished rtask/minimal rtask/manual",
        "kubectl --namespace default get rtask",
        "kubectl --namespace default get configmap manual-report",
    ]
    calls = shell.calls()
    assert len(calls) == len(beginnings)
    for call, beginning in zip(calls, beginnings, strict=True):
        assert call.startswith(beginning)


def test_a_cluster_that_is_there_is_used_again(shell: Shell) -> None:
    assert shell.run(clusters="other\nfixpoint\n").returncode == 0
    assert "kind export kubeconfig --name fixpoint" in shell.calls()
    assert not any(call.startswith("kind create") for call in shell.calls())


def test_a_cluster_with_a_longer_name_is_another_one(shell: Shell) -> None:
    assert shell.run(clusters="fixpoint-2\n").returncode == 0
    assert any(call.startswith("kind create") for call in shell.calls())


def test_the_user_s_own_kubeconfig_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    shell.run()
    assert not (tmp_path / ".kube").exists()
    # Its own was removed at the end.
    assert {path.name for path in tmp_path.iterdir()} == {"programs", "calls"}


def test_the_script_can_be_started_as_it_is() -> None:
    assert os.access(_SCRIPT, os.X_OK)


def test_the_cluster_is_named_as_the_script_names_it() -> None:
    cluster = yaml.safe_load((MANIFESTS / "kind/cluster.yaml").read_text("utf-8"))
    assert cluster["kind"] == "Cluster"
    assert f'cluster="${{CLUSTER:-{cluster["name"]}}}"' in _SCRIPT.read_text("utf-8")
