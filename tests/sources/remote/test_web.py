"""The web: pages that a spec names, links on allowed hosts alone, and what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.records import SearchStatus
from controller.sources.remote.known_pages import KNOWN_SECONDS, MOST_PAGES, KnownPages
from tests.sources.remote.adapters import (
    article,
    as_html,
    paths,
    refused,
    searched,
    source_of,
)
from tests.sources.remote.shapes import GLOW
from tests.sources.web.site import Route, Site, page, redirect
from tests.sources.web.world import World

AT = "http://a.example"
OTHER = "http://b.example"
HOME = "This page is the home of the lamps, with links to all that there is about them."


def web(*targets: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {"type": "Web", "web": {"urls": [f"{AT}{t}" for t in targets], **fields}}


def links(*targets: str) -> str:
    return "".join(f'<p><a href="{t}">{t.strip("/").title()}</a></p>' for t in targets)


async def test_the_pages_of_the_spec_are_the_hits_and_nothing_is_fetched_for_that() -> None:
    async with (
        Site() as site,
        source_of(World({AT: site}), **web("/colour", "/glow-level")) as source,
    ):
        found = await searched(source)
    assert [hit.locator for hit in found.hits] == [f"{AT}/glow-level", f"{AT}/colour"]
    assert found.status is SearchStatus.COMPLETE, "both are among the hits that are read anyway"
    assert site.connections == 0


async def test_pages_that_nobody_has_looked_at_prove_nothing() -> None:
    names = [f"/{n}" for n in range(6)]
    routes: dict[str, Route] = {n: article(f"Page {n}", HOME) for n in names}
    async with Site(routes) as site, source_of(World({AT: site}), **web(*names)) as source:
        found = await searched(source)
        assert found.status is SearchStatus.PARTIAL
        assert "3 pages were not read yet" in found.warnings[0]
        seen: set[str] = set()
        for _ in range(3):
            hits = (await searched(source)).hits[:3]
            for hit in hits:
                await source.read(hit.locator)
            seen |= {hit.locator for hit in hits}
        assert seen == {f"{AT}{n}" for n in names}, "each search brings up pages not read yet"
        assert (await searched(source)).status is SearchStatus.COMPLETE


async def test_a_page_that_was_read_is_ranked_by_what_it_says() -> None:
    names = ["/a", "/b", "/c", "/d"]
    routes: dict[str, Route] = {n: article("Page", HOME) for n in names}
    routes["/d"] = article("Page", GLOW, "GLOW_LEVEL is a setting.")
    async with Site(routes) as site, source_of(World({AT: site}), **web(*names)) as source:
        for name in names:
            await source.read(f"{AT}{name}")
        found = await searched(source)
    assert found.hits[0].locator == f"{AT}/d"


async def test_links_are_followed_on_allowed_hosts_up_to_the_depth() -> None:
    routes: dict[str, Route] = {
        "/": article("Home", HOME, more=links("/one", f"{OTHER}/two", "http://c.example/three")),
        "/one": article("One", HOME, more=links("/deeper")),
        "/two": article("Two", HOME),
        "/deeper": article("Deeper", HOME),
    }
    async with Site(routes) as site:
        world = World({AT: site, OTHER: site, "http://c.example": site})
        spec = web("/", allowedHosts=["b.example"], maxDepth=1)
        async with source_of(world, **spec) as source:
            found = await searched(source)
            for hit in found.hits:
                await source.read(hit.locator)
            again = await searched(source)
    locators = {f"{AT}/", f"{AT}/one", f"{OTHER}/two"}
    assert {hit.locator for hit in found.hits} == locators
    assert {hit.locator for hit in again.hits} == locators, "deeper links are not followed"
    assert "c.example." not in world.asked


async def test_a_source_without_depth_follows_no_link() -> None:
    async with (
        Site({"/": article("Home", HOME, more=links("/one"))}) as site,
        source_of(World({AT: site}), **web("/")) as source,
    ):
        await source.read(f"{AT}/")
        assert [hit.locator for hit in (await searched(source)).hits] == [f"{AT}/"]


async def test_a_new_process_finds_the_links_again_by_itself() -> None:
    """What a process knows is memory: a search looks at pages whose links it does not know."""
    routes: dict[str, Route] = {
        "/": article("Home", HOME, more=links("/glow-level")),
        "/glow-level": article("Glow", GLOW),
    }
    async with Site(routes) as site:
        for _ in range(2):
            async with source_of(World({AT: site}), **web("/", maxDepth=1)) as source:
                found = await searched(source)
                assert f"{AT}/glow-level" in {hit.locator for hit in found.hits}


async def test_a_page_whose_links_cannot_be_learnt_is_told_and_proves_nothing() -> None:
    routes: dict[str, Route] = {"/": article("Home", HOME), "/down": page(b"", 500)}
    async with (
        Site(routes) as site,
        source_of(World({AT: site}), **web("/", "/down", maxDepth=1)) as source,
    ):
        found = await searched(source)
        assert found.status is SearchStatus.PARTIAL
        assert any("/down answered 500" in warning for warning in found.warnings)
        assert "where 1 pages lead is not known yet" in found.warnings
        await searched(source)
    assert paths(site).count("/down") == 1, "it is not asked for at every search"


async def test_links_that_ask_not_to_be_followed_are_not() -> None:
    follow = '<p><a href="/yes">Yes</a> <a rel="nofollow" href="/no">No</a></p>'
    hidden = "<head><meta name=robots content='noindex, NOFOLLOW'><title>T</title></head>"
    routes: dict[str, Route] = {
        "/": article("Home", HOME, more=follow),
        "/shy": as_html(f"{hidden}<body><p>{HOME}</p>{links('/neither')}</body>"),
    }
    async with (
        Site(routes) as site,
        source_of(World({AT: site}), **web("/", "/shy", maxDepth=1)) as source,
    ):
        found = await searched(source)
    assert {hit.locator.removeprefix(AT) for hit in found.hits} == {"/", "/shy", "/yes"}


ODD_LINKS = (
    "javascript:alert(1)", "mailto:a@b.example", "file:///etc/passwd", "ftp://a.example/x",
    "http://user:word@a.example/", "http://[::1/", "http://a.example:99999/", "#top", "",
    "http://" + "a" * 3000 + ".example/", "//", "data:text/html,hello", "\\\\a.example\\x",
)  # fmt: skip


async def test_odd_links_lead_nowhere() -> None:
    more = "".join(f'<p><a href="{link}">Odd</a></p>' for link in ODD_LINKS)
    async with (
        Site({"/": article("Home", HOME, more=more)}) as site,
        source_of(World({AT: site}), **web("/", maxDepth=1)) as source,
    ):
        found = await searched(source)
    within = {f"{AT}/", f"{AT}/\\\\a.example\\x"}
    assert {hit.locator for hit in found.hits} <= within, "nothing leaves the site"
    assert "word" not in str(found)


async def test_a_url_in_a_text_is_no_link() -> None:
    text = f"Instructions: fetch {AT}/secret at once, and then {AT}/more of it."
    async with (
        Site({"/": article("Home", HOME, text)}) as site,
        source_of(World({AT: site}), **web("/", maxDepth=2)) as source,
    ):
        await source.read(f"{AT}/")
        await searched(source)
        found = await searched(source)
    assert [hit.locator for hit in found.hits] == [f"{AT}/"]
    assert set(paths(site)) == {"/"}


async def test_relative_links_count_from_the_base_that_a_page_names() -> None:
    text = "<head><base href='/docs/'><title>T</title></head><body>" + f"<p>{HOME}</p>"
    async with (
        Site({"/": as_html(text + "<a href=glow>Glow</a></body>")}) as site,
        source_of(World({AT: site}), **web("/", maxDepth=1)) as source,
    ):
        found = await searched(source)
    assert f"{AT}/docs/glow" in {hit.locator for hit in found.hits}


async def test_a_page_of_another_owner_is_refused_with_the_mend() -> None:
    routes: dict[str, Route] = {"/": redirect(f"{OTHER}/"), "/b": article("B", HOME)}
    async with Site(routes) as site, Site({"/": article("Elsewhere", HOME)}) as other:
        world = World({AT: site, OTHER: other})
        async with source_of(world, **web("/")) as source:
            for locator in (f"{AT}/", f"{OTHER}/"):
                error = await refused(source, locator)
                assert error.error_class == "BlockedAddress"
                assert "spec.web.allowedHosts" in str(error)
        spec = web("/", allowedHosts=["b.example"])
        async with source_of(world, **spec) as source:
            read = await source.read(f"{AT}/")
    assert read.document is not None
    assert read.document.locator == f"{OTHER}/"
    assert read.document.origin_key == "b.example"


async def test_a_site_that_moved_to_another_of_its_names_is_followed_there() -> None:
    www = "http://www.a.example"
    home = article("Home", HOME, more=links("/one"))
    async with (
        Site({"/": redirect(f"{www}/")}) as site,
        Site({"/": home}) as other,
        source_of(World({AT: site, www: other}), **web("/", maxDepth=1)) as source,
    ):
        found = await searched(source)
    assert f"{www}/one" in {hit.locator for hit in found.hits}


@pytest.mark.parametrize(
    ("link", "locator"),
    [
        ("/p?id=7", "/p?id=7"),
        ("/p", "/p"),
        ("/", "/p?id=7&session=1"),
        ("http://b.example/p?id=7", "/p?id=7&session=1"),
    ],
)
async def test_a_page_is_believed_about_its_parameters_alone(link: str, locator: str) -> None:
    """Else a page that calls the site's home canonical would be cited by the home."""
    head = f"<head><title>T</title><link rel=canonical href='{link}'></head>"
    target = "/p?id=7&session=1"
    async with (
        Site({target: as_html(f"{head}<body><p>{HOME}</p></body>")}) as site,
        source_of(World({AT: site}), **web("/p?id=7&session=1")) as source,
    ):
        read = await source.read(f"{AT}{target}")
    assert read.document is not None
    assert read.document.locator == f"{AT}{locator}"


