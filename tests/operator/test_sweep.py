"""What the sweeps find, from lists and an inventory that a test sets."""

from __future__ import annotations

import asyncio

import pytest

from controller.api.errors import UnavailableError
from controller.api.meta import ObjectMeta, OwnerReference
from controller.inventory import Inventory, SeenTask
from controller.ports import TaskKey
from controller.sweep import Findings, Sweeper, WatchDeadError


class Lists:
    """The lists as the API server would answer them, and what the sweeps found."""

    def __init__(self) -> None:
        self.tasks: dict[str, int] = {}
        self.counts: list[int | None] = []
        self.report_owners: list[str] = []
        self.failures = 0
        self.late: list[str] = []
        self.vanished: list[str] = []
        self.without_report: list[str] = []
        self.inventory = Inventory()
        self.time = 0.0
        self.sweeper = Sweeper(
            self.inventory,
            Findings(
                on_late=lambda key: self.late.append(key.name),
                on_vanished=lambda key: self.vanished.append(key.name),
                on_report_missing=lambda key: self.without_report.append(key.name),
            ),
            count_tasks=self._count_tasks,
            list_tasks=self._list_tasks,
            list_reports=self._list_reports,
            beginning_seconds=10,
            lag_seconds=0,
            clock=lambda: self.time,
        )

    def show(self, name: str, version: int, *, is_finished: bool = False) -> None:
        """Let the watch show a version of a task."""
        seen = SeenTask(version, f"uid-{name}", ("lamp",), None, is_finished, is_finished)
        self.inventory.put(TaskKey("team", name), seen)

    async def _count_tasks(self) -> int | None:
        """Answer with the counts that are set, one after the other, and one more second passes."""
        if self.failures:
            self.failures -= 1
            raise UnavailableError("no answer")
        self.time += 1
        return self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]

    async def _list_tasks(self) -> tuple[ObjectMeta, ...]:
        if self.failures:
            self.failures -= 1
            raise UnavailableError("no answer")
        return tuple(
            ObjectMeta(name=name, namespace="team", resource_version=str(version))
            for name, version in self.tasks.items()
        )

    async def _list_reports(self) -> tuple[ObjectMeta, ...]:
        return tuple(
            ObjectMeta(
                name="report",
                owner_references=(OwnerReference(api_version="v", kind="k", name="n", uid=uid),),
            )
            for uid in self.report_owners
        )


async def test_what_the_watch_has_shown_is_not_looked_at_again() -> None:
    lists = Lists()
    lists.tasks = {"same": 5, "older": 5}
    lists.show("same", 5)
    lists.show("older", 9)
    assert not lists.sweeper.knows_all
    await lists.sweeper.sweep_tasks()
    assert lists.late == []
    assert lists.vanished == []
    assert lists.sweeper.knows_all


async def test_a_watch_that_shows_as_many_tasks_as_there_are_has_begun() -> None:
    lists = Lists()
    lists.counts = [2]
    lists.show("first", 5)
    begins = asyncio.create_task(lists.sweeper.watch_begins())
    await asyncio.sleep(0)
    assert not begins.done()
    lists.show("second", 6)
    assert await begins
    assert lists.sweeper.knows_all
    assert lists.late == []


async def test_tasks_that_go_while_the_watch_begins_are_not_waited_for() -> None:
    lists = Lists()
    lists.counts = [2, 1]
    lists.show("first", 5)
    begins = asyncio.create_task(lists.sweeper.watch_begins())
    await asyncio.sleep(0)
    lists.time += 1
    assert await begins


@pytest.mark.parametrize("count", [None, 2])
async def test_tasks_are_listed_if_the_watch_does_not_show_as_many(count: int | None) -> None:
    lists = Lists()
    lists.counts = [count]
    lists.show("first", 5)
    begins = asyncio.create_task(lists.sweeper.watch_begins())
    while not begins.done():
        await asyncio.sleep(0)
        lists.time += 10
    assert not await begins
    assert not lists.sweeper.knows_all


async def test_unknown_and_newer_tasks_are_looked_at() -> None:
    lists = Lists()
    lists.tasks = {"unknown": 3, "newer": 8}
    lists.show("newer", 7)
    await lists.sweeper.sweep_tasks()
    assert lists.late == ["unknown", "newer"]


async def test_a_task_that_is_not_listed_any_more_has_vanished() -> None:
    lists = Lists()
    lists.show("gone", 3)
    await lists.sweeper.sweep_tasks()
    assert lists.vanished == ["gone"]


async def test_the_watch_is_dead_when_two_sweeps_miss_the_same_version() -> None:
    lists = Lists()
    lists.tasks = {"missed": 3}
    await lists.sweeper.sweep_tasks()
    with pytest.raises(WatchDeadError, match="team/missed"):
        await lists.sweeper.sweep_tasks()


async def test_the_watch_is_not_dead_when_it_has_shown_what_the_last_sweep_missed() -> None:
    lists = Lists()
    lists.tasks = {"busy": 3}
    await lists.sweeper.sweep_tasks()
    lists.show("busy", 4)
    lists.tasks = {"busy": 6}
    await lists.sweeper.sweep_tasks()
    assert lists.late == ["busy", "busy"]


async def test_the_watch_is_not_dead_when_what_it_missed_is_gone() -> None:
    lists = Lists()
    lists.tasks = {"brief": 3}
    await lists.sweeper.sweep_tasks()
    lists.tasks = {}
    await lists.sweeper.sweep_tasks()


async def test_a_sweep_waits_for_a_watch_that_lags() -> None:
    lists = Lists()
    lists.sweeper._lag_seconds = 60
    lists.tasks = {"lagging": 3}
    sweep = asyncio.create_task(lists.sweeper.sweep_tasks())
    await asyncio.sleep(0)
    lists.show("lagging", 3)
    await sweep
    assert lists.late == []


async def test_the_report_of_a_finished_task_must_be_there() -> None:
    lists = Lists()
    lists.show("kept", 1, is_finished=True)
    lists.show("lost", 1, is_finished=True)
    lists.show("running", 1)
    lists.report_owners = ["uid-kept", "somebody-else"]
    await lists.sweeper.sweep_reports()
    assert lists.without_report == ["lost"]


async def test_a_sweep_that_fails_is_no_end(caplog: pytest.LogCaptureFixture) -> None:
    lists = Lists()
    lists.failures, lists.counts = 2, [0]
    running = asyncio.create_task(lists.sweeper.run_tasks(600, lambda: 0.0))
    while "tried again" not in caplog.text:  # noqa: ASYNC110 - the log has no event to wait for
        await asyncio.sleep(0)
    assert "cannot be counted" in caplog.text
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_it_is_known_for_how_long_the_api_server_has_been_silent() -> None:
    lists = Lists()
    lists.time = 50.0
    assert lists.sweeper.silent_seconds() == 50
    await lists.sweeper.sweep_reports()
    lists.time = 57.0
    assert lists.sweeper.silent_seconds() == 7
