"""What a user does and sees in one namespace, through kubectl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from controller.api.base import API_VERSION
from tests.controlplane.plane import ControlPlane
from tests.operator.process import wait_until

QUESTION = {"id": "glow", "text": "What is the default value of GLOW_LEVEL?"}

_BASE = Path(__file__).resolve().parents[2] / "manifests" / "base"
_SYSTEM = "fixpoint-system"


def apply_operator_account(plane: ControlPlane) -> Path:
    """Apply the service account of manifests/base and its rights; return a kubeconfig of it."""
    for part in ("namespace", "service-account", "cluster-role", "cluster-role-binding"):
        options = () if part == "namespace" else (f"--namespace={_SYSTEM}",)
        plane.kubectl("apply", "-f", str(_BASE / f"{part}.yaml"), *options)
    return plane.service_account_kubeconfig(_SYSTEM, "fixpoint")


def write_lamp_corpus(root: Path) -> Path:
    """Write a corpus root with one small corpus, `lamp`; return the root."""
    folder = root / "lamp"
    folder.mkdir(parents=True)
    (folder / "manual.md").write_text(
        "# The lamp\n\n## GLOW_LEVEL\n\n"
        "The default value of GLOW_LEVEL is 40 lumens at the lowest position of the dimmer.\n",
        encoding="utf-8",
    )
    return root


class Cluster:
    """One namespace of a control plane."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - as run()
        """Run kubectl in the namespace; return what it prints."""
        return self.plane.kubectl(f"--namespace={self.namespace}", *arguments, input=input).stdout

    def apply_source(self, name: str = "lamp", directory: str = "lamp") -> None:
        """Apply a source over a directory corpus."""
        self._apply("ResearchSource", name, type="Corpus", corpus={"directory": directory})

    def apply_model(self, name: str, **spec: object) -> None:
        """Apply a model; by default at an address that is closed, where nothing listens."""
        defaults = {"backend": "LlamaCpp", "model": "scripted", "baseURL": "http://[::1]:9"}
        self._apply("ResearchModel", name, **(defaults | spec))

    def apply_task(self, name: str = "task", **spec: object) -> None:
        """Apply a task; by default with one question that the corpus `lamp` answers."""
        defaults = {"topic": "The lamp", "questions": [QUESTION], "sourceRefs": [{"name": "lamp"}]}
        self._apply("ResearchTask", name, **(defaults | spec))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Return an object."""
        answer: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "--output=json"))
        return answer

    def items(self, kind: str) -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        answer: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-o", "json"))["items"]
        return answer

    def condition(self, kind: str, name: str, condition: str) -> dict[str, Any]:
        """Return a condition of an object; empty while it has none."""
        conditions = self.get(kind, name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == condition), {})

    def wait_condition(
        self, kind: str, name: str, condition: str, *, reason: str, seconds: float = 60
    ) -> dict[str, Any]:
        """Wait for a condition's reason; return the condition."""
        wait_until(
            lambda: self.condition(kind, name, condition).get("reason") == reason,
            f"{condition} of {kind} {name} has the reason {reason}",
            seconds=seconds,
        )
        return self.condition(kind, name, condition)

    def wait_finished(self, name: str = "task", seconds: float = 60) -> dict[str, Any]:
        """Wait for the end of a task; return its status."""
        self.kubectl(
            "wait", "--for=condition=Finished", f"rtask/{name}", f"--timeout={seconds:.0f}s"
        )
        status: dict[str, Any] = self.get("rtask", name)["status"]
        return status

    def _apply(self, kind: str, name: str, **spec: object) -> None:
        manifest = {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(manifest))
