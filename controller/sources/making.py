"""Makes sources from their objects: one maker for each type of `ResearchSource`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from controller.api.source import ResearchSource, SourceType
from controller.connections import ConnectionGuard
from controller.ports import Source
from controller.sources.corpus import LoadConfigMaps, make_source
from controller.sources.remote.arxiv import ArXivSource
from controller.sources.remote.base import Key, Network, RemoteSource
from controller.sources.remote.brave import BraveSource
from controller.sources.remote.feed import FeedSource
from controller.sources.remote.media_wiki import MediaWikiSource
from controller.sources.remote.searxng import SearXNGSource
from controller.sources.remote.tavily import TavilySource
from controller.sources.remote.web import WebSource
from controller.sources.web.fetcher import Fetcher

REMOTE: Final[Mapping[SourceType, Callable[[ResearchSource, Network], RemoteSource]]] = {
    SourceType.MEDIA_WIKI: MediaWikiSource,
    SourceType.SEARXNG: SearXNGSource,
    SourceType.WEB: WebSource,
    SourceType.FEED: FeedSource,
    SourceType.ARXIV: ArXivSource,
    SourceType.BRAVE: BraveSource,
    SourceType.TAVILY: TavilySource,
}
"""The maker of each type that asks a server; the other type is a corpus."""


def source_maker(
    *,
    corpus_root: Path | None,
    cache_directory: Path,
    load_config_maps: LoadConfigMaps,
    fetcher: Fetcher,
    guard: ConnectionGuard,
    key_of: Callable[[ResearchSource], Key],
) -> Callable[[ResearchSource], Source]:
    """Return what makes a source of an object, without I/O.

    Args:
        corpus_root: the directory below which corpus directories lie; None allows none.
        cache_directory: where indexes are kept; it may be emptied at any time.
        load_config_maps: reads ConfigMaps by namespace and names.
        fetcher: sends the requests of remote sources.
        guard: says which addresses they may have.
        key_of: says where the key of a source comes from.
    """

    def make(resource: ResearchSource) -> Source:
        maker = REMOTE.get(resource.spec.type)
        if maker is not None:
            network = Network(fetcher=fetcher, guard=guard, key=key_of(resource))
            return maker(resource, network)
        return make_source(
            resource,
            corpus_root=corpus_root,
            cache_directory=cache_directory,
            load_config_maps=load_config_maps,
        )

    return make