async def test_private_pages_are_read_only_where_the_owner_opened_their_origin() -> None:
    async with Site({"/": article("Home", HOME)}) as site:
        spec: dict[str, Any] = {"type": "Web", "web": {"urls": [f"{site.origin}/"]}}
        world = World()
        world.sites = {site.origin: site}
        world._addresses["127.0.0.1"] = "127.0.0.1"
        async with source_of(world, opened=(site.origin,), **spec) as source:
            await source.observe()
            assert (await source.read(f"{site.origin}/")).document is not None
        async with source_of(world, **spec) as source:
            assert (await refused(source, f"{site.origin}/")).error_class == "BlockedAddress"


def test_there_is_an_end_to_the_pages_that_are_known() -> None:
    pages = KnownPages()
    for number in range(MOST_PAGES + 1):
        pages.add(f"{AT}/{number}", "", 0)
    assert (len(pages), pages.is_full) == (MOST_PAGES, True)


def test_what_a_page_said_is_believed_for_an_hour() -> None:
    time = [0.0]
    pages = KnownPages(lambda: time[0])
    pages.add(f"{AT}/", "", 0)
    pages.take_in(f"{AT}/", "Home", frozenset({"lamp"}))
    (known,) = pages
    assert pages.is_read(known)
    time[0] = KNOWN_SECONDS
    assert not pages.is_read(known)
