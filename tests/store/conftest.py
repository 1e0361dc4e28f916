"""Both homes, and the account that the operator has on the control plane."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controller.store.kubernetes_client import connect
from controller.store.rights import RIGHTS, Right
from tests.controlplane.plane import ControlPlane
from tests.store.builders import FixedClock
from tests.store.homes import Home, KubernetesHome, LocalHome

_NAMESPACE = "store-tests"
_NUMBERS = itertools.count()


def grant(
    plane: ControlPlane, account: str, rights: tuple[Right, ...], *, namespace: str | None = None
) -> Path:
    """Make a service account with exactly these rights; return a kubeconfig of it.

    With a namespace, the rights hold there alone.
    """
    kind = "Role" if namespace else "ClusterRole"
    where = {"namespace": namespace} if namespace else {}
    objects = [
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": account}},
        {
            "kind": kind,
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": account, **where},
            "rules": [
                {"apiGroups": [r.group], "resources": [r.resource], "verbs": list(r.verbs)}
                for r in rights
            ],
        },
        {
            "kind": f"{kind}Binding",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": account, **where},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
        },
    ]
    bundle = {"apiVersion": "v1", "kind": "List", "items": objects}
    plane.kubectl("create", "-f", "-", input=json.dumps(bundle))
    return plane.service_account_kubeconfig("default", account)


@pytest.fixture(scope="session")
def operator_kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig of an account that has the rights of the table, and no more."""
    return grant(plane, "store-operator", RIGHTS)


@pytest.fixture(scope="session")
def namespace(plane: ControlPlane) -> str:
    plane.kubectl("create", "namespace", _NAMESPACE)
    return _NAMESPACE


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def new_name() -> str:
    """A name that no other test uses."""
    return f"task-{next(_NUMBERS)}"


@pytest.fixture(params=["local", pytest.param("kubernetes", marks=pytest.mark.controlplane)])
async def home(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock
) -> AsyncIterator[Home]:
    if request.param == "local":
        local = LocalHome(tmp_path / "fixpoint.db", clock)
        yield local
        local.close()
        return
    plane: ControlPlane = request.getfixturevalue("plane")
    kubeconfig: Path = request.getfixturevalue("operator_kubeconfig")
    async with await connect(kubeconfig) as client:
        yield KubernetesHome(plane, request.getfixturevalue("namespace"), client, clock)
