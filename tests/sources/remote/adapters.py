"""Adapters in a small internet: each with servers that answer in the shapes of the real ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from controller.api.errors import ActionError, SourceNotReadyError
from controller.api.meta import ObjectMeta
from controller.api.reasons import ReadyReason
from controller.api.source import ResearchSource, ResearchSourceSpec
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.ports import SearchOutcome
from controller.sources.making import REMOTE
from controller.sources.remote.base import Network, RemoteSource
from tests.sources.web.site import Received, Reply, Route, Site, page
from tests.sources.web.world import World

KEY: Final = "canary-4f1c9a77"
SECRET: Final = {"name": "engine", "key": "api-key"}


class ByPath(dict[str, Route]):
    """Routes by the path of a request, whatever its parameters are."""

    def get(self, target: str, default: Any = None) -> Any:  # noqa: ANN401 - as a dict's
        """Return the route of a target's path."""
        return super().get(urlsplit(target).path, default)


@dataclass
class HeldKey:
    """A key that a test holds, and may take away or rotate; `fresh` is what a new look finds."""

    held: str | None = None
    is_missing: bool = False
    fresh: str | None = None
    looks: list[bool] = field(default_factory=list)

    async def require(self) -> None:
        """Refuse where it is missing."""
        if self.is_missing:
            message = "the Secret default/engine does not exist"
            raise SourceNotReadyError(ReadyReason.SECRET_NOT_FOUND, message)

    async def value(self, *, fresh: bool = False) -> SecretStr | None:
        """Return the key."""
        self.looks.append(fresh)
        text = self.fresh if fresh and self.fresh is not None else self.held
        return None if text is None else SecretStr(text)


def resource(**spec: Any) -> ResearchSource:  # noqa: ANN401 - any field
    """Return a source of this spec, written as in a manifest."""
    return ResearchSource(
        metadata=ObjectMeta(name="library"), spec=ResearchSourceSpec.model_validate(spec)
    )


@asynccontextmanager
async def source_of(
    world: World,
    *,
    key: HeldKey | None = None,
    opened: tuple[str, ...] = (),
    options: dict[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - any field
) -> AsyncIterator[RemoteSource]:
    """Make the source that a spec describes, in a world of its own."""
    made = resource(**spec)
    guard = ConnectionGuard(OpenedOrigins.parse(opened), resolve=world.resolve)
    async with world.fetcher(*opened, **(options or {})) as fetcher:
        network = Network(fetcher=fetcher, guard=guard, key=key or HeldKey())
        yield REMOTE[made.spec.type](made, network)


async def searched(source: RemoteSource, query: str = "default of GLOW_LEVEL") -> SearchOutcome:
    """Put one query to a source."""
    return await source.search(query, limit=source.max_results, terms=())


async def refused(source: RemoteSource, locator: str | None = None) -> ActionError:
    """Return the error that a search ends with, or the read of a locator."""
    try:
        found = await (searched(source) if locator is None else source.read(locator))
    except ActionError as error:
        return error
    raise AssertionError(f"no error: {found}")


def as_json(value: object, status: int = 200, /, **headers: str) -> Reply:
    """Return an answer that is JSON."""
    body = json.dumps(value).encode()
    return page(body, status, **{"content_type": "application/json", **headers})


def as_html(text: str, status: int = 200, /, **headers: str) -> Reply:
    """Return a web page."""
    body = f"<!DOCTYPE html><html>{text}</html>".encode()
    return page(body, status, **{"content_type": "text/html; charset=utf-8", **headers})


def article(title: str, *paragraphs: str, more: str = "") -> Reply:
    """Return a web page that is an article."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return as_html(f"<head><title>{title}</title></head><body><h1>{title}</h1>{text}{more}</body>")


def parameters(request: Received) -> dict[str, str]:
    """Return the parameters of a request's URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}


def paths(site: Site) -> list[str]:
    """Return the paths that a site was asked for, in order, robots files left out."""
    asked = [urlsplit(target).path for target in site.targets]
    return [path for path in asked if path != "/robots.txt"]
