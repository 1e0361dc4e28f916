"""Looks at everything now and then, so that a missed event costs time, never correctness.

Tasks are listed as metadata, all at once: what the watch should have shown and did not is looked
at, and if it stays that way the watch is dead. Reports are listed as metadata, all at once: a
finished task causes no request of its own, however many there are.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from controller.api.errors import FixpointError, StoreError
from controller.api.meta import ObjectMeta
from controller.inventory import Inventory, version_number
from controller.ports import TaskKey

_LOGGER: Final = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.1

WATCH_LAG_SECONDS: Final = 20.0
"""How far the watch may lag behind a list: 10,000 tasks take about 7 s when a watch begins."""

List = Callable[[], Awaitable[tuple[ObjectMeta, ...]]]


class WatchDeadError(FixpointError):
    """The watch shows nothing, or not what a list shows; only a new process mends it."""


@dataclass(frozen=True)
class Findings:
    """What to do about what a sweep finds: each is told the key of a task."""

    on_late: Callable[[TaskKey], None]
    on_vanished: Callable[[TaskKey], None]
    on_report_missing: Callable[[TaskKey], None]


class Sweeper:
    """Compares lists with what the watch has shown."""

    def __init__(
        self,
        inventory: Inventory,
        findings: Findings,
        *,
        list_tasks: List,
        list_reports: List,
        lag_seconds: float = WATCH_LAG_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a sweeper; nothing is listed before `sweep_tasks`.

        Args:
            inventory: what the watch has shown.
            findings: what to do about what is found.
            list_tasks: lists the metadata of all tasks.
            list_reports: lists the metadata of all reports.
            lag_seconds: how long the watch is waited for.
            clock: a monotonic time in seconds.
        """
        self._inventory = inventory
        self._findings = findings
        self._list_tasks = list_tasks
        self._list_reports = list_reports
        self._lag_seconds = lag_seconds
        self._clock = clock
        self._late: dict[TaskKey, int] = {}
        self._swept = asyncio.Event()
        self._answered_at = clock()

    @property
    def has_swept(self) -> bool:
        """Whether all tasks were listed at least once."""
        return self._swept.is_set()

    def silent_seconds(self) -> float:
        """Return how long ago the API server last answered a list."""
        return self._clock() - self._answered_at

    async def run_tasks(self, interval_seconds: float, jitter: Callable[[], float]) -> None:
        """Sweep over the tasks for ever, at one to three times the interval.

        Raises:
            WatchDeadError: two sweeps in a row missed the same version of a task.
        """
        while True:
            is_done = await self._attempt(self.sweep_tasks)
            seconds = interval_seconds * (1 + 2 * jitter())
            await asyncio.sleep(seconds if is_done else _RETRY_SECONDS)

    async def run_reports(self, interval_seconds: float) -> None:
        """Sweep over the reports for ever, as soon as the tasks are known."""
        await self._swept.wait()
        while True:
            is_done = await self._attempt(self.sweep_reports)
            await asyncio.sleep(interval_seconds if is_done else _RETRY_SECONDS)

    async def sweep_tasks(self) -> None:
        """Compare all tasks with what the watch has shown of them.

        Raises:
            StoreError: the list failed.
            WatchDeadError: the watch still has not shown what the sweep before this one missed.
        """
        known = {key: seen.uid for key in self._inventory if (seen := self._inventory.get(key))}
        listed = {
            TaskKey(metadata.namespace, metadata.name): version_number(metadata.resource_version)
            for metadata in await self._list_tasks()
        }
        self._answered_at = self._clock()
        late = await self._wait_for_watch(listed)
        for key in late:
            self._findings.on_late(key)
        for key, uid in known.items():
            seen = self._inventory.get(key)
            if key not in listed and seen is not None and seen.uid == uid:
                self._findings.on_vanished(key)
        missed = self._behind({k: v for k, v in self._late.items() if k in listed})
        self._late = late
        self._swept.set()
        if missed:
            raise WatchDeadError(
                f"the watch has not shown the ResearchTask {next(iter(missed))} in the version "
                "that two sweeps in a row have listed"
            )

    async def sweep_reports(self) -> None:
        """Have every report written again that should be there and is not.

        Raises:
            StoreError: the list failed.
        """
        owners = {o.uid for report in await self._list_reports() for o in report.owner_references}
        self._answered_at = self._clock()
        for key, uid in self._inventory.with_report().items():
            if uid not in owners:
                self._findings.on_report_missing(key)

    async def _wait_for_watch(self, listed: Mapping[TaskKey, int]) -> dict[TaskKey, int]:
        """Return what the watch has not shown once it shows nothing more for as long as it may lag.

        However many tasks there are: a watch that still comes forward is waited for.
        """
        behind, moved_at = self._behind(listed), self._clock()
        # Looking at all of them for each event would cost the square of their number.
        while behind and self._clock() - moved_at < self._lag_seconds:
            await asyncio.sleep(_POLL_SECONDS)
            now = self._behind(listed)
            if len(now) < len(behind):
                moved_at = self._clock()
            behind = now
        return behind

    def _behind(self, listed: Mapping[TaskKey, int]) -> dict[TaskKey, int]:
        """Return the listed versions that the watch has shown neither themselves nor later."""
        return {
            key: version
            for key, version in listed.items()
            if (seen := self._inventory.get(key)) is None or seen.resource_version < version
        }

    async def _attempt(self, sweep: Callable[[], Awaitable[None]]) -> bool:
        try:
            await sweep()
        except StoreError as error:
            _LOGGER.warning("a sweep failed and is tried again: %s", error)
            return False
        return True
