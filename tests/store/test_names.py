"""Names that are functions of what they stand for, and the table of rights."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from controller.api.meta import ObjectMeta
from controller.api.reasons import TERMINAL, RunningReason
from controller.api.task import MAX_TASK_NAME, ResearchTask
from controller.ports import Event, EventType
from controller.store import names
from controller.store.rights import RIGHTS
from tests.store.builders import task_manifest

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def read_task(name: str = "t", generation: int = 3) -> ResearchTask:
    metadata = ObjectMeta(
        name=name, uid="9a1aa004-6dec-4d31-ae6d-5bbbe9ba804d", generation=generation
    )
    return ResearchTask(metadata=metadata, spec=task_manifest(name, "default")["spec"])


def test_every_reason_gives_an_event_a_name_that_the_api_server_takes() -> None:
    for reason in (*TERMINAL, *RunningReason):
        event = Event(EventType.NORMAL, reason, "")
        name = names.event_name(read_task(generation=2**53), event)
        assert SUBDOMAIN.fullmatch(name), name
        assert len(name) <= 253


def test_events_differ_by_task_reason_and_generation() -> None:
    def name(task: ResearchTask, reason: str) -> str:
        return names.event_name(task, Event(EventType.NORMAL, reason, "whatever it says"))

    assert name(read_task(), "Started") == name(read_task(), "Started")
    assert name(read_task(generation=4), "Started") != name(read_task(), "Started")
    assert name(read_task(), "GoalReached") != name(read_task(), "Started")


@given(st.text())
def test_a_message_is_whole_or_cut_to_its_bound(message: str) -> None:
    told = names.event_message(Event(EventType.NORMAL, "Started", message * 40))
    assert len(told.encode()) <= names.MAX_EVENT_BYTES
    assert told == message * 40 or (told.endswith("…") and (message * 40).startswith(told[:-1]))


def test_the_longest_task_name_fits_the_label_and_the_name_of_its_report() -> None:
    task = read_task("a" * MAX_TASK_NAME)
    assert names.report_name(task) == "a" * 48 + "-report"
    assert len(names.report_labels(task)[names.TASK_LABEL]) <= 63


def test_each_resource_stands_once_in_the_table_of_rights() -> None:
    keys = [(right.group, right.resource) for right in RIGHTS]
    assert len(keys) == len(set(keys))
    assert all(right.verbs for right in RIGHTS)
    # A record is never changed, and only those of old rounds are removed; of a user's things only
    # finished tasks are.
    for right in RIGHTS:
        allowed = {"delete"} if right.resource in {"researchtasks", "researchsteps"} else set()
        assert {"delete", "deletecollection", "*"} & set(right.verbs) <= allowed, right
    (steps,) = (right for right in RIGHTS if right.resource == "researchsteps")
    assert not {"update", "patch"} & set(steps.verbs)
    (secrets,) = (right for right in RIGHTS if right.resource == "secrets")
    assert secrets.verbs == ("get",)
    assert [right.resource for right in RIGHTS if right.is_optional] == ["secrets"]
