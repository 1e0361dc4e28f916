"""The probes turn red when the operator is really gone, and only then; the metrics are served."""

from __future__ import annotations

import asyncio
import http.client
import json
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from controller.api.source import ResearchSource
from controller.clock import SystemClock
from controller.connections import NOTHING_OPENED, ConnectionGuard
from controller.credentials import SecretReader
from controller.engine import Engine
from controller.health import serve_probes
from controller.inventory import SeenTask, TaskEvent
from controller.metrics import Metrics
from controller.models.scripted import silent_model
from controller.ports import Source, TaskKey
from controller.settings import DEFAULT_WORKERS, Settings
from controller.store.kubernetes import KubernetesStore
from controller.store.rights import RIGHTS
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess, wait_until

Operator = Callable[..., OperatorProcess]


_SILENT_SECONDS: Final = 60
"""After so long without an answer of the API server, the operator says that it is not at work."""


# Without a cluster: the server, and what the engine says of itself.


class Probes:
    """The probes of an imagined operator, in a thread and event loop of their own."""

    def __init__(self) -> None:
        self.live: list[str] = []
        self.ready: list[str] = []
        self._ports: queue.Queue[int] = queue.Queue()
        self._loops: queue.Queue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = queue.Queue()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    @contextmanager
    def served(self) -> Iterator[None]:
        self._thread.start()
        self.port = self._ports.get(timeout=10)
        self.loop, stop = self._loops.get(timeout=10)
        try:
            yield
        finally:
            self.loop.call_soon_threadsafe(stop.set)
            self._thread.join()

    def ask(self, name: str, timeout: float = 10) -> tuple[int, str, str]:
        """Return status, text and content type."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with closing(connection):
            connection.request("GET", f"/{name}")
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers["Content-Type"]

    async def _serve(self) -> None:
        stop = asyncio.Event()
        async with serve_probes(
            "127.0.0.1",
            0,
            live=lambda: self.live,
            ready=lambda: self.ready,
            metrics=lambda: (b"number 1\n", "text/plain; version=0.0.4; charset=utf-8"),
        ) as port:
            self._ports.put(port)
            self._loops.put((asyncio.get_running_loop(), stop))
            await stop.wait()


def test_the_probes_say_what_is_wrong() -> None:
    probes = Probes()
    with probes.served():
        assert probes.ask("livez")[:2] == (HTTPStatus.OK, "ok\n")
        probes.live = ["the watch has ended", "the work on one task has been going on for 4000 s"]
        assert probes.ask("livez")[:2] == (
            HTTPStatus.SERVICE_UNAVAILABLE,
            "the watch has ended\nthe work on one task has been going on for 4000 s\n",
        )
        assert probes.ask("readyz")[0] == HTTPStatus.OK
        assert probes.ask("metrics") == (
            HTTPStatus.OK,
            "number 1\n",
            "text/plain; version=0.0.4; charset=utf-8",
        )
        assert probes.ask("anything")[0] == HTTPStatus.NOT_FOUND


def test_a_loop_that_is_blocked_answers_no_probe() -> None:
    probes, goes_on = Probes(), threading.Event()
    with probes.served():
        probes.loop.call_soon_threadsafe(goes_on.wait)
        try:
            with pytest.raises(TimeoutError):  # as the kubelet waits by default: one second
                probes.ask("livez", timeout=1)
        finally:
            goes_on.set()
        assert probes.ask("livez")[0] == HTTPStatus.OK


class Server:
    """Answers lists with nothing, and nothing else at all."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.has_listed_reports = asyncio.Event()
        self._ended = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.endswith(("/researchtasks", "/researchsteps", "/configmaps")):
            if request.path.endswith("/configmaps"):
                self.has_listed_reports.set()  # which are not looked for before the tasks
            return web.json_response({"kind": "List", "metadata": {}, "items": []})
        self.asked.put_nowait(request.path)
        await self._ended.wait()
        return web.Response()

    def end(self) -> None:
        self._ended.set()


