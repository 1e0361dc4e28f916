"""The two homes of a task, each with what a user does there: the contract suite runs on both."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Protocol

from kubernetes.aio.client import ApiClient

from controller.api.errors import UserError
from controller.api.task import ResearchTask
from controller.ports import Clock, TaskKey
from controller.store.kubernetes import KubernetesStore
from controller.store.local import LocalStore
from tests.controlplane.plane import ControlPlane, KubectlError
from tests.store.builders import Manifest

PLURALS = {
    "ResearchTask": "researchtasks",
    "ResearchStep": "researchsteps",
    "ResearchModel": "researchmodels",
    "ResearchSource": "researchsources",
    "ConfigMap": "configmaps",
}

Store = LocalStore | KubernetesStore


class RejectedError(Exception):
    """What a user did was refused; the text is what the user reads."""


class Home(Protocol):
    """A store, and the user's side of it."""

    store: Store
    namespace: str

    def another_store(self) -> Store:
        """Return a store of another process over the same objects."""
        ...

    def apply(self, manifest: Manifest) -> None:
        """Do what `kubectl apply` does.

        Raises:
            RejectedError: the manifest breaks a rule.
        """
        ...

    def delete_task(self, key: TaskKey) -> None:
        """Delete a task, and return when it is gone."""
        ...

    def stored(self, kind: str, name: str) -> Manifest | None:
        """Return an object as it is stored, in JSON; None where there is none."""
        ...

    def events(self, task: ResearchTask) -> list[tuple[str, str, str]]:
        """Return type, reason and message of all events of a task."""
        ...

    async def wait_until_gone(self, kind: str, name: str) -> None:
        """Return when an object was collected."""
        ...


class LocalHome:
    """A file."""

    namespace = "research"

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._local = LocalStore.open(path, clock)
        self._others: list[LocalStore] = []
        self.store: Store = self._local

    def close(self) -> None:
        for store in (self._local, *self._others):
            store.close()

    def another_store(self) -> Store:
        self._others.append(LocalStore.open(self._path, self._clock))
        return self._others[-1]

    def apply(self, manifest: Manifest) -> None:
        try:
            self._local.apply(manifest)
        except UserError as error:
            raise RejectedError(str(error)) from error

    def delete_task(self, key: TaskKey) -> None:
        self._local.delete_task(key)

    def stored(self, kind: str, name: str) -> Manifest | None:
        body = self._local._database.get(kind, self.namespace, name)
        return None if body is None else json.loads(body)

    def events(self, task: ResearchTask) -> list[tuple[str, str, str]]:
        return [(e.type.value, e.reason, e.message) for e in self._local.events(task)]

    async def wait_until_gone(self, kind: str, name: str) -> None:
        assert self.stored(kind, name) is None  # at once


class KubernetesHome:
    """A namespace of a real control plane; the store runs as the operator's own account."""

    def __init__(
        self, plane: ControlPlane, namespace: str, client: ApiClient, clock: Clock
    ) -> None:
        self._plane = plane
        self._client = client
        self._clock = clock
        self.namespace = namespace
        self.store: Store = self.another_store()

    def another_store(self) -> Store:
        return KubernetesStore(self._client, self._clock)

    def apply(self, manifest: Manifest) -> None:
        try:
            self._plane.kubectl(
                "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-",
                input=json.dumps(manifest),
            )  # fmt: skip
        except KubectlError as error:
            raise RejectedError(str(error)) from error

    def delete_task(self, key: TaskKey) -> None:
        self._plane.kubectl("delete", "researchtask", key.name, f"--namespace={key.namespace}")

    def stored(self, kind: str, name: str) -> Manifest | None:
        answer = self._plane.kubectl(
            "get", PLURALS[kind], name, f"--namespace={self.namespace}",
            "--output=json", "--ignore-not-found",
        )  # fmt: skip
        return json.loads(answer.stdout) if answer.stdout else None

    def events(self, task: ResearchTask) -> list[tuple[str, str, str]]:
        answer = self._plane.kubectl(
            "get", "events", f"--namespace={self.namespace}", "--output=json",
            f"--field-selector=involvedObject.uid={task.metadata.uid}",
        )  # fmt: skip
        items = json.loads(answer.stdout)["items"]
        return [(item["type"], item["reason"], item["message"]) for item in items]

    async def wait_until_gone(self, kind: str, name: str) -> None:
        deadline = time.monotonic() + 60
        while self.stored(kind, name) is not None:
            assert time.monotonic() < deadline, f"the {kind} {name} was not collected"
            await asyncio.sleep(0.1)
