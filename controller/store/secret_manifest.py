"""A Secret as `fixpoint run` is given it, in a file or the environment: kept in memory alone."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.api.meta import ObjectMeta


@dataclass(frozen=True)
class Secret:
    """Values by key; they are no part of what is shown of it."""

    metadata: ObjectMeta
    values: Mapping[str, bytes] = field(repr=False)

    def added_to(self, known: Secret) -> Secret:
        """Return a Secret with the keys of both; this one's win."""
        return Secret(self.metadata, {**known.values, **self.values})


def secret_values(manifest: Mapping[str, Any], lines: list[str]) -> dict[str, bytes] | None:
    """Return the values of a manifest, or add to `lines` what is wrong with it: names, no values.

    `stringData` wins over `data`, as in Kubernetes.
    """
    found: dict[str, bytes] = {}
    known = len(lines)
    for source in ("data", "stringData"):
        declared = manifest.get(source) or {}
        if not isinstance(declared, Mapping):
            lines.append(f"{source}: must be an object of strings by key; correct it")
            continue
        for key, value in declared.items():
            if not isinstance(value, str):
                lines.append(f"{source}.{key}: must be a string; put it in quotes")
                continue
            try:
                found[key] = value.encode() if source == "stringData" else _decoded(value)
            except ValueError:
                lines.append(
                    f"{source}.{key}: must be base64; write plain text under stringData instead"
                )
    return found if len(lines) == known else None


def _decoded(value: str) -> bytes:
    try:
        return b64decode("".join(value.split()), validate=True)
    except binascii.Error:
        raise ValueError("no base64") from None
