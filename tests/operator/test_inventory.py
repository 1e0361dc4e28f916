"""What is kept of a task, and that JSON and objects agree on when a task has ended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.base import digest_of
from controller.api.task import REQUESTED_AT, ResearchTask, ResearchTaskStatus, source_mark
from controller.gathering import is_settled
from controller.inventory import Inventory, SeenTask, reference_event, task_event
from controller.loop.rounds import is_kept_true, is_outdated
from controller.loop.seal import sealed
from controller.ports import TaskKey
from controller.readiness import ReferenceKey, ReferenceKind


def body(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of an object
    return {
        "metadata": {
            "name": "task",
            "namespace": "team",
            "uid": "u-1",
            "generation": 1,
            "resourceVersion": "7",
        },
        "spec": {"topic": "t", "sourceRefs": [{"name": "lamp"}, {"name": "wiki"}]},
        "status": {"observedGeneration": -1},
    } | changes


def own(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status as the operator writes it: with the digest of the rest."""
    return sealed(ResearchTaskStatus.model_validate(status)).to_json()


def test_a_running_task_is_kept_in_a_few_words() -> None:
    event = task_event("MODIFIED", body())
    assert event.key == TaskKey("team", "task")
    assert event.seen == SeenTask(
        resource_version=7,
        uid="u-1",
        sources=("lamp", "wiki"),
        model=None,
        is_settled=False,
        has_report=False,
    )
    assert not event.is_deleting
    assert not event.is_gone


def test_a_finished_task_is_kept_as_such() -> None:
    status = {
        "observedGeneration": 1,
        "terminalReason": "GoalReached",
        "report": {
            "configMap": "task-report",
            "digest": digest_of("what it says"),
            "statements": 1,
            "citations": 1,
        },
    }
    seen = task_event(None, body(status=own(status))).seen
    assert seen.is_settled
    assert seen.has_report


def test_a_finished_task_whose_status_somebody_has_changed_is_to_be_looked_at() -> None:
    status = own({"observedGeneration": 1, "terminalReason": "GoalReached"})
    assert task_event(None, body(status=status)).seen.is_settled
    for changed in (
        status | {"terminalReason": "Cancelled"},
        status | {"nextWakeUpTime": "2099-01-01T00:00:00Z"},
        {name: value for name, value in status.items() if name != "digest"},
    ):
        assert not task_event(None, body(status=changed)).seen.is_settled


@pytest.mark.parametrize(
    "incomplete", [{"status": None}, {"spec": None}, {"status": {}}, {"spec": {"topic": "t"}}]
)
def test_what_an_object_lacks_is_taken_for_empty(incomplete: dict[str, Any]) -> None:
    assert not task_event(None, body(**incomplete)).seen.is_settled


