"""What the API server may answer, from a scripted one: each answer has one consequence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from controller.api.errors import (
    AlreadyExistsError,
    ConflictError,
    JournalError,
    NotFoundError,
    RefusedError,
    StoreError,
    UnavailableError,
)
from controller.api.meta import ObjectMeta
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.ports import Event, EventType, TaskKey
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_client import REQUEST_TIMEOUT_SECONDS
from tests.store.builders import FixedClock, report, step, task_manifest

KEY = TaskKey("research", "task")


@dataclass(frozen=True)
class Answer:
    """A scripted answer; `drop` closes the connection, `hang` never answers."""

    status: int = 200
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    hang: bool = False


class ScriptedServer:
    """Answers every request with the next answer of a script, the last one for ever."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.requests: list[tuple[str, str]] = []
        self.url = ""
        self._ended = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs))
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if answer.hang:
            await self._ended.wait()
        if answer.drop:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(
            status=answer.status,
            text=answer.body,
            headers={"Content-Type": "application/json", **answer.headers},
        )

    def end(self) -> None:
        self._ended.set()


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", scripted.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    scripted.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield scripted
    scripted.end()
    await runner.cleanup()


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[ApiClient]:
    configuration = Configuration(host=server.url)
    configuration.client_session_kwargs = {"trust_env": False}
    async with ApiClient(configuration) as made:
        yield made


@pytest.fixture
def store(client: ApiClient) -> KubernetesStore:
    return KubernetesStore(client, FixedClock())


def status(code: int, reason: str, message: str = "", **details: Any) -> str:  # noqa: ANN401
    """Return a body as the API server writes it for a refusal."""
    content = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason}
    return json.dumps({**content, "message": message, "details": details})


def read_task() -> ResearchTask:
    manifest = task_manifest(KEY.name, KEY.namespace)
    metadata = ObjectMeta(
        name=KEY.name, namespace=KEY.namespace, uid="0123-4567", resource_version="7"
    )
    return ResearchTask(metadata=metadata, spec=manifest["spec"])


OPERATIONS: dict[str, Callable[[KubernetesStore], Awaitable[object]]] = {
    "get": lambda store: store.get_task(KEY),
    "create a step": lambda store: store.create_step(step(read_task(), 0)),
    "write a status": lambda store: store.write_status(read_task(), ResearchTaskStatus()),
    "list steps": lambda store: store.list_steps(read_task(), 0),
    "read a report": lambda store: store.get_report(read_task()),
    "write a report": lambda store: store.put_report(read_task(), report()),
    "load a ConfigMap": lambda store: store.load_config_maps("research", ["corpus"]),
}

