"""SearXNG, Brave and Tavily: what they are sent, and what they say beside their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.api.errors import RetryableError
from controller.api.records import SearchStatus
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
from tests.sources.web.site import Route, Site, page, redirect
from tests.sources.web.timing import Time
from tests.sources.web.world import World

AT = "http://api.example"
SEARXNG: dict[str, Any] = {"type": "SearXNG", "searxng": {"baseURL": AT}}
BRAVE: dict[str, Any] = {
    "type": "Brave",
    "brave": {"baseURL": AT},
    "credentialsSecretRef": SECRET,
    "key": HeldKey(KEY),
}
TAVILY: dict[str, Any] = {
    "type": "Tavily",
    "tavily": {"baseURL": AT},
    "credentialsSecretRef": SECRET,
    "key": HeldKey(KEY),
}
DOWN = (("google", "timeout"), ("bing <b>", "CAPTCHA"))


def site(route: Route) -> Site:
    return Site(ByPath({"/search": route, "/res/v1/web/search": route}))


async def test_searxng_is_asked_for_json_and_for_what_the_spec_names() -> None:
    async with site(as_json(shapes.searxng(*shapes.PAGES))) as server:
        spec = {**SEARXNG, "searxng": {"baseURL": AT, "categories": "it,science", "engines": "wp"}}
        async with source_of(World({AT: server}), **spec) as source:
            found = await searched(source, "what is ä&b?")
    assert parameters(server.requests[0]) == {
        "q": "what is ä&b?",
        "format": "json",
        "categories": "it,science",
        "engines": "wp",
    }
    assert [hit.locator for hit in found.hits] == [url for url, _, _ in shapes.PAGES]
    assert found.hits[1].snippet == "The colour & its default."
    assert "authorization" not in server.requests[0].headers


async def test_an_engine_with_all_its_engines_down_has_found_nothing_out() -> None:
    async with (
        site(as_json(shapes.searxng(unresponsive=DOWN))) as server,
        source_of(World({AT: server}), **SEARXNG) as source,
    ):
        error = await refused(source)
    assert error.error_class == "EnginesUnresponsive"
    assert isinstance(error, RetryableError)
    assert "2 engines (google, bing)" in str(error)
    assert "spec.searxng.engines" in str(error)


async def test_results_with_engines_down_are_partial() -> None:
    async with (
        site(as_json(shapes.searxng(*shapes.PAGES, unresponsive=DOWN))) as server,
        source_of(World({AT: server}), **SEARXNG) as source,
    ):
        found = await searched(source)
    assert found.status is SearchStatus.PARTIAL
    assert len(found.hits) == 2
    assert found.warnings == ("2 engines (google, bing) did not answer",)


async def test_no_result_of_engines_that_all_answered_is_complete() -> None:
    async with (
        site(as_json(shapes.searxng())) as server,
        source_of(World({AT: server}), **SEARXNG) as source,
    ):
        found = await searched(source)
    assert (found.status, found.hits, found.total) == (SearchStatus.COMPLETE, (), 0)


async def test_a_format_that_is_off_is_told_with_the_setting_that_mends_it() -> None:
    async with (
        site(page(b"", 403)) as server,
        source_of(World({AT: server}), **SEARXNG) as source,
    ):
        error = await refused(source)
    assert error.error_class == "FormatDisabled"
    assert not isinstance(error, RetryableError)
    assert "add json to search.formats" in str(error)


async def test_results_are_taken_once_each_and_what_cannot_be_fetched_is_told() -> None:
    results = [
        ("http://pages.example/glow?utm_source=x", "One", ""),
        ("http://PAGES.example:80/glow", "The same", ""),
        ("ftp://pages.example/file", "No page", ""),
        ("http://user:word@pages.example/", "With a password", ""),
        ("http://pages.example/other", "x" * 900, "y" * 900),
    ]
    async with (
        site(as_json(shapes.searxng(*results))) as server,
        source_of(World({AT: server}), **SEARXNG) as source,
    ):
        found = await searched(source)
    assert [hit.locator for hit in found.hits] == [
        "http://pages.example/glow",
        "http://pages.example/other",
    ]
    assert (len(found.hits[1].title), len(found.hits[1].snippet)) == (500, 200)
    assert found.status is SearchStatus.PARTIAL
    assert found.warnings == ("2 results have no URL that can be fetched",)
    assert "word" not in str(found)


async def test_no_more_hits_than_the_spec_asks_for() -> None:
    many = [(f"http://pages.example/{n}", f"Page {n}", "") for n in range(30)]
    async with (
        site(as_json(shapes.searxng(*many))) as server,
        source_of(World({AT: server}), maxResults=4, **SEARXNG) as source,
    ):
        found = await searched(source)
    assert (len(found.hits), found.total) == (4, 30)
    assert found.status is SearchStatus.COMPLETE


async def test_brave_is_asked_with_its_header_and_at_most_twenty_results() -> None:
    async with (
        site(as_json(shapes.brave(*shapes.PAGES))) as server,
        source_of(World({AT: server}), maxResults=50, **BRAVE) as source,
    ):
        found = await searched(source, "default GLOW_LEVEL")
    (request,) = server.requests
    assert request.headers["x-subscription-token"] == KEY
    assert parameters(request)["count"] == "20"
    assert parameters(request)["q"] == "default GLOW_LEVEL"
    assert found.hits[0].snippet == "Default: 40 lumens at the ..."


async def test_brave_without_a_result_has_searched() -> None:
    async with (
        site(as_json(shapes.brave())) as server,
        source_of(World({AT: server}), **BRAVE) as source,
    ):
        assert (await searched(source)).status is SearchStatus.COMPLETE


async def test_brave_calls_a_wrong_key_by_its_own_status() -> None:
    body = {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}
    async with (
        site(as_json(body, 422)) as server,
        source_of(World({AT: server}), **BRAVE) as source,
    ):
        assert (await refused(source)).error_class == "CredentialsRejected"


@pytest.mark.parametrize(
    ("current", "error_class"),
    [(1, "RateLimited"), (1999, "RateLimited"), (2000, "QuotaExhausted")],
)
async def test_braves_limit_of_a_second_is_told_from_that_of_the_month(
    current: int, error_class: str
) -> None:
    async with (
        site(as_json(shapes.brave_limit(current=current), 429)) as server,
        source_of(World({AT: server}), **BRAVE) as source,
    ):
        assert (await refused(source)).error_class == error_class


async def test_brave_is_asked_once_a_second_at_most() -> None:
    time = Time()
    async with site(as_json(shapes.brave(*shapes.PAGES))) as server:
        world, options = World({AT: server}), {"turns": time.turns()}
        async with source_of(world, options=options, **BRAVE) as source:
            for _ in range(3):
                await searched(source)
    assert time.slept == [1.0, 1.0]


async def test_tavily_is_posted_a_query_with_a_bearers_key() -> None:
    async with (
        site(as_json(shapes.tavily(*shapes.PAGES))) as server,
        source_of(World({AT: server}), **TAVILY) as source,
    ):
        await searched(source, "default GLOW_LEVEL")
    (request,) = server.requests
    assert (request.method, request.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    asked = json.loads(request.body)
    assert asked["query"] == "default GLOW_LEVEL"
    assert asked["include_raw_content"] is asked["include_answer"] is False


@pytest.mark.parametrize("engine", [BRAVE, TAVILY])
async def test_a_query_that_is_too_long_is_cut_at_a_word_and_proves_nothing(
    engine: dict[str, Any],
) -> None:
    answer = shapes.brave() if engine is BRAVE else shapes.tavily()
    async with (
        site(as_json(answer)) as server,
        source_of(World({AT: server}), **engine) as source,
    ):
        found = await searched(source, "word " * 90)
        assert (await searched(source, "word")).status is SearchStatus.COMPLETE
    request = server.requests[0]
    sent = json.loads(request.body)["query"] if request.body else parameters(request)["q"]
    assert len(sent) <= 400
    assert set(sent.split()) == {"word"}
    assert engine is TAVILY or len(sent.split()) == 50
    assert found.status is SearchStatus.PARTIAL
    assert "the query was cut" in found.warnings[0]


@pytest.mark.parametrize("status", [432, 433])
async def test_tavilys_own_statuses_are_a_quota(status: int) -> None:
    async with (
        site(as_json({"detail": {"error": "limit"}}, status)) as server,
        source_of(World({AT: server}), **TAVILY) as source,
    ):
        assert (await refused(source)).error_class == "QuotaExhausted"


async def test_a_key_is_not_sent_where_a_redirect_leads_and_that_is_told() -> None:
    elsewhere = ByPath({"/res/v1/web/search": page(b"", 401)})
    async with (
        site(redirect("http://other.example/res/v1/web/search")) as server,
        Site(elsewhere) as other,
    ):
        world = World({AT: server, "http://other.example": other})
        async with source_of(world, **BRAVE) as source:
            error = await refused(source)
    assert "x-subscription-token" not in other.requests[0].headers
    assert error.error_class == "CredentialsRejected"
    assert "spec.brave.baseURL must name the address" in str(error)
