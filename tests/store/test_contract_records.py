"""The contract of `TaskStore`, second half: steps, reports, events, and what goes with a task."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from controller.api.errors import AlreadyExistsError, ConflictError, NotFoundError, RefusedError
from controller.api.meta import ConditionStatus
from controller.api.step import ResearchStep, step_name
from controller.api.task import ResearchTask, ResearchTaskStatus
from controller.ports import Event, EventType, StoredReport, TaskKey
from tests.store.builders import (
    DIGEST,
    condition,
    config_map_manifest,
    report,
    step,
    task_manifest,
)
from tests.store.homes import Home

TEXTS = {
    "Arabic, written from right to left": "القيمة الافتراضية هي False، راجع ATOMIC_REQUESTS.",
    "emoji with joiners": "👩🏽‍🔬 says 🏴󠁧󠁢󠁳󠁣󠁴󠁿: ok",
    "combining marks, not composed": "Ve\u0301rite\u0301 ≠ Vérité",
    "control characters and line ends": "a\tb\r\nc\u2028d\u0085e\u00a0f\u200bg\ufeffh",
    "what JSON and SQL escape": "'; DROP TABLE objects; -- \\ \" </script> \u0001",
    "beyond the first plane": "𠮷野家 🜁 𐍈",
}


async def create_task(home: Home, name: str, **spec: Any) -> ResearchTask:  # noqa: ANN401 - JSON
    home.apply(task_manifest(name, home.namespace, **spec))
    return await home.store.get_task(TaskKey(home.namespace, name))


def specs(steps: tuple[ResearchStep, ...]) -> list[object]:
    return [s.spec for s in steps]


async def test_a_journal_that_was_not_begun_is_empty(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    assert await home.store.list_steps(task, 0) == ()
    assert await home.store.list_steps(task, 3) == ()


async def test_a_step_is_stored_as_it_is_with_its_owner(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    written = step(task, 0)

    await home.store.create_step(written)
    (read,) = await home.store.list_steps(task, 0)

    assert read.spec == written.spec
    assert read.metadata.name == step_name(new_name, task.metadata.uid, 0)
    assert read.metadata.owner_references == written.metadata.owner_references
    assert read.metadata.owner_references[0].controller
    assert read.metadata.owner_references[0].block_owner_deletion
    assert read.metadata.uid
    assert read.metadata.resource_version


async def test_steps_are_listed_by_index_from_any_first_one(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    written = [step(task, index) for index in range(4)]
    for one in (written[2], written[0], written[3], written[1]):
        await home.store.create_step(one)

    for first in range(5):
        listed = await home.store.list_steps(task, first)
        assert specs(listed) == [one.spec for one in written[first:]], f"from {first}"


async def test_a_long_journal_is_listed_whole(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    written = [step(task, index) for index in range(120)]
    for one in written:
        await home.store.create_step(one)
    assert specs(await home.store.list_steps(task, 0)) == [one.spec for one in written]


# S4.35
async def test_a_step_with_all_the_evidence_it_may_carry_is_stored(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    full = step(task, 0, text="é" * (24 * 1024))
    await home.store.create_step(full)
    assert specs(await home.store.list_steps(task, 0)) == [full.spec]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_text_comes_back_character_for_character(
    home: Home, new_name: str, text: str
) -> None:
    task = await create_task(home, new_name)
    said = condition("Suspended", ConditionStatus.FALSE, "Running").model_copy(
        update={"message": text}
    )
    status = ResearchTaskStatus(observed_generation=1, conditions=(said,))
    written = await home.store.write_status(task, status)
    await home.store.create_step(step(task, 0, text=text))
    await home.store.put_report(task, report(text))

    assert written.status.conditions[0].message == text
    (read,) = await home.store.list_steps(task, 0)
    assert read.spec.evidence[0].blocks[0].text == text
    stored = await home.store.get_report(task)
    assert stored is not None
    assert stored.files["report.md"] == text


# S0.17, S1.8
async def test_a_step_that_is_there_is_never_written_again(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    first = step(task, 0)
    await home.store.create_step(first)

    with pytest.raises(AlreadyExistsError):
        await home.store.create_step(first)
    with pytest.raises(AlreadyExistsError):
        await home.store.create_step(step(task, 0, text="another result"))
    assert specs(await home.store.list_steps(task, 0)) == [first.spec]


async def test_of_many_writers_of_one_step_exactly_one_wins(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    stores = [home.another_store() for _ in range(4)]

    async def create(number: int) -> str | None:
        text = f"found by {number}"
        try:
            await stores[number].create_step(step(task, 0, text=text))
        except AlreadyExistsError:
            return None
        return text

    results = [result for result in await asyncio.gather(*map(create, range(4))) if result]

    assert len(results) == 1
    (stored,) = await home.store.list_steps(task, 0)
    assert stored.spec.evidence[0].blocks[0].text == results[0]


async def test_a_step_that_breaks_a_bound_is_refused(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    good = step(task, 0)
    spec = good.spec.model_copy(update={"holder": "x" * 254})

    with pytest.raises(RefusedError, match="holder"):
        await home.store.create_step(good.model_copy(update={"spec": spec}))
    assert await home.store.list_steps(task, 0) == ()


async def test_steps_of_another_task_are_not_listed(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    other = await create_task(home, f"{new_name}-other")
    await home.store.create_step(step(task, 0))
    await home.store.create_step(step(other, 0))

    assert [s.spec.task_uid for s in await home.store.list_steps(task, 0)] == [task.metadata.uid]


async def test_a_step_that_claims_the_task_is_listed_under_any_name(
    home: Home, new_name: str
) -> None:
    """Whether it belongs there is the journal's business: it must see it."""
    task = await create_task(home, new_name)
    await home.store.create_step(step(task, 0))
    await home.store.create_step(step(task, 1, name=f"{new_name}-intruder"))

    listed = await home.store.list_steps(task, 0)
    assert [s.metadata.name for s in listed] == [
        step_name(new_name, task.metadata.uid, 0),
        f"{new_name}-intruder",
    ]