UNAVAILABLE: dict[str, tuple[Answer, float | None]] = {
    "401 with a token that expired": (Answer(401, status(401, "Unauthorized")), None),
    "429 with Retry-After": (
        Answer(429, status(429, "TooManyRequests"), {"Retry-After": "3"}),
        3.0,
    ),
    "429 that says in the body alone how long": (
        Answer(429, status(429, "TooManyRequests", retryAfterSeconds=2)),
        2.0,
    ),
    "429 with a date for Retry-After": (
        Answer(429, "slow down", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        None,
    ),
    "500": (Answer(500, status(500, "InternalError", "etcd is not there")), None),
    "500 of a proxy, in HTML": (
        Answer(502, "<h1>Bad gateway</h1>", {"Content-Type": "text/html"}),
        None,
    ),
    "503 with Retry-After": (Answer(503, "", {"Retry-After": "1"}), 1.0),
    "504": (Answer(504, status(504, "Timeout")), None),
    "410 for a list continued too late": (Answer(410, status(410, "Expired")), None),
    "a dropped connection": (Answer(drop=True), None),
    "no answer in time": (Answer(hang=True), None),
    "200 with something else than JSON": (Answer(200, "<html>"), None),
    "200 with JSON that is no object": (Answer(200, "[]"), None),
    "500 with JSON that is no Status": (Answer(500, '["no"]'), None),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
@pytest.mark.parametrize(("answer", "retry_after"), UNAVAILABLE.values(), ids=UNAVAILABLE.keys())
async def test_an_answer_that_may_be_another_one_next_time_says_try_again(
    server: ScriptedServer,
    client: ApiClient,
    operation: Callable[[KubernetesStore], Awaitable[object]],
    answer: Answer,
    retry_after: float | None,
) -> None:
    seconds = 0.2 if answer.hang else REQUEST_TIMEOUT_SECONDS
    store = KubernetesStore(client, FixedClock(), timeout_seconds=seconds)
    server.script = [answer]
    with pytest.raises(UnavailableError) as error:
        await operation(store)
    assert error.value.retry_after_seconds == retry_after
    # The loop retries, not the client; only a dropped GET is repeated once by the HTTP library.
    first = server.requests[0]
    assert server.requests == [first] * (2 if answer.drop and first[0] == "GET" else 1)


REFUSALS: dict[str, tuple[Answer, type[StoreError], str]] = {
    "409 AlreadyExists": (
        Answer(409, status(409, "AlreadyExists", 'researchsteps "x" already exists')),
        AlreadyExistsError,
        "already exists",
    ),
    "409 Conflict": (
        Answer(409, status(409, "Conflict", "the object has been modified")),
        ConflictError,
        "modified",
    ),
    "409 without a reason": (Answer(409, ""), ConflictError, "(409)"),
    "404 of an object": (
        Answer(404, status(404, "NotFound", 'researchtasks "x" not found')),
        NotFoundError,
        "not found",
    ),
    "404 of a kind that is not installed": (
        Answer(404, "404 page not found\n", {"Content-Type": "text/plain"}),
        NotFoundError,
        "(404)",
    ),
    "400": (Answer(400, status(400, "BadRequest", "strict decoding")), RefusedError, "strict"),
    "403 names the right": (
        Answer(403, status(403, "Forbidden", 'User "x" cannot patch "researchtasks/status"')),
        RefusedError,
        'cannot patch "researchtasks/status"',
    ),
    "403 in a namespace that is going": (
        Answer(
            403, status(403, "Forbidden", "is going", causes=[{"reason": "NamespaceTerminating"}])
        ),
        NotFoundError,
        "is going",
    ),
    "413": (Answer(413, status(413, "RequestEntityTooLarge")), RefusedError, "(413)"),
    "422": (Answer(422, status(422, "Invalid", "spec.topic: too long")), RefusedError, "too long"),
}


@pytest.mark.parametrize(("answer", "error", "text"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_has_the_class_that_says_what_to_do(
    server: ScriptedServer,
    store: KubernetesStore,
    answer: Answer,
    error: type[StoreError],
    text: str,
) -> None:
    server.script = [answer]
    with pytest.raises(StoreError) as raised:
        await store.create_step(step(read_task(), 0))
    assert type(raised.value) is error
    assert text in str(raised.value)
    assert "create the ResearchStep task-0123-456-00000" in str(raised.value)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    unused = Configuration(host="http://127.0.0.1:9")
    async with ApiClient(unused) as client:
        with pytest.raises(UnavailableError, match="no answer"):
            await KubernetesStore(client, FixedClock()).get_task(KEY)


async def test_a_stored_step_that_is_no_step_is_for_the_journal_to_judge(
    server: ScriptedServer, store: KubernetesStore
) -> None:
    item = {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchStep",
        "metadata": {"name": "task-0123-456-00000", "namespace": "research"},
        "spec": {"index": "none"},
    }
    server.script = [Answer(200, json.dumps({"metadata": {}, "items": [item]}))]
    with pytest.raises(JournalError) as error:
        await store.list_steps(read_task(), 0)
    assert error.value.error_class == "UnreadableStep"
    assert "research/task-0123-456-00000" in str(error.value)


async def test_a_stored_task_that_is_none_is_refused_with_the_field(
    server: ScriptedServer, store: KubernetesStore
) -> None:
    item = {"kind": "ResearchTask", "metadata": {"name": "task", "namespace": "n"}, "spec": {}}
    server.script = [Answer(200, json.dumps(item))]
    with pytest.raises(RefusedError, match=r"ResearchTask n/task cannot be read.*spec\.topic"):
        await store.get_task(KEY)


async def test_a_report_that_goes_while_it_is_replaced_is_a_conflict(
    server: ScriptedServer, store: KubernetesStore
) -> None:
    server.script = [Answer(409, status(409, "AlreadyExists")), Answer(404, status(404, "x"))]
    with pytest.raises(ConflictError, match="deleted in between"):
        await store.put_report(read_task(), report())


async def test_a_report_that_another_writer_replaces_first_is_a_conflict(
    server: ScriptedServer, store: KubernetesStore
) -> None:
    seen = {
        "metadata": {
            "name": "task-report",
            "namespace": "research",
            "resourceVersion": "3",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ResearchTask", "name": "task", "uid": "0123-4567"}
            ],
        }
    }
    server.script = [
        Answer(409, status(409, "AlreadyExists")),
        Answer(200, json.dumps(seen)),
        Answer(409, status(409, "Conflict")),
    ]
    with pytest.raises(ConflictError):
        await store.put_report(read_task(), report())
    assert [method for method, _ in server.requests] == ["POST", "GET", "PUT"]


async def test_an_event_that_is_refused_stops_nothing(
    server: ScriptedServer, store: KubernetesStore, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [Answer(500, status(500, "InternalError"))]
    await store.record_event(read_task(), Event(EventType.NORMAL, "Started", "it has"))
    assert "an event is lost" in caplog.text


async def test_a_field_that_the_cluster_does_not_know_is_refused_not_dropped(
    server: ScriptedServer, store: KubernetesStore
) -> None:
    server.script = [Answer(422, status(422, "Invalid"))]
    for operation in ("create a step", "write a status"):
        with pytest.raises(RefusedError):
            await OPERATIONS[operation](store)
    assert all("fieldValidation=Strict" in path for _, path in server.requests)
