"""The work queue: a fixed number of workers over a schedule of keys.

It is ours and knows nothing of Kubernetes or kopf: events only name keys, and everything that
must be right (one worker a key, delays, back-off, fairness) lies in `schedule`, where it is tested
without time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Final, Generic

from controller.api.errors import FixpointError, UnavailableError
from controller.schedule import DEFAULT_BACK_OFF, BackOff, Key, Schedule

_LOGGER: Final = logging.getLogger(__name__)


class WorkQueue(Generic[Key]):
    """Keys worked on by at most so many workers; all methods belong to one event loop.

    `work(key)` looks at a key once and returns the seconds until it wants to look again (0: at
    once), or None: when something changes. An error delays that key and no other.
    """

    def __init__(
        self,
        work: Callable[[Key], Coroutine[None, None, float | None]],
        *,
        workers: int,
        jitter: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        back_off: BackOff = DEFAULT_BACK_OFF,
    ) -> None:
        """Make a queue that works as soon as `run` is awaited.

        Args:
            work: what to do with a key.
            workers: how many keys may be worked on at the same time.
            jitter: returns numbers in 0..1.
            clock: a monotonic time in seconds.
            back_off: the delays after failures in a row.
        """
        self._work = work
        self._workers = workers
        self._clock = clock
        self._schedule: Schedule[Key] = Schedule(jitter, back_off)
        self._running: dict[Key, asyncio.Task[float | None]] = {}
        self._since: dict[Key, float] = {}
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_draining = False

    def __len__(self) -> int:
        """Return how many keys are ready, delayed or busy."""
        return len(self._schedule)

    def add(self, key: Key) -> None:
        """Look at a key as soon as a worker is free: something changed."""
        self._schedule.add(key, self._clock())
        self._changed.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Look at a key after some seconds, unless it is looked at before."""
        self._schedule.add_after(key, seconds, self._clock())
        self._changed.set()

    def forget(self, key: Key) -> None:
        """Drop a key and cancel the work on it: its object is gone."""
        self._schedule.forget(key)
        task = self._running.get(key)
        if task is not None:
            task.cancel()

    @property
    def workers(self) -> int:
        """How many keys may be worked on at the same time."""
        return self._workers

    @property
    def ready(self) -> int:
        """How many keys wait for a free worker; those that are delayed do not."""
        return self._schedule.ready

    @property
    def busy(self) -> int:
        """How many keys are worked on now."""
        return len(self._running)

    def is_busy(self, key: Key) -> bool:
        """Say whether a worker has the key."""
        return self._schedule.is_busy(key)

    def oldest_busy_seconds(self) -> float:
        """Return for how long the longest work has been going on; 0 without any."""
        return self._clock() - min(self._since.values(), default=self._clock())

    async def run(self) -> None:
        """Work until the queue is drained. Whatever `work` raises concerns its key alone."""
        try:
            while True:
                self._changed.clear()
                self._start_ready()
                if self._is_draining and not self._running:
                    return
                await self._wait_for_change()
        finally:
            self._ended.set()

    async def drain(self, grace_seconds: float) -> tuple[Key, ...]:
        """Let what is ready or busy end, and nothing that is delayed; after the grace, cancel.

        Returns:
            the keys whose work was cancelled.
        """
        self._is_draining = True
        self._schedule.drop_delayed()
        self._changed.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._ended.wait()
                return ()
        self._workers = 0
        cut = dict(self._running)
        for task in cut.values():
            task.cancel()
        await self._ended.wait()
        return tuple(cut)

    def _start_ready(self) -> None:
        now = self._clock()
        while len(self._running) < self._workers and (key := self._schedule.take(now)) is not None:
            task = asyncio.create_task(self._work(key))
            self._running[key] = task
            self._since[key] = now
            task.add_done_callback(functools.partial(self._finish, key))

    def _finish(self, key: Key, task: asyncio.Task[float | None]) -> None:
        del self._running[key], self._since[key]
        self._changed.set()
        now = self._clock()
        if task.cancelled():
            self._schedule.done(key, None, now)
            return
        error = task.exception()
        if error is None:
            self._schedule.done(key, task.result(), now)
            return
        retry_after = error.retry_after_seconds if isinstance(error, UnavailableError) else None
        delay = self._schedule.failed(key, now, retry_after)
        if isinstance(error, FixpointError):
            _LOGGER.warning("%s: %s; looking again in %.1f s", key, error, delay or 0)
        else:
            # A defect that one key meets must not keep the others waiting.
            _LOGGER.error("%s: looking again in %.1f s", key, delay or 0, exc_info=error)

    async def _wait_for_change(self) -> None:
        """Return when a key was added, finished or has become due."""
        due = self._schedule.next_due()
        timeout = None if due is None else max(0.0, due - self._clock())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._changed.wait()
