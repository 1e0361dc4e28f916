"""Says on each `ResearchSource` and `ResearchModel` whether it is ready: one condition, `Ready`.

A level-triggered loop of its own, keyed by the object: look, compare, write the status only if it
says something else. Whoever waits is told when a source or model becomes ready, and when a source
holds something else.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from controller.api.errors import (
    ConflictError,
    ModelNotReadyError,
    NotFoundError,
    SourceNotReadyError,
)
from controller.api.meta import Condition, ConditionStatus, ObjectMeta
from controller.api.model import ResearchModel, ResearchModelStatus
from controller.api.reasons import ReadyReason
from controller.api.source import ResearchSource, ResearchSourceStatus
from controller.ports import Clock
from controller.references import LOOK_AGAIN_SECONDS, ReferenceStore, Resolver

READY: Final = "Ready"

_AT_ONCE: Final = 0.0

_REACHABLE: Final = "the address is open, and the key is there if one is named"


class ReferenceKind(StrEnum):
    """What a task can refer to."""

    SOURCE = "ResearchSource"
    MODEL = "ResearchModel"


class ReferenceKey(NamedTuple):
    """The name of a source or model."""

    namespace: str
    kind: ReferenceKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class ReadinessStore(ReferenceStore, Protocol):
    """The part of the Kubernetes store that readiness needs."""

    async def write_source_status(
        self, source: ResearchSource, status: ResearchSourceStatus
    ) -> ResearchSource:
        """Replace the status of exactly this version; see `TaskStore`."""
        ...

    async def write_model_status(
        self, model: ResearchModel, status: ResearchModelStatus
    ) -> ResearchModel:
        """Replace the status of exactly this version; see `TaskStore`."""
        ...


class Readiness:
    """Keeps the `Ready` condition of sources and models true."""

    def __init__(
        self,
        *,
        store: ReadinessStore,
        resolver: Resolver,
        clock: Clock,
        check_seconds: float,
        on_change: Callable[[ReferenceKey], None],
        on_observed: Callable[[ReferenceKey, str], None],
    ) -> None:
        """Make a readiness loop over a store.

        Args:
            store: where sources and models are.
            resolver: looks at sources and models; what it saw last is shared with the tasks.
            clock: for transition times.
            check_seconds: how often what is ready is looked at again.
            on_change: told of what became ready, or not, and of a source that holds something else.
            on_observed: told each time what a source holds, so that no change is missed.
        """
        self._store = store
        self._resolver = resolver
        self._clock = clock
        self._check_seconds = check_seconds
        self._on_change = on_change
        self._on_observed = on_observed

    async def reconcile(self, key: ReferenceKey) -> float | None:
        """Look at one object once; return the seconds until it should be looked at again.

        Raises:
            StoreError: the store did not answer or refused.
        """
        try:
            if key.kind is ReferenceKind.SOURCE:
                return await self._reconcile_source(key)
            return await self._reconcile_model(key)
        except NotFoundError:
            return None
        except ConflictError:
            return _AT_ONCE

    async def _reconcile_source(self, key: ReferenceKey) -> float:
        source = await self._store.get_source(key.namespace, key.name)
        before = source.status
        status = await self._source_status(source)
        if status != before:
            await self._store.write_source_status(source, status)
        if (_ready(before.conditions), before.digest) != (_ready(status.conditions), status.digest):
            self._on_change(key)
        if status.digest is not None:
            self._on_observed(key, status.digest)
        return self._check_seconds if _ready(status.conditions) else LOOK_AGAIN_SECONDS

    async def _source_status(self, source: ResearchSource) -> ResearchSourceStatus:
        metadata, known = source.metadata, source.status.conditions
        now = self._clock.now()
        try:
            found = await self._resolver.observe(source, max_age_seconds=0)
        except SourceNotReadyError as error:
            return ResearchSourceStatus(
                observed_generation=metadata.generation,
                conditions=_with(known, _condition(metadata, error.reason, str(error), now)),
            )
        message = _REACHABLE if found.documents is None else f"{found.documents} documents"
        if found.warnings:
            message = "; ".join((message, *found.warnings))
        return ResearchSourceStatus(
            observed_generation=metadata.generation,
            conditions=_with(known, _condition(metadata, ReadyReason.READY, message, now)),
            digest=found.digest,
            documents=found.documents,
        )

    async def _reconcile_model(self, key: ReferenceKey) -> float:
        model = await self._store.get_model(key.namespace, key.name)
        before = model.status
        reason, message = await self._model_readiness(key, model)
        condition = _condition(model.metadata, reason, message, self._clock.now())
        status = ResearchModelStatus(
            observed_generation=model.metadata.generation,
            conditions=_with(before.conditions, condition),
        )
        if status != before:
            await self._store.write_model_status(model, status)
        return self._check_seconds if _ready(status.conditions) else LOOK_AGAIN_SECONDS

    async def _model_readiness(
        self, key: ReferenceKey, model: ResearchModel
    ) -> tuple[ReadyReason, str]:
        """Return whether a model can be asked; what its endpoint says of itself only warns.

        Whoever waits is told before the endpoint is asked, which may be slow to answer.
        """
        was_ready = _ready(model.status.conditions)
        try:
            ready = await self._resolver.ready_model(model, max_age_seconds=0)
        except ModelNotReadyError as error:
            if was_ready:
                self._on_change(key)
            return error.reason, str(error)
        if not was_ready:
            self._on_change(key)
        warning = await ready.probe()
        if warning is None:
            return ReadyReason.READY, _REACHABLE
        return ReadyReason.READY, f"{_REACHABLE}; a warning: {warning}"


def _condition(metadata: ObjectMeta, reason: ReadyReason, message: str, now: datetime) -> Condition:
    is_ready = reason is ReadyReason.READY
    return Condition(
        type=READY,
        status=ConditionStatus.TRUE if is_ready else ConditionStatus.FALSE,
        observed_generation=metadata.generation,
        last_transition_time=now,
        reason=reason,
        message=message[:1024],
    )


def _with(known: tuple[Condition, ...], condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions with one replaced; its time moves only with its status."""
    others = tuple(c for c in known if c.type != condition.type)
    for before in known:
        if before.type == condition.type and before.status is condition.status:
            time = before.last_transition_time
            condition = condition.model_copy(update={"last_transition_time": time})
    return (*others, condition)


def _ready(conditions: tuple[Condition, ...]) -> bool:
    return any(c.type == READY and c.status is ConditionStatus.TRUE for c in conditions)
