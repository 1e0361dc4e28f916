"""What a task refers to, found and ready, or what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.api.task import ResearchTask
from controller.loop.situation import MissingReference
from controller.ports.models import Model
from controller.ports.sources import Source


@dataclass(frozen=True)
class References:
    """What a task refers to, ready to be used; or the deepest cause why it is not.

    `models` has the task's model first, then its fallback if that can be used.
    `look_again_seconds` is set while what is missing may come back without anybody telling.
    `digests` is what the sources hold now, by name, where that is known. `skipped` says why the
    fallback model cannot be used, if the task has one: nothing waits for it.
    """

    sources: Mapping[str, Source]
    missing: MissingReference | None = None
    look_again_seconds: float | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    skipped: str | None = None
    models: tuple[Model, ...] = ()


class ReferenceResolver(Protocol):
    """Finds what a task refers to."""

    async def resolve(self, task: ResearchTask) -> References:
        """Return the task's sources, observed and ready, or what is missing."""
        ...
