"""Remote sources in the operator: what makes them ready, what a task waits for, who is woken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.base import API_VERSION
from controller.api.errors import SourceNotReadyError, UnavailableError
from controller.api.meta import Condition, ConditionStatus, SecretReference
from controller.api.reasons import AcceptedReason, ReadyReason
from controller.api.task import ResearchTask
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.credentials import SecretReader, SourceKey
from controller.inventory import Inventory, task_event
from controller.models.scripted import LOCAL_TERMS, ScriptedModel
from controller.ports import TaskKey
from controller.readiness import Readiness, ReferenceKey, ReferenceKind
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps
from controller.sources.making import source_maker
from controller.sources.web.fetcher import Fetcher
from controller.store.local import LocalStore

OPEN = "http://[::1]:9"
"""Where the engine is said to be; nothing is sent there."""

REFERENCE = SecretReference(name="search-keys", key="tavily")
KEY = "canary-4f1c9a77"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "search-keys", "namespace": "default"},
    "stringData": {"tavily": KEY},
}


async def no_config_maps(*_: object) -> ConfigMaps:
    return ConfigMaps({})


class Home:
    """A local store with a source that needs a key, and a clock that is moved by hand."""

    def __init__(
        self, store: LocalStore, fetcher: Fetcher, guard: ConnectionGuard, folder: Path
    ) -> None:
        self.store = store
        self.time = 0.0
        secrets = SecretReader(store, self.clock)
        self.resolver = Resolver(
            store,
            source_maker(
                corpus_root=None,
                cache_directory=folder,
                load_config_maps=no_config_maps,
                fetcher=fetcher,
                guard=guard,
                key_of=secrets.key_of,
            ),
            make_model=lambda _: ScriptedModel((), LOCAL_TERMS),
            guard=guard,
            secrets=secrets,
            clock=self.clock,
        )
        self.changed: list[ReferenceKey] = []
        self.readiness = Readiness(
            store=store,
            resolver=self.resolver,
            clock=SystemClock(),
            check_seconds=180,
            on_change=self.changed.append,
            on_observed=lambda *_: pytest.fail("a remote source has no digest"),
        )

    def clock(self) -> float:
        return self.time

    def apply(self, kind: str, name: str, **spec: object) -> None:
        metadata = {"name": name, "namespace": "default"}
        self.store.apply(
            {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
        )

    def apply_source(self, **spec: Any) -> None:  # noqa: ANN401 - any field
        fields: dict[str, Any] = {
            "type": "Tavily",
            "tavily": {"baseURL": OPEN},
            "credentialsSecretRef": {"name": "search-keys", "key": "tavily"},
        }
        self.apply("ResearchSource", "engine", **{**fields, **spec})

    async def task(self) -> ResearchTask:
        self.apply("ResearchTask", "task", topic="t", sourceRefs=[{"name": "engine"}])
        return await self.store.get_task(TaskKey("default", "task"))

    async def look(self) -> tuple[float | None, Condition]:
        key = ReferenceKey("default", ReferenceKind.SOURCE, "engine")
        again = await self.readiness.reconcile(key)
        stored = await self.store.get_source("default", "engine")
        (condition,) = stored.status.conditions
        assert stored.status.observed_generation == stored.metadata.generation
        return again, condition


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    guard = ConnectionGuard(OpenedOrigins.parse([OPEN]))
    store = LocalStore.open(tmp_path / "store.db", SystemClock())
    async with Fetcher(guard, clock=SystemClock()) as fetcher:
        yield Home(store, fetcher, guard, tmp_path)
    store.close()


async def test_a_task_waits_for_the_key_of_a_source_and_goes_on_by_itself(home: Home) -> None:
    home.apply_source()
    task = await home.task()
    waits = await home.resolver.resolve(task)
    assert waits.missing is not None
    assert waits.missing.reason is AcceptedReason.SECRET_NOT_FOUND
    assert waits.missing.message.startswith("the ResearchSource engine has no key: the Secret")
    assert waits.look_again_seconds is not None
    home.store.apply(SECRET)
    home.time += waits.look_again_seconds
    found = await home.resolver.resolve(task)
    assert found.missing is None
    assert found.sources["engine"].is_remote
    assert found.digests == {}


async def test_a_key_that_is_taken_away_is_missed_within_seconds(home: Home) -> None:
    home.apply_source()
    home.store.apply(SECRET)
    task = await home.task()
    assert (await home.resolver.resolve(task)).missing is None
    home.store.apply({**SECRET, "stringData": {"tavily": ""}})
    home.time += 5
    waits = await home.resolver.resolve(task)
    assert waits.missing is not None
    assert waits.missing.reason is AcceptedReason.SECRET_NOT_FOUND


async def test_a_closed_address_is_named_with_its_field_and_the_mend(home: Home) -> None:
    home.apply_source(tavily={"baseURL": "http://169.254.169.254"})
    home.store.apply(SECRET)
    waits = await home.resolver.resolve(await home.task())
    assert waits.missing is not None
    assert waits.missing.reason is AcceptedReason.SOURCE_NOT_READY
    assert "AddressBlocked: spec.tavily.baseURL: the origin" in waits.missing.message
    assert "--allow-origin http://169.254.169.254:80" in waits.missing.message


async def test_ready_says_what_is_missing_and_wakes_who_waits(home: Home) -> None:
    home.apply_source()
    again, condition = await home.look()
    assert again is not None
    assert again < 5
    assert (condition.status, condition.reason) == (
        ConditionStatus.FALSE,
        ReadyReason.SECRET_NOT_FOUND,
    )
    assert home.changed == []
    home.store.apply(SECRET)
    home.time += again
    again, condition = await home.look()
    assert (again, condition.status) == (180, ConditionStatus.TRUE)
    assert condition.message == "the address is open, and the key is there if one is named"
    (key,) = home.changed
    task = await home.task()
    seen = task_event("ADDED", task.to_json())
    inventory = Inventory()
    inventory.put(seen.key, seen.seen)
    assert inventory.running_with(key) == [TaskKey("default", "task")]
    stored = await home.store.get_source("default", "engine")
    assert KEY not in str(stored.to_json())


async def test_a_source_that_goes_past_robots_files_shows_it(home: Home) -> None:
    home.apply_source(robots="Ignore")
    home.store.apply(SECRET)
    _, condition = await home.look()
    assert condition.message.endswith("robots files are not asked: spec.robots is Ignore")


async def test_the_key_of_a_source_is_read_like_that_of_a_model(home: Home) -> None:
    secrets = SecretReader(home.store, home.clock)
    key = SourceKey(secrets, "default", REFERENCE)
    with pytest.raises(SourceNotReadyError):
        await key.require()
    with pytest.raises(UnavailableError):
        await key.value()
    home.store.apply(SECRET)
    home.time += 1
    await key.require()
    value = await key.value()
    assert value is not None
    assert value.get_secret_value() == KEY
    assert KEY not in repr(value)
    none = SourceKey(secrets, "default", None)
    await none.require()
    assert await none.value() is None
