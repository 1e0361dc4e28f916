"""A client that makes the writes of steps and nothing else: what the operator is measured against.

A step of the operator is two writes: a ResearchStep is created, then the task's status is
patched under the version that was read. How fast an API server takes them on a given machine is a
property of the server. So the benchmarks let this client repeat the very bodies of a run that the
operator has made, beside the operator, on the same server: what the operator is slower is its own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import yaml

from controller.api.base import API_VERSION
from controller.api.task import ResearchTaskStatus
from controller.store.merge_patch import merge_patch

Item = dict[str, Any]
Argument = TypeVar("Argument")

_RESEARCH: Final = f"/apis/{API_VERSION}/namespaces"
_STRICT: Final = "?fieldValidation=Strict"
_MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}
_JSON: Final = {"Content-Type": "application/json"}
_CHUNK: Final = 250

_NAME: Final = "@name@"
_UID: Final = "@uid@"
_UID_START: Final = "@uid8@"
_NAMESPACE: Final = "@namespace@"
_VERSION: Final = "@version@"


class BareClient:
    """Requests of JSON to one API server, over few connections; use it with `async with`.

    Args:
        kubeconfig: its current cluster's address and certificate, and its user's token.
        connections: how many requests may be under way at once.
    """

    def __init__(self, kubeconfig: Path, *, connections: int) -> None:
        content = yaml.safe_load(kubeconfig.read_text("utf-8"))
        cluster = content["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.connections = connections
        self._session = aiohttp.ClientSession(
            cluster["server"],
            headers={"Authorization": f"Bearer {content['users'][0]['user']['token']}"},
            connector=aiohttp.TCPConnector(
                limit=connections, ssl=ssl.create_default_context(cadata=authority)
            ),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def get(self, path: str) -> Item:
        """Return an object or a list."""
        return await self.send("GET", path, b"")

    async def find(self, path: str) -> Item | None:
        """Return an object, None where there is none."""
        async with self._session.get(path) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            return _content(path, answer.status, await answer.read())

    async def create(self, path: str, body: Item) -> Item:
        """Create an object; return it as it is stored."""
        return await self.send("POST", path, json.dumps(body).encode())

    async def merge_patch(self, path: str, body: Item) -> Item:
        """Patch an object; return it as it is stored."""
        return await self.send("PATCH", path, json.dumps(body).encode())

    async def delete_all(self, path: str) -> None:
        """Delete all objects of a list."""
        await self.send("DELETE", path, b"")

    async def send(self, method: str, path: str, body: bytes) -> Item:
        """Send a body as it is; return the answer.

        Raises:
            RuntimeError: the server refused, with what it said.
        """
        headers = _MERGE_PATCH if method == "PATCH" else _JSON
        async with self._session.request(method, path, data=body, headers=headers) as answer:
            return _content(f"{method} {path}", answer.status, await answer.read())

    async def items(self, path: str, **query: str) -> AsyncIterator[Item]:
        """Iterate over the items of a list, which is read in chunks."""
        query = {"limit": str(_CHUNK), **query}
        while True:
            answer = await self.get(f"{path}?{urlencode(query)}")
            for item in answer["items"]:
                yield item
            if not (continued := answer["metadata"].get("continue")):
                return
            query["continue"] = continued

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[Item]]:
        """Watch a list from now on; iterate over the objects of its events."""
        endless = aiohttp.ClientTimeout(total=None)
        async with self._session.get(f"{path}?watch=true", timeout=endless) as answer:
            yield (json.loads(line)["object"] async for line in answer.content)

    async def each(
        self,
        do: Callable[[Argument], Coroutine[Any, Any, None]],
        arguments: Iterable[Argument],
    ) -> None:
        """Do something with each argument, at most as many at once as there are connections."""
        slots = asyncio.Semaphore(self.connections)

        async def one(argument: Argument) -> None:
            async with slots:
                await do(argument)

        await asyncio.gather(*(one(argument) for argument in arguments))


@dataclass(frozen=True)
class Step:
    """The two bodies of a step, with marks where one task differs from another."""

    name: str
    record: str
    status: str


@dataclass(frozen=True)
class Run:
    """A whole run of a task that the operator has made, as bodies to be sent again."""

    task: Item
    steps: tuple[Step, ...]

    @property
    def mean_bytes(self) -> tuple[int, int]:
        """The mean sizes of a step's record and of its status, as they are sent."""
        number = len(self.steps)
        records = sum(len(step.record.encode()) for step in self.steps)
        statuses = sum(len(step.status.encode()) for step in self.steps)
        return records // number, statuses // number

    def task_body(self, name: str) -> Item:
        """Return a body that creates another task of this kind."""
        body = {name: self.task[name] for name in ("apiVersion", "kind", "spec")}
        return body | {"metadata": {"name": name}}


