"""Cancelling: a running action is stopped, what costs is charged, and nothing starts again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from controller.api.reasons import TerminalReason
from controller.api.step import ActionName, Outcome
from controller.ports import SearchOutcome, TaskKey
from controller.sources.scripted import ScriptedSource
from tests.world import LAMP_MANUAL, World


class SlowSource(ScriptedSource):
    """A source that answers only when it is allowed to; it says when it was asked."""

    def __init__(self, name: str, *, is_remote: bool) -> None:
        super().__init__(name, LAMP_MANUAL)
        self.is_remote = is_remote
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        self.asked.set()
        await self.may_answer.wait()
        return await super().search(query, limit=limit, terms=terms)


async def cancelled_in_a_search(world: World, *, is_remote: bool) -> tuple[TaskKey, SlowSource]:
    source = SlowSource("lamp", is_remote=is_remote)
    world.references.sources["lamp"] = source
    key = world.apply()
    operator = world.operator()
    running = asyncio.create_task(world.run(key, operator))
    await source.asked.wait()
    world.apply(desiredState="Cancelled")
    operator.interrupt(key)
    async with asyncio.timeout(2):
        await running
    return key, source


async def test_a_local_action_is_stopped_and_leaves_no_record(world: World) -> None:
    key, _ = await cancelled_in_a_search(world, is_remote=False)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.CANCELLED
    actions = [s.spec.action for s in await world.steps(key)]
    assert ActionName.SEARCH not in actions


async def test_a_paid_one_is_charged_and_its_answer_is_lost(world: World) -> None:
    key, source = await cancelled_in_a_search(world, is_remote=True)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.CANCELLED
    assert task.status.usage is not None
    assert (task.status.usage.source_calls, task.status.usage.interrupted) == (1, 1)
    searches = [s.spec for s in await world.steps(key) if s.spec.action == "Search"]
    assert [s.outcome for s in searches] == [Outcome.INTERRUPTED]
    assert source.searches == []


async def test_cancelled_is_absorbing(world: World) -> None:
    key = world.apply(desiredState="Cancelled")
    await world.run(key)
    steps = await world.steps(key)
    world.apply(desiredState="Cancelled", budgets={"maxSteps": 500})
    await world.run(key)
    assert await world.steps(key) == steps
    assert (await world.task(key)).status.terminal_reason is TerminalReason.CANCELLED


async def test_there_is_nothing_to_cancel_in_a_finished_run(world: World) -> None:
    key = world.apply()
    await world.run(key)
    world.apply(desiredState="Cancelled")
    await world.run(key)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED


async def test_a_process_that_is_stopped_itself_does_not_go_on(world: World) -> None:
    source = SlowSource("lamp", is_remote=False)
    world.references.sources["lamp"] = source
    key = world.apply()
    running = asyncio.create_task(world.run(key))
    await source.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    source.may_answer.set()
    await world.run(key)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
