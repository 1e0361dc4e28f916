"""The limits of a `ResearchModel` hold over all tasks of a process, and hold up no worker."""

from __future__ import annotations

import asyncio
from itertools import repeat
from typing import Any

from controller.api.base import API_VERSION
from controller.api.model import ResearchModel
from controller.api.model_call import terms_of
from controller.api.step import ActionName
from controller.api.task import ResearchTask
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.pacing import Pacer
from controller.models.scripted import ScriptedModel
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from tests.model_runs import LIMITS, NO_QUERIES, quote
from tests.world import World


def resource(**spec: Any) -> ResearchModel:  # noqa: ANN401 - any field
    return ResearchModel.model_validate(
        {
            "apiVersion": API_VERSION,
            "kind": "ResearchModel",
            "metadata": {"name": "scripted", "namespace": "default", "uid": "u", "generation": 1},
            "spec": {"backend": "LlamaCpp", "baseURL": "http://h", "model": "m", **spec},
        }
    )


class Desk:
    """A world with one paced model, whose calls take as long as the test lets them."""

    def __init__(self, world: World, **spec: Any) -> None:  # noqa: ANN401 - any field
        self.world = world
        self.freed: list[TaskKey] = []
        self.times: list[float] = []
        self.under_way = self.most = 0
        self.gate = asyncio.Event()
        self.pacer = Pacer(world.clock, on_free=self.freed.append, monotonic=self.now)
        model = resource(**spec)
        scripted = ScriptedModel(repeat(self.answered), terms_of(model))
        self.pacer.limit(model)
        world.references.models["scripted"] = scripted
        self.operator = Reconciler(
            store=world.store,
            references=world.references,
            clock=world.clock,
            holder="operator-1",
            pacing=self.pacer,
        )

    def now(self) -> float:
        return self.world.clock.time.timestamp()

    async def answered(self, request: ModelRequest) -> ModelReply:
        self.times.append(self.now())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await self.gate.wait()
        self.under_way -= 1
        if "quotes" in str(request.answer_schema):
            return quote("Default: 40 lumens at the lowest dimmer position of the lamp.")
        return NO_QUERIES

    def apply(self, name: str, *, has_model: bool = True) -> TaskKey:
        spec: dict[str, Any] = {"modelRef": {"name": "scripted"}} if has_model else {}
        return self.world.apply(name, progressPolicy=LIMITS, **spec)

    async def work(self, key: TaskKey) -> float | None:
        """Look at a task, as a worker does, until it wants to wait."""
        for _ in range(100):
            requeue = await self.operator.reconcile(key)
            if requeue.after != 0:
                return requeue.after
            await asyncio.sleep(0)
        raise AssertionError(f"{key} is still busy")

    async def settle(self) -> None:
        """Let all that can go on without an answer go on."""
        for _ in range(200):
            await asyncio.sleep(0)


def succeeded(task: ResearchTask) -> tuple[str, str]:
    condition = next(c for c in task.status.conditions if c.type == "Succeeded")
    return condition.reason, condition.message


# S1.25
async def test_never_more_requests_are_under_way_than_the_limit(world: World) -> None:
    desk = Desk(world, maxConcurrentRequests=2)
    tasks = [desk.apply(f"task-{number}") for number in range(6)]
    plain = desk.apply("plain", has_model=False)
    work = [asyncio.create_task(desk.work(key)) for key in tasks]
    await desk.settle()
    assert desk.under_way == 2
    assert sum(w.done() for w in work) == 4, "no worker waits for a limit"
    waiting = [key for key, w in zip(tasks, work, strict=True) if w.done()]
    for key in waiting:
        reason, message = succeeded(await world.task(key))
        assert reason == "Queued"
        assert "spec.maxConcurrentRequests is 2" in message
    await desk.work(plain)
    assert (await world.task(plain)).status.terminal_reason == "GoalReached"
    desk.gate.set()
    await asyncio.gather(*work)
    assert desk.freed[:2] == waiting[:2], "who waits longest is told first"
    while waiting:
        await asyncio.gather(*(desk.work(key) for key in waiting))
        waiting = [k for k in waiting if (await world.task(k)).status.terminal_reason is None]
    assert desk.most == 2
    for key in tasks:
        assert (await world.task(key)).status.terminal_reason == "GoalReached"