async def test_a_foreign_step_under_the_next_name_is_returned_as_it_is(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    await home.store.create_step(step(task, 0))
    await home.store.create_step(step(task, 1, task_uid="somebody-else"))

    (foreign,) = await home.store.list_steps(task, 1)
    assert foreign.spec.task_uid == "somebody-else"


async def test_a_gap_ends_the_steps_that_are_fetched_by_name(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    for index in (0, 1, 3):
        await home.store.create_step(step(task, index))

    assert [s.spec.index for s in await home.store.list_steps(task, 0)] == [0, 1, 3]
    assert [s.spec.index for s in await home.store.list_steps(task, 1)] == [1]


async def test_there_is_no_report_before_one_is_published(home: Home, new_name: str) -> None:
    assert await home.store.get_report(await create_task(home, new_name)) is None


async def test_a_report_is_created_and_replaced(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    first, second = report("# First\n"), report("# Second\n", operation="sha256:" + "b" * 64)

    await home.store.put_report(task, first)
    assert await home.store.get_report(task) == first
    await home.store.put_report(task, second)
    assert await home.store.get_report(task) == second


async def test_a_file_that_the_new_report_lacks_is_gone(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    smaller = StoredReport(
        operation_id="sha256:" + "b" * 64, digest=DIGEST, files={"report.json": "{}"}
    )
    await home.store.put_report(task, report())
    await home.store.put_report(task, smaller)
    assert await home.store.get_report(task) == smaller


# S1.6
async def test_a_report_that_the_same_operation_has_written_is_not_written_again(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    await home.store.put_report(task, report())
    before = home.stored("ConfigMap", f"{new_name}-report")
    await home.another_store().put_report(task, report())
    assert home.stored("ConfigMap", f"{new_name}-report") == before


async def test_a_report_says_whose_it_is_and_what_wrote_it(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    published = report()
    await home.store.put_report(task, published)

    stored = home.stored("ConfigMap", f"{new_name}-report")
    assert stored is not None
    metadata = stored["metadata"]
    assert metadata["labels"] == {"research.fixpoint.dev/task": new_name}
    assert metadata["annotations"] == {
        "research.fixpoint.dev/operation-id": published.operation_id,
        "research.fixpoint.dev/report-digest": published.digest,
    }
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ResearchTask", task.metadata.uid)
    assert owner["controller"]
    assert owner["blockOwnerDeletion"]
    assert stored["data"] == dict(published.files)


async def test_the_object_of_another_owner_is_never_overwritten(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    home.apply(config_map_manifest(f"{new_name}-report", home.namespace, {"mine": "keep me"}))

    with pytest.raises(AlreadyExistsError) as refusal:
        await home.store.put_report(task, report())
    with pytest.raises(AlreadyExistsError):
        await home.store.get_report(task)

    assert f"{home.namespace}/{new_name}-report" in str(refusal.value)
    assert f"kubectl delete configmap {new_name}-report" in str(refusal.value)
    stored = home.stored("ConfigMap", f"{new_name}-report")
    assert stored is not None
    assert stored["data"] == {"mine": "keep me"}


async def test_texts_of_config_maps_are_found_or_named_as_missing(
    home: Home, new_name: str
) -> None:
    files = {"a.md": "# A\n", "b.md": TEXTS["emoji with joiners"]}
    home.apply(config_map_manifest(new_name, home.namespace, files))
    home.apply(config_map_manifest(f"{new_name}-empty", home.namespace, {}))

    wanted = (new_name, "nobody", f"{new_name}-empty")
    found, missing = await home.store.load_config_maps(home.namespace, wanted)

    assert found == {new_name: files, f"{new_name}-empty": {}}
    assert missing == ("nobody",)


# S2.10
async def test_an_event_is_told_once_a_generation(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    started = Event(EventType.NORMAL, "Started", "the run has started")
    stuck = Event(EventType.WARNING, "NoProgress", "nothing new in 4 steps")
    for event in (started, stuck, started):
        await home.store.record_event(task, event)
    home.apply(task_manifest(new_name, home.namespace, qualityThreshold=80))
    reopened = await home.store.get_task(TaskKey(home.namespace, new_name))
    await home.store.record_event(reopened, started)

    assert sorted(home.events(task)) == [
        ("Normal", "Started", "the run has started"),
        ("Normal", "Started", "the run has started"),
        ("Warning", "NoProgress", "nothing new in 4 steps"),
    ]


async def test_the_message_of_an_event_is_cut_at_a_character(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    await home.store.record_event(task, Event(EventType.NORMAL, "Long", "a" + "é" * 1000))
    ((_, _, message),) = home.events(task)
    assert message == "a" + "é" * 510 + "…"
    assert len(message.encode()) == 1024


async def test_an_event_that_cannot_be_told_is_logged_and_stops_nothing(
    home: Home, new_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    task = await create_task(home, new_name)
    elsewhere = task.metadata.model_copy(update={"namespace": "no-such-place", "uid": "unknown"})
    with caplog.at_level(logging.WARNING):
        await home.store.record_event(
            task.model_copy(update={"metadata": elsewhere}),
            Event(EventType.NORMAL, "Started", "the run has started"),
        )
    assert "an event is lost" in caplog.text


async def test_steps_and_report_go_with_their_task(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    for index in range(3):
        await home.store.create_step(step(task, index))
    await home.store.put_report(task, report())
    survivor = await create_task(home, f"{new_name}-survivor")
    await home.store.create_step(step(survivor, 0))

    home.delete_task(TaskKey(home.namespace, new_name))

    with pytest.raises(NotFoundError):
        await home.store.get_task(TaskKey(home.namespace, new_name))
    for index in range(3):
        name = step_name(new_name, task.metadata.uid, index)
        await home.wait_until_gone("ResearchStep", name)
    await home.wait_until_gone("ConfigMap", f"{new_name}-report")
    assert await home.store.list_steps(task, 0) == ()
    assert len(await home.store.list_steps(survivor, 0)) == 1


async def test_a_former_task_of_the_name_takes_its_journal_and_report_with_it(
    home: Home, new_name: str
) -> None:
    former = await create_task(home, new_name)
    await home.store.create_step(step(former, 0))
    await home.store.put_report(former, report("# Old\n"))
    home.delete_task(TaskKey(home.namespace, new_name))

    task = await create_task(home, new_name)
    assert await home.store.list_steps(task, 0) == ()
    await home.wait_until_gone("ConfigMap", f"{new_name}-report")
    await home.store.put_report(task, report("# New\n"))
    stored = await home.store.get_report(task)
    assert stored is not None
    assert stored.files["report.md"] == "# New\n"


async def test_a_report_of_a_namespace_that_is_gone_is_a_conflict(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    elsewhere = task.metadata.model_copy(update={"namespace": "no-such-place", "uid": "unknown"})
    with pytest.raises(ConflictError):
        await home.store.put_report(task.model_copy(update={"metadata": elsewhere}), report())


async def test_a_step_of_a_namespace_that_is_gone_has_no_place(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    elsewhere = task.metadata.model_copy(update={"namespace": "no-such-place", "uid": "unknown"})
    with pytest.raises(NotFoundError):
        await home.store.create_step(step(task.model_copy(update={"metadata": elsewhere}), 0))


async def test_a_step_that_was_deleted_is_gone_and_the_others_stay(
    home: Home, new_name: str
) -> None:
    task = await create_task(home, new_name)
    for index in range(3):
        await home.store.create_step(step(task, index))
    await home.store.delete_step(task, 0)
    assert [s.spec.index for s in await home.store.list_steps(task, 0)] == [1, 2]
    assert await home.store.get_task(TaskKey(home.namespace, new_name)) == task


async def test_a_step_may_be_deleted_more_than_once(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    await home.store.create_step(step(task, 0))
    for _ in range(2):
        await home.store.delete_step(task, 0)
    assert await home.store.list_steps(task, 0) == ()


async def test_a_journal_that_begins_later_is_listed_from_there(home: Home, new_name: str) -> None:
    task = await create_task(home, new_name)
    written = [step(task, index) for index in range(4, 7)]
    for one in written:
        await home.store.create_step(one)
    assert specs(await home.store.list_steps(task, 0)) == [one.spec for one in written]
    assert specs(await home.store.list_steps(task, 5)) == [one.spec for one in written[1:]]