def test_deleting_and_gone_are_told_apart() -> None:
    metadata = body()["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert task_event("MODIFIED", body(metadata=metadata)).is_deleting
    assert task_event("DELETED", body()).is_gone


def test_the_version_of_a_reference_moves_with_its_spec_only() -> None:
    event = reference_event(None, ReferenceKind.SOURCE, body())
    assert event.key == ReferenceKey("team", ReferenceKind.SOURCE, "task")
    assert event.version == ("u-1", 1)
    newer = body()["metadata"] | {"resourceVersion": "8"}
    assert reference_event("MODIFIED", ReferenceKind.SOURCE, body(metadata=newer)) == event


def test_running_tasks_are_found_by_what_they_refer_to() -> None:
    inventory = Inventory()
    running = SeenTask(1, "u", ("lamp",), "parrot", is_settled=False, has_report=False)
    inventory.put(TaskKey("a", "running"), running)
    inventory.put(TaskKey("a", "finished"), running._replace(is_settled=True))
    inventory.put(TaskKey("a", "other"), running._replace(sources=("wiki",), model=None))
    inventory.put(TaskKey("b", "elsewhere"), running)
    for kind, name in ((ReferenceKind.SOURCE, "lamp"), (ReferenceKind.MODEL, "parrot")):
        found = inventory.running_with(ReferenceKey("a", kind, name))
        assert found == [TaskKey("a", "running")]
    assert inventory.running_with(ReferenceKey("a", ReferenceKind.MODEL, "lamp")) == []


OLD, NEW = digest_of("last week"), digest_of("today")


# S1.24
def test_tasks_that_succeeded_on_something_else_are_found_by_the_source() -> None:
    inventory = Inventory()
    held = (source_mark(OLD), "-")
    succeeded = SeenTask(1, "u", ("lamp", "wiki"), None, True, True, marks=held)
    inventory.put(TaskKey("a", "outdated"), succeeded)
    inventory.put(TaskKey("a", "running"), succeeded._replace(is_settled=False))
    inventory.put(TaskKey("a", "not-seen"), succeeded._replace(marks=("-", source_mark(OLD))))
    inventory.put(TaskKey("a", "up-to-date"), succeeded._replace(marks=(source_mark(NEW), "-")))
    inventory.put(TaskKey("a", "unchecked"), succeeded._replace(marks=("?", "-")))
    inventory.put(TaskKey("b", "elsewhere"), succeeded)
    lamp = ReferenceKey("a", ReferenceKind.SOURCE, "lamp")
    found = inventory.outdated_by(lamp, NEW)
    assert found == [TaskKey("a", "outdated"), TaskKey("a", "unchecked")]


@given(
    reason=st.sampled_from([None, "GoalReached", "NoProgress"]),
    state=st.sampled_from([None, "Running", "Suspended", "Cancelled"]),
    marks=st.lists(st.sampled_from(["-", "?", source_mark(OLD), source_mark(NEW)]), max_size=2),
)
def test_json_and_objects_agree_on_which_tasks_are_outdated(
    reason: str | None, state: str | None, marks: list[str]
) -> None:
    spec = {"topic": "t", "sourceRefs": [{"name": "lamp"}, {"name": "wiki"}]}
    spec |= {"desiredState": state} if state else {}
    status = {"observedGeneration": 1, "sources": marks}
    status |= {"terminalReason": reason} if reason else {}
    json = body(spec=spec, status=own(status))
    event, task = task_event(None, json), ResearchTask.model_validate(json)
    inventory = Inventory()
    inventory.put(event.key, event.seen)
    found = inventory.outdated_by(ReferenceKey("team", ReferenceKind.SOURCE, "lamp"), NEW)
    assert bool(found) == (is_kept_true(task) and is_outdated(task, {"lamp": NEW}))


def test_the_reports_that_should_be_there_are_those_of_finished_tasks() -> None:
    inventory = Inventory()
    finished = SeenTask(1, "u-1", ("lamp",), None, is_settled=True, has_report=True)
    inventory.put(TaskKey("a", "with"), finished)
    inventory.put(TaskKey("a", "without"), finished._replace(has_report=False))
    inventory.put(TaskKey("a", "again"), finished._replace(is_settled=False))
    assert inventory.with_report() == {TaskKey("a", "with"): "u-1"}


@given(
    generation=st.integers(1, 3),
    observed=st.integers(-1, 3),
    reason=st.sampled_from([None, "GoalReached", "Cancelled"]),
    requested=st.sampled_from([None, "1", "2"]),
    handled=st.sampled_from([None, "1", "2"]),
)
def test_json_and_objects_agree_on_whether_a_task_has_ended(
    generation: int,
    observed: int,
    reason: str | None,
    requested: str | None,
    handled: str | None,
) -> None:
    metadata = body()["metadata"] | {"generation": generation}
    if requested is not None:
        metadata["annotations"] = {REQUESTED_AT: requested}
    status: dict[str, Any] = {"observedGeneration": observed}
    if reason is not None:
        status["terminalReason"] = reason
    if handled is not None:
        status["lastHandledRequestedAt"] = handled
    stored = body(metadata=metadata, status=own(status))
    task = ResearchTask.model_validate(stored)
    assert task_event(None, stored).seen.is_settled == is_settled(task)


# E12
def test_what_tasks_have_cost_is_added_up_and_given_back() -> None:
    inventory = Inventory()
    for name, amount in (("one", "0.25"), ("two", "0.5"), ("two", "0.75"), ("three", "lots")):
        metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
        status = {"usage": {"costUSD": "9"}, "totals": {"costUSD": amount}}
        body: dict[str, Any] = {"metadata": metadata, "status": status}
        event = task_event("MODIFIED", body)
        inventory.put(event.key, event.seen)
    assert inventory.cost_micro_usd == 1_000_000
    inventory.remove(TaskKey("default", "two"))
    assert inventory.cost_micro_usd == 250_000
