"""The contract of `TaskStore`, first half: objects, versions, generations and statuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from controller.api.base import ApiModel, digest_of
from controller.api.errors import ConflictError, NotFoundError, RefusedError
from controller.api.meta import ConditionStatus
from controller.api.model import ResearchModelStatus
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.source import ResearchSourceStatus
from controller.api.task import REQUESTED_AT, ResearchTask, ResearchTaskStatus, Usage
from controller.ports import TaskKey
from tests.store.builders import (
    Manifest,
    condition,
    full_status,
    model_manifest,
    source_manifest,
    task_manifest,
)
from tests.store.homes import Home, RejectedError

JsonPath = tuple[str, ...]


async def create_task(home: Home, name: str, **spec: Any) -> ResearchTask:  # noqa: ANN401 - JSON
    home.apply(task_manifest(name, home.namespace, **spec))
    return await home.store.get_task(TaskKey(home.namespace, name))


def optional_fields(model: ApiModel, path: JsonPath = ()) -> Iterator[JsonPath]:
    """Name every field that may be absent, at each depth that a merge patch descends to."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if not field.is_required() and field.default is None:
            assert value is not None, f"full_status() must set {'.'.join((*path, name))}"
            yield (*path, name)
        if isinstance(value, BaseModel):
            assert isinstance(value, ApiModel)
            yield from optional_fields(value, (*path, name))


def without(model: ApiModel, path: JsonPath) -> ApiModel:
    """Return a copy without the field at a path."""
    first, *rest = path
    value = without(getattr(model, first), tuple(rest)) if rest else None
    return model.model_copy(update={first: value})


OPTIONAL_FIELDS = tuple(optional_fields(full_status()))


def test_optional_fields_are_found_at_every_depth() -> None:
    assert ("pending",) in OPTIONAL_FIELDS
    assert ("pending", "question_id") in OPTIONAL_FIELDS
    assert ("terminal_reason",) in OPTIONAL_FIELDS


async def test_what_is_not_there_is_not_found(home: Home) -> None:
    with pytest.raises(NotFoundError):
        await home.store.get_task(TaskKey(home.namespace, "nobody"))
    with pytest.raises(NotFoundError):
        await home.store.get_source(home.namespace, "nobody")
    with pytest.raises(NotFoundError):
        await home.store.get_model(home.namespace, "nobody")


async def test_a_new_task_is_unseen_and_keeps_the_defaults_it_was_created_with(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)

    assert task.status == ResearchTaskStatus(observed_generation=-1)
    assert task.metadata.generation == 1
    assert task.metadata.uid
    assert task.metadata.resource_version
    assert task.metadata.creation_timestamp is not None
    stored = home.stored("ResearchTask", new_name)
    assert stored is not None
    assert stored["spec"]["budgets"]["maxSteps"] == 60
    assert stored["status"]["observedGeneration"] == -1


async def test_sources_and_models_are_read_as_they_were_declared(home: Home, new_name: str) -> None:
    home.apply(source_manifest(new_name, home.namespace, priority=10))
    home.apply(model_manifest(new_name, home.namespace, temperature="0.7"))

    assert (await home.store.get_source(home.namespace, new_name)).spec.priority == 10
    assert (await home.store.get_model(home.namespace, new_name)).spec.temperature == "0.7"


