"""What a value of a Secret must be to serve as a key; the same in both homes.

Messages name the Secret and the key in it, and never hold a part of the value.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from controller.api.errors import NotFoundError, RefusedError


def secret_value(values: Mapping[str, bytes], namespace: str, name: str, key: str) -> SecretStr:
    """Return one value of a Secret as text, without the line's end that many files have.

    Raises:
        NotFoundError: the Secret has no such key.
        RefusedError: the value cannot be sent in a header.
    """
    thing = f"the key {key} of the Secret {namespace}/{name}"
    if key not in values:
        raise NotFoundError(f"{thing} is not there; add it to the Secret")
    text = values[key].decode("latin-1").removesuffix("\n").removesuffix("\r")
    if not text:
        raise RefusedError(f"{thing} is empty; it must hold the key of the endpoint")
    if "\n" in text or "\r" in text:
        raise RefusedError(f"{thing} has several lines; it must be one line: correct the Secret")
    if not (text.isascii() and text.isprintable() and text == text.strip()):
        raise RefusedError(
            f"{thing} must be printable ASCII without spaces around it; correct the Secret"
        )
    return SecretStr(text)


def secret_not_found(namespace: str, name: str) -> NotFoundError:
    """Return the error for a Secret that is not there."""
    return NotFoundError(f"the Secret {namespace}/{name} does not exist; create it")