@asynccontextmanager
async def engine_of(
    tmp_path: Path, clock: Callable[[], float]
) -> AsyncIterator[tuple[Engine, Server]]:
    """Run an engine whose monotonic time is the test's, against a server."""
    server = Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    configuration = Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}")
    configuration.client_session_kwargs = {"trust_env": False}
    try:
        async with ApiClient(configuration) as client:
            store = KubernetesStore(client, SystemClock())
            engine = Engine(
                client,
                Settings(cache_directory=tmp_path, grace_seconds=0),
                holder="operator-1",
                make_source=_no_source,
                make_model=silent_model,
                guard=ConnectionGuard(NOTHING_OPENED),
                secrets=SecretReader(store),
                store=store,
                metrics=Metrics(CollectorRegistry()),
                monotonic=clock,
            )
            running = asyncio.create_task(engine.run())
            try:
                yield engine, server
            finally:
                await engine.drain()
                await asyncio.gather(running, return_exceptions=True)
    finally:
        server.end()
        await runner.cleanup()


def _no_source(source: ResearchSource) -> Source:
    raise AssertionError(f"nobody asks for {source.metadata.name}")


async def test_work_that_never_ends_is_a_reason_to_restart(tmp_path: Path) -> None:
    now = [0.0]
    async with engine_of(tmp_path, lambda: now[0]) as (engine, server):
        seen = SeenTask(1, "uid-1", ("lamp",), None, is_settled=False, has_report=False)
        engine.see_task(TaskEvent(TaskKey("team", "task"), seen, is_deleting=False, is_gone=False))
        async with asyncio.timeout(10):
            assert (await server.asked.get()).endswith("/namespaces/team/researchtasks/task")
        assert engine.problems() == ()
        now[0] += 3600  # the longest step that a task may allow, and its writes are to come
        assert engine.problems() == ()
        now[0] += 61
        assert engine.problems() == ("the work on one task has been going on for 3661 s",)


async def test_silence_of_the_api_server_is_a_reason_not_to_be_ready(tmp_path: Path) -> None:
    now = [0.0]
    async with engine_of(tmp_path, lambda: now[0]) as (engine, server):
        assert engine.obstacles() == ("the watch has not shown all tasks yet",)
        async with asyncio.timeout(10):
            await server.has_listed_reports.wait()
        now[0] += 67
        assert engine.obstacles() == ()
        now[0] += 1
        assert engine.obstacles() == (
            "no list of the API server has succeeded for 68 s; the log says why",
        )
        assert engine.problems() == (), "a restart would mend nothing"


# With a cluster: the real process.


@pytest.mark.controlplane
@pytest.mark.xdist_group("operator")
def test_the_metrics_of_a_run_are_served(operator: Operator, cluster: Cluster) -> None:
    cluster.apply_source()
    with operator("--job-class=weekly", "--job-class=daily") as process:
        process.wait_ready()
        cluster.apply_task(jobClass="weekly")
        cluster.apply_task("second", jobClass="yearly", budgets={"maxSteps": 2})
        cluster.wait_finished()
        cluster.wait_finished("second")
        status, page = process.probe("metrics")
    assert status == HTTPStatus.OK
    samples = [s for family in text_string_to_metric_families(page) for s in family.samples]
    assert {
        (s.labels["reason"], s.labels["job_class"]): s.value
        for s in samples
        if s.name == "fixpoint_runs_ended_total" and s.value
    } == {("GoalReached", "weekly"): 1, ("StepBudgetExhausted", "other"): 1}
    values = {(s.name, *s.labels.values()): s.value for s in samples}
    steps = sum(n for key, n in values.items() if key[0] == "fixpoint_steps_total")
    assert steps == len(cluster.items("rstep"))
    assert values["fixpoint_reconcile_duration_seconds_count",] >= steps
    assert values["fixpoint_workers", "tasks"] == DEFAULT_WORKERS
    assert values["process_resident_memory_bytes",] > 0
    assert cluster.namespace not in page


