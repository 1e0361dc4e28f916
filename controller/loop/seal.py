"""The seal of a status: by it the operator knows its own words again.

A status carries the digest of the rest of it. One whose digest does not fit was changed by
somebody else; it is made from the journal again. This finds accidents: who can write a status can
also compute a digest, and rights are what keeps others out (docs/crash-safety.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.api.base import digest_of
from controller.api.task import ResearchTaskStatus
from controller.loop.journal import UNSEALED


def unsealed(status: ResearchTaskStatus) -> ResearchTaskStatus:
    """Return a status with a digest that says nothing yet, and is as long as one that does."""
    return status.model_copy(update={"digest": UNSEALED})


def sealed(status: ResearchTaskStatus) -> ResearchTaskStatus:
    """Return a status with the digest of the rest of it."""
    return status.model_copy(update={"digest": _digest(status.to_json())})


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Say of a status as JSON whether it is as the operator wrote it."""
    return content.get("digest") == _digest(content)


def _digest(content: Mapping[str, Any]) -> str:
    return digest_of({name: value for name, value in content.items() if name != "digest"})
