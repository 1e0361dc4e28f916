"""The operator process: start checks, the watch, the engine, and one clean way to end.

The only importer of kopf, of which it uses the watch alone: list, watch, bookmarks, reconnection.
kopf runs in a thread and event loop of its own, because when it ends it cancels every task of its
loop. The process is crash-only: whatever ends unasked ends the process, after a drain, with
status 1 and the cause in the last line; whoever started it starts it again.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import kopf
from kubernetes.aio.client import ApiClient, Configuration

from controller.api.base import GROUP, VERSION
from controller.api.errors import FixpointError, StoreError
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, guarded_client
from controller.credentials import SecretReader
from controller.engine import Engine
from controller.health import serve_probes
from controller.holders import pod_holder
from controller.inventory import reference_event, task_event
from controller.logs import configure_logging
from controller.metrics import Metrics, new_registry
from controller.models.wiring import model_maker
from controller.readiness import ReferenceKind
from controller.settings import Settings
from controller.sources.corpus import ConfigMaps
from controller.sources.making import source_maker
from controller.sources.web.fetcher import Delays, Fetcher
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_access import check_access
from controller.store.kubernetes_client import connect
from controller.store.names import MODELS, SOURCES, TASKS

_LOGGER: Final = logging.getLogger(__name__)

_CREDENTIALS_LIFETIME: Final = timedelta(minutes=30)
"""Tokens of service accounts are replaced every 48 minutes or so; they are read again before."""

_RECONNECT_SECONDS: Final = (1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 60, 60)
"""kopf's retries of one request, about 4 minutes in all: longer than an upgrade takes."""

_CHUNK: Final = 100
"""How many objects kopf lists at once. All of them at once cost 20 MB for 1,000 tasks."""

_IDLE_SECONDS: Final = 0.1
"""How long kopf keeps a body whose event is handled, together with the worker that did it."""

_STOP_SECONDS: Final = 10.0
"""How long kopf is waited for; it takes 2 s when all is well."""


def run(settings: Settings) -> int:
    """Run the operator until it is told to stop; return the exit status of the process."""
    configure_logging(settings.log_format, settings.log_level)
    _quieten_kopf()
    _freeze_modules()
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> int:
    try:
        client = await connect(settings.kubeconfig, connections=settings.workers + 4)
    except FixpointError as error:
        _LOGGER.error("%s", error)  # noqa: TRY400 - one clear line, no traceback
        return 1
    try:
        if problems := await _start_problems(client, settings):
            for problem in problems:
                _LOGGER.error("%s", problem)
            return 1
        return await _operate(client, settings)
    finally:
        await client.close()  # type: ignore[no-untyped-call]  # the client types it not


async def _start_problems(client: ApiClient, settings: Settings) -> Sequence[str]:
    try:
        return await check_access(client, settings.namespace)
    except StoreError as error:
        return (str(error),)


