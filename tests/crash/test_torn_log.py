"""The local home's write-ahead log, cut anywhere in its last transaction: the step is whole or not.

What a dying machine leaves of the last write may end at any byte. A fresh process must open what
is left, find every earlier step, and go on to the same end.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.api.errors import StoreError
from controller.api.reasons import TerminalReason
from controller.api.step import ActionName
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.store.local import LocalStore
from tests.faults import FaultyStore, Moment
from tests.world import World

_LOG = "store.db-wal"
_SALT_AND_HEADER = 24
"""A frame of the log has a header of so many bytes, then a page: cuts fall in both."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "torn"
    folder.mkdir()
    made = World(folder)
    yield made
    made.close()


# T19
async def test_a_log_that_is_cut_anywhere_holds_whole_steps_only(
    world: World, tmp_path: Path
) -> None:
    key = world.apply()
    before, after = await _last_transaction(world, key)
    steps = await world.steps(key)
    log = (world.path.parent / _LOG).read_bytes()
    found = set()
    for length in _cuts(before, after):
        folder = tmp_path / f"cut-{length}"
        folder.mkdir()
        shutil.copy(world.path, folder / "store.db")
        (folder / _LOG).write_bytes(log[:length])
        with LocalStore.open(folder / "store.db", world.clock) as store:
            left = await store.list_steps(await store.get_task(key), 0)
            found.add(len(left))
            assert left == steps[: len(left)]
            assert len(steps) - len(left) in {0, 1}
            assert (len(left) == len(steps)) is (length == after)
            await _go_on(world, store, key)
            task = await store.get_task(key)
            assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
            again = await store.list_steps(task, 0)
        assert [s.spec.operation_id for s in again] == [s.spec.operation_id for s in steps]
    assert found == {len(steps) - 1, len(steps)}


async def _last_transaction(world: World, key: TaskKey) -> tuple[int, int]:
    """Create the step of `Publish` as the last write; return the log's size before and after."""
    store = FaultyStore(world.store, 10_000, Moment.BEFORE)
    operator = Reconciler(
        store=store.port, references=world.references, clock=world.clock, holder="operator-0"
    )
    while True:
        pending = (await world.task(key)).status.pending
        if pending is not None and pending.action is ActionName.PUBLISH:
            break
        await operator.reconcile(key)
    log = world.path.parent / _LOG
    store._left = 2  # the report is written, the step is not
    with pytest.raises(StoreError):
        await operator.reconcile(key)
    before = log.stat().st_size
    store._left, store._moment = 1, Moment.AFTER  # the step is written, the status is not
    with pytest.raises(StoreError):
        await operator.reconcile(key)
    return before, log.stat().st_size


def _cuts(before: int, after: int) -> list[int]:
    """Return lengths from the log without the transaction to all of it, each byte near an end."""
    assert after > before
    near = range(_SALT_AND_HEADER + 2)
    return sorted(
        {
            *(before + n for n in near),
            *range(before, after, 251),  # a prime: no cut lies where another one of a frame does
            *(after - n for n in near),
        }
    )


async def _go_on(world: World, store: LocalStore, key: TaskKey) -> None:
    operator = Reconciler(
        store=store, references=world.references, clock=world.clock, holder="a fresh process"
    )
    for _ in range(20):
        if (await operator.reconcile(key)).after is None:
            return
    raise AssertionError("it is still busy")
