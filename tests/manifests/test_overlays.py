"""Every kustomization builds, and the real API server takes what it makes."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane.plane import ControlPlane, KubectlError
from tests.manifests.conftest import MANIFESTS, ROOT, built, stateful_set

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

_KUSTOMIZATIONS = sorted(path.parent for path in MANIFESTS.rglob("kustomization.yaml"))


_NEEDS_THE_NETWORK: Final = "remote.yaml"
"""A sample that is applied by its own name alone."""


def test_all_kustomizations_are_found() -> None:
    names = {str(path.relative_to(MANIFESTS)) for path in _KUSTOMIZATIONS}
    assert names >= {"base", "rbac", "samples", "overlays/default"}


@pytest.mark.parametrize(
    "folder", [ROOT / "crds", *_KUSTOMIZATIONS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_it_builds_and_every_object_is_accepted_strictly(
    installed: ControlPlane, folder: Path
) -> None:
    assert built(installed, folder)
    # The namespace and the kinds are there: the default overlay has been applied for real.
    installed.kubectl(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", str(folder)
    )


@pytest.mark.parametrize("folder", _KUSTOMIZATIONS, ids=lambda path: path.name)
def test_no_file_is_left_out(folder: Path, installed: ControlPlane) -> None:
    listed = (folder / "kustomization.yaml").read_text("utf-8")
    for path in folder.glob("*.yaml"):
        if path.name not in {"kustomization.yaml", _NEEDS_THE_NETWORK}:
            assert f"- {path.name}\n" in listed
    assert built(installed, folder)


def test_applying_again_changes_nothing(installed: ControlPlane) -> None:
    def versions() -> str:
        return installed.kubectl(
            "get", "namespace,serviceaccount,service,statefulset", "--namespace=fixpoint-system",
            "--selector=app.kubernetes.io/name=fixpoint",
            "--output=jsonpath={range .items[*]}{.kind} {.metadata.generation}{'\\n'}{end}",
        ).stdout  # fmt: skip

    before = versions()
    installed.kubectl("apply", "--server-side", "-k", str(MANIFESTS / "overlays/default"))
    assert versions() == before
    assert "StatefulSet 1" in before


def test_the_overlay_has_the_kinds_the_operator_and_the_roles(installed: ControlPlane) -> None:
    kinds = [found["kind"] for found in built(installed, MANIFESTS / "overlays/default")]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "Namespace": 1,
        "CustomResourceDefinition": 4,
        "ServiceAccount": 1,
        "ClusterRole": 4,
        "ClusterRoleBinding": 1,
        "Service": 1,
        "StatefulSet": 1,
    }


def test_every_object_carries_the_name_of_the_application(installed: ControlPlane) -> None:
    for part in ("base", "rbac"):
        for found in built(installed, MANIFESTS / part):
            assert found["metadata"]["labels"]["app.kubernetes.io/name"] == "fixpoint"


def test_the_samples_can_be_applied_as_the_readme_says(installed: ControlPlane) -> None:
    namespace = f"samples-{secrets.token_hex(4)}"
    installed.kubectl("create", "namespace", namespace)
    installed.kubectl("apply", f"--namespace={namespace}", "-k", str(MANIFESTS / "samples"))
    answer = installed.kubectl("get", "rtask", f"--namespace={namespace}", "--output=name")
    assert answer.stdout.split() == [
        "researchtask.research.fixpoint.dev/approval",
        "researchtask.research.fixpoint.dev/four-phases",
        "researchtask.research.fixpoint.dev/manual",
        "researchtask.research.fixpoint.dev/minimal",
        "researchtask.research.fixpoint.dev/weekly-report",
    ]


def pod(**container: object) -> str:
    """Return the operator's pod as the StatefulSet would make it, its container changed."""
    template = stateful_set()["spec"]["template"]
    template["spec"]["containers"][0] |= container
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "fixpoint-0", "labels": template["metadata"]["labels"]},
            "spec": template["spec"],
        }
    )


_CREATE_POD = ("create", "--dry-run=server", "--namespace=fixpoint-system", "--filename=-")


def test_the_pod_meets_the_restricted_standard_of_its_namespace(installed: ControlPlane) -> None:
    installed.kubectl(*_CREATE_POD, input=pod())


WEAKENED = {
    "privilege escalation": {"allowPrivilegeEscalation": True},
    "capabilities": {"allowPrivilegeEscalation": False, "capabilities": {"drop": []}},
    "root": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsUser": 0,
    },
}


@pytest.mark.parametrize("weakened", WEAKENED.values(), ids=WEAKENED.keys())
def test_the_namespace_refuses_a_weaker_pod(
    installed: ControlPlane, weakened: dict[str, object]
) -> None:
    with pytest.raises(KubectlError, match="violates PodSecurity"):
        installed.kubectl(*_CREATE_POD, input=pod(securityContext=weakened))
