"""Everything that the operator does but watch: queues, sweeps and what events mean to them.

It lives in one event loop and knows neither kopf nor threads; the watch tells it what it has seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

from kubernetes.aio.client import ApiClient

from controller.api.errors import StoreError
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel
from controller.api.model_call import micro_usd
from controller.api.source import ResearchSource
from controller.clock import SystemClock
from controller.connections import ConnectionGuard
from controller.credentials import SecretReader
from controller.holders import other_pod_may_live
from controller.inventory import Inventory, ReferenceEvent, SeenTask, TaskEvent
from controller.loop.situation import Spend
from controller.metrics import Metrics
from controller.models.pacing import Pacer
from controller.ports import Model, Source, TaskKey
from controller.queue import WorkQueue
from controller.readiness import Readiness, ReferenceKey
from controller.reconcile import Reconciler
from controller.references import Resolver
from controller.settings import Settings
from controller.store.kubernetes import KubernetesStore
from controller.store.kubernetes_access import check_watching
from controller.store.kubernetes_lists import (
    count_tasks,
    list_report_metadata,
    list_task_metadata,
    touch_steps,
)
from controller.sweep import Findings, Sweeper, WatchDeadError

_LOGGER: Final = logging.getLogger(__name__)

_REFERENCE_WORKERS: Final = 2
"""Sources and models have workers of their own, so that no task waits behind a large corpus."""

_OBJECT_SECONDS: Final = 300.0
"""For how long a source or model is trusted that the watch says nothing about."""

_STUCK_SECONDS: Final = 3600.0 + 60
"""Longest work on one task: the largest `stepTimeoutSeconds`, and a minute for the writes."""

_SILENT_SECONDS: Final = 60.0
"""For how long the API server may be silent; longer only if the sweeps are farther apart."""


class Engine:
    """Takes tasks, sources and models towards what they should be; told of events by `see_...`."""

    def __init__(
        self,
        client: ApiClient,
        settings: Settings,
        *,
        holder: str,
        make_source: Callable[[ResearchSource], Source],
        make_model: Callable[[ResearchModel], Model],
        guard: ConnectionGuard,
        secrets: SecretReader,
        store: KubernetesStore,
        metrics: Metrics,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an engine at rest; `run` sets it to work.

        Args:
            client: for the lists of the sweeps.
            settings: the operator's configuration.
            holder: the name of this process, which no other process has ever had.
            make_source: makes a source from its object.
            make_model: makes a model from its object; the engine keeps the object's limits.
            guard: says which addresses a model may have.
            secrets: reads the keys that models and sources name.
            store: tasks, journals, reports and what they refer to.
            metrics: counts what is done; it is told of the queues as well.
            monotonic: a monotonic time in seconds.
        """
        self._metrics = metrics
        self._client = client
        self._settings = settings
        self._inventory = Inventory()
        ceiling = settings.max_cost_usd
        self._max_cost_micro_usd = None if ceiling is None else micro_usd(ceiling)
        self._unheeded: dict[TaskKey, SeenTask] = {}
        self._without_report: set[TaskKey] = set()
        self._versions: dict[ReferenceKey, tuple[str, int]] = {}
        self._parts: list[asyncio.Task[None]] = []
        self._clock = clock = SystemClock()
        self._pacer = Pacer(clock, on_free=self._wake, monotonic=monotonic)
        self._resolver = Resolver(
            store,
            make_source,
            make_model=self._pacer.making(make_model),
            guard=guard,
            secrets=secrets,
            access=settings.corpus_access,
            object_seconds=_OBJECT_SECONDS,
            observation_seconds=settings.corpus_check_seconds,
        )
        self._reconciler = Reconciler(
            store=store,
            references=self._resolver,
            clock=clock,
            holder=holder,
            observer=metrics,
            may_live=partial(other_pod_may_live, holder),
            spend=self._spend,
            pacing=self._pacer,
        )
        self._readiness = Readiness(
            store=store,
            resolver=self._resolver,
            clock=clock,
            check_seconds=settings.corpus_check_seconds,
            on_change=self._wake_referrers,
            on_observed=self._wake_outdated,
        )
        self._tasks = WorkQueue(
            self._work, workers=settings.workers, jitter=random.random, clock=monotonic
        )
        self._references = WorkQueue(
            self._readiness.reconcile,
            workers=_REFERENCE_WORKERS,
            jitter=random.random,
            clock=monotonic,
        )
        metrics.watch_queue("tasks", self._tasks)
        metrics.watch_queue("references", self._references)
        self._sweeper = Sweeper(
            self._inventory,
            Findings(
                on_late=self._tasks.add,
                on_vanished=self._forget,
                on_report_missing=self._restore_report,
            ),
            count_tasks=partial(_count_tasks, client, settings.namespace),
            list_tasks=partial(_list_tasks, client, settings.namespace),
            list_reports=partial(list_report_metadata, client, settings.namespace),
            clock=monotonic,
        )

    async def run(self) -> None:
        """Work until `drain`, or until a part ends that should not.

        Raises:
            FixpointError: the process must be restarted, after a drain.
        """
        settings = self._settings
        self._parts = [
            asyncio.create_task(part)
            for part in (
                self._tasks.run(),
                self._references.run(),
                self._sweeper.run_tasks(settings.task_sweep_seconds, random.random),
                self._sweeper.run_reports(settings.report_sweep_seconds),
                self._look_after_watch(),
            )
        ]
        ended, _ = await asyncio.wait(self._parts, return_when=asyncio.FIRST_COMPLETED)
        for part in ended:
            part.result()

    async def drain(self) -> None:
        """End the work: record what has begun, begin nothing; cancel what takes too long."""
        self._reconciler.drain()
        cut = await self._tasks.drain(self._settings.grace_seconds)
        for key in cut:
            _LOGGER.warning("%s: cut off after the grace; the next process settles it", key)
        await self._references.drain(0)
        for part in self._parts:
            part.cancel()
        await asyncio.gather(*self._parts, return_exceptions=True)

    def see_task(self, event: TaskEvent) -> None:
        """Take note of what the watch says of a task."""
        key, seen = event.key, event.seen
        known = self._inventory.get(key)
        if event.is_gone:
            if known is not None and known.uid == seen.uid:
                self._forget(key)
            return
        if known is not None and known.uid != seen.uid:
            self._forget(key)
        elif known is not None and 0 < seen.resource_version <= known.resource_version:
            return
        self._inventory.put(key, seen)
        if event.is_deleting:
            self._stop(key)
        elif self._tasks.is_busy(key):
            # Most likely it is what that work has just written: it is known when the work ends.
            self._unheeded[key] = seen
            if seen.is_cancelled:
                self._reconciler.interrupt(key)
        else:
            self._heed(key, seen)

    def see_reference(self, event: ReferenceEvent) -> None:
        """Take note of what the watch says of a source or model; its status is our own words."""
        key = event.key
        if event.is_gone:
            self._versions.pop(key, None)
            self._references.forget(key)
        elif self._versions.get(key) == event.version:
            return
        else:
            self._versions[key] = event.version
            self._references.add(key)
        self._resolver.forget(key.namespace, key.name)
        self._wake_referrers(key)

    def problems(self) -> tuple[str, ...]:
        """Return why the process should be restarted; empty when all is well."""
        seconds = self._tasks.oldest_busy_seconds()
        if seconds > _STUCK_SECONDS:
            return (f"the work on one task has been going on for {seconds:.0f} s",)
        return ()

    def obstacles(self) -> tuple[str, ...]:
        """Return why the operator is not at work now; empty when all is well."""
        if not self._sweeper.knows_all:
            return ("the watch has not shown all tasks yet",)
        silent = self._sweeper.silent_seconds()
        if silent > max(_SILENT_SECONDS, 1.5 * self._settings.report_sweep_seconds):
            return (
                f"no list of the API server has succeeded for {silent:.0f} s; the log says why",
            )
        return ()

    async def _look_after_watch(self) -> None:
        """End when a right to watch is gone, twice in a row: an API server that starts refuses too.

        Raises:
            WatchDeadError: the watch is refused.
        """
        settings, known = self._settings, False
        while True:
            await asyncio.sleep(settings.report_sweep_seconds)
            missing: tuple[str, ...] = ()
            with contextlib.suppress(StoreError):  # the sweeps say that it does not answer
                missing = await check_watching(self._client, settings.namespace)
            if missing and known:
                raise WatchDeadError("; ".join(missing))
            known = bool(missing)

    async def _work(self, key: TaskKey) -> float | None:
        try:
            if key in self._without_report:
                self._without_report.discard(key)
                await self._reconciler.restore_report(key)
            with self._metrics.reconciling():
                return (await self._reconciler.reconcile(key)).after
        finally:
            seen = self._unheeded.pop(key, None)
            if seen is not None:
                self._heed(key, seen)

    def _spend(self) -> Spend | None:
        """Return what all tasks have cost, where the operator's owner limits it (E12)."""
        limit = self._max_cost_micro_usd
        return None if limit is None else Spend(limit, self._inventory.cost_micro_usd)

    def _heed(self, key: TaskKey, seen: SeenTask) -> None:
        """Look at a task if a version says something that this process has not written itself."""
        if not self._reconciler.observe(key, str(seen.resource_version)):
            return
        if not seen.is_settled or self._reconciler.knows(key):
            # Also a run that this process has not seen end: its ending is told then.
            self._tasks.add(key)
        elif seen.wake_up_time is not None:
            wait = seen.wake_up_time - self._clock.now()
            self._tasks.add_after(key, max(0.0, wait / timedelta(seconds=1)))

    def _restore_report(self, key: TaskKey) -> None:
        self._without_report.add(key)
        self._tasks.add(key)

    def _wake(self, key: TaskKey) -> None:
        self._tasks.add(key)

    def _wake_referrers(self, reference: ReferenceKey) -> None:
        for key in self._inventory.running_with(reference):
            self._tasks.add(key)

    def _wake_outdated(self, reference: ReferenceKey, digest: str) -> None:
        """Look again at the tasks that succeeded on something else than a source holds now."""
        for key in self._inventory.outdated_by(reference, digest):
            self._tasks.add(key)

    def _forget(self, key: TaskKey) -> None:
        self._inventory.remove(key)
        self._stop(key)

    def _stop(self, key: TaskKey) -> None:
        """End the work on a task that is gone or going."""
        self._unheeded.pop(key, None)
        self._without_report.discard(key)
        self._tasks.forget(key)
        self._reconciler.forget(key)


async def _count_tasks(client: ApiClient, namespace: str | None) -> int | None:
    await touch_steps(client, namespace)
    return await count_tasks(client, namespace)


async def _list_tasks(client: ApiClient, namespace: str | None) -> tuple[ObjectMeta, ...]:
    await touch_steps(client, namespace)
    return await list_task_metadata(client, namespace)
