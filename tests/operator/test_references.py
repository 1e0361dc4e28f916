"""References over a real store and a real corpus: what is missing, and when it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from controller.access import CorpusAccess
from controller.api.base import API_VERSION
from controller.api.errors import SourceNotReadyError
from controller.api.meta import Condition
from controller.api.model import ResearchModel
from controller.api.model_call import ModelTerms, terms_of
from controller.api.reasons import AcceptedReason, ReadyReason
from controller.api.source import ResearchSource
from controller.api.task import ResearchTask
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.credentials import SecretReader
from controller.models.scripted import ScriptedModel
from controller.ports import Model, References, TaskKey
from controller.readiness import Readiness, ReferenceKey, ReferenceKind
from controller.references import Resolver
from controller.sources.corpus import ConfigMaps, IndexedCorpus, make_source
from controller.store.local import LocalStore


async def no_config_maps(_namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps({}, tuple(names))


HOME = "http://[::1]:9"
"""Where the models of these tests are said to be; nothing is sent there."""


class Warned(ScriptedModel):
    """A model whose endpoint has something to say of itself."""

    def __init__(self, terms: ModelTerms, home: Home) -> None:
        super().__init__((), terms)
        self._home = home

    async def probe(self) -> str | None:
        return self._home.warning


class Home:
    """A local store, a corpus root, and a clock that is moved by hand."""

    def __init__(self, folder: Path) -> None:
        self.store = LocalStore.open(folder / "store.db", SystemClock())
        self.corpora = folder / "corpora"
        self.corpora.mkdir()
        self.time = 0.0
        self.made: list[str] = []
        self.made_models: list[int] = []
        self.warning: str | None = None
        self._cache = folder / "cache"

    def make_source(self, resource: ResearchSource) -> IndexedCorpus:
        self.made.append(resource.metadata.name)
        return make_source(
            resource,
            corpus_root=self.corpora,
            cache_directory=self._cache,
            load_config_maps=no_config_maps,
        )

    def resolver(self, opened: tuple[str, ...] = (HOME,), **options: Any) -> Resolver:  # noqa: ANN401 - any option
        clock = self.clock
        return Resolver(
            self.store,
            self.make_source,
            clock=clock,
            make_model=self.make_model,
            guard=ConnectionGuard(OpenedOrigins.parse(opened)),
            secrets=SecretReader(self.store, clock),
            **options,
        )

    def clock(self) -> float:
        return self.time

    def make_model(self, resource: ResearchModel) -> Model:
        self.made_models.append(resource.metadata.generation)
        return Warned(terms_of(resource), self)

    def write(self, directory: str, text: str = "The lamp glows.") -> None:
        (self.corpora / directory).mkdir(exist_ok=True)
        (self.corpora / directory / "a.txt").write_text(text, encoding="utf-8")

    def apply_source(self, name: str, directory: str) -> None:
        self._apply("ResearchSource", name, type="Corpus", corpus={"directory": directory})

    def apply_model(self, name: str, **spec: object) -> None:
        spec = {"backend": "LlamaCpp", "model": "m", "baseURL": HOME, **spec}
        self._apply("ResearchModel", name, **spec)

    async def task(
        self,
        *sources: str,
        model: str | None = None,
        **spec: Any,  # noqa: ANN401 - any field
    ) -> ResearchTask:
        spec |= {"topic": "t", "sourceRefs": [{"name": name} for name in sources]}
        if model is not None:
            spec["modelRef"] = {"name": model}
        self._apply("ResearchTask", "task", **spec)
        return await self.store.get_task(TaskKey("default", "task"))

    def _apply(self, kind: str, name: str, **spec: object) -> None:
        metadata = {"name": name, "namespace": "default"}
        self.store.apply(
            {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
        )


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.store.close()


def reason(references: References) -> AcceptedReason:
    assert references.missing is not None
    assert references.look_again_seconds is not None
    return references.missing.reason


async def test_sources_that_are_ready_are_returned(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    references = await home.resolver().resolve(await home.task("lamp"))
    assert set(references.sources) == {"lamp"}
    assert references.missing is None
    assert references.look_again_seconds is None


async def test_a_source_that_does_not_exist_is_missing(home: Home) -> None:
    references = await home.resolver().resolve(await home.task("lamp"))
    assert reason(references) is AcceptedReason.SOURCE_NOT_FOUND
    assert references.missing is not None
    assert "ResearchSource lamp does not exist in the namespace default" in (
        references.missing.message
    )


async def test_a_source_that_is_not_ready_says_why(home: Home) -> None:
    home.apply_source("lamp", "attic")
    references = await home.resolver().resolve(await home.task("lamp"))
    assert reason(references) is AcceptedReason.SOURCE_NOT_READY
    assert references.missing is not None
    assert "DirectoryNotFound" in references.missing.message
    assert "attic" in references.missing.message


async def test_everything_that_is_missing_is_named_at_once(home: Home) -> None:
    home.apply_source("lamp", "attic")
    task = await home.task("lamp", "wiki", model="parrot")
    references = await home.resolver().resolve(task)
    assert references.missing is not None
    assert all(name in references.missing.message for name in ("lamp", "wiki", "parrot"))


async def test_a_model_is_missing_or_at_a_closed_address(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    task = await home.task("lamp", model="parrot")
    resolver = home.resolver(opened=())
    assert reason(await resolver.resolve(task)) is AcceptedReason.MODEL_NOT_FOUND
    home.apply_model("parrot")
    references = await resolver.resolve(task)
    assert reason(references) is AcceptedReason.MODEL_NOT_READY
    assert references.missing is not None
    assert "AddressBlocked" in references.missing.message
    assert f"--allow-origin {HOME}" in references.missing.message
    assert (await home.resolver().resolve(task)).missing is None


SECRET = {"name": "provider", "key": "api-key"}


def secret(**values: str) -> dict[str, Any]:
    metadata = {"name": "provider", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}


# S0.39
async def test_a_model_whose_key_is_missing_makes_a_task_wait_for_it(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    home.apply_model("parrot", credentialsSecretRef=SECRET)
    task, resolver = await home.task("lamp", model="parrot"), home.resolver()
    references = await resolver.resolve(task)
    assert reason(references) is AcceptedReason.SECRET_NOT_FOUND
    assert references.missing is not None
    assert "ResearchModel parrot" in references.missing.message
    assert "Secret default/provider does not exist" in references.missing.message
    home.store.apply(secret(other="canary"))
    home.time += 1
    references = await resolver.resolve(task)
    assert reason(references) is AcceptedReason.SECRET_NOT_FOUND
    assert references.missing is not None
    assert "the key api-key of the Secret default/provider" in references.missing.message
    assert "canary" not in str(references)
    home.store.apply(secret(**{"api-key": "canary"}))
    home.time += 1
    references = await resolver.resolve(task)
    assert references.missing is None
    assert len(references.models) == 1


# S2.15
async def test_a_model_is_made_again_when_its_spec_changes_and_else_kept(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    home.apply_model("parrot")
    task, resolver = await home.task("lamp", model="parrot"), home.resolver(object_seconds=300)
    (first,) = (await resolver.resolve(task)).models
    resolver.forget("default", "parrot")
    assert (await resolver.resolve(task)).models == (first,)
    home.apply_model("parrot", maxOutputTokens=256)
    assert (await resolver.resolve(task)).models == (first,), "nobody said so"
    resolver.forget("default", "parrot")
    (again,) = (await resolver.resolve(task)).models
    assert (again.terms.generation, again.terms.max_output_tokens) == (2, 256)
    assert home.made_models == [1, 2]


async def test_a_directory_that_appears_is_seen_within_a_second_of_looking(home: Home) -> None:
    home.apply_source("lamp", "lamp")
    resolver, task = home.resolver(), await home.task("lamp")
    assert (await resolver.resolve(task)).missing is not None
    home.write("lamp")
    assert (await resolver.resolve(task)).missing is not None, "one look a second is enough"
    home.time += 1
    assert (await resolver.resolve(task)).missing is None


async def test_where_nobody_watches_objects_are_read_each_time(home: Home) -> None:
    resolver, task = home.resolver(), await home.task("lamp")
    assert reason(await resolver.resolve(task)) is AcceptedReason.SOURCE_NOT_FOUND
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    assert (await resolver.resolve(task)).missing is None


async def test_where_somebody_watches_objects_are_read_when_they_change(home: Home) -> None:
    resolver, task = home.resolver(object_seconds=300), await home.task("lamp")
    home.write("lamp")
    assert reason(await resolver.resolve(task)) is AcceptedReason.SOURCE_NOT_FOUND
    home.apply_source("lamp", "lamp")
    assert reason(await resolver.resolve(task)) is AcceptedReason.SOURCE_NOT_FOUND
    resolver.forget("default", "lamp")
    assert (await resolver.resolve(task)).missing is None


async def test_a_missed_event_costs_time_only(home: Home) -> None:
    resolver, task = home.resolver(object_seconds=300), await home.task("lamp")
    home.write("lamp")
    assert (await resolver.resolve(task)).missing is not None
    home.apply_source("lamp", "lamp")
    home.time += 300
    assert (await resolver.resolve(task)).missing is None


async def test_a_source_is_made_once_for_each_version(home: Home) -> None:
    home.write("lamp")
    home.write("attic")
    home.apply_source("lamp", "lamp")
    resolver, task = home.resolver(), await home.task("lamp")
    for _ in range(3):
        await resolver.resolve(task)
    assert home.made == ["lamp"]
    home.apply_source("lamp", "attic")
    await resolver.resolve(task)
    assert home.made == ["lamp", "lamp"]


async def test_a_directory_that_is_closed_to_the_namespace_is_not_looked_at(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    resolver = home.resolver(access=CorpusAccess({}))
    references = await resolver.resolve(await home.task("lamp"))
    assert reason(references) is AcceptedReason.SOURCE_NOT_READY
    assert references.missing is not None
    assert "DirectoryNotAllowed" in references.missing.message
    assert home.made == []


async def test_an_observation_is_trusted_for_a_while(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    resolver = home.resolver()
    resource = await home.store.get_source("default", "lamp")
    first = await resolver.observe(resource, max_age_seconds=180)
    home.write("lamp", "The lamp is blue.")
    assert await resolver.observe(resource, max_age_seconds=180) == first
    assert (await resolver.observe(resource, max_age_seconds=0)).digest != first.digest
    (home.corpora / "lamp" / "a.txt").unlink()
    with pytest.raises(SourceNotReadyError) as told:
        await resolver.observe(resource, max_age_seconds=0)
    assert told.value.reason is ReadyReason.NO_DOCUMENTS


class Ready:
    """The readiness loop over a home."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.changed: list[ReferenceKey] = []
        self.observed: list[tuple[str, str]] = []
        self.loop = Readiness(
            store=home.store,
            resolver=home.resolver(),
            clock=SystemClock(),
            check_seconds=180,
            on_change=self.changed.append,
            on_observed=lambda key, digest: self.observed.append((key.name, digest)),
        )

    async def look(self, kind: ReferenceKind, name: str) -> float | None:
        return await self.loop.reconcile(ReferenceKey("default", kind, name))

    async def source(self, name: str) -> tuple[ResearchSource, Condition]:
        stored = await self.home.store.get_source("default", name)
        (condition,) = stored.status.conditions
        return stored, condition

    async def model(self, name: str) -> tuple[ResearchModel, Condition]:
        stored = await self.home.store.get_model("default", name)
        (condition,) = stored.status.conditions
        return stored, condition


