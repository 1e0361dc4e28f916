"""Tasks on a real API server, each in a namespace of its own, and operators to be killed there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.api.base import API_VERSION
from controller.api.step import ResearchStep
from controller.api.task import ResearchTask
from controller.fault_points import VARIABLE
from controller.ports import StoredReport
from controller.store.names import DIGEST_ANNOTATION, OPERATION_ANNOTATION
from tests.controlplane.plane import ControlPlane
from tests.crash.figures import Recorded
from tests.crash.local_runs import QUESTIONS
from tests.crash.proxy import FaultProxy
from tests.operator.process import OperatorProcess

TASK = "task"
_LABEL = "crash-test"
_SECONDS = 180.0


@dataclass(frozen=True)
class TaskShape:
    """What every task of a run asks, and further fields of its spec."""

    questions: Sequence[Mapping[str, str]]
    spec: Mapping[str, Any] = field(default_factory=dict)


class KubernetesRuns:
    """One proxy before a control plane, and all that happens through it."""

    def __init__(
        self,
        plane: ControlPlane,
        proxy: FaultProxy,
        kubeconfig: Path,
        corpora: Path,
        folder: Path,
        *,
        shape: TaskShape = TaskShape(QUESTIONS),
    ) -> None:
        self.proxy = proxy
        self.names: list[str] = []
        self._plane = plane
        self._kubeconfig = proxy.kubeconfig(kubeconfig)
        self._corpora = corpora
        self._folder = folder
        self._shape = shape

    def apply(self, namespaces: Iterable[str]) -> None:
        """Create namespaces with a source and a task in each, in one go; `names` keeps them."""
        names = list(namespaces)
        items = [item for name in names for item in _objects(name, self._shape)]
        content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self._plane.kubectl("apply", "--server-side", "-f", "-", input=content)
        self.names.extend(names)

    def change(self, namespace: str, spec: Mapping[str, Any]) -> None:
        """Change the spec of a namespace's task."""
        self._plane.kubectl(
            "patch", "rtask", TASK, f"--namespace={namespace}", "--type=merge",
            f"--patch={json.dumps({'spec': spec})}",
        )  # fmt: skip

    def operator(
        self, name: str, *, namespace: str | None = None, fault: str | None = None
    ) -> OperatorProcess:
        """Make an operator of one namespace, or of all; the caller starts it."""
        return OperatorProcess(
            self._kubeconfig,
            self._folder / name,
            corpus_root=self._corpora,
            options=() if namespace is None else (f"--namespace={namespace}",),
            environment={VARIABLE: fault} if fault else {},
            is_forked=True,
        )

    def run(self, namespace: str, fault: str, number: int) -> int:
        """Let an operator work until it ends; return its exit status, negative for a signal."""
        with self.operator(f"{namespace}-{number}", namespace=namespace, fault=fault) as process:
            return process.wait(_SECONDS)

    def wait_finished(self, seconds: float = _SECONDS) -> None:
        """Return when all the tasks have ended."""
        self._plane.kubectl(
            "wait", "--for=condition=Finished", "rtask", "--all-namespaces",
            f"--selector={_LABEL}", f"--timeout={seconds:.0f}s", timeout=seconds + 30,
        )  # fmt: skip

    def wait_ended(self, namespace: str, reason: str, seconds: float = _SECONDS) -> None:
        """Return when a namespace's task has ended for this reason."""
        path = '{.status.conditions[?(@.type=="Finished")].reason}'
        self._plane.kubectl(
            "wait", f"--for=jsonpath={path}={reason}", f"rtask/{TASK}",
            f"--namespace={namespace}", f"--timeout={seconds:.0f}s", timeout=seconds + 30,
        )  # fmt: skip

    def recorded(self) -> dict[str, Recorded]:
        """Return what is stored and what was seen, by namespace."""
        answer = self._plane.kubectl(
            "get", "rtask,rstep,configmap", "--all-namespaces", "--output=json"
        )
        stored: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for item in json.loads(answer.stdout)["items"]:
            of_namespace = stored.setdefault(item["metadata"]["namespace"], {})
            of_namespace.setdefault(item["kind"], []).append(item)
        return {
            namespace: self._recorded(namespace, kinds)
            for namespace, kinds in stored.items()
            if any(_LABEL in t["metadata"].get("labels", {}) for t in kinds.get("ResearchTask", []))
        }

    def _recorded(self, namespace: str, kinds: Mapping[str, list[dict[str, Any]]]) -> Recorded:
        (task,) = kinds["ResearchTask"]
        steps = sorted(kinds.get("ResearchStep", []), key=lambda step: step["metadata"]["name"])
        return Recorded(
            task=ResearchTask.model_validate(task),
            steps=tuple(ResearchStep.model_validate(step) for step in steps),
            report=next(map(_report, filter(_is_report, kinds.get("ConfigMap", []))), None),
            trail=tuple(write for write in self.proxy.trail if write.namespace == namespace),
        )


def _objects(namespace: str, shape: TaskShape) -> Iterable[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for kind, name, spec in (
        ("ResearchSource", "lamp", {"type": "Corpus", "corpus": {"directory": "lamp"}}),
        (
            "ResearchTask",
            TASK,
            {
                "topic": "The lamp",
                "questions": shape.questions,
                "sourceRefs": [{"name": "lamp"}],
                **shape.spec,
            },
        ),
    ):
        metadata = {"name": name, "namespace": namespace, "labels": {_LABEL: "yes"}}
        yield {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _is_report(config_map: Mapping[str, Any]) -> bool:
    return OPERATION_ANNOTATION in config_map["metadata"].get("annotations", {})


def _report(config_map: Mapping[str, Any]) -> StoredReport:
    annotations = config_map["metadata"]["annotations"]
    return StoredReport(
        operation_id=annotations[OPERATION_ANNOTATION],
        digest=annotations[DIGEST_ANNOTATION],
        files=config_map["data"],
    )
