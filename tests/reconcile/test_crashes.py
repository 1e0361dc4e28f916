"""Crashes and lost answers: nothing that is recorded is repeated, the ending stays the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from controller.api.errors import StoreError
from controller.api.reasons import TerminalReason
from controller.api.step import ActionName
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from tests.faults import FaultyStore, Moment
from tests.world import World

QUESTIONS = [
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "absent", "text": "What is the default of FROST_LEVEL?"},
]


async def content_of(world: World, key: TaskKey) -> list[tuple[str, str, str]]:
    """Return what a journal says, its times and holders apart."""
    return [
        (s.spec.action, s.spec.arguments, s.spec.observation.digest) for s in await world.steps(key)
    ]


async def expected(
    tmp_path: Path, questions: list[dict[str, str]] = QUESTIONS
) -> list[tuple[str, str, str]]:
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    undisturbed = World(folder)
    key = undisturbed.apply(questions=questions)
    await undisturbed.run(key)
    content = await content_of(undisturbed, key)
    undisturbed.close()
    return content


# S0.5, S0.10, S1.12, S4.38
async def test_a_fresh_process_for_every_step_takes_the_same_steps(
    world: World, tmp_path: Path
) -> None:
    key = world.apply(questions=QUESTIONS)
    for _ in range(200):
        operator = world.operator()
        await operator.reconcile(key)  # puts its own name on the intent
        if (await operator.reconcile(key)).after is None:  # and carries it out
            break
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED
    assert await content_of(world, key) == await expected(tmp_path)


# S1.12, S1.31
async def test_two_operators_on_one_task_repeat_nothing_recorded(
    world: World, tmp_path: Path
) -> None:
    key = world.apply(questions=QUESTIONS)
    operators = [world.operator(), world.operator()]
    for turn in range(400):
        await operators[turn % 2].reconcile(key)
    assert await content_of(world, key) == await expected(tmp_path)
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.usage is not None
    assert task.status.usage.writes == 1


# S1.2, S1.13, S4.7, S4.38, T17, T18, E20
@pytest.mark.parametrize("moment", Moment)
async def test_any_write_may_be_lost_and_the_journal_stays_the_same(
    tmp_path: Path, moment: Moment
) -> None:
    undisturbed = await expected(tmp_path, QUESTIONS[:1])
    for at in range(1, 100):
        folder = tmp_path / f"{moment}-{at}"
        folder.mkdir()
        world = World(folder)
        store = FaultyStore(world.store, at, moment)
        key = world.apply(questions=QUESTIONS[:1])
        same_process = Reconciler(
            store=store.port,
            references=world.references,
            clock=world.clock,
            holder="operator-0",
        )
        await _until_it_rests(same_process, key)
        assert await content_of(world, key) == undisturbed
        effects = Counter(s.spec.action for s in await world.steps(key))
        assert effects[ActionName.PUBLISH] == 1
        world.close()
        if not store.is_hit:
            break
    else:
        raise AssertionError("the run never ended without a fault")


async def _until_it_rests(operator: Reconciler, key: TaskKey) -> None:
    for _ in range(300):
        try:
            requeue = await operator.reconcile(key)
        except StoreError:
            continue
        if requeue.after is None:
            return
    raise AssertionError("it is still busy")


# S4.24
async def test_a_draining_process_leaves_nothing_in_doubt(world: World, tmp_path: Path) -> None:
    key = world.apply(questions=QUESTIONS)
    first = world.operator()
    for _ in range(4):
        await first.reconcile(key)
    first.drain()
    assert (await first.reconcile(key)).after is None
    task = await world.task(key)
    assert task.status.pending is None
    assert task.status.terminal_reason is None
    await world.run(key)
    assert await content_of(world, key) == await expected(tmp_path)


# S1.2, S1.6, S1.7, S1.13, S4.3, T17
async def test_a_report_written_before_the_crash_is_adopted(world: World) -> None:
    key = world.apply(questions=QUESTIONS)
    lost = FaultyStore(world.store, 10_000, Moment.BEFORE)
    operator = Reconciler(
        store=lost.port,
        references=world.references,
        clock=world.clock,
        holder="operator-0",
    )
    while True:
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.PUBLISH:
            break
        await operator.reconcile(key)
    # The next write is the report's, the one after it is the step's, and that one is lost.
    lost._left = 2
    with pytest.raises(StoreError):
        await operator.reconcile(key)
    written = await world.store.get_report(await world.task(key))
    assert written is not None
    await world.run(key, world.operator())
    task = await world.task(key)
    assert await world.store.get_report(task) == written
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED


# S1.28
@pytest.mark.parametrize("index", [0, 2, 4])
async def test_a_journal_that_was_tampered_with_is_left_alone(world: World, index: int) -> None:
    key = world.apply(questions=QUESTIONS)
    operator = world.operator()
    for _ in range(9):
        await operator.reconcile(key)
    steps = await world.steps(key)
    assert len(steps) > index
    world.tamper(steps[index])
    await world.run(key, world.operator())
    task = await world.task(key)
    assert task.status.terminal_reason is TerminalReason.JOURNAL_CORRUPT
    assert len(await world.steps(key)) == len(steps)
    assert await world.store.get_report(task) is None
    version = task.metadata.resource_version
    await world.run(key, world.operator())
    assert (await world.task(key)).metadata.resource_version == version
