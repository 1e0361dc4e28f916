"""Keys: for how long they are kept, what a task is told without one, and that none is shown."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import SecretStr

from controller.api.errors import (
    ModelNotReadyError,
    NotFoundError,
    RefusedError,
    StoreError,
    UnavailableError,
)
from controller.api.meta import SecretReference
from controller.api.reasons import ReadyReason
from controller.credentials import SecretCredentials, SecretReader, require_key

REFERENCE = SecretReference(name="openai", key="api-key")


class Vault:
    """A store of one value, or of an error, that counts how often it is read."""

    def __init__(self, value: str | StoreError) -> None:
        self.value = value
        self.reads = 0
        self.time = 0.0

    async def get_secret_value(self, namespace: str, name: str, key: str) -> SecretStr:
        self.reads += 1
        await asyncio.sleep(0)
        if isinstance(self.value, StoreError):
            raise self.value
        return SecretStr(f"{self.value} of {namespace}/{name}/{key}")

    def reader(self) -> SecretReader:
        return SecretReader(self, lambda: self.time)


async def test_a_key_is_kept_for_five_seconds_and_read_at_once_if_it_must_be_fresh() -> None:
    vault = Vault("old")
    credentials = SecretCredentials(vault.reader(), "research", REFERENCE)
    assert await credentials.key() == "old of research/openai/api-key"
    vault.value, vault.time = "new", 4.9
    assert await credentials.key() == "old of research/openai/api-key"
    assert await credentials.key(fresh=True) == "new of research/openai/api-key"
    vault.value, vault.time = "newest", 10.0
    assert await credentials.key() == "newest of research/openai/api-key"
    assert vault.reads == 3


async def test_an_endpoint_that_needs_no_key_reads_no_secret() -> None:
    vault = Vault("unread")
    assert await SecretCredentials(vault.reader(), "research", None).key() is None
    await require_key(vault.reader(), "research", None)
    assert vault.reads == 0


# S0.39
@pytest.mark.parametrize("error", [NotFoundError("not there"), RefusedError("forbidden")])
async def test_a_key_that_is_missing_is_a_reason_to_wait_and_sends_nothing(
    error: StoreError,
) -> None:
    vault = Vault(error)
    reader = vault.reader()
    with pytest.raises(ModelNotReadyError, match=str(error)) as waits:
        await require_key(reader, "research", REFERENCE)
    assert waits.value.reason is ReadyReason.SECRET_NOT_FOUND
    with pytest.raises(UnavailableError, match=str(error)):
        await SecretCredentials(reader, "research", REFERENCE).key()


async def test_a_hundred_tasks_that_wait_for_one_secret_look_at_it_once_a_second() -> None:
    vault = Vault(NotFoundError("not there"))
    reader = vault.reader()

    async def look() -> None:
        with pytest.raises(ModelNotReadyError):
            await require_key(reader, "research", REFERENCE)

    await asyncio.gather(*(look() for _ in range(100)))
    assert vault.reads == 1
    vault.value, vault.time = "there", 1.0
    await require_key(reader, "research", REFERENCE)
    assert vault.reads == 2


async def test_a_store_that_does_not_answer_is_no_missing_key() -> None:
    with pytest.raises(UnavailableError):
        await require_key(Vault(UnavailableError("no answer")).reader(), "research", REFERENCE)


# S2.34
async def test_nothing_that_holds_a_key_shows_it() -> None:
    vault = Vault("canary")
    reader = vault.reader()
    credentials = SecretCredentials(reader, "research", REFERENCE)
    assert "canary" in (await credentials.key() or "")
    for holder in (reader, credentials, *vars(reader).values(), *vars(credentials).values()):
        assert "canary" not in f"{holder!r} {holder}" or holder is vault


async def test_a_key_is_forgotten_when_nobody_has_asked_for_it_lately() -> None:
    vault = Vault("canary")
    reader = vault.reader()
    await require_key(reader, "research", REFERENCE)
    vault.time = 60.0
    await require_key(reader, "research", SecretReference(name="other", key="api-key"))
    kept = vars(reader)["_known"]
    assert [key.name for key in kept] == ["other"]
