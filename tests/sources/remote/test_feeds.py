"""Feeds: RSS and Atom of the web, and arXiv's."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.records import SearchStatus
from controller.sources.remote.feeds import NoFeedError, read_feed
from tests.sources.remote import shapes
from tests.sources.remote.adapters import (
    ByPath,
    article,
    parameters,
    paths,
    refused,
    searched,
    source_of,
)
from tests.sources.web.site import Received, Reply, Route, Site, page, redirect
from tests.sources.web.timing import Time
from tests.sources.web.world import World

AT = "http://feed.example"
FEED: dict[str, Any] = {"type": "Feed", "feed": {"url": f"{AT}/feed"}}
ARXIV: dict[str, Any] = {"type": "ArXiv"}


def xml(body: bytes, **headers: str) -> Reply:
    return page(body, **{"content_type": "application/xml", **headers})


@pytest.mark.parametrize("form", [shapes.rss, shapes.atom])
async def test_the_entries_of_a_feed_are_its_hits(form: Any) -> None:  # noqa: ANN401 - a function
    async with (
        Site({"/feed": xml(form(*reversed(shapes.PAGES)))}) as site,
        source_of(World({AT: site}), **FEED) as source,
    ):
        found = await searched(source)
    assert [hit.locator for hit in found.hits] == [url for url, _, _ in shapes.PAGES]
    assert found.hits[0].title == "GLOW_LEVEL"
    assert found.hits[0].snippet == "Default: 40 lumens at the ..."
    assert found.status is SearchStatus.COMPLETE


async def test_rss_1_and_relative_links_and_guids_that_are_links_are_known() -> None:
    rdf = (
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        b'xmlns="http://purl.org/rss/1.0/"><channel/>'
        b"<item><title>One</title><link>/one</link></item></rdf:RDF>"
    )
    guid = b"<rss><channel><item><guid>http://feed.example/g</guid></item></channel></rss>"
    for body, locator in ((rdf, f"{AT}/one"), (guid, f"{AT}/g")):
        async with (
            Site({"/feed": xml(body)}) as site,
            source_of(World({AT: site}), **FEED) as source,
        ):
            assert [hit.locator for hit in (await searched(source)).hits] == [locator]


async def test_entries_without_a_page_are_told_and_prove_nothing() -> None:
    body = shapes.rss(("", "No link", "x"), ("mailto:a@b.example", "Mail", "x"), *shapes.PAGES)
    body = body.replace(b'<guid isPermaLink="false"></guid>', b"")
    async with (
        Site({"/feed": xml(body)}) as site,
        source_of(World({AT: site}), **FEED) as source,
    ):
        found = await searched(source)
    assert len(found.hits) == 2
    assert found.warnings == ("2 entries have no link that can be followed",)
    assert found.status is SearchStatus.PARTIAL


async def test_an_empty_feed_is_no_error_and_proves_nothing() -> None:
    async with (
        Site({"/feed": xml(shapes.rss())}) as site,
        source_of(World({AT: site}), **FEED) as source,
    ):
        found = await searched(source)
    assert (found.hits, found.status) == ((), SearchStatus.PARTIAL)
    assert "has no entries" in found.warnings[0]


async def test_more_entries_than_are_read_prove_nothing() -> None:
    many = [(f"{AT}/{n}", f"Entry {n}", "") for n in range(9)]
    async with (
        Site({"/feed": xml(shapes.atom(*many))}) as site,
        source_of(World({AT: site}), **FEED) as source,
    ):
        found = await searched(source)
    assert found.status is SearchStatus.PARTIAL
    assert "6 entries were not read yet" in found.warnings[0]


async def test_a_feed_that_has_not_changed_is_not_sent_again() -> None:
    feed = xml(shapes.rss(*shapes.PAGES), etag='"1"', last_modified="Wed, 01 Jan 2025 00:00:00 GMT")

    def answered(request: Received) -> Reply:
        is_known = request.headers.get("if-none-match") == '"1"'
        return Reply([b"HTTP/1.1 304 Not Modified\r\n\r\n"]) if is_known else feed

    async with (
        Site({"/feed": answered}) as site,
        source_of(World({AT: site}), **FEED) as source,
    ):
        first, second = await searched(source), await searched(source)
    assert first == second
    assert site.requests[1].headers["if-modified-since"] == "Wed, 01 Jan 2025 00:00:00 GMT"


async def test_entries_that_a_feed_names_no_more_are_forgotten() -> None:
    site = Site({"/feed": xml(shapes.rss(*shapes.PAGES))})
    async with site, source_of(World({AT: site}), **FEED) as source:
        await searched(source)
        site.routes["/feed"] = xml(shapes.rss(shapes.PAGES[1]))
        assert [hit.title for hit in (await searched(source)).hits] == ["GLOW_COLOUR"]


async def test_an_entry_of_the_feeds_own_private_origin_is_read_where_that_is_opened() -> None:
    async with Site({"/entry": article("Glow", shapes.GLOW)}) as site:
        site.routes["/feed"] = xml(shapes.rss((f"{site.origin}/entry", "Glow", "")))
        world = World({site.origin: site})
        world._addresses["127.0.0.1"] = "127.0.0.1"
        spec: dict[str, Any] = {"type": "Feed", "feed": {"url": f"{site.origin}/feed"}}
        async with source_of(world, opened=(site.origin,), **spec) as source:
            (hit,) = (await searched(source)).hits
            assert (await source.read(hit.locator)).document is not None


async def test_a_feed_that_moved_is_followed() -> None:
    routes: dict[str, Route] = {"/feed": redirect("/new"), "/new": xml(shapes.rss(*shapes.PAGES))}
    async with Site(routes) as site, source_of(World({AT: site}), **FEED) as source:
        assert len((await searched(source)).hits) == 2
    assert paths(site) == ["/feed", "/new"]


HARMFUL = {
    "no XML": b"hello",
    "other XML": b"<html><body/></html>",
    "an entity": b"<!DOCTYPE rss [<!ENTITY a 'a'>]><rss><channel><item>&a;</item></channel></rss>",
    "a file": b"<!DOCTYPE rss [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><rss><channel>&a;</channel></rss>",
    "an unknown charset": b"<?xml version='1.0' encoding='x-nothing'?><rss/>",
    "nothing": b"",
}


@pytest.mark.parametrize("what", HARMFUL)
def test_what_is_no_feed_is_refused(what: str) -> None:
    with pytest.raises(NoFeedError):
        read_feed(HARMFUL[what])


def test_a_deep_tree_does_no_harm() -> None:
    depth = 20_000
    body = b"<rss>" + b"<a>" * depth + b"</a>" * depth + b"</rss>"
    assert read_feed(body).entries == ()


def arxiv(body: bytes) -> Site:
    return Site(ByPath({"/api/query": xml(body)}), is_tls=False)


async def with_arxiv(body: bytes, use: Any) -> tuple[Site, Any]:  # noqa: ANN401 - a function
    """Use arXiv's adapter at an address of its own, answered by this body."""
    async with arxiv(body) as site:
        at = "http://export.arxiv.example"
        async with source_of(World({at: site}), **ARXIV, arxiv={"baseURL": at}) as source:
            return site, await use(source)


