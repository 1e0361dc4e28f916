"""Values of Secrets, in both homes: what may serve as a key, and that none is ever shown."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from controller.api.errors import NotFoundError, RefusedError
from tests.store.builders import FixedClock, Manifest
from tests.store.homes import Home, LocalHome

CANARY = "canary-4f1c9a"


def secret(name: str, namespace: str, values: dict[str, bytes]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: b64encode(value).decode() for key, value in values.items()},
    }


# S0.39
async def test_a_value_is_read_without_the_end_of_its_line(home: Home, new_name: str) -> None:
    values = {"plain": b"canary", "line": b"canary\n", "windows": b"canary\r\n"}
    home.apply(secret(new_name, home.namespace, values))
    for key in values:
        value = await home.store.get_secret_value(home.namespace, new_name, key)
        assert value.get_secret_value() == "canary"
        assert "canary" not in f"{value} {value!r}"


async def test_a_changed_value_is_read_as_it_is_now(home: Home, new_name: str) -> None:
    for word in ("old", "new"):
        home.apply(secret(new_name, home.namespace, {"key": word.encode()}))
        value = await home.store.get_secret_value(home.namespace, new_name, "key")
        assert value.get_secret_value() == word


async def test_a_secret_and_its_key_are_missed_by_name(home: Home, new_name: str) -> None:
    with pytest.raises(NotFoundError, match=f"the Secret {home.namespace}/{new_name} does not"):
        await home.store.get_secret_value(home.namespace, new_name, "api-key")
    home.apply(secret(new_name, home.namespace, {"other": CANARY.encode()}))
    with pytest.raises(NotFoundError, match="the key api-key of the Secret") as missing:
        await home.store.get_secret_value(home.namespace, new_name, "api-key")
    assert CANARY not in str(missing.value)


# S2.34
@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"canary-4f1c9a\n\n", "several lines"),
        (b"canary-4f1c9a\nX-Other: 1", "several lines"),
        (b" canary-4f1c9a", "printable ASCII without spaces around it"),
        (b"canary-4f1c9a\x00", "printable ASCII"),
        ("canary-4f1c9a-ü".encode(), "printable ASCII"),
        (b"\xff\xfe", "printable ASCII"),
    ],
)
async def test_a_value_that_no_header_can_hold_is_refused_and_not_shown(
    home: Home, new_name: str, value: bytes, rule: str
) -> None:
    home.apply(secret(new_name, home.namespace, {"api-key": value}))
    with pytest.raises(RefusedError, match=rule) as refused:
        await home.store.get_secret_value(home.namespace, new_name, "api-key")
    assert f"the key api-key of the Secret {home.namespace}/{new_name}" in str(refused.value)
    assert CANARY not in str(refused.value)


async def test_the_local_file_never_holds_a_value(tmp_path: Path, clock: FixedClock) -> None:
    home = LocalHome(tmp_path / "fixpoint.db", clock)
    home.apply(secret("openai", home.namespace, {"api-key": CANARY.encode()}))
    await home.store.get_secret_value(home.namespace, "openai", "api-key")
    home.close()
    encoded = b64encode(CANARY.encode()).rstrip(b"=")
    for file in tmp_path.iterdir():  # noqa: ASYNC240 - nothing else runs here
        assert CANARY.encode() not in file.read_bytes()
        assert encoded not in file.read_bytes()
    again = LocalHome(tmp_path / "fixpoint.db", clock)
    with pytest.raises(NotFoundError):
        await again.store.get_secret_value(home.namespace, "openai", "api-key")
    again.close()
