"""The demonstration's cluster: a control plane, and on it what an administrator installs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tests.controlplane import ControlPlane

ROOT: Final = Path(__file__).resolve().parent.parent
TASKS: Final = Path(__file__).with_name("tasks")
SOURCE: Final = Path(__file__).with_name("source.yaml")

NAMESPACE: Final = "default"
"""Where the tasks are: `kubectl get rtask` finds them without an option."""

_OPERATOR_NAMESPACE: Final = "fixpoint-system"
_SERVICE_ACCOUNT: Final = "fixpoint"
_NOT_RUN_BY_A_CLUSTER: Final = frozenset({"StatefulSet", "Service"})
"""The control plane has no kubelet: the operator is a process beside it instead of a pod."""


def install(plane: ControlPlane) -> Path:
    """Install the kinds, the operator's namespace and its rights; return its kubeconfig."""
    plane.kubectl("apply", "--server-side", "-k", str(ROOT / "crds"))
    rendered = plane.kubectl("kustomize", str(ROOT / "manifests" / "base")).stdout
    objects = [o for o in yaml.safe_load_all(rendered) if o["kind"] not in _NOT_RUN_BY_A_CLUSTER]
    apply(plane, objects)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    return plane.service_account_kubeconfig(_OPERATOR_NAMESPACE, _SERVICE_ACCOUNT)


def apply(plane: ControlPlane, objects: list[dict[str, Any]]) -> None:
    """Apply objects, as `kubectl apply` does."""
    plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(objects))


def source_and_tasks() -> list[dict[str, Any]]:
    """Return the source and the tasks, as their files are."""
    files = (SOURCE, *sorted(TASKS.glob("*.yaml")))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def raise_budget(plane: ControlPlane, task: str, max_steps: int) -> None:
    """Give a task another step budget, as its owner would."""
    patch = f'{{"spec": {{"budgets": {{"maxSteps": {max_steps}}}}}}}'
    plane.kubectl("patch", "rtask", task, "--type=merge", f"--patch={patch}")
