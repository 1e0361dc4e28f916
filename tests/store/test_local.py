"""What only the local home has: one file, other processes, damage, and a user's manifests."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.api.crd import KINDS
from controller.api.errors import (
    ConflictError,
    JournalError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UserError,
)
from controller.api.task import ResearchTask
from controller.ports import Event, EventType, TaskKey
from controller.store import local_database
from controller.store.local import LocalStore
from controller.store.local_database import Database
from controller.store.local_rules import MODEL_CHECKS, SOURCE_CHECKS, STEP_CHECKS, TASK_CHECKS
from tests.store.builders import (
    NOON,
    FixedClock,
    config_map_manifest,
    full_status,
    report,
    source_manifest,
    step,
    task_manifest,
)

KEY = TaskKey("research", "t")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fixpoint.db"


@pytest.fixture
def store(path: Path, clock: FixedClock) -> Iterator[LocalStore]:
    with LocalStore.open(path, clock) as opened:
        yield opened


def apply_task(store: LocalStore, **spec: Any) -> ResearchTask:  # noqa: ANN401 - JSON
    task = store.apply(task_manifest(KEY.name, KEY.namespace, **spec))
    assert isinstance(task, ResearchTask)
    return task


def alter(path: Path, statement: str, *values: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(statement, values)
    finally:
        connection.close()


def test_every_rule_of_the_crds_is_also_a_rule_of_the_local_home() -> None:
    def messages(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            for key, value in schema.items():
                if key == "x-kubernetes-validations":
                    yield from (rule["message"] for rule in value)
                else:
                    yield from messages(value)
        elif isinstance(schema, list):
            for item in schema:
                yield from messages(item)

    checked: list[list[str]] = [
        [check.message for check in TASK_CHECKS],
        [check.message for check in STEP_CHECKS],
        [check.message for check in MODEL_CHECKS],
        [check.message for check in SOURCE_CHECKS],
    ]
    for kind, found in zip(
        ("ResearchTask", "ResearchStep", "ResearchModel", "ResearchSource"),
        checked,
        strict=True,
    ):
        (definition,) = (k for k in KINDS if k.name == kind)
        declared = [r.message for r in (*definition.root_rules, *definition.spec_rules)]
        for model in (definition.spec, definition.status):
            declared.extend(messages(model.model_json_schema()) if model else ())
        assert sorted(found) == sorted(declared)


async def test_what_was_written_is_there_when_the_file_is_opened_again(
    path: Path, clock: FixedClock
) -> None:
    with LocalStore.open(path, clock) as store:
        task = apply_task(store)
        await store.create_step(step(task, 0))
        written = await store.write_status(task, full_status())
        await store.put_report(task, report())
    with LocalStore.open(path, clock) as store:
        assert await store.get_task(KEY) == written
        assert len(await store.list_steps(task, 0)) == 1
        assert await store.get_report(task) == report()


def test_uids_and_times_come_from_outside(path: Path) -> None:
    uids = iter(["first-uid", "second-uid"])
    clock = FixedClock()
    with LocalStore.open(path, clock, new_uid=lambda: next(uids)) as store:
        task = apply_task(store)
        clock.time += timedelta(hours=1)
        source = store.apply(source_manifest("s", KEY.namespace))
    assert (task.metadata.uid, task.metadata.creation_timestamp) == ("first-uid", NOON)
    assert source.metadata.uid == "second-uid"
    assert source.metadata.creation_timestamp == NOON + timedelta(hours=1)


async def test_versions_only_grow_over_the_whole_file(store: LocalStore) -> None:
    task = apply_task(store)
    source = store.apply(source_manifest("s", KEY.namespace))
    written = await store.write_status(task, full_status())
    store.delete_task(KEY)
    again = apply_task(store)
    versions = [int(o.metadata.resource_version) for o in (task, source, written, again)]
    assert versions == sorted(set(versions))


async def test_nothing_is_written_where_nothing_changes(store: LocalStore) -> None:
    task = apply_task(store)
    assert apply_task(store) == task
    written = await store.write_status(task, full_status())
    assert await store.write_status(written, full_status()) == written


def test_labels_and_annotations_of_others_stay(store: LocalStore) -> None:
    first = task_manifest(KEY.name, KEY.namespace)
    first["metadata"] |= {"labels": {"team": "a"}, "annotations": {"asked": "once"}}
    store.apply(first)
    second = task_manifest(KEY.name, KEY.namespace)
    second["metadata"] |= {"labels": {"team": "b"}, "annotations": {"seen": "yes"}}
    metadata = store.apply(second).metadata
    assert metadata.labels == {"team": "b"}
    assert metadata.annotations == {"asked": "once", "seen": "yes"}
    assert metadata.generation == 1


@pytest.mark.parametrize("field", ["resourceVersion", "uid"])
def test_a_manifest_that_names_another_version_is_a_conflict(store: LocalStore, field: str) -> None:
    apply_task(store)
    manifest = task_manifest(KEY.name, KEY.namespace, qualityThreshold=1)
    manifest["metadata"][field] = "999"
    with pytest.raises(ConflictError, match="999"):
        store.apply(manifest)


async def test_tasks_are_listed_by_namespace_and_name(store: LocalStore) -> None:
    for namespace, name in (("b", "x"), ("a", "y"), ("a", "x")):
        store.apply(task_manifest(name, namespace))
    keys = [(t.metadata.namespace, t.metadata.name) for t in store.tasks()]
    assert keys == [("a", "x"), ("a", "y"), ("b", "x")]


async def test_events_are_told_in_order_and_go_with_their_task(store: LocalStore) -> None:
    task = apply_task(store)
    events = [Event(EventType.NORMAL, r, r.lower()) for r in ("Zeta", "Alpha", "Mid")]
    for event in (*events, events[0]):
        await store.record_event(task, event)
    assert list(store.events(task)) == events
    store.delete_task(KEY)
    assert store.events(task) == ()


def test_a_task_that_is_not_there_cannot_be_deleted(store: LocalStore) -> None:
    with pytest.raises(NotFoundError):
        store.delete_task(KEY)


async def test_a_report_can_be_deleted_alone(store: LocalStore) -> None:
    task = apply_task(store)
    with pytest.raises(NotFoundError):
        store.delete_report(task)
    await store.create_step(step(task, 0))
    await store.put_report(task, report())

    store.delete_report(task)

    assert await store.get_report(task) is None
    assert len(await store.list_steps(task, 0)) == 1


async def test_a_step_in_a_manifest_is_a_record_like_any_other(store: LocalStore) -> None:
    task = apply_task(store)
    written = step(task, 0)
    manifest = {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchStep",
        "metadata": {
            "name": written.metadata.name,
            "namespace": KEY.namespace,
            "ownerReferences": [o.to_json() for o in written.metadata.owner_references],
        },
        "spec": written.spec.to_json(),
    }
    stored = store.apply(manifest)
    assert store.apply(manifest) == stored
    manifest["spec"] = {**written.spec.to_json(), "attempt": 2}
    with pytest.raises(UserError, match="a ResearchStep is a record and may not be changed"):
        store.apply(manifest)


def test_the_file_itself_refuses_to_change_a_step(store: LocalStore, path: Path) -> None:
    task = apply_task(store)
    manifest = {
        "apiVersion": "research.fixpoint.dev/v1alpha1",
        "kind": "ResearchStep",
        "metadata": {"name": "t-1", "namespace": KEY.namespace},
        "spec": step(task, 0).spec.to_json(),
    }
    store.apply(manifest)
    with pytest.raises(sqlite3.IntegrityError, match="is a record and may not be changed"):
        alter(path, "UPDATE objects SET body = '{}' WHERE kind = 'ResearchStep'")


@pytest.mark.parametrize("body", ["{}", "no JSON at all", '{"metadata": {"name": "x"}}'])
async def test_a_step_that_cannot_be_read_is_for_the_journal_to_judge(
    store: LocalStore, path: Path, body: str
) -> None:
    task = apply_task(store)
    await store.create_step(step(task, 0))
    await store.create_step(step(task, 1))
    alter(path, "DROP TRIGGER steps_are_records")
    alter(path, "UPDATE objects SET body = ? WHERE kind = 'ResearchStep'", body)
    for first in (0, 1):
        with pytest.raises(JournalError) as error:
            await store.list_steps(task, first)
        assert error.value.error_class == "UnreadableStep"


async def test_a_task_that_cannot_be_read_is_refused(store: LocalStore, path: Path) -> None:
    apply_task(store)
    alter(path, "UPDATE objects SET body = '{}'")
    with pytest.raises(RefusedError, match="a stored ResearchTask cannot be read"):
        await store.get_task(KEY)


async def test_config_maps_of_manifests_are_corpora_and_all_others_are_missing(
    store: LocalStore,
) -> None:
    store.apply(config_map_manifest("docs", KEY.namespace, {"a.md": "# A"}))
    assert await store.load_config_maps(KEY.namespace, ["docs", "more"]) == (
        {"docs": {"a.md": "# A"}},
        ("more",),
    )
    assert await store.load_config_maps("elsewhere", ["docs"]) == ({}, ("docs",))


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path, clock: FixedClock) -> None:
    path.write_text("my notes, longer than the header of a database\n" * 50)
    before = path.read_bytes()
    with pytest.raises(UserError, match=rf"{path}.*no SQLite database.*move it away"):
        LocalStore.open(path, clock)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_named_and_left_alone(
    path: Path, clock: FixedClock
) -> None:
    alter(path, "CREATE TABLE photos (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(UserError, match=rf"{path} is a database of another program"):
        LocalStore.open(path, clock)
    assert path.read_bytes() == before


def test_a_database_that_another_program_has_claimed_is_named(
    path: Path, clock: FixedClock
) -> None:
    alter(path, "PRAGMA application_id = 7")
    with pytest.raises(UserError, match="is a database of another program"):
        LocalStore.open(path, clock)


def test_a_file_of_a_newer_version_is_named(path: Path, clock: FixedClock) -> None:
    LocalStore.open(path, clock).close()
    alter(path, "PRAGMA user_version = 2")
    with pytest.raises(UserError, match="another version of Fixpoint: this one reads format 1"):
        LocalStore.open(path, clock)


@pytest.mark.parametrize(
    ("first", "last"), [(1, -1), (2, 3)], ids=["almost all of it", "one page of it"]
)
def test_a_file_that_was_damaged_is_named_when_it_is_opened(
    path: Path, clock: FixedClock, first: int, last: int
) -> None:
    with LocalStore.open(path, clock) as store:
        for number in range(50):
            store.apply(source_manifest(f"s{number}", KEY.namespace))
    page = 4096
    content = path.read_bytes()
    pages = [content[start : start + page] for start in range(0, len(content), page)]
    pages[first:last] = [b"\xff" * page for _ in pages[first:last]]
    path.write_bytes(b"".join(pages))

    with pytest.raises(UserError, match=r"damaged one: .*restore it from a copy"):
        LocalStore.open(path, clock)


def test_a_new_file_that_stays_locked_is_unavailable(
    path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_database, "_BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="cannot be written now"):
            LocalStore.open(path, clock)
    finally:
        other.close()
    with LocalStore.open(path, clock) as store:
        assert store.tasks() == ()


def test_a_defect_of_our_own_is_not_taken_for_damage(store: LocalStore) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table: no_such_table"):
        store._database._bodies("SELECT body FROM no_such_table", ())


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, clock: FixedClock) -> None:
    with pytest.raises(UserError, match="its folder must exist"):
        LocalStore.open(tmp_path / "nowhere" / "fixpoint.db", clock)
    with pytest.raises(UserError, match="cannot be opened"):
        LocalStore.open(tmp_path, clock)


def test_an_empty_file_becomes_a_store(path: Path, clock: FixedClock) -> None:
    path.touch()
    with LocalStore.open(path, clock) as store:
        assert store.tasks() == ()


# S1.8
def test_a_write_is_on_the_disk_and_in_the_log_before_it_returns(path: Path) -> None:
    database = Database.open(path)
    try:
        assert database._pragma("journal_mode") == "wal"
        assert database._pragma("synchronous") == 2  # FULL
    finally:
        database.close()


async def test_a_file_that_another_process_keeps_locked_is_unavailable(
    store: LocalStore, path: Path
) -> None:
    task = apply_task(store)
    store._database._connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="cannot be written now"):
            await store.write_status(task, full_status())
        assert await store.get_task(KEY) == task, "readers do not wait"
        other.execute("ROLLBACK")
    finally:
        other.close()
    assert (await store.write_status(task, full_status())).status == full_status()


def test_a_write_that_fails_half_way_leaves_nothing(store: LocalStore) -> None:
    def fail() -> None:
        with store._database.writing():
            store._database.next_version()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    task = apply_task(store)
    assert task.metadata.resource_version == "1"


_PROCESSES = 6
_STATUSES = 25


def count_up(path: Path, start: Any) -> None:  # noqa: ANN401 - a barrier of multiprocessing
    """Raise the counter of steps by one, `_STATUSES` times, against all other processes."""
    import asyncio

    async def one(store: LocalStore) -> bool:
        task = await store.get_task(KEY)
        usage = task.status.usage
        assert usage is not None
        raised = usage.model_copy(update={"steps": usage.steps + 1})
        try:
            await store.write_status(task, task.status.model_copy(update={"usage": raised}))
        except ConflictError:
            return False
        return True

    start.wait()
    with LocalStore.open(path, FixedClock()) as store:
        done = 0
        while done < _STATUSES:
            done += asyncio.run(one(store))


async def test_processes_that_write_at_the_same_time_lose_nothing(
    store: LocalStore, path: Path
) -> None:
    await store.write_status(apply_task(store), full_status())
    run_processes(count_up, path)
    task = await store.get_task(KEY)
    assert task.status.usage is not None
    assert task.status.usage.steps == 7 + _PROCESSES * _STATUSES


def open_and_apply(path: Path, start: Any) -> None:  # noqa: ANN401 - as above
    start.wait()
    with LocalStore.open(path, FixedClock()) as store:
        apply_task(store)


def test_processes_that_make_the_file_at_the_same_time_make_one(
    path: Path, clock: FixedClock
) -> None:
    for attempt in range(10):
        file = path.with_name(f"{attempt}.db")
        run_processes(open_and_apply, file)
        with LocalStore.open(file, clock) as store:
            (task,) = store.tasks()
            assert task.metadata.generation == 1


def run_processes(work: Any, path: Path) -> None:  # noqa: ANN401 - a function of this module
    context = multiprocessing.get_context("fork")
    start = context.Barrier(_PROCESSES)
    processes = [context.Process(target=work, args=(path, start)) for _ in range(_PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * _PROCESSES


def test_a_stored_object_is_readable_json(store: LocalStore) -> None:
    apply_task(store, topic="Ψ and 🎓")
    body = store._database.get("ResearchTask", KEY.namespace, KEY.name)
    assert body is not None
    assert json.loads(body)["spec"]["topic"] == "Ψ and 🎓"
    assert "Ψ and 🎓" in body