@asynccontextmanager
async def recorded(client: BareClient, namespace: str) -> AsyncIterator[Callable[[], Any]]:
    """Watch a namespace in which the operator is going to run one task; `await` what it yields.

    What is awaited returns the `Run` as soon as the task has ended.
    """
    async with client.watch(tasks_path(namespace)) as events:

        async def run() -> Run:
            statuses: list[Item] = []
            async for task in events:
                status = task.get("status", {})
                if "journal" not in status or (statuses and status == statuses[-1]):
                    continue
                statuses.append(status)
                if "terminalReason" in status:
                    break
            records = [item async for item in client.items(steps_path(namespace))]
            return _as_run(task, records, statuses)

        yield run


def tasks_path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of the tasks of a namespace, of one of them, or of a part of it."""
    parts = (_RESEARCH, namespace, "researchtasks", name, subresource)
    return "/".join(part for part in parts if part)


def steps_path(namespace: str, name: str = "") -> str:
    """Return the path of the steps of a namespace, or of one of them."""
    return "/".join(part for part in (_RESEARCH, namespace, "researchsteps", name) if part)


async def repeat(client: BareClient, run: Run, namespace: str, task: Item) -> None:
    """Make the writes of a run for a task that was created by `Run.task_body`."""
    metadata = task["metadata"]
    marks = {
        _NAME: metadata["name"],
        _UID: metadata["uid"],
        _UID_START: metadata["uid"][:8],
        _NAMESPACE: namespace,
    }
    records = f"{steps_path(namespace)}{_STRICT}"
    status = f"{tasks_path(namespace, metadata['name'], 'status')}{_STRICT}"
    version = metadata["resourceVersion"]
    for step in run.steps:
        await client.send("POST", records, _filled(step.record, marks))
        body = _filled(step.status, marks | {_VERSION: version})
        version = (await client.send("PATCH", status, body))["metadata"]["resourceVersion"]


def _as_run(task: Item, records: list[Item], statuses: list[Item]) -> Run:
    records.sort(key=lambda record: record["spec"]["index"])
    by_number = {status["journal"]["steps"]: status for status in statuses}
    # The operator that runs later must not find that the report of such a task is missing.
    by_number[len(records)] = {
        key: value for key, value in by_number[len(records)].items() if key != "report"
    }
    steps = (
        Step(
            name=record["metadata"]["name"],
            record=_marked(task, json.dumps(_creatable(record), ensure_ascii=False)),
            status=_marked(task, json.dumps(_patch(by_number[number]), ensure_ascii=False)),
        )
        for number, record in enumerate(records, 1)
    )
    return Run(task, tuple(steps))


def _creatable(record: Item) -> Item:
    """Return a stored record as its creator sent it."""
    metadata = {key: record["metadata"][key] for key in ("name", "namespace", "ownerReferences")}
    return {
        "apiVersion": record["apiVersion"],
        "kind": record["kind"],
        "metadata": metadata,
        "spec": record["spec"],
    }


def _patch(status: Item) -> Item:
    """Return the body under which any status becomes this one, on the condition of a version."""
    return {
        "metadata": {"resourceVersion": _VERSION},
        "status": merge_patch(ResearchTaskStatus.model_validate(status)),
    }


def _marked(task: Item, text: str) -> str:
    """Put marks in the places of a task's own uid, names and namespace."""
    metadata = task["metadata"]
    name, uid = metadata["name"], metadata["uid"]
    for own, mark in (
        (uid, _UID),
        (f"{name}-{uid[:8]}-", f"{_NAME}-{_UID_START}-"),
        (f'"name": "{name}"', f'"name": "{_NAME}"'),
        (f'"taskName": "{name}"', f'"taskName": "{_NAME}"'),
        (f'"namespace": "{metadata["namespace"]}"', f'"namespace": "{_NAMESPACE}"'),
    ):
        text = text.replace(own, mark)
    return text


def _filled(text: str, marks: dict[str, str]) -> bytes:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text.encode()


def _content(request: str, status: int, body: bytes) -> Item:
    if status >= HTTPStatus.BAD_REQUEST:
        raise RuntimeError(f"{request}: {status}: {body.decode(errors='replace')[:1000]}")
    content: Item = json.loads(body)
    return content
