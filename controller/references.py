"""Finds what a task refers to, for both homes: sources and models that are ready, or why not.

A source object is read once and kept until somebody says that it changed; what it holds is looked
at once and kept for a while. A hundred tasks that wait for one directory look at it about once a
second, together.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from pydantic import SecretStr

from controller.access import EVERYTHING_OPEN, CorpusAccess
from controller.api.errors import (
    BlockedAddressError,
    ModelNotReadyError,
    NotFoundError,
    SourceNotReadyError,
)
from controller.api.meta import ObjectMeta
from controller.api.model import ResearchModel
from controller.api.reasons import AcceptedReason, ReadyReason
from controller.api.source import ResearchSource
from controller.api.task import ResearchTask
from controller.connections import ConnectionGuard
from controller.credentials import SecretReader, require_key
from controller.loop.situation import MissingReference
from controller.ports import Model, References, Source, SourceObservation

LOOK_AGAIN_SECONDS: Final = 4.0
"""How often a waiting task is looked at: with the next figure, it goes on within 5 s of a mend."""

_FAILURE_SECONDS: Final = 1.0
"""For how long it is believed that what was not ready still is not."""

_ADDRESS_SECONDS: Final = 60.0
"""For how long it is believed that an address is open; each connection is looked at anyway."""


class ReferenceStore(Protocol):
    """The part of a task store that references need."""

    async def get_source(self, namespace: str, name: str) -> ResearchSource:
        """Return a source; see `TaskStore`."""
        ...

    async def get_model(self, namespace: str, name: str) -> ResearchModel:
        """Return a model; see `TaskStore`."""
        ...

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        """Return one value of a Secret; see `TaskStore`."""
        ...


class _Name(NamedTuple):
    namespace: str
    name: str


@dataclass
class _Known:
    """What is known of one source object as of when; None: it is not there."""

    source: ResearchSource | None
    at: float


@dataclass
class _KnownModel:
    """What is known of one model object as of when, what was made of it, and its address."""

    resource: ResearchModel | None
    at: float
    model: Model | None = None
    blocked: str | None = None
    looked_at: float | None = None


@dataclass
class _Looked:
    """What a look at a source brought; one look at a time."""

    version: tuple[str, int] | None = None
    source: Source | None = None
    found: SourceObservation | SourceNotReadyError | None = None
    at: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Resolver:
    """Resolves `spec.sourceRefs` and `spec.modelRef`. It implements `ReferenceResolver`.

    `forget` must be called when an object changes, where somebody watches; where nobody does,
    objects are read again each time (`object_seconds` 0).
    """

    def __init__(
        self,
        store: ReferenceStore,
        make_source: Callable[[ResearchSource], Source],
        *,
        make_model: Callable[[ResearchModel], Model],
        guard: ConnectionGuard,
        secrets: SecretReader,
        access: CorpusAccess = EVERYTHING_OPEN,
        object_seconds: float = 0.0,
        observation_seconds: float = 180.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a resolver that knows nothing yet.

        Args:
            store: where sources and models are.
            make_source: makes a source from its object, without I/O.
            make_model: makes a model from its object, without I/O.
            guard: says which addresses a model may have.
            secrets: reads the keys that models and sources name.
            access: which corpus directories a namespace may read.
            object_seconds: for how long an object is trusted that was read.
            observation_seconds: for how long a source is trusted to hold what it held.
            clock: a monotonic time in seconds.
        """
        self._store = store
        self._make_source = make_source
        self._make_model = make_model
        self._guard = guard
        self._secrets = secrets
        self._access = access
        self._object_seconds = object_seconds
        self._observation_seconds = observation_seconds
        self._clock = clock
        self._sources: dict[_Name, _Known] = {}
        self._models: dict[_Name, _KnownModel] = {}
        self._looked: dict[_Name, _Looked] = {}

    async def resolve(self, task: ResearchTask) -> References:
        """Return the task's sources, observed and ready, or what is missing.

        Raises:
            StoreError: the store did not answer or refused.
        """
        namespace = task.metadata.namespace
        sources: dict[str, Source] = {}
        missing: list[MissingReference] = []
        for reference in task.spec.source_refs:
            found = await self._source(_Name(namespace, reference.name))
            if isinstance(found, MissingReference):
                missing.append(found)
            else:
                sources[reference.name] = found
        models, skipped = await self._task_models(task, missing)
        digests = self._digests(namespace, sources)
        if not missing:
            return References(sources, models=models, digests=digests, skipped=skipped)
        message = "; ".join(problem.message for problem in missing)
        return References(
            sources,
            MissingReference(missing[0].reason, message[:1024]),
            LOOK_AGAIN_SECONDS,
            digests,
        )

    def _digests(self, namespace: str, names: Iterable[str]) -> dict[str, str]:
        """Return what sources held when they were looked at last."""
        looked = {name: self._looked.get(_Name(namespace, name)) for name in names}
        return {
            name: known.found.digest
            for name, known in looked.items()
            if known is not None
            and isinstance(known.found, SourceObservation)
            and known.found.digest is not None
        }

    async def observe(
        self, resource: ResearchSource, *, max_age_seconds: float
    ) -> SourceObservation:
        """Return what a source holds, looked at no longer ago than the maximal age.

        Raises:
            SourceNotReadyError: it cannot be searched now.
            StoreError: the store did not answer.
        """
        name = _Name(resource.metadata.namespace, resource.metadata.name)
        looked = await self._look(name, resource, max_age_seconds)
        if isinstance(looked.found, SourceNotReadyError):
            raise SourceNotReadyError(looked.found.reason, str(looked.found))
        assert looked.found is not None
        return looked.found

    async def ready_model(self, resource: ResearchModel, *, max_age_seconds: float) -> Model:
        """Return a model whose address and key were looked at no longer ago than the maximal age.

        Raises:
            ModelNotReadyError: its address is closed, or its key is not there.
            StoreError: the store did not answer.
        """
        name = _Name(resource.metadata.namespace, resource.metadata.name)
        known = self._models.get(name)
        if (
            known is None
            or known.resource is None
            or _version(known.resource) != _version(resource)
        ):
            known = self._models[name] = self._known_model(resource, self._clock())
        return await self._require_model(known, max_age_seconds)

    def forget(self, namespace: str, name: str) -> None:
        """Read the source or model of this name again: it was created, changed or deleted."""
        key = _Name(namespace, name)
        self._sources.pop(key, None)
        known = self._models.get(key)
        if known is not None:
            known.at = -math.inf

    async def _source(self, name: _Name) -> Source | MissingReference:
        known = self._sources.get(name)
        if known is None or self._clock() - known.at >= self._object_seconds:
            known = self._sources[name] = await self._read_source(name)
        if known.source is None:
            self._looked.pop(name, None)
            return MissingReference(
                AcceptedReason.SOURCE_NOT_FOUND,
                f"the ResearchSource {name.name} does not exist in the namespace {name.namespace}",
            )
        looked = await self._look(name, known.source, self._observation_seconds)
        if isinstance(looked.found, SourceNotReadyError):
            return _source_not_ready(name, looked.found)
        assert looked.source is not None
        if looked.source.is_remote:
            # A key is looked at more often than an address: the reader keeps it for seconds.
            try:
                await self._secrets.key_of(known.source).require()
            except SourceNotReadyError as error:
                return _source_not_ready(name, error)
        return looked.source

    async def _read_source(self, name: _Name) -> _Known:
        at = self._clock()
        try:
            source = await self._store.get_source(name.namespace, name.name)
        except NotFoundError:
            return _Known(None, at)
        return _Known(source, at)

    async def _task_models(
        self, task: ResearchTask, missing: list[MissingReference]
    ) -> tuple[tuple[Model, ...], str | None]:
        """Return a task's model and its fallback; only the first one makes a task wait.

        A fallback that cannot be used is left out, and why: then there is no switch to it.
        """
        references = (task.spec.model_ref, task.spec.fallback_model_ref)
        found: list[Model] = []
        for reference in references:
            if reference is None:
                continue
            model = await self._model(_Name(task.metadata.namespace, reference.name), task)
            if isinstance(model, MissingReference):
                if reference is task.spec.model_ref:
                    missing.append(model)
                    break
                return tuple(found), model.message
            found.append(model)
        return tuple(found), None

    async def _model(self, name: _Name, task: ResearchTask) -> Model | MissingReference:
        known = self._models.get(name)
        if known is None or self._clock() - known.at >= self._object_seconds:
            known = self._models[name] = await self._read_model(name)
        if known.resource is None:
            return MissingReference(
                AcceptedReason.MODEL_NOT_FOUND,
                f"the ResearchModel {name.name} does not exist in the namespace {name.namespace}",
            )
        try:
            model = await self._require_model(known, _ADDRESS_SECONDS)
        except ModelNotReadyError as error:
            return _model_not_ready(name, error)
        if task.spec.budgets.max_cost_usd is not None and not model.terms.is_priced:
            return MissingReference(
                AcceptedReason.PRICING_UNKNOWN,
                f"the ResearchModel {name.name} has no spec.pricing, and spec.budgets.maxCostUSD "
                'limits what it may cost; set the prices ("0" is a price)',
            )
        return model

    async def _require_model(self, known: _KnownModel, max_age_seconds: float) -> Model:
        """Check a model's address and key; what was found of either is believed for a while."""
        assert known.resource is not None
        assert known.model is not None
        age = max_age_seconds if known.blocked is None else min(max_age_seconds, _FAILURE_SECONDS)
        if known.looked_at is None or self._clock() - known.looked_at >= age:
            known.blocked = await self._blocked(known.resource)
            known.looked_at = self._clock()
        if known.blocked is not None:
            raise ModelNotReadyError(ReadyReason.ADDRESS_BLOCKED, known.blocked)
        namespace, spec = known.resource.metadata.namespace, known.resource.spec
        await require_key(self._secrets, namespace, spec.credentials_secret_ref)
        return known.model

    async def _blocked(self, resource: ResearchModel) -> str | None:
        """Return why the address of a model is closed; the one that its backend has is not."""
        if resource.spec.base_url is None:
            return None
        try:
            await self._guard.require(resource.spec.base_url)
        except BlockedAddressError as error:
            return f"spec.baseURL: {error}"
        return None

    async def _read_model(self, name: _Name) -> _KnownModel:
        at = self._clock()
        try:
            resource = await self._store.get_model(name.namespace, name.name)
        except NotFoundError:
            return _KnownModel(None, at)
        return self._known_model(resource, at)

    def _known_model(self, resource: ResearchModel, at: float) -> _KnownModel:
        """Keep the model that was made of this very version, with the connections that it has."""
        known = self._models.get(_name_of(resource.metadata))
        if known and known.resource and _version(known.resource) == _version(resource):
            return replace(known, resource=resource, at=at)
        return _KnownModel(resource, at, self._make_model(resource))

    async def _look(self, name: _Name, resource: ResearchSource, max_age: float) -> _Looked:
        """Look at a source, unless a look at this very version is young enough."""
        looked = self._looked.setdefault(name, _Looked())
        version = (resource.metadata.uid, resource.metadata.generation)
        async with looked.lock:
            if looked.version != version:
                looked.version, looked.source, looked.found = version, None, None
            if looked.found is None or self._clock() - looked.at >= _age(looked.found, max_age):
                looked.found = await self._found(looked, resource)
                looked.at = self._clock()
        return looked

    async def _found(
        self, looked: _Looked, resource: ResearchSource
    ) -> SourceObservation | SourceNotReadyError:
        try:
            self._access.require(resource)
            if looked.source is None:
                looked.source = self._make_source(resource)
            return await looked.source.observe()
        except SourceNotReadyError as error:
            # Kept: without the frames that led to it, which would keep more.
            return error.with_traceback(None)


