"""Every step of every task has one name, and it fits a label."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from controller.api.step import ResearchStepSpec, step_name
from controller.api.task import MAX_TASK_NAME

_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

TASK_NAMES = st.from_regex(_LABEL, fullmatch=True).filter(lambda name: len(name) <= MAX_TASK_NAME)
UIDS = st.uuids().map(str)
INDICES = st.integers(0, 99_999)


def test_a_name_is_task_uid_and_index() -> None:
    uid = "0c5b4a1e-7f5e-4b55-9d0e-5a3f1c2b7e90"
    assert step_name("moorhen", uid, 3) == "moorhen-0c5b4a1e-00003"


def test_the_longest_name_has_63_characters() -> None:
    longest_index = ResearchStepSpec.model_json_schema(by_alias=True)["properties"]["index"]
    assert longest_index["maximum"] == 99_999
    assert len(step_name("a" * MAX_TASK_NAME, str(uuid.UUID(int=0)), 99_999)) == 63


@given(TASK_NAMES, UIDS, INDICES)
def test_every_name_fits_a_label(task: str, uid: str, index: int) -> None:
    name = step_name(task, uid, index)
    assert len(name) == len(task) + 15 <= 63
    assert name[0].isalnum()
    assert name[-1].isdigit()


@given(TASK_NAMES, UIDS, INDICES, INDICES)
def test_names_sort_as_their_steps(task: str, uid: str, one: int, other: int) -> None:
    earlier, later = step_name(task, uid, one), step_name(task, uid, other)
    assert (earlier < later) == (one < other)
