"""The loop without a cluster: turns of one task, until it has ended or is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

from controller.api.task import ResearchTask
from controller.cli.observer import Follower
from controller.gathering import is_settled
from controller.ports import TaskKey
from controller.reconcile import Reconciler

_LONGEST_WAIT_SECONDS = 5.0
"""What is waited for here tells nobody when it is mended, so it is looked at again."""


@contextlib.contextmanager
def stop_on_interrupt(reconciler: Reconciler) -> Iterator[asyncio.Event]:
    """Turn the first Ctrl-C (or SIGTERM) into a clean stop; the second one ends at once.

    The step under way is recorded, and no intent is left in doubt.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def begin_to_stop() -> None:
        reconciler.drain()
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, begin_to_stop)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def drive(
    reconciler: Reconciler, key: TaskKey, follower: Follower, stop: asyncio.Event
) -> ResearchTask:
    """Take a task as far as it goes: to its end, to a suspension, or until it is stopped.

    Raises:
        StoreError: the store does not answer, or refuses.
        JournalError: a stored step cannot be read as one.
    """
    while True:
        requeue = await reconciler.reconcile(key)
        task = await follower.look()
        if is_settled(task):
            return task
        if requeue.after == 0:
            continue
        if requeue.after is None or task.status.awaiting is not None or stop.is_set():
            return task
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(requeue.after, _LONGEST_WAIT_SECONDS)):
                await stop.wait()
        if stop.is_set():
            return task