async def test_ready_is_written_when_it_differs_and_then_not_again(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    ready = Ready(home)
    assert await ready.look(ReferenceKind.SOURCE, "lamp") == 180
    written, condition = await ready.source("lamp")
    assert condition.reason == ReadyReason.READY
    assert written.status.documents == 1
    assert written.status.observed_generation == written.metadata.generation
    assert len(ready.changed) == 1
    assert await ready.look(ReferenceKind.SOURCE, "lamp") == 180
    again, _ = await ready.source("lamp")
    assert again.metadata.resource_version == written.metadata.resource_version
    assert len(ready.changed) == 1
    assert ready.observed == [("lamp", written.status.digest)] * 2  # each time: none is missed


async def test_a_source_that_is_not_ready_is_looked_at_again_soon(home: Home) -> None:
    home.apply_source("lamp", "lamp")
    ready = Ready(home)
    assert (await ready.look(ReferenceKind.SOURCE, "lamp") or 0) < 5
    stored, condition = await ready.source("lamp")
    assert condition.reason == ReadyReason.DIRECTORY_NOT_FOUND
    assert stored.status.digest is None
    assert ready.changed == []
    home.write("lamp")
    assert await ready.look(ReferenceKind.SOURCE, "lamp") == 180
    assert len(ready.changed) == 1
    _, now = await ready.source("lamp")
    assert now.last_transition_time >= condition.last_transition_time


async def test_new_content_moves_the_digest_and_not_the_transition(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    ready = Ready(home)
    await ready.look(ReferenceKind.SOURCE, "lamp")
    before, condition = await ready.source("lamp")
    home.write("lamp", "The lamp is blue.")
    await ready.look(ReferenceKind.SOURCE, "lamp")
    after, now = await ready.source("lamp")
    assert after.status.digest != before.status.digest
    assert now.last_transition_time == condition.last_transition_time
    assert len(ready.changed) == 2


async def test_a_model_says_that_it_is_ready_and_what_its_endpoint_warns_of(home: Home) -> None:
    home.apply_model("parrot")
    ready = Ready(home)
    assert await ready.look(ReferenceKind.MODEL, "parrot") == 180
    written, condition = await ready.model("parrot")
    assert condition.reason == ReadyReason.READY
    assert "warning" not in condition.message
    assert written.status.observed_generation == written.metadata.generation
    assert len(ready.changed) == 1
    await ready.look(ReferenceKind.MODEL, "parrot")
    again, _ = await ready.model("parrot")
    assert again.metadata.resource_version == written.metadata.resource_version
    home.warning = "the endpoint does not list the model m"
    assert await ready.look(ReferenceKind.MODEL, "parrot") == 180
    _, warned = await ready.model("parrot")
    assert warned.status == "True"
    assert "a warning: the endpoint does not list the model m" in warned.message
    assert warned.last_transition_time == condition.last_transition_time
    assert len(ready.changed) == 1, "nobody waits for a warning"


async def test_a_model_without_its_key_is_looked_at_again_soon(home: Home) -> None:
    home.apply_model("parrot", credentialsSecretRef=SECRET)
    ready = Ready(home)
    assert (await ready.look(ReferenceKind.MODEL, "parrot") or 0) < 5
    _, condition = await ready.model("parrot")
    assert (condition.status, condition.reason) == ("False", "SecretNotFound")
    assert ready.changed == []
    home.store.apply(secret(**{"api-key": "canary"}))
    home.time += 4
    assert await ready.look(ReferenceKind.MODEL, "parrot") == 180
    assert len(ready.changed) == 1
    stored, _ = await ready.model("parrot")
    assert "canary" not in stored.to_json()


async def test_a_model_at_a_closed_address_names_the_option_that_opens_it(home: Home) -> None:
    home.apply_model("parrot", baseURL="http://169.254.169.254/v1")
    ready = Ready(home)
    assert (await ready.look(ReferenceKind.MODEL, "parrot") or 0) < 5
    _, condition = await ready.model("parrot")
    assert condition.reason == ReadyReason.ADDRESS_BLOCKED
    assert "--allow-origin http://169.254.169.254:80" in condition.message


@pytest.mark.parametrize("kind", list(ReferenceKind))
async def test_what_is_gone_is_not_looked_at_again(home: Home, kind: ReferenceKind) -> None:
    assert await Ready(home).look(kind, "gone") is None


PRICES = {"inputUSDPerMillionTokens": "1", "outputUSDPerMillionTokens": "2.5"}


# T11
async def test_a_model_without_a_price_waits_where_money_is_limited(home: Home) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    home.apply_model("some")
    resolver = home.resolver()
    task = await home.task("lamp", model="some", budgets={"maxCostUSD": "0.5"})
    found = await resolver.resolve(task)
    assert found.missing is not None
    assert found.missing.reason is AcceptedReason.PRICING_UNKNOWN
    assert "spec.pricing" in found.missing.message
    assert found.models == ()
    home.apply_model("some", pricing=PRICES)
    resolver.forget("default", "some")
    (model,) = (await resolver.resolve(task)).models
    assert (model.terms.input_price, model.terms.output_price) == (1_000_000, 2_500_000)
    unlimited = await home.task("lamp", model="some")
    home.apply_model("some")
    resolver.forget("default", "some")
    assert (await resolver.resolve(unlimited)).missing is None


# E8
@pytest.mark.parametrize(
    ("fallback", "why"),
    [
        ("absent", "does not exist"),
        ("unpriced", "has no spec.pricing"),
    ],
)
async def test_a_fallback_that_cannot_be_used_is_left_out_and_makes_nobody_wait(
    home: Home, fallback: str, why: str
) -> None:
    home.write("lamp")
    home.apply_source("lamp", "lamp")
    home.apply_model("some", pricing=PRICES)
    home.apply_model("small", pricing=PRICES)
    home.apply_model("unpriced")
    resolver = home.resolver()
    spec: dict[str, Any] = {"model": "some", "budgets": {"maxCostUSD": "1"}}
    task = await home.task("lamp", fallbackModelRef={"name": fallback}, **spec)
    found = await resolver.resolve(task)
    assert found.missing is None
    assert [m.terms.name for m in found.models] == ["some"]
    assert found.skipped is not None
    assert why in found.skipped
    task = await home.task("lamp", fallbackModelRef={"name": "small"}, **spec)
    found = await resolver.resolve(task)
    assert [m.terms.name for m in found.models] == ["some", "small"]
    assert found.skipped is None