async def _operate(client: ApiClient, settings: Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    holder = pod_holder()
    metrics = Metrics(new_registry(), job_classes=settings.job_classes)
    guard = ConnectionGuard(settings.opened_origins)
    endpoints = guarded_client(guard)
    clock = SystemClock()
    fetcher = Fetcher(
        guard,
        clock=clock,
        contact=settings.contact,
        delays=Delays(opened=settings.opened_delay_seconds),
    )
    store = KubernetesStore(client, clock)
    secrets = SecretReader(store)
    engine = Engine(
        client,
        settings,
        holder=holder,
        store=store,
        make_source=source_maker(
            corpus_root=settings.corpus_root,
            cache_directory=settings.cache_directory,
            load_config_maps=partial(_load_config_maps, store),
            fetcher=fetcher,
            guard=guard,
            key_of=secrets.key_of,
        ),
        make_model=model_maker(endpoints, secrets.credentials_of, clock),
        guard=guard,
        secrets=secrets,
        metrics=metrics,
    )
    watch = Watch(settings, engine)

    def problems() -> Sequence[str]:
        return (*(() if watch.is_alive else ("the watch has ended",)), *engine.problems())

    try:
        async with serve_probes(
            settings.health_host,
            settings.health_port,
            live=problems,
            ready=engine.obstacles,
            metrics=metrics.page,
        ) as port:
            _LOGGER.info("probes: http://%s:%d/livez and /readyz", settings.health_host, port)
            _LOGGER.info("working as %s on %s", holder, settings.namespace or "all namespaces")
            cause = await _until_end(engine, watch, stop)
    except OSError as error:
        cause = f"cannot listen on {settings.health_host}:{settings.health_port}: {error}"
    finally:
        await endpoints.aclose()
        await fetcher.aclose()
    if cause is None:
        _LOGGER.info("stopped on request")
        return 0
    for problem in await _start_problems(client, settings):
        _LOGGER.error("%s", problem)
    _LOGGER.critical("the operator ends and must be started again: %s", cause)
    return 1


async def _until_end(engine: Engine, watch: Watch, stop: asyncio.Event) -> str | None:
    """Work until a request to stop (None) or an end that nobody asked for: its cause."""
    work = asyncio.create_task(engine.run())
    asked = asyncio.create_task(stop.wait())
    watch.start()
    ended = asyncio.create_task(watch.ended())
    await asyncio.wait({work, asked, ended}, return_when=asyncio.FIRST_COMPLETED)
    if asked.done():
        cause = None
    elif ended.done():
        cause = f"the watch: {ended.result()}"
    else:
        cause = f"the engine: {_why(work)}"
    _LOGGER.info("ending: what has begun is recorded, nothing is begun")
    watch.stop()
    await engine.drain()
    await watch.join()
    for task in (work, asked, ended):
        task.cancel()
    await asyncio.gather(work, asked, ended, return_exceptions=True)
    return cause


class Watch:
    """kopf in a thread of its own: tells an engine, in the engine's loop, what it sees."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._settings = settings
        self._engine = engine
        self._home = asyncio.get_running_loop()
        self._end: asyncio.Future[str] = self._home.create_future()
        self._thread = threading.Thread(target=self._main, name="watch", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_flag: asyncio.Event | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the watch has begun and not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    async def ended(self) -> str:
        """Wait for the end of the watch; return the cause."""
        return await asyncio.shield(self._end)

    def stop(self) -> None:
        """Ask the watch to end."""
        if self._loop is not None and self._stop_flag is not None:
            with suppress(RuntimeError):  # its loop is closed: it has ended by itself
                self._loop.call_soon_threadsafe(self._stop_flag.set)

    async def join(self) -> None:
        """Wait for the end of the watch, but not for ever: its thread ends with the process."""
        await asyncio.wait({self._end}, timeout=_STOP_SECONDS)

    def _main(self) -> None:
        cause = "it ended in its start"
        try:
            cause = asyncio.run(self._watch())
        finally:
            self._tell(self._note_end, cause)

    def _note_end(self, cause: str) -> None:
        if not self._end.done():
            self._end.set_result(cause)

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401 - as call_soon
        with suppress(RuntimeError):  # the engine's loop is closed: nobody listens any more
            self._home.call_soon_threadsafe(function, *arguments)

    async def _watch(self) -> str:
        self._stop_flag = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        namespace = self._settings.namespace
        task = asyncio.create_task(
            kopf.operator(
                registry=self._registry(),
                settings=_kopf_settings(),
                clusterwide=namespace is None,
                namespaces=() if namespace is None else (namespace,),
                stop_flag=self._stop_flag,
            )
        )
        await asyncio.wait({task})
        return _why(task)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry, id="login")(_login_handler(self._settings.kubeconfig))
        handlers: dict[str, Callable[[str | None, Mapping[str, Any]], None]] = {
            TASKS: self._on_task,
            SOURCES: partial(self._on_reference, ReferenceKind.SOURCE),
            MODELS: partial(self._on_reference, ReferenceKind.MODEL),
        }
        for plural, handler in handlers.items():
            kopf.on.event(GROUP, VERSION, plural, registry=registry, id=plural)(_handler(handler))
        return registry

    def _on_task(self, kind: str | None, body: Mapping[str, Any]) -> None:
        self._tell(self._engine.see_task, task_event(kind, body))

    def _on_reference(
        self, reference: ReferenceKind, kind: str | None, body: Mapping[str, Any]
    ) -> None:
        self._tell(self._engine.see_reference, reference_event(kind, reference, body))


class _NoDiffBase(kopf.DiffBaseStorage):
    """Keeps no last state: kopf would copy and compare each body, for handlers that we have not."""

    def build(self, **_: object) -> kopf.BodyEssence:
        """Return nothing to compare."""
        return kopf.BodyEssence()

    def fetch(self, **_: object) -> None:
        """Return no last state."""

    def store(self, **_: object) -> None:
        """Store nothing."""


def _handler(
    handle: Callable[[str | None, Mapping[str, Any]], None],
) -> Callable[..., Coroutine[None, None, None]]:
    """Return a kopf handler. It returns nothing: kopf would write that into the status."""

    async def handler(event: Mapping[str, Any], **_: object) -> None:
        handle(event["type"], event["object"])

    return handler


def _login_handler(
    kubeconfig: Path | None,
) -> Callable[..., Coroutine[None, None, kopf.ConnectionInfo]]:
    """Return a kopf handler that reads the credentials again, where the engine's client does."""

    async def handler(**_unused: object) -> kopf.ConnectionInfo:
        client = await connect(kubeconfig)
        configuration = client.configuration
        await client.close()  # type: ignore[no-untyped-call]  # the client types it not
        scheme, _, token = (await _authorization(configuration)).partition(" ")
        return kopf.ConnectionInfo(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            insecure=not configuration.verify_ssl,
            scheme=scheme or None,
            token=token or None,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
            expiration=datetime.now(UTC) + _CREDENTIALS_LIFETIME,
        )

    return handler


async def _authorization(configuration: Configuration) -> str:
    """Return the header's value, such as `Bearer ...`; the token file is read again if it is old.

    The two names are those under which the client keeps it (a pod's, a kubeconfig's).
    """
    value = await configuration.get_api_key_with_prefix("BearerToken", "authorization")
    return value or ""


def _kopf_settings() -> kopf.OperatorSettings:
    """Switch off everything but the watch (docs/kubernetes.md says why each)."""
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.process.ultimate_exiting_timeout = None
    settings.persistence.finalizer = f"{GROUP}/unused"
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.watching.chunk_size = _CHUNK
    settings.queueing.idle_timeout = _IDLE_SECONDS
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = _RECONNECT_SECONDS
    return settings


def _quieten_kopf() -> None:
    """Keep kopf's log to what is wrong: it says "succeeded" for each event."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    # It warns that signals are ignored in a thread, which is what we want.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)


def _freeze_modules() -> None:
    """Take what the imports have made out of the garbage collector's rounds: it stays anyway."""
    gc.collect()
    gc.freeze()


async def _load_config_maps(
    store: KubernetesStore, namespace: str, names: Sequence[str]
) -> ConfigMaps:
    return ConfigMaps(*await store.load_config_maps(namespace, names))


def _why(task: asyncio.Task[Any]) -> str:
    """Say why a task has ended, for people; the log has where, if it was a defect."""
    error = None if task.cancelled() else task.exception()
    if error is None:
        return "it ended by itself"
    if isinstance(error, FixpointError):
        return str(error)
    _LOGGER.error("ended unasked", exc_info=error)
    return f"{type(error).__name__}: {error}"
