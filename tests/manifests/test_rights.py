"""The operator may do exactly what `controller.store.rights` lists; people what the roles say."""

from __future__ import annotations

import secrets
import time
from typing import Final

import pytest
import yaml

from controller.store.kubernetes_access import check_access
from controller.store.kubernetes_client import connect
from controller.store.rights import RIGHTS
from tests.controlplane.plane import ControlPlane
from tests.manifests.conftest import MANIFESTS

_OPERATOR: Final = "system:serviceaccount:fixpoint-system:fixpoint"

Grant = tuple[str, str, str]
"""API group, resource or resource/subresource, verb."""

_NEEDED: Final[set[Grant]] = {
    (right.group, right.resource, verb) for right in RIGHTS for verb in right.verbs
}


def granted(file: str) -> list[Grant]:
    role = yaml.safe_load((MANIFESTS / file).read_text("utf-8"))
    assert role["kind"] == "ClusterRole"
    return [
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def may(plane: ControlPlane, who: str, grant: Grant, namespace: str = "default") -> bool:
    """Ask the API server whether somebody may do something."""
    group, path, verb = grant
    resource, _, subresource = path.partition("/")
    answer = plane.kubectl(
        "auth", "can-i", verb, f"{resource}.{group}" if group else resource,
        f"--as={who}", f"--namespace={namespace}", f"--subresource={subresource}", check=False,
    )  # fmt: skip
    verdict = answer.stdout.strip().splitlines()[-1]
    assert verdict in {"yes", "no"}, answer.stderr
    return verdict == "yes"


def test_the_role_is_the_list_of_rights_both_ways() -> None:
    grants = granted("base/cluster-role.yaml")
    assert set(grants) == _NEEDED
    assert len(grants) == len(_NEEDED), "a right is granted twice"


def test_no_role_uses_a_wildcard() -> None:
    for file in MANIFESTS.rglob("*.yaml"):
        for document in yaml.safe_load_all(file.read_text("utf-8")):
            if document and document["kind"] in {"ClusterRole", "Role"}:
                assert "*" not in yaml.safe_dump(document["rules"]), file


# S2.34
@pytest.mark.controlplane
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("grant", sorted(_NEEDED), ids="-".join)
def test_the_operator_may_do_what_it_needs(installed: ControlPlane, grant: Grant) -> None:
    assert may(installed, _OPERATOR, grant)


_GROUP: Final = "research.fixpoint.dev"

_REFUSED: Final[dict[str, Grant]] = {
    "watch Secrets": ("", "secrets", "watch"),
    "write a Secret": ("", "secrets", "update"),
    "list Secrets": ("", "secrets", "list"),
    "change a spec": (_GROUP, "researchtasks", "update"),
    "patch a spec": (_GROUP, "researchtasks", "patch"),
    "create a task": (_GROUP, "researchtasks", "create"),
    "delete all tasks": (_GROUP, "researchtasks", "deletecollection"),
    "replace a status": (_GROUP, "researchtasks/status", "update"),
    "change a record": (_GROUP, "researchsteps", "update"),
    "patch a record": (_GROUP, "researchsteps", "patch"),
    "watch records": (_GROUP, "researchsteps", "watch"),
    "change a source": (_GROUP, "researchsources", "patch"),
    "change a model": (_GROUP, "researchmodels", "patch"),
    "delete a report": ("", "configmaps", "delete"),
    "watch ConfigMaps": ("", "configmaps", "watch"),
    "read pods": ("", "pods", "list"),
    "read kinds": ("apiextensions.k8s.io", "customresourcedefinitions", "get"),
    "read namespaces": ("", "namespaces", "list"),
    "grant rights": ("rbac.authorization.k8s.io", "clusterroles", "escalate"),
}


# S2.34
@pytest.mark.controlplane
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("action", _REFUSED)
def test_the_operator_may_do_nothing_else(installed: ControlPlane, action: str) -> None:
    assert not may(installed, _OPERATOR, _REFUSED[action])
    assert not may(installed, _OPERATOR, _REFUSED[action], namespace="fixpoint-system")


@pytest.mark.controlplane
@pytest.mark.timeout(1200)
async def test_the_check_at_the_start_finds_nothing_missing(installed: ControlPlane) -> None:
    kubeconfig = installed.service_account_kubeconfig("fixpoint-system", "fixpoint")
    async with await connect(kubeconfig) as client:
        assert await check_access(client) == ()


_READ: Final[dict[str, Grant]] = {
    "see tasks": (_GROUP, "researchtasks", "list"),
    "see records": (_GROUP, "researchsteps", "list"),
    "see sources": (_GROUP, "researchsources", "get"),
    "see models": (_GROUP, "researchmodels", "watch"),
}
_EDIT: Final[dict[str, Grant]] = {
    "create tasks": (_GROUP, "researchtasks", "create"),
    "change tasks": (_GROUP, "researchtasks", "patch"),
    "delete tasks": (_GROUP, "researchtasks", "delete"),
}
_ADMINISTER: Final[dict[str, Grant]] = {
    "create sources": (_GROUP, "researchsources", "create"),
    "change models": (_GROUP, "researchmodels", "update"),
}
_NOBODY: Final[dict[str, Grant]] = {
    "write records": (_GROUP, "researchsteps", "create"),
    "delete records": (_GROUP, "researchsteps", "delete"),
    "write a status": (_GROUP, "researchtasks/status", "patch"),
    "say that a source is ready": (_GROUP, "researchsources/status", "patch"),
}


_LAST_AGGREGATED: Final[dict[str, Grant]] = {
    "view": _READ["see models"],
    "edit": _EDIT["delete tasks"],
    "admin": _ADMINISTER["change models"],
}
"""One right of each of our roles: a role is aggregated whole."""


@pytest.fixture(scope="module")
def people(installed: ControlPlane) -> str:
    """A namespace in which three users have the cluster's own roles view, edit and admin."""
    namespace = f"people-{secrets.token_hex(4)}"
    installed.kubectl("create", "namespace", namespace)
    for role in ("view", "edit", "admin"):
        installed.kubectl(
            "create", "rolebinding", role, f"--namespace={namespace}",
            f"--clusterrole={role}", f"--user=user-{role}",
        )  # fmt: skip
    # The controller manager aggregates roles a moment after they are there.
    deadline = time.monotonic() + 60
    for role, grant in _LAST_AGGREGATED.items():
        while not may(installed, f"user-{role}", grant, namespace):
            assert time.monotonic() < deadline, f"{role} does not include ours"
            time.sleep(0.2)
    return namespace


@pytest.mark.controlplane
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("role", "allowed"),
    {
        "view": _READ,
        "edit": _READ | _EDIT,
        "admin": _READ | _EDIT | _ADMINISTER,
    }.items(),
    ids=["view", "edit", "admin"],
)
def test_a_role_of_the_cluster_includes_ours(
    installed: ControlPlane, people: str, role: str, allowed: dict[str, Grant]
) -> None:
    asked = _READ | _EDIT | _ADMINISTER | _NOBODY
    found = {
        action for action, grant in asked.items() if may(installed, f"user-{role}", grant, people)
    }
    assert found == set(allowed)
