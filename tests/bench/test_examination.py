"""The scale benchmark's look at a journal finds what it is there to find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.errors import JournalError
from controller.api.meta import ObjectMeta
from controller.api.step import ActionName, ResearchStep, step_name
from controller.api.task import ResearchTask
from controller.loop.journal import operation_id, seal
from tests.bench.scale_benchmark import examine
from tests.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


async def finished(world: World) -> tuple[ResearchTask, list[ResearchStep]]:
    key = world.apply()
    await world.run(key)
    return await world.task(key), list(await world.steps(key))


def again(task: ResearchTask, steps: list[ResearchStep], action: ActionName) -> ResearchStep:
    """Return a step that does what an earlier one has done, as a new link of the chain."""
    first = next(step for step in steps if step.spec.action is action)
    index, uid = len(steps), task.metadata.uid
    spec = first.spec.model_copy(
        update={
            "index": index,
            "operation_id": operation_id(uid, index, action, first.spec.arguments),
            "previous_digest": steps[-1].spec.digest,
        }
    )
    metadata: ObjectMeta = first.metadata.model_copy(
        update={"name": step_name(task.metadata.name, uid, index)}
    )
    return ResearchStep(metadata=metadata, spec=seal(spec))


def shown(task: ResearchTask, steps: list[ResearchStep]) -> dict[str, Any]:
    """Return the task with a status that shows all of these steps."""
    shows = {"steps": len(steps), "digest": steps[-1].spec.digest}
    stored = task.to_json()
    return stored | {"status": stored["status"] | {"journal": shows}}


async def test_a_whole_run_has_no_repeated_step(world: World) -> None:
    task, steps = await finished(world)
    journal = examine(task.to_json(), steps)
    assert (journal.reason, journal.steps) == ("GoalReached", len(steps))
    assert (journal.repeated, journal.interrupted, len(journal.holders)) == ([], 0, 1)


async def test_a_search_that_was_done_twice_is_a_repeated_step(world: World) -> None:
    task, steps = await finished(world)
    steps.append(again(task, steps, ActionName.SEARCH))
    assert len(examine(shown(task, steps), steps).repeated) == 1


async def test_a_missing_step_is_found(world: World) -> None:
    task, steps = await finished(world)
    del steps[2]
    with pytest.raises(JournalError, match="step 2 is missing"):
        examine(task.to_json(), steps)


async def test_a_status_that_is_behind_its_journal_is_found(world: World) -> None:
    task, steps = await finished(world)
    with pytest.raises(ValueError, match="does not show its journal"):
        examine(shown(task, steps[:-1]), steps)
