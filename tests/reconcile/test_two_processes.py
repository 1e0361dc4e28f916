"""Two living processes on one task whose actions cost: neither interrupts the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.api.reasons import TerminalReason
from controller.api.step import ActionName, Outcome
from controller.holders import (
    local_holder,
    local_process_may_live,
    other_pod_may_live,
    pod_holder,
    process_exists,
)
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from tests.world import World

QUESTIONS = [
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "absent", "text": "What is the default of FROST_LEVEL?"},
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.lamp.is_remote = True
    yield made
    made.close()


def process(world: World, name: str, *, others_may_live: bool) -> Reconciler:
    return Reconciler(
        store=world.store,
        references=world.references,
        clock=world.clock,
        holder=name,
        may_live=lambda _: others_may_live,
    )


async def in_turns(key: TaskKey, *processes: Reconciler) -> None:
    """Let the processes take 200 turns, one after the other."""
    for turn in range(200):
        await processes[turn % len(processes)].reconcile(key)


# S4.8
@pytest.mark.parametrize("others_may_live", [True, False])
async def test_attempts_of_a_process_that_may_live_are_left_to_it(
    world: World,
    others_may_live: bool,  # noqa: FBT001 - pytest passes by name
) -> None:
    key = world.apply(questions=QUESTIONS)
    pair = [process(world, name, others_may_live=others_may_live) for name in ("one", "two")]
    await in_turns(key, *pair)
    task = await world.task(key)
    assert task.status.usage is not None
    if others_may_live:
        assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
        assert task.status.usage.interrupted == 0
        assert task.status.usage.source_calls == len(world.lamp.searches)
    else:  # what the rule is for: a holder that is taken for dead is interrupted
        assert task.status.usage.interrupted > 0
        assert task.status.terminal_reason is not TerminalReason.GOAL_REACHED


async def test_a_process_that_has_died_elsewhere_is_waited_for_and_then_charged(
    world: World,
) -> None:
    key = world.apply(questions=QUESTIONS, progressPolicy={"stepTimeoutSeconds": 30})
    gone = process(world, "gone", others_may_live=True)
    while True:
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.SEARCH:
            break
        await gone.reconcile(key)
    version = (await world.task(key)).metadata.resource_version
    other = process(world, "other", others_may_live=True)
    requeue = await other.reconcile(key)
    assert requeue.after is not None
    assert 29 < requeue.after <= 30
    assert (await world.task(key)).metadata.resource_version == version
    world.clock.advance(30)
    await world.run(key, other)
    searches = [s.spec for s in await world.steps(key) if s.spec.action == "Search"]
    assert searches[0].outcome is Outcome.INTERRUPTED
    assert searches[0].holder == "gone"
    world.clock.advance(5)
    await world.run(key, other)
    assert (await world.task(key)).status.terminal_reason is TerminalReason.GOAL_REACHED


class TestHolders:
    def test_of_the_same_pod_name_only_one_lives(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("POD_NAME", "fixpoint-0")
        before, own = pod_holder(), pod_holder()
        assert before != own
        assert not other_pod_may_live(own, before)
        monkeypatch.setenv("POD_NAME", "fixpoint-1")
        assert other_pod_may_live(own, pod_holder())

    def test_a_process_of_this_machine_lives_while_its_number_is_there(self) -> None:
        own = local_holder()
        place, number, _ = own.split("/")
        assert int(number) == os.getpid()

        def may_live(other: str, exists: Callable[[int], bool] = lambda _: True) -> bool:
            return local_process_may_live(own, other, exists)

        assert may_live(f"{place}/12345/aaaaaaaa")
        assert not may_live(f"{place}/12345/aaaaaaaa", lambda _: False)
        assert not may_live(f"{place}/{number}/aaaaaaaa")  # its number is ours now
        assert may_live("elsewhere/12345/aaaaaaaa", lambda _: False)
        assert may_live("a name of another form", lambda _: False)

    def test_a_process_exists_until_it_has_ended(self) -> None:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert process_exists(child.pid)
        child.communicate(b"\n")
        assert not process_exists(child.pid)
