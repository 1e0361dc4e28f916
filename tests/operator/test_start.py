"""What is missing at the start, or goes away later, is named in a line, and the process ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.api.base import GROUP
from controller.store.rights import RIGHTS
from tests.controlplane.plane import ControlPlane
from tests.operator.process import OperatorProcess

pytestmark = [pytest.mark.controlplane, pytest.mark.xdist_group("operator")]

_CRDS = Path(__file__).resolve().parents[2] / "crds"
_KINDS = ("researchtasks", "researchsteps", "researchmodels", "researchsources")


@pytest.fixture(scope="module")
def bare_plane() -> Iterator[ControlPlane]:
    """A control plane without the project's CRDs."""
    with ControlPlane.start(controllers=False) as started:
        yield started


def test_missing_kinds_are_named_and_a_kind_that_goes_away_ends_the_process(
    bare_plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = bare_plane.kubeconfig
    with OperatorProcess(kubeconfig, tmp_path / "before", corpus_root=tmp_path) as process:
        assert process.wait() == 1
        lines = process.log.splitlines()
        assert len(lines) == len(_KINDS)
        for kind, line in zip(_KINDS, lines, strict=True):
            assert f"the CustomResourceDefinition {kind}.{GROUP} is not installed" in line
            assert "kubectl apply" in line

    bare_plane.kubectl("apply", "--server-side", "-k", str(_CRDS))
    bare_plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    with OperatorProcess(kubeconfig, tmp_path / "after", corpus_root=tmp_path) as process:
        process.wait_ready()
        bare_plane.kubectl("delete", "crd", f"researchsources.{GROUP}", "--wait=false")
        assert process.wait() == 1
        assert f"researchsources.{GROUP} is not installed" in process.log
        assert "the operator ends and must be started again: the watch: " in process.last_line


# S2.34
def test_a_missing_right_is_named(plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = _account_without(plane, "researchsteps", "create")
    with OperatorProcess(kubeconfig, tmp_path, corpus_root=tmp_path) as process:
        assert process.wait() == 1
        (line,) = process.log.splitlines()
    assert "may not create researchsteps in all namespaces" in line
    assert "grant it the role of manifests/base" in line


def test_an_api_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "nobody", "user": {}}],
                "contexts": [{"name": "none", "context": {"cluster": "none", "user": "nobody"}}],
                "current-context": "none",
            }
        ),
        encoding="utf-8",
    )
    with OperatorProcess(kubeconfig, tmp_path, corpus_root=tmp_path) as process:
        assert process.wait() == 1
        (line,) = process.log.splitlines()
    assert "no answer" in line


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with OperatorProcess(missing, tmp_path, corpus_root=tmp_path) as process:
        assert process.wait() == 1
        (line,) = process.log.splitlines()
    assert f"the kubeconfig {missing} does not exist" in line


def test_an_origin_that_is_none_is_named_with_the_rule(tmp_path: Path) -> None:
    with OperatorProcess(
        tmp_path / "unused",
        tmp_path,
        corpus_root=tmp_path,
        environment={"FIXPOINT_ALLOW_ORIGINS": "http://ollama.models.svc:11434 http://llm/v1"},
    ) as process:
        assert process.wait() != 0
        assert "'http://llm/v1' is no origin" in " ".join(process.log.split())
        assert "Traceback" not in process.log


def test_an_access_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("team-a: everything\n", encoding="utf-8")
    with OperatorProcess(
        tmp_path / "unused", tmp_path, corpus_root=tmp_path, options=(f"--corpus-access={file}",)
    ) as process:
        assert process.wait() != 0
        assert "must map namespaces" in " ".join(process.log.split())
        assert "Traceback" not in process.log


def _account_without(plane: ControlPlane, resource: str, verb: str) -> Path:
    """Make an account that has every right of the table but one."""
    name = f"without-{verb}-{resource}"
    rules = [
        {
            "apiGroups": [right.group],
            "resources": [right.resource],
            "verbs": [v for v in right.verbs if (right.resource, v) != (resource, verb)],
        }
        for right in RIGHTS
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    account = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [account],
        },
    ]
    bundle = {"apiVersion": "v1", "kind": "List", "items": objects}
    plane.kubectl("create", "--filename=-", input=json.dumps(bundle))
    return plane.service_account_kubeconfig("default", name)
