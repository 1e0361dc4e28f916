"""The workers: how many at once, what an error does, how they end. No test waits for real time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest

from controller.api.errors import RefusedError, UnavailableError
from controller.ports import TaskKey
from controller.queue import WorkQueue

A, B, C = TaskKey("one", "a"), TaskKey("one", "b"), TaskKey("two", "c")
Work = Callable[[TaskKey], Coroutine[None, None, float | None]]


class Desk:
    """Work that waits until it is told how to end; it says what has begun."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[TaskKey] = asyncio.Queue()
        self.ends: dict[TaskKey, asyncio.Future[float | None]] = {}
        self.cancelled: list[TaskKey] = []

    async def work(self, key: TaskKey) -> float | None:
        assert key not in self.ends, "two workers have the same key"
        self.ends[key] = asyncio.get_running_loop().create_future()
        self.begun.put_nowait(key)
        try:
            return await self.ends[key]
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        finally:
            del self.ends[key]


@asynccontextmanager
async def running(
    work: Work, *, workers: int = 2, clock: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[WorkQueue[TaskKey]]:
    queue = WorkQueue(work, workers=workers, jitter=lambda: 1.0, clock=clock)
    task = asyncio.create_task(queue.run())
    try:
        yield queue
    finally:
        await queue.drain(0)
        await task


async def released(queue: WorkQueue[TaskKey], key: TaskKey) -> None:
    """Let the loop turn until the worker has given the key back."""
    for _ in range(100):
        if not queue.is_busy(key):
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{key} is still busy")


async def test_no_more_keys_than_workers_are_worked_on() -> None:
    desk = Desk()
    async with running(desk.work, workers=2) as queue:
        for key in (A, B, C):
            queue.add(key)
        first, second = await desk.begun.get(), await desk.begun.get()
        assert {first, second} == {A, C}
        assert desk.begun.empty()
        desk.ends[first].set_result(None)
        assert await desk.begun.get() == B


async def test_a_change_while_busy_means_once_more() -> None:
    desk = Desk()
    async with running(desk.work) as queue:
        queue.add(A)
        await desk.begun.get()
        queue.add(A)
        desk.ends[A].set_result(None)
        assert await desk.begun.get() == A


async def test_a_result_of_zero_seconds_means_at_once() -> None:
    desk = Desk()
    async with running(desk.work) as queue:
        queue.add(A)
        await desk.begun.get()
        desk.ends[A].set_result(0)
        assert await desk.begun.get() == A


async def test_a_delayed_key_is_worked_on_when_its_time_has_come() -> None:
    desk = Desk()
    time = 0.0
    async with running(desk.work, clock=lambda: time) as queue:
        queue.add(A)
        await desk.begun.get()
        desk.ends[A].set_result(100)
        await released(queue, A)
        time = 100.0
        queue.add(B)  # any change makes the workers look at the clock
        assert {await desk.begun.get(), await desk.begun.get()} == {A, B}


async def test_a_delay_wakes_the_workers_by_itself() -> None:
    worked = asyncio.Event()

    async def work(_: TaskKey) -> None:
        worked.set()

    loop = asyncio.get_running_loop()
    async with running(work, clock=loop.time) as queue:
        queue.add_after(A, 0.01)
        async with asyncio.timeout(10):
            await worked.wait()


async def test_an_error_delays_its_key_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    async with running(desk.work) as queue:
        queue.add(A)
        await desk.begun.get()
        desk.ends[A].set_exception(RefusedError("the status breaks a rule"))
        queue.add(B)
        assert await desk.begun.get() == B
        assert desk.begun.empty()
        assert len(queue) == 2
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("one/a: the status breaks a rule; looking again in ")


async def test_a_retry_after_of_the_server_is_honoured() -> None:
    desk = Desk()
    time = 0.0
    async with running(desk.work, workers=3, clock=lambda: time) as queue:
        queue.add(A)
        await desk.begun.get()
        desk.ends[A].set_exception(UnavailableError("too many requests", 30))
        await released(queue, A)
        time = 29.0
        queue.add(A)
        queue.add(B)
        assert await desk.begun.get() == B
        time = 30.0
        queue.add(C)
        assert {await desk.begun.get(), await desk.begun.get()} == {A, C}


async def test_a_defect_in_the_work_on_one_key_is_logged_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
    async with running(desk.work) as queue:
        queue.add(A)
        await desk.begun.get()
        desk.ends[A].set_exception(ZeroDivisionError("a defect"))
        queue.add(B)
        assert await desk.begun.get() == B
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


async def test_forgetting_a_key_cancels_the_work_on_it() -> None:
    desk = Desk()
    async with running(desk.work) as queue:
        queue.add(A)
        await desk.begun.get()
        queue.forget(A)
        await released(queue, A)
        assert desk.cancelled == [A]
        assert len(queue) == 0


async def test_draining_lets_work_end_that_is_ready_or_busy() -> None:
    desk = Desk()
    async with running(desk.work, workers=1) as queue:
        queue.add(A)
        queue.add(B)
        queue.add_after(C, 100)
        assert await desk.begun.get() == A
        drained = asyncio.create_task(queue.drain(60))
        await asyncio.sleep(0)
        desk.ends[A].set_result(None)
        assert await desk.begun.get() == B
        desk.ends[B].set_result(None)
        assert await drained == ()
        assert desk.cancelled == []


async def test_draining_cancels_after_the_grace_what_has_not_ended() -> None:
    desk = Desk()
    async with running(desk.work, workers=1) as queue:
        queue.add(A)
        queue.add(B)
        await desk.begun.get()
        assert await queue.drain(0) == (A,)
        assert desk.cancelled == [A]
        assert desk.begun.empty()


async def test_the_oldest_work_is_known() -> None:
    desk = Desk()
    time = 10.0
    async with running(desk.work, clock=lambda: time) as queue:
        assert queue.oldest_busy_seconds() == 0
        queue.add(A)
        await desk.begun.get()
        time = 15.0
        queue.add(B)
        await desk.begun.get()
        time = 18.0
        assert queue.oldest_busy_seconds() == 8
