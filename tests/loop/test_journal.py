"""The chain of records: what continues a journal, and what ends it as corrupt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.api.errors import JournalError
from controller.api.step import ActionName, ResearchStep
from controller.loop import journal
from controller.loop.run_state import initial
from controller.loop.state import fold
from tests.world import World


@pytest.fixture
async def steps(tmp_path: Path) -> tuple[ResearchStep, ...]:
    world = World(tmp_path)
    key = world.apply()
    await world.run(key)
    stored = await world.steps(key)
    world.close()
    return stored


def folded(steps: tuple[ResearchStep, ...]) -> None:
    state = initial("task", steps[0].spec.task_uid, "The lamp")
    for step in steps:
        state = fold(state, step)


def changed(step: ResearchStep, **spec: Any) -> ResearchStep:  # noqa: ANN401
    return step.model_copy(update={"spec": step.spec.model_copy(update=spec)})


async def test_a_run_leaves_a_chain_that_folds(steps: tuple[ResearchStep, ...]) -> None:
    assert [s.spec.index for s in steps] == list(range(len(steps)))
    assert steps[0].spec.previous_digest == journal.genesis_digest(
        steps[0].spec.task_uid, "The lamp"
    )
    folded(steps)


# S0.17
@pytest.mark.parametrize(
    ("error_class", "mutate"),
    [
        ("MissingStep", lambda s: (s[0], *s[2:])),
        ("StepChanged", lambda s: (s[0], changed(s[1], attempt=2), *s[2:])),
        ("FormatVersion", lambda s: (changed(s[0], format_version=2), *s[1:])),
        (
            "BrokenChain",
            lambda s: (
                s[0],
                s[1].model_copy(
                    update={
                        "spec": journal.seal(
                            s[1].spec.model_copy(update={"previous_digest": journal.UNSEALED})
                        )
                    }
                ),
            ),
        ),
        (
            "ForeignStep",
            lambda s: (
                s[0].model_copy(
                    update={"metadata": s[0].metadata.model_copy(update={"owner_references": ()})}
                ),
            ),
        ),
        ("ForeignStep", lambda s: (changed(s[0], task_uid="11111111-1111"), *s[1:])),
        (
            "IncompleteStep",
            lambda s: (
                s[0].model_copy(
                    update={"spec": journal.seal(s[0].spec.model_copy(update={"plan": None}))}
                ),
            ),
        ),
    ],
)
async def test_what_does_not_continue_the_chain_is_refused(
    steps: tuple[ResearchStep, ...],
    error_class: str,
    mutate: Any,  # noqa: ANN401
) -> None:
    with pytest.raises(JournalError) as raised:
        folded(mutate(steps))
    assert raised.value.error_class == error_class


async def test_every_byte_of_a_record_is_under_its_digest(steps: tuple[ResearchStep, ...]) -> None:
    spec = steps[2].spec
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        other = value + 1 if isinstance(value, int) and name != "digest" else None
        if other is not None:
            assert journal.step_digest(spec.model_copy(update={name: other})) != spec.digest


# S1.6
def test_the_operation_id_depends_on_task_index_action_and_arguments_alone() -> None:
    same = journal.operation_id("u", 1, ActionName.SEARCH, "{}")
    assert same == journal.operation_id("u", 1, ActionName.SEARCH, "{}")
    others = {
        journal.operation_id("v", 1, ActionName.SEARCH, "{}"),
        journal.operation_id("u", 2, ActionName.SEARCH, "{}"),
        journal.operation_id("u", 1, ActionName.DRAFT, "{}"),
        journal.operation_id("u", 1, ActionName.SEARCH, '{"a":1}'),
    }
    assert len(others | {same}) == 5