PAPER = ("2101.00001v2", "Lamps  of\n the <i>North</i>", "We measure lamps.\nThey glow by day.")


async def test_arxiv_ranks_by_any_of_the_words() -> None:
    site, found = await with_arxiv(
        shapes.arxiv(PAPER, total=731), lambda s: searched(s, 'glow-level of "lamps" & day\'s')
    )
    query = parameters(site.requests[0])["search_query"]
    assert query.split(" OR ")[0] == 'all:"glow-level"'
    assert query.count('"') == 2 * query.count("all:")
    (hit,) = found.hits
    assert (hit.locator, hit.title) == ("https://arxiv.org/abs/2101.00001v2", "Lamps of the North")
    assert (found.status, found.total) == (SearchStatus.COMPLETE, 731)


async def test_an_abstract_is_read_in_its_newest_version_which_is_cited() -> None:
    site, read = await with_arxiv(
        shapes.arxiv(PAPER), lambda s: s.read("https://arxiv.org/abs/2101.00001v1")
    )
    assert parameters(site.requests[0])["id_list"] == "2101.00001"
    assert read.document.locator == "https://arxiv.org/abs/2101.00001v2"
    assert read.document.origin_key == "arxiv.org"
    assert [block.text for block in read.blocks] == [
        "Lamps of the North",
        "Authors: Ada Lovelace, Emmy Noether",
        "We measure lamps. They glow by day.",
    ]


async def test_a_preprint_with_a_number_of_the_old_form_is_known() -> None:
    paper = ("hep-th/9901001v3", "Strings", "We pull strings.")
    site, read = await with_arxiv(
        shapes.arxiv(paper), lambda s: s.read("https://arxiv.org/abs/hep-th/9901001")
    )
    assert parameters(site.requests[0])["id_list"] == "hep-th/9901001"
    assert read.document.locator == "https://arxiv.org/abs/hep-th/9901001v3"


async def test_a_preprint_that_arxiv_does_not_know_is_not_there() -> None:
    _, read = await with_arxiv(shapes.arxiv(), lambda s: s.read("https://arxiv.org/abs/2101.99999"))
    assert read.document is None


async def test_no_result_of_arxiv_is_complete_and_a_count_without_entries_an_error() -> None:
    _, found = await with_arxiv(shapes.arxiv(), searched)
    assert (found.hits, found.status) == ((), SearchStatus.COMPLETE)
    _, error = await with_arxiv(shapes.arxiv(total=731), refused)
    assert error.error_class == "BadResponse"


async def test_an_error_of_arxiv_in_place_of_preprints_has_its_class() -> None:
    _, error = await with_arxiv(shapes.arxiv_error("incorrect id format"), refused)
    assert error.error_class == "BadRequest"


async def test_arxiv_is_asked_once_in_three_seconds() -> None:
    time = Time()
    async with arxiv(shapes.arxiv(PAPER)) as site:
        at = "http://export.arxiv.example"
        spec = {**ARXIV, "arxiv": {"baseURL": at}}
        options = {"turns": time.turns()}
        async with source_of(World({at: site}), options=options, **spec) as source:
            await searched(source)
            await source.read("https://arxiv.org/abs/2101.00001v1")
    assert time.slept == [3.0]
