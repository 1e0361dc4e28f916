"""Keys for endpoints and sources, from Secrets: kept for seconds, in memory, and nowhere else.

A Secret is not watched: the operator may not list Secrets. So one that is used is read again every
few seconds, and at once where an endpoint has refused its key: a key that was rotated is found by
then (E11).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from pydantic import SecretStr

from controller.api.errors import (
    ModelNotReadyError,
    NotFoundError,
    RefusedError,
    SourceNotReadyError,
    UnavailableError,
)
from controller.api.meta import SecretReference
from controller.api.model import ResearchModel
from controller.api.reasons import ReadyReason
from controller.api.source import ResearchSource

KEY_SECONDS: Final = 5.0
"""For how long a key is used before it is read again."""

MISSING_SECONDS: Final = 1.0
"""For how long it is believed that there is none: many tasks may wait for one Secret."""


class SecretStore(Protocol):
    """The part of a task store that keys come from."""

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        """Return one value of a Secret; see `TaskStore`."""
        ...


class _Key(NamedTuple):
    namespace: str
    name: str
    key: str


@dataclass
class _Known:
    """What was read last, and when; one reading at a time."""

    found: SecretStr | NotFoundError | RefusedError | None = field(default=None, repr=False)
    at: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SecretReader:
    """Reads values of Secrets and keeps them for some seconds. One for each process."""

    def __init__(self, store: SecretStore, clock: Callable[[], float] = time.monotonic) -> None:
        """Make a reader that knows nothing yet; `clock` is a monotonic time in seconds."""
        self._store = store
        self._clock = clock
        self._known: dict[_Key, _Known] = {}

    async def value(
        self, namespace: str, reference: SecretReference, *, max_age_seconds: float = KEY_SECONDS
    ) -> SecretStr:
        """Return a value that was read no longer ago than the maximal age.

        Raises:
            NotFoundError: the Secret or its key is not there.
            RefusedError: the value cannot be a key, or it may not be read.
            UnavailableError: the store did not answer.
        """
        self._forget_old()
        known = self._known.setdefault(
            _Key(namespace, reference.name, reference.key), _Known(at=self._clock())
        )
        async with known.lock:
            if known.found is None or self._clock() - known.at >= _age(known, max_age_seconds):
                known.found = await self._read(namespace, reference)
                known.at = self._clock()
        if isinstance(known.found, SecretStr):
            return known.found
        raise type(known.found)(str(known.found))

    def credentials_of(self, model: ResearchModel) -> SecretCredentials:
        """Return where the key of a model comes from."""
        reference = model.spec.credentials_secret_ref
        return SecretCredentials(self, model.metadata.namespace, reference)

    def key_of(self, source: ResearchSource) -> SourceKey:
        """Return where the key of a source comes from."""
        return SourceKey(self, source.metadata.namespace, source.spec.credentials_secret_ref)

    async def _read(
        self, namespace: str, reference: SecretReference
    ) -> SecretStr | NotFoundError | RefusedError:
        try:
            return await self._store.get_secret_value(namespace, reference.name, reference.key)
        except (NotFoundError, RefusedError) as error:
            return error.with_traceback(None)

    def _forget_old(self) -> None:
        """Keep no key that nobody has asked for lately."""
        now = self._clock()
        for key, known in tuple(self._known.items()):
            if now - known.at > KEY_SECONDS and not known.lock.locked():
                del self._known[key]


class SecretCredentials:
    """The key of one endpoint. It implements `controller.models.credentials.Credentials`."""

    def __init__(
        self, reader: SecretReader, namespace: str, reference: SecretReference | None
    ) -> None:
        """Name the Secret; None: the endpoint needs no key."""
        self._reader = reader
        self._namespace = namespace
        self._reference = reference

    async def key(self, *, fresh: bool = False) -> str | None:
        """Return the key, None where none is needed; `fresh`: read it now.

        Raises:
            UnavailableError: it cannot be read, so nothing is sent: the turn is taken again, and
                then the task waits for what is missing.
        """
        if self._reference is None:
            return None
        try:
            value = await self._reader.value(
                self._namespace, self._reference, max_age_seconds=0 if fresh else KEY_SECONDS
            )
        except (NotFoundError, RefusedError) as error:
            raise UnavailableError(str(error), retry_after_seconds=MISSING_SECONDS) from None
        return value.get_secret_value()


class SourceKey:
    """The key of one source. It implements `controller.sources.remote.base.Key`."""

    def __init__(
        self, reader: SecretReader, namespace: str, reference: SecretReference | None
    ) -> None:
        """Name the Secret; None: the source needs no key."""
        self._reader = reader
        self._namespace = namespace
        self._reference = reference
        self._credentials = SecretCredentials(reader, namespace, reference)

    async def require(self) -> None:
        """Check that the key is there.

        Raises:
            SourceNotReadyError: it is not, or it cannot be used; the reason is `SecretNotFound`.
            UnavailableError: the store did not answer.
        """
        missing = await _missing(self._reader, self._namespace, self._reference)
        if missing is not None:
            raise SourceNotReadyError(ReadyReason.SECRET_NOT_FOUND, missing)

    async def value(self, *, fresh: bool = False) -> SecretStr | None:
        """Return the key, None where none is needed; `fresh`: read it now.

        Raises:
            UnavailableError: it cannot be read, so nothing is sent; see `SecretCredentials`.
        """
        key = await self._credentials.key(fresh=fresh)
        return None if key is None else SecretStr(key.strip())


async def require_key(
    reader: SecretReader, namespace: str, reference: SecretReference | None
) -> None:
    """Check that the key of an endpoint is there.

    Raises:
        ModelNotReadyError: it is not, or it cannot be used; the reason is `SecretNotFound`.
        UnavailableError: the store did not answer.
    """
    missing = await _missing(reader, namespace, reference)
    if missing is not None:
        raise ModelNotReadyError(ReadyReason.SECRET_NOT_FOUND, missing)


async def _missing(
    reader: SecretReader, namespace: str, reference: SecretReference | None
) -> str | None:
    """Return why a key that is needed is not there; None: all is well."""
    if reference is None:
        return None
    try:
        await reader.value(namespace, reference)
    except (NotFoundError, RefusedError) as error:
        return str(error)
    return None


def _age(known: _Known, max_age_seconds: float) -> float:
    is_there = isinstance(known.found, SecretStr)
    return max_age_seconds if is_there else min(max_age_seconds, MISSING_SECONDS)