async def test_writing_the_status_moves_the_version_and_nothing_of_the_spec(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    changed_spec = task.spec.model_copy(update={"quality_threshold": 1})

    written = await home.store.write_status(
        task.model_copy(update={"spec": changed_spec}), full_status()
    )

    assert written.status == full_status()
    assert written.spec == task.spec
    assert written.metadata.generation == task.metadata.generation
    assert written.metadata.resource_version != task.metadata.resource_version
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == written


async def test_a_changed_spec_moves_the_generation_and_keeps_the_status(
    home: Home, new_name: str
) -> None:
    task = await home.store.write_status(await create_task(home, new_name), full_status())

    home.apply(task_manifest(new_name, home.namespace, qualityThreshold=80))
    changed = await home.store.get_task(TaskKey(home.namespace, new_name))

    assert changed.spec.quality_threshold == 80
    assert changed.metadata.generation == 2
    assert changed.metadata.uid == task.metadata.uid
    assert changed.status == task.status


async def test_applying_the_same_again_changes_nothing(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    again = await create_task(home, new_name)

    # The API server may store the same object once more, under another version.
    version = {"resource_version": task.metadata.resource_version}
    same = again.model_copy(update={"metadata": again.metadata.model_copy(update=version)})
    assert same == task


async def test_an_annotation_moves_the_version_but_no_generation(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    manifest = task_manifest(new_name, home.namespace)
    manifest["metadata"]["annotations"] = {REQUESTED_AT: "once more"}

    home.apply(manifest)
    asked = await home.store.get_task(TaskKey(home.namespace, new_name))

    assert asked.request == "once more"
    assert asked.metadata.generation == 1
    assert asked.metadata.resource_version != task.metadata.resource_version


async def test_a_stale_version_is_a_conflict_and_changes_nothing(home: Home, new_name: str) -> None:
    stale = await create_task(home, new_name)
    current = await home.store.write_status(stale, full_status())

    with pytest.raises(ConflictError):
        await home.store.write_status(stale, ResearchTaskStatus(observed_generation=1))
    with pytest.raises(ConflictError):  # even with the content that is there
        await home.store.write_status(stale, full_status())
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == current


async def test_a_spec_that_changed_in_between_is_a_conflict(home: Home, new_name: str) -> None:
    seen = await create_task(home, new_name)
    home.apply(task_manifest(new_name, home.namespace, qualityThreshold=80))
    with pytest.raises(ConflictError):
        await home.store.write_status(seen, full_status())


async def test_a_version_that_was_never_read_is_a_conflict(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    unread = task.metadata.model_copy(update={"resource_version": ""})
    with pytest.raises(ConflictError):
        await home.store.write_status(task.model_copy(update={"metadata": unread}), full_status())


async def test_the_status_of_a_task_that_is_gone_cannot_be_written(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    home.delete_task(TaskKey(home.namespace, new_name))
    with pytest.raises(NotFoundError):
        await home.store.write_status(task, full_status())


async def test_a_task_of_the_same_name_is_another_task(home: Home, new_name: str) -> None:
    former = await create_task(home, new_name)
    home.delete_task(TaskKey(home.namespace, new_name))
    task = await create_task(home, new_name)

    assert task.metadata.uid != former.metadata.uid
    with pytest.raises(ConflictError):
        await home.store.write_status(former, full_status())
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == task


async def test_of_many_writers_of_one_version_exactly_one_wins(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    stores = [home.another_store() for _ in range(4)]

    async def write(number: int) -> str | None:
        status = full_status().model_copy(update={"wake_up_reason": f"Writer{number}"})
        try:
            return (await stores[number].write_status(task, status)).status.wake_up_reason
        except ConflictError:
            return None

    results = [result for result in await asyncio.gather(*map(write, range(4))) if result]

    assert len(results) == 1
    stored = await home.store.get_task(TaskKey(home.namespace, new_name))
    assert stored.status.wake_up_reason == results[0]


@pytest.mark.parametrize("path", OPTIONAL_FIELDS, ids=".".join)
async def test_an_optional_field_can_be_set_and_goes_away_again(
    home: Home, new_name: str, path: JsonPath
) -> None:
    task = await create_task(home, new_name)
    full = await home.store.write_status(task, full_status())
    # In another round, so that a terminal reason may go and usage may start again.
    lacking = without(full_status(round_number=2), path)
    assert isinstance(lacking, ResearchTaskStatus)

    lessened = await home.store.write_status(full, lacking)
    stored = home.stored("ResearchTask", new_name)
    restored = await home.store.write_status(lessened, full_status(round_number=3))

    assert full.status == full_status()
    assert lessened.status == lacking
    assert stored is not None
    assert stored["status"] == lacking.to_json()  # neither an old value nor a null is left
    assert restored.status == full_status(round_number=3)


async def test_lists_are_replaced_as_a_whole(home: Home, new_name: str) -> None:
    full = await home.store.write_status(await create_task(home, new_name), full_status())
    empty = full_status(round_number=2).model_copy(
        update={
            "terminal_reason": None,
            "conditions": (condition("Suspended", ConditionStatus.FALSE, "Running"),),
            "questions": (),
            "consecutive_errors": (),
        }
    )
    assert (await home.store.write_status(full, empty)).status == empty


async def test_an_empty_status_leaves_nothing_behind(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    busy = full_status().model_copy(update={"usage": None, "terminal_reason": None})
    written = await home.store.write_status(task, busy)
    bare = ResearchTaskStatus(observed_generation=1)

    assert (await home.store.write_status(written, bare)).status == bare
    stored = home.stored("ResearchTask", new_name)
    assert stored is not None
    assert stored["status"] == bare.to_json()


REFUSED_STATUSES: dict[str, tuple[dict[str, Any], str]] = {
    "a terminal reason that changes by itself": (
        {
            "terminal_reason": TerminalReason.GOAL_REACHED,
            "conditions": (
                condition("Finished", ConditionStatus.TRUE, TerminalReason.GOAL_REACHED),
            ),
        },
        "terminalReason may only go or change with a new generation, request or round",
    ),
    "a terminal reason that goes by itself": (
        {"terminal_reason": None},
        "terminalReason may only go or change with a new generation, request or round",
    ),
    "a terminal reason that no condition shows": (
        {"conditions": ()},
        "terminalReason must equal the reason of the condition Finished=True",
    ),
    "usage that falls": (
        {"usage": Usage(steps=6, source_calls=1, active_seconds=3)},
        "no counter of usage may fall within a round",
    ),
    "usage that goes": ({"usage": None}, "no counter of usage may fall within a round"),
    "a success that is stalled": (
        {
            "conditions": (
                condition("Finished", ConditionStatus.TRUE, TerminalReason.NO_PROGRESS),
                condition(ConditionType.SUCCEEDED, ConditionStatus.TRUE, "GoalReached"),
                condition(ConditionType.STALLED, ConditionStatus.TRUE, "NoProgress"),
            )
        },
        "Succeeded and Stalled may not both be True",
    ),
    "a value out of bounds": ({"wake_up_reason": "not one word"}, "wakeUpReason"),
}


@pytest.mark.parametrize(
    ("change", "message"), REFUSED_STATUSES.values(), ids=REFUSED_STATUSES.keys()
)
async def test_a_status_that_breaks_a_rule_is_refused(
    home: Home, new_name: str, change: dict[str, Any], message: str
) -> None:
    written = await home.store.write_status(await create_task(home, new_name), full_status())

    with pytest.raises(RefusedError) as refusal:
        await home.store.write_status(written, full_status().model_copy(update=change))

    assert message in str(refusal.value)
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == written


@pytest.mark.parametrize(
    "change",
    [
        {"observed_generation": 2},
        {"last_handled_requested_at": "2026-03-02"},
        {"round": 2},
    ],
    ids=["a new generation", "a new request", "a new round"],
)
async def test_a_terminal_reason_goes_with(
    home: Home, new_name: str, change: dict[str, Any]
) -> None:
    written = await home.store.write_status(await create_task(home, new_name), full_status())
    reopened = full_status().model_copy(update={"terminal_reason": None, **change})
    assert (await home.store.write_status(written, reopened)).status == reopened


async def test_the_status_of_a_source_is_written_to_the_version_that_was_seen(
    home: Home, new_name: str
) -> None:
    home.apply(source_manifest(new_name, home.namespace))
    seen = await home.store.get_source(home.namespace, new_name)
    ready = ResearchSourceStatus(
        observed_generation=1,
        conditions=(condition("Ready", ConditionStatus.TRUE, "Ready"),),
        digest=digest_of("corpus"),
        documents=3,
    )
    broken = ResearchSourceStatus(
        observed_generation=1,
        conditions=(condition("Ready", ConditionStatus.FALSE, "NoDocuments"),),
    )

    written = await home.store.write_source_status(seen, ready)
    with pytest.raises(ConflictError):
        await home.store.write_source_status(seen, broken)
    after = await home.store.write_source_status(written, broken)

    assert (written.status, after.status) == (ready, broken)
    assert after.spec == seen.spec
    assert await home.store.get_source(home.namespace, new_name) == after


async def test_the_status_of_a_model_is_written_to_the_version_that_was_seen(
    home: Home, new_name: str
) -> None:
    home.apply(model_manifest(new_name, home.namespace))
    seen = await home.store.get_model(home.namespace, new_name)
    not_ready = ResearchModelStatus(
        observed_generation=1,
        conditions=(condition("Ready", ConditionStatus.FALSE, "AddressBlocked"),),
    )

    written = await home.store.write_model_status(seen, not_ready)
    with pytest.raises(ConflictError):
        await home.store.write_model_status(seen, ResearchModelStatus())
    after = await home.store.write_model_status(written, ResearchModelStatus())

    assert written.status == not_ready
    assert after.status == ResearchModelStatus()
    assert await home.store.get_model(home.namespace, new_name) == after


REFUSED_CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another topic": (
        {},
        {"topic": "Something else"},
        "topic may not be changed; create another task",
    ),
    "life after cancellation": (
        {"desiredState": "Cancelled"},
        {"desiredState": "Running"},
        "a cancelled task may not be started again; create another task",
    ),
    "a model that should propose and is not named": (
        {},
        {"decisionPolicy": "ModelProposed"},
        "modelRef must be set when decisionPolicy is ModelProposed",
    ),
    "a fallback for nothing": (
        {},
        {"fallbackModelRef": {"name": "small"}},
        "modelRef must be set when fallbackModelRef is",
    ),
    "two questions of one id": (
        {},
        {"questions": [{"id": "a", "text": "?"}, {"id": "a", "text": "!"}]},
        "spec.questions",
    ),
    "a field that is not known": ({}, {"budget": {}}, "budget"),
    "a budget out of bounds": ({}, {"budgets": {"maxSteps": 0}}, "spec.budgets.maxSteps"),
    "a string where an integer belongs": ({}, {"qualityThreshold": "70"}, "qualityThreshold"),
}


@pytest.mark.parametrize(
    ("before", "change", "message"), REFUSED_CHANGES.values(), ids=REFUSED_CHANGES.keys()
)
async def test_a_change_that_breaks_a_rule_is_refused(
    home: Home, new_name: str, before: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    task = await create_task(home, new_name, **before)

    with pytest.raises(RejectedError) as refusal:
        home.apply(task_manifest(new_name, home.namespace, **{**before, **change}))

    assert message in str(refusal.value)
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == task


async def test_a_name_that_leaves_no_room_for_its_steps_is_refused(home: Home) -> None:
    home.apply(task_manifest("a" * 48, home.namespace))
    with pytest.raises(RejectedError, match=r"metadata\.name must have at most 48 characters"):
        home.apply(task_manifest("a" * 49, home.namespace))


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", ""])
async def test_a_name_that_is_no_subdomain_is_refused(home: Home, name: str) -> None:
    with pytest.raises(RejectedError, match=r"metadata\.name|resource name may not be empty"):
        home.apply(task_manifest(name, home.namespace))


REFUSED_OBJECTS: dict[str, tuple[Callable[..., Manifest], dict[str, Any], str]] = {
    "a model without an address": (
        model_manifest,
        {"backend": "LlamaCpp"},
        "baseURL must be set unless backend is OpenAI",
    ),
    "a model that may answer more than it can hold": (
        model_manifest,
        {"maxOutputTokens": 8192},
        "maxOutputTokens must be below contextWindowTokens",
    ),
    "a corpus of nothing": (
        source_manifest,
        {"corpus": {}},
        "exactly one of directory and configMapRefs must be set",
    ),
    "a source without its member": (
        source_manifest,
        {"corpus": None},
        "corpus must be set exactly when type is Corpus",
    ),
}


@pytest.mark.parametrize(
    ("manifest", "spec", "message"), REFUSED_OBJECTS.values(), ids=REFUSED_OBJECTS.keys()
)
async def test_an_object_that_breaks_a_rule_is_refused(
    home: Home,
    new_name: str,
    manifest: Callable[..., Manifest],
    spec: dict[str, Any],
    message: str,
) -> None:
    declared = manifest(new_name, home.namespace, **spec)
    declared["spec"] = {key: item for key, item in declared["spec"].items() if item is not None}
    with pytest.raises(RejectedError) as refusal:
        home.apply(declared)
    assert message in str(refusal.value)
