"""The status of an ended task that somebody has changed is made from the journal again."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.api.errors import NotFoundError
from controller.api.meta import Condition
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.ports import TaskKey
from tests.world import World

ABSENT = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}
GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
LONG_AGO = datetime.fromisoformat("2001-01-01T00:00:00Z")


async def ended(world: World, **spec: Any) -> tuple[TaskKey, ResearchTask]:  # noqa: ANN401
    key = world.apply(**{"questions": [GLOW, ABSENT], **spec})
    await world.run(key)
    world.clock.advance(100)
    return key, await world.task(key)


def dated(conditions: tuple[Condition, ...], time: datetime) -> tuple[Condition, ...]:
    return tuple(c.model_copy(update={"last_transition_time": time}) for c in conditions)


def edits(status: ResearchTaskStatus) -> dict[str, dict[str, Any]]:
    """Return changes that the rules of the schema let anybody with the right make."""
    assert status.usage is not None
    return {
        "questions": {"questions": ()},
        "quality": {"quality": None},
        "a message": {
            "conditions": tuple(
                c.model_copy(update={"message": "all is well"}) for c in status.conditions
            )
        },
        "the times": {
            "completion_time": LONG_AGO,
            "conditions": dated(status.conditions, LONG_AGO),
        },
        "a wake-up that never comes": {"next_wake_up_time": LONG_AGO + timedelta(days=36_500)},
        "the journal": {"journal": None},
        "the report": {"report": None},
        "the seal": {"digest": None},
        "a reason to wake up": {"wake_up_reason": "Nothing"},
    }


# S0.19, S1.16
@pytest.mark.parametrize(
    "name",
    [
        "questions", "quality", "a message", "the times", "a wake-up that never comes",
        "the journal", "the report", "the seal", "a reason to wake up",
    ],
)  # fmt: skip
async def test_what_was_changed_is_made_from_the_journal_again(
    world: World, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    key, task = await ended(world)
    steps = await world.steps(key)
    change = edits(task.status)[name]
    await world.store.write_status(task, task.status.model_copy(update=change))
    with caplog.at_level(logging.WARNING):
        assert await world.run(key) <= 2
    again = await world.task(key)
    assert "somebody had changed the status" in caplog.text
    shown, before = again.status.to_json(), task.status.to_json()
    for condition in (*shown["conditions"], *before["conditions"]):
        # A transition's time is not in the journal: it becomes that of the last step.
        time = datetime.fromisoformat(condition.pop("lastTransitionTime"))
        assert abs(time - (task.status.completion_time or time)) < timedelta(seconds=2)
    shown.pop("digest")
    before.pop("digest")
    assert shown == before
    assert await world.steps(key) == steps
    version = again.metadata.resource_version
    await world.run(key, world.operator())
    assert (await world.task(key)).metadata.resource_version == version


async def test_while_nothing_was_changed_nothing_is_read_but_the_task(world: World) -> None:
    key, task = await ended(world)
    operator = world.operator()
    assert (await operator.reconcile(key)).after is None
    assert not operator.knows(key)
    assert (await world.task(key)).metadata.resource_version == task.metadata.resource_version


async def test_a_counter_that_was_raised_is_told_of_and_left_without_a_loop(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    # The rules of the schema let no counter fall, so nobody can take it back.
    key, task = await ended(world)
    assert task.status.usage is not None
    raised = task.status.usage.model_copy(update={"steps": 1000})
    changed = task.status.model_copy(update={"usage": raised})
    await world.store.write_status(task, changed)
    operator = world.operator()
    assert (await operator.reconcile(key)).after is None
    assert "cannot be made again" in caplog.text
    assert "no counter of usage may fall" in caplog.text


async def test_a_task_is_kept_for_its_time_whatever_was_written_into_its_status(
    world: World,
) -> None:
    key, task = await ended(world, ttlSecondsAfterFinished=600)
    early = {"conditions": dated(task.status.conditions, LONG_AGO)}
    await world.store.write_status(task, task.status.model_copy(update=early))
    await world.run(key)
    kept = await world.task(key)
    assert kept.status.next_wake_up_time is not None
    assert abs(kept.status.next_wake_up_time - world.clock.time) < timedelta(seconds=501)
    world.clock.advance(501)
    await world.run(key)
    with pytest.raises(NotFoundError):
        await world.task(key)


async def test_an_ending_that_was_shown_is_not_told_again(world: World) -> None:
    key, task = await ended(world)
    told = [event.reason for event in world.store.events(task)]
    await world.store.write_status(task, task.status.model_copy(update={"questions": ()}))
    await world.run(key)
    assert [event.reason for event in world.store.events(task)] == told
