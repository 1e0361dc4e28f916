"""Looks at everything now and then, so that a missed event costs time, never correctness.

Tasks are listed as metadata, all at once: what the watch should have shown and did not is looked
at, and if it stays that way the watch is dead. At the start, the watch is such a list itself: it is
enough that it shows as many tasks as there are. Reports are listed as metadata, all at once: a
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
_COUNT_SECONDS: Final = 1.0
"""How often the tasks are counted while a watch begins: some may be deleted meanwhile."""

BEGINNING_SECONDS: Final = 10.0
"""For how long a watch that begins may show nothing before the tasks are listed beside it."""

WATCH_LAG_SECONDS: Final = 20.0
"""How far the watch may lag behind a list."""

Count = Callable[[], Awaitable[int | None]]
"""Counts objects without a list of them; None where the API server does not say."""

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
        count_tasks: Count,
        list_tasks: List,
        list_reports: List,
        beginning_seconds: float = BEGINNING_SECONDS,
        lag_seconds: float = WATCH_LAG_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a sweeper; nothing is listed before `sweep_tasks`.

        Args:
            inventory: what the watch has shown.
            findings: what to do about what is found.
            count_tasks: counts all tasks.
            list_tasks: lists the metadata of all tasks.
            list_reports: lists the metadata of all reports.
            beginning_seconds: for how long a watch that begins may show nothing.
            lag_seconds: how long the watch is waited for.
            clock: a monotonic time in seconds.
        """
        self._inventory = inventory
        self._findings = findings
        self._count_tasks = count_tasks
        self._list_tasks = list_tasks
        self._list_reports = list_reports
        self._beginning_seconds = beginning_seconds
        self._lag_seconds = lag_seconds
        self._clock = clock
        self._late: dict[TaskKey, int] = {}
        self._known = asyncio.Event()
        self._answered_at = clock()

    @property
    def knows_all(self) -> bool:
        """Whether the watch has shown all tasks that there were, or a sweep what it did not."""
        return self._known.is_set()

    def silent_seconds(self) -> float:
        """Return how long ago the API server last answered a list."""
        return self._clock() - self._answered_at

    async def run_tasks(self, interval_seconds: float, jitter: Callable[[], float]) -> None:
        """Sweep over the tasks for ever, at one to three times the interval.

        The first sweep comes at once if the watch does not begin as it should.

        Raises:
            WatchDeadError: two sweeps in a row missed the same version of a task.
        """
        is_done = await self.watch_begins()
        while True:
            seconds = interval_seconds * (1 + 2 * jitter())
            await asyncio.sleep(seconds if is_done else _RETRY_SECONDS)
            is_done = await self._attempt(self.sweep_tasks)

    async def run_reports(self, interval_seconds: float) -> None:
        """Sweep over the reports for ever, as soon as the tasks are known."""
        await self._known.wait()
        while True:
            is_done = await self._attempt(self.sweep_reports)
            await asyncio.sleep(interval_seconds if is_done else _RETRY_SECONDS)

    async def watch_begins(self) -> bool:
        """Wait until the watch shows as many tasks as there are; False: it cannot be said so.

        To list the tasks beside a watch that lists them as well would double the time of a start.
        """
        shown, moved_at = -1, self._clock()
        while self._clock() - moved_at < self._beginning_seconds:
            try:
                count = await self._count_tasks()
            except StoreError as error:
                _LOGGER.warning("the tasks cannot be counted: %s", error)
                return False
            self._answered_at = self._clock()
            if count is None:
                return False
            if await self._shows(count):
                self._known.set()
                return True
            if len(self._inventory) > shown:
                shown, moved_at = len(self._inventory), self._clock()
        return False

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
        self._known.set()
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

    async def _shows(self, count: int) -> bool:
        """Say whether the watch shows so many tasks, now or within a second."""
        counted_at = self._clock()
        while len(self._inventory) < count:
            if self._clock() - counted_at >= _COUNT_SECONDS:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

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