@pytest.mark.controlplane
@pytest.mark.xdist_group("operator")
def test_a_run_has_two_events_and_its_log_says_nothing_of_its_texts(
    operator: Operator, cluster: Cluster, corpora: Path
) -> None:
    canary = "CANARY-7F3A"
    manual = corpora / "lamp" / "manual.md"
    manual.write_text(manual.read_text("utf-8").replace("lumens", f"lumens {canary}"), "utf-8")
    question = {"id": "glow", "text": f"What is the default value of GLOW_LEVEL, {canary}?"}
    cluster.apply_source()
    with operator("--log-format=json") as process:
        process.wait_ready()
        cluster.apply_task(questions=[question])
        status = cluster.wait_finished()
        wait_until(lambda: len(cluster.items("events")) == 2, "both events are there")
        assert process.stop() == 0
        log = process.log
    assert canary in cluster.get("configmap", status["report"]["configMap"])["data"]["report.md"]
    events = sorted((e["type"], e["reason"]) for e in cluster.items("events"))
    assert events == [("Normal", "GoalReached"), ("Normal", "TaskStarted")]
    assert canary.casefold() not in log.casefold()
    entries = [json.loads(line) for line in log.splitlines()]
    of_task = [e for e in entries if e.get("name") == "task"]
    assert {e["namespace"] for e in of_task} == {cluster.namespace}
    assert [e["step"] for e in of_task if "step" in e] == list(range(status["journal"]["steps"]))
    assert [e["reason"] for e in of_task if "succeeded" in e] == ["Running", "GoalReached"]


@pytest.mark.controlplane
@pytest.mark.xdist_group("operator")
def test_it_is_not_ready_while_the_api_server_is_gone_and_ready_when_it_is_back(
    operator: Operator, plane: ControlPlane
) -> None:
    with operator("--report-sweep-seconds=1") as process:
        process.wait_ready()
        plane.stop_api_server()
        stopped = time.monotonic()
        try:
            wait_until(
                lambda: process.probe("readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE,
                "readyz is red",
                seconds=_SILENT_SECONDS + 20,
            )
            assert time.monotonic() - stopped > _SILENT_SECONDS - 5, "it took fright too soon"
            assert "no list of the API server has succeeded for" in process.probe("readyz")[1]
            assert process.probe("livez") == (HTTPStatus.OK, "ok\n"), "a restart would mend nothing"
        finally:
            plane.start_api_server()
        process.wait_ready(seconds=20)
        assert process.stop() == 0


@pytest.mark.controlplane
@pytest.mark.xdist_group("operator")
def test_a_watch_that_may_not_watch_any_more_ends_the_process(
    plane: ControlPlane, tmp_path: Path
) -> None:
    kubeconfig = account(plane, "watchman")
    with OperatorProcess(
        kubeconfig, tmp_path, corpus_root=tmp_path, options=("--report-sweep-seconds=1",)
    ) as process:
        process.wait_ready()
        plane.kubectl("apply", "--filename=-", input=json.dumps(role("watchman", without="watch")))
        assert process.wait() == 1
        assert "may not watch researchtasks in all namespaces" in process.last_line
        assert "the operator ends and must be started again: " in process.last_line


def account(plane: ControlPlane, name: str) -> Path:
    """Make an account that has every right of the operator; return its kubeconfig."""
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": reference,
        "subjects": [subject],
    }
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    bundle = {"apiVersion": "v1", "kind": "List", "items": [made, role(name), binding]}
    plane.kubectl("apply", "--filename=-", input=json.dumps(bundle))
    return plane.service_account_kubeconfig("default", name)


def role(name: str, without: str | None = None) -> dict[str, Any]:
    """Return the operator's role, with a verb left out."""
    rules = [
        {
            "apiGroups": [right.group],
            "resources": [right.resource],
            "verbs": [verb for verb in right.verbs if verb != without],
        }
        for right in RIGHTS
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