# S1.25
async def test_requests_of_a_minute_hold_over_all_tasks(world: World) -> None:
    limit = 3
    desk = Desk(world, maxConcurrentRequests=9, rateLimit={"requestsPerMinute": limit})
    desk.gate.set()
    tasks = [desk.apply(f"task-{number}") for number in range(5)]
    left, seen = list(tasks), set()
    while left:
        for key in left:
            wait = await desk.work(key)
            seen.add(succeeded(await world.task(key)))
            assert wait is None or wait > 0
        world.clock.advance(1)
        left = [k for k in left if (await world.task(k)).status.terminal_reason is None]
    assert len(desk.times) > 2 * limit
    for first, later in zip(desk.times, desk.times[limit:], strict=False):
        assert later - first >= 60
    assert any("requestsPerMinute 3" in message for _, message in seen)
    endings = {(await world.task(key)).status.terminal_reason for key in tasks}
    assert endings == {"GoalReached"}


async def test_tokens_of_a_minute_hold_over_all_tasks(world: World) -> None:
    desk = Desk(world, rateLimit={"tokensPerMinute": 1500})
    desk.gate.set()
    tasks = [desk.apply(f"task-{number}") for number in range(3)]
    left, messages = list(tasks), []
    while left:
        for key in left:
            await desk.work(key)
            messages.append(succeeded(await world.task(key))[1])
        world.clock.advance(5)
        left = [k for k in left if (await world.task(k)).status.terminal_reason is None]
    assert any("tokensPerMinute 1500" in message for message in messages)
    steps = [step.spec for key in tasks for step in await world.steps(key)]
    calls = [(s.start_time.timestamp(), s.model_call) for s in steps if s.model_call]
    for time, _ in calls:
        window = [c for at, c in calls if time - 60 < at <= time]
        assert sum(c.prompt_tokens + c.completion_tokens for c in window) <= 1500


async def test_a_closing_summary_waits_for_a_slot_and_keeps_no_worker(world: World) -> None:
    desk = Desk(world, maxConcurrentRequests=1)
    desk.gate.set()
    limits = {**LIMITS, "maxStalledSteps": 50}
    questions = [
        {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
        {"id": "absent", "text": "What is the default of GLOW_FLAVOUR?"},
    ]
    key = world.apply(
        modelRef={"name": "scripted"},
        progressPolicy=limits,
        questions=questions,
        budgets={"maxModelCalls": 3},
    )
    for _ in range(100):
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.SUMMARIZE:
            break
        await desk.operator.reconcile(key)
    else:
        raise AssertionError("no closing summary was decided")
    other = TaskKey("default", "other")
    assert pending.reservation is not None
    slot = desk.pacer.take(other, pending.reservation)
    assert slot is not None
    assert desk.pacer.take(other, pending.reservation) is None
    sent = len(desk.times)
    requeue = await desk.operator.reconcile(key)
    assert requeue.after is not None
    assert requeue.after > 0
    assert len(desk.times) == sent
    slot.release(None)
    assert desk.freed == [key]
    await desk.work(key)
    assert len(desk.times) == sent + 1
    assert (await world.task(key)).status.terminal_reason == "ModelCallBudgetExhausted"


async def test_a_slot_is_given_back_whatever_becomes_of_the_call(world: World) -> None:
    desk = Desk(world, maxConcurrentRequests=1)
    key = desk.apply("task")
    work = asyncio.create_task(desk.work(key))
    await desk.settle()
    assert full(desk, key)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert not full(desk, key)


async def test_a_changed_limit_counts_at_once(world: World) -> None:
    desk = Desk(world, maxConcurrentRequests=1)
    key = desk.apply("task")
    work = asyncio.create_task(desk.work(key))
    await desk.settle()
    assert full(desk, key)
    desk.pacer.limit(resource(maxConcurrentRequests=2))
    assert not full(desk, key)
    desk.gate.set()
    await work
    assert desk.pacer.pace(key, "another") is None


def full(desk: Desk, key: TaskKey) -> bool:
    pace = desk.pacer.pace(key, "scripted")
    assert pace is not None
    return pace.is_full