def _source_not_ready(name: _Name, error: SourceNotReadyError) -> MissingReference:
    """Return what a task shows: the deepest cause, and which source it is of."""
    if error.reason is ReadyReason.SECRET_NOT_FOUND:
        return MissingReference(
            AcceptedReason.SECRET_NOT_FOUND, f"the ResearchSource {name.name} has no key: {error}"
        )
    return MissingReference(
        AcceptedReason.SOURCE_NOT_READY,
        f"the ResearchSource {name.name} is not ready: {error.reason}: {error}",
    )


def _model_not_ready(name: _Name, error: ModelNotReadyError) -> MissingReference:
    """Return what a task shows: the deepest cause, and which model it is of."""
    if error.reason is ReadyReason.SECRET_NOT_FOUND:
        return MissingReference(
            AcceptedReason.SECRET_NOT_FOUND, f"the ResearchModel {name.name} has no key: {error}"
        )
    return MissingReference(
        AcceptedReason.MODEL_NOT_READY,
        f"the ResearchModel {name.name} is not ready: {error.reason}: {error}",
    )


def _version(resource: ResearchModel) -> tuple[str, int]:
    return resource.metadata.uid, resource.metadata.generation


def _name_of(metadata: ObjectMeta) -> _Name:
    return _Name(metadata.namespace, metadata.name)


def _age(found: SourceObservation | SourceNotReadyError, max_age: float) -> float:
    return min(max_age, _FAILURE_SECONDS) if isinstance(found, SourceNotReadyError) else max_age
