"""Format versions: a newer one is refused, an older one read through a migration and kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.api.errors import JournalError
from controller.cli.journal_file import parse_journal
from controller.cli.jsonl import line_of
from controller.loop.migration import MIGRATIONS, MigratedStep, read_step
from controller.loop.run_state import initial
from controller.loop.state import fold
from tests.golden.files import MIGRATIONS as WITH_ZERO
from tests.golden.files import journal_file, read


def stored(name: str, index: int = 0) -> dict[str, Any]:
    line = journal_file(name).read_bytes().splitlines()[index]
    record: dict[str, Any] = json.loads(line)
    return record


def test_there_is_no_older_format_yet() -> None:
    assert MIGRATIONS == {}


def test_a_step_of_today_is_read_as_it_is() -> None:
    record = stored("complete")
    step = read_step(record)
    assert not isinstance(step, MigratedStep)
    assert step.to_json() == record


# S4.22
@pytest.mark.parametrize(
    "spec",
    [{"formatVersion": 2}, {"formatVersion": 2, "shape": "another"}, {"formatVersion": 999}],
)
def test_a_newer_format_is_refused_by_its_number_whatever_it_looks_like(
    spec: dict[str, Any],
) -> None:
    record = {"metadata": {"name": "task-00000001-00000"}, "spec": spec}
    with pytest.raises(JournalError, match=r"task-00000001-00000 has format version \d+") as raised:
        read_step(record, WITH_ZERO)
    assert raised.value.error_class == "FormatVersion"


def test_an_older_format_without_a_migration_is_refused() -> None:
    with pytest.raises(JournalError, match="which nothing can read") as raised:
        read_step(stored("older-format"))
    assert raised.value.error_class == "FormatVersion"


def test_migrations_follow_each_other_and_change_no_record() -> None:
    record = stored("older-format")
    record["spec"]["formatVersion"] = -1
    before = json.dumps(record)
    seen: list[int] = []

    def numbered(version: int) -> Any:  # noqa: ANN401 - a migration
        def migrate(spec: Any) -> Any:  # noqa: ANN401 - a record
            seen.append(version)
            return WITH_ZERO[0](spec) if version == 0 else spec

        return migrate

    step = read_step(record, {-1: numbered(-1), 0: numbered(0)})
    assert seen == [-1, 0]
    assert json.dumps(record) == before
    assert json.dumps(step.to_json()) == before


# S4.39
def test_an_older_journal_folds_under_the_digests_that_it_was_recorded_with() -> None:
    old, new = read("older-format"), read("complete")
    state = initial(old.task.metadata.name, old.task.metadata.uid, old.task.spec.topic)
    for step in old.steps:
        state = fold(state, step)
    assert state.digest == stored("older-format", -1)["spec"]["digest"]
    assert state.digest != new.steps[-1].spec.digest
    assert "".join(map(line_of, old.steps)).encode() == journal_file("older-format").read_bytes()


def test_a_change_in_an_older_record_is_found() -> None:
    data = journal_file("older-format").read_bytes()
    changed = data.replace(b'"summary":"', b'"summary":"X', 1)
    steps = parse_journal(changed, WITH_ZERO).steps
    with pytest.raises(JournalError) as raised:
        fold(initial("task", steps[0].spec.task_uid, "The lamp"), steps[0])
    assert raised.value.error_class == "StepChanged"


@pytest.mark.parametrize(
    "record", [{}, {"spec": None}, {"metadata": 1, "spec": {"formatVersion": "x"}}]
)
def test_what_is_no_step_is_no_step(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_step(record)
