"""MediaWiki: its search, its pages by number, and the revision that a citation names."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.errors import RetryableError
from controller.api.records import BlockKind, SearchStatus
from tests.sources.remote import shapes
from tests.sources.remote.adapters import (
    KEY,
    SECRET,
    ByPath,
    HeldKey,
    as_json,
    parameters,
    refused,
    searched,
    source_of,
)
from tests.sources.web.site import Received, Reply, Route, Site
from tests.sources.web.world import World

AT = "http://wiki.example"
WIKI: dict[str, Any] = {"type": "MediaWiki", "mediaWiki": {"apiURL": f"{AT}/w/api.php"}}
HIT = f"{AT}/w/index.php?curid=7"
TEXT = f"<h2>Range</h2><p>{shapes.GLOW}</p><ul><li>It has an item.</li></ul>"


def wiki(route: Route) -> Site:
    return Site(ByPath({"/w/api.php": route}))


async def test_the_texts_of_articles_are_searched() -> None:
    answer = shapes.wiki_search((7, "GLOW_LEVEL", '<span class="searchmatch">Default</span>: 40'))
    async with wiki(as_json(answer)) as site, source_of(World({AT: site}), **WIKI) as source:
        found = await searched(source, "default glow")
    asked = parameters(site.requests[0])
    assert asked["srsearch"] == "default glow"
    assert (asked["srwhat"], asked["srnamespace"], asked["maxlag"]) == ("text", "0", "5")
    assert (asked["format"], asked["formatversion"]) == ("json", "2")
    (hit,) = found.hits
    assert (hit.locator, hit.title, hit.snippet) == (HIT, "GLOW_LEVEL", "Default: 40")
    assert (found.status, found.total) == (SearchStatus.COMPLETE, 1)


async def test_an_answer_in_portions_is_asked_on() -> None:
    def answered(request: Received) -> Reply:
        at = int(parameters(request).get("sroffset", "0"))
        answer = shapes.wiki_search((at + 1, f"Page {at}", ""), total=9)
        return as_json({**answer, "continue": {"sroffset": at + 1, "continue": "-||"}})

    async with (
        wiki(answered) as site,
        source_of(World({AT: site}), maxResults=3, **WIKI) as source,
    ):
        found = await searched(source)
        assert len(site.requests) == 3
        assert parameters(site.requests[2])["continue"] == "-||"
        site.requests.clear()
        await source.search("x", limit=50, terms=())
    assert [hit.title for hit in found.hits] == ["Page 0", "Page 1", "Page 2"]
    assert found.total == 9
    assert len(site.requests) == 4, "an answer that never ends is left"


async def test_a_search_that_the_wiki_calls_incomplete_is_partial() -> None:
    answer = {**shapes.wiki_search(), "warnings": {"search": {"warnings": "It timed out."}}}
    async with wiki(as_json(answer)) as site, source_of(World({AT: site}), **WIKI) as source:
        found = await searched(source)
    assert found.status is SearchStatus.PARTIAL


async def test_the_newest_revision_is_read_and_named_by_the_citation() -> None:
    page = as_json(shapes.wiki_page(7, "GLOW &amp; LEVEL", 41, TEXT))
    async with wiki(page) as site, source_of(World({AT: site}), **WIKI) as source:
        read = await source.read(HIT)
    asked = parameters(site.requests[0])
    assert (asked["action"], asked["pageid"], asked["redirects"]) == ("parse", "7", "1")
    assert read.document is not None
    assert read.document.locator == f"{HIT}&oldid=41"
    assert read.document.title == "GLOW & LEVEL"
    assert read.document.origin_key == "wiki.example"
    assert [block.kind for block in read.blocks] == [
        BlockKind.HEADING, BlockKind.HEADING, BlockKind.FIELD, BlockKind.ITEM,
    ]  # fmt: skip
    assert read.blocks[2].text == shapes.GLOW
    assert read.blocks[2].heading_path == ("GLOW & LEVEL", "Range")


async def test_a_page_that_was_moved_is_found_by_its_number() -> None:
    """What was cited is read again under its new title, in its new revision."""
    moved = as_json(shapes.wiki_page(7, "Level of the glow", 52, TEXT))
    async with wiki(moved) as site, source_of(World({AT: site}), **WIKI) as source:
        read = await source.read(f"{HIT}&oldid=41")
    assert parameters(site.requests[0])["pageid"] == "7"
    assert "oldid" not in parameters(site.requests[0])
    assert read.document is not None
    assert (read.document.title, read.document.locator) == (
        "Level of the glow",
        f"{HIT}&oldid=52",
    )


@pytest.mark.parametrize("code", ["nosuchpageid", "missingtitle"])
async def test_a_page_that_was_deleted_is_not_there(code: str) -> None:
    async with (
        wiki(as_json(shapes.wiki_error(code))) as site,
        source_of(World({AT: site}), **WIKI) as source,
    ):
        assert (await source.read(HIT)).document is None


async def test_what_names_no_page_is_not_asked_for() -> None:
    async with wiki(as_json({})) as site, source_of(World({AT: site}), **WIKI) as source:
        for locator in (f"{AT}/w/index.php?curid=1%7C2", "http://other.example/"):
            assert (await source.read(locator)).document is None
    assert site.requests == []


CODES = {
    "maxlag": "RateLimited",
    "ratelimited": "RateLimited",
    "readonly": "BadResponse",
    "internal_api_error_DBQueryError": "BadResponse",
    "readapidenied": "CredentialsRejected",
    "search-text-disabled": "FormatDisabled",
    "badvalue": "BadRequest",
    "": "BadRequest",
}


@pytest.mark.parametrize("code", CODES)
async def test_an_error_with_status_200_has_its_class(code: str) -> None:
    async with (
        wiki(as_json(shapes.wiki_error(code), retry_after="5")) as site,
        source_of(World({AT: site}), **WIKI) as source,
    ):
        error = await refused(source)
    assert error.error_class == CODES[code]
    if isinstance(error, RetryableError) and error.error_class == "RateLimited":
        assert error.retry_after_seconds == 5.0


async def test_a_page_without_text_is_asked_for_again() -> None:
    async with (
        wiki(as_json(shapes.wiki_page(7, "", 41, ""))) as site,
        source_of(World({AT: site}), **WIKI) as source,
    ):
        assert (await refused(source, HIT)).error_class == "BadResponse"


async def test_a_title_is_text_and_no_markup() -> None:
    page = as_json(shapes.wiki_page(7, "a &lt;script&gt;b&lt;/script&gt;", 41, f"<p>{shapes.GLOW}"))
    async with wiki(page) as site, source_of(World({AT: site}), **WIKI) as source:
        read = await source.read(HIT)
    assert read.document is not None
    assert "script" in read.document.title
    assert [b.text for b in read.blocks][1] == shapes.GLOW


async def test_a_private_wiki_is_asked_with_its_token() -> None:
    async with wiki(as_json(shapes.wiki_search())) as site:
        spec = {**WIKI, "credentialsSecretRef": SECRET}
        async with source_of(World({AT: site}), key=HeldKey(KEY), **spec) as source:
            await searched(source)
    assert site.requests[0].headers["authorization"] == f"Bearer {KEY}"
