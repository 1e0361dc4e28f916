"""Reads a stored step of any format version up to today's; a newer one is refused (case E2).

A record is never rewritten. One of an older version is read into today's form, keeps what is
stored beside it, and stays under the digest that it was recorded with, so that the chain is
checked on the bytes that were written and not on what became of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from controller.api.errors import JournalError
from controller.api.step import FORMAT_VERSION, ResearchStep

Record = Mapping[str, Any]
"""A step's `spec` as JSON."""

Migration = Callable[[Record], Record]
"""Makes of a record of one format version a record of the next one; it may not change it."""

MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""For each older format version how to read it as the next one. There is no older one yet."""


class MigratedStep(ResearchStep):
    """A step of an older format: `spec` is its form of today, `original` what is stored."""

    original: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the step as it is stored: in its own format, under its own digest."""
        return self.original


def read_step(
    stored: Mapping[str, Any], migrations: Mapping[int, Migration] = MIGRATIONS
) -> ResearchStep:
    """Return a stored step in today's form.

    Args:
        stored: the whole object, as JSON.
        migrations: for each older format version how to read it as the next one.

    Raises:
        JournalError: its format version is newer than today's, or one that nothing can read.
        pydantic.ValidationError: it is no step.
    """
    version = _version(stored)
    if version is None or version == FORMAT_VERSION:
        return ResearchStep.model_validate(stored)
    name = _name(stored)
    if version > FORMAT_VERSION:
        raise JournalError(
            "FormatVersion",
            f"step {name} has format version {version}, this program reads up to "
            f"{FORMAT_VERSION}: use a newer one",
        )
    record: Record = stored["spec"]
    for older in range(version, FORMAT_VERSION):
        if older not in migrations:
            raise JournalError(
                "FormatVersion", f"step {name} has format version {version}, which nothing can read"
            )
        record = migrations[older](record)
    kept = {key: stored["spec"].get(key) for key in ("previousDigest", "digest")}
    today = {**record, **kept, "formatVersion": FORMAT_VERSION}
    return MigratedStep.model_validate({**stored, "spec": today, "original": dict(stored)})


def _version(stored: Mapping[str, Any]) -> int | None:
    """Return the format version of a stored step, None where it has none."""
    spec = stored.get("spec")
    version = spec.get("formatVersion") if isinstance(spec, Mapping) else None
    return version if isinstance(version, int) else None


def _name(stored: Mapping[str, Any]) -> str:
    metadata = stored.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return str(name or "without a name")
