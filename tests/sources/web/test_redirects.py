"""Redirects are followed by us: five of them, and what is secret stays where it belongs."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from controller.api.errors import PermanentError, RetryableError
from controller.sources.web.request import Request
from tests.sources.web.site import Site, page, redirect
from tests.sources.web.world import PLAIN, World, failure, fetched

KEY = SecretStr("canary-5f1e0c7a9b")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_followed_and_told(status: int) -> None:
    async with Site(
        {"/": redirect("sub/page?q=1#part", status), "/sub/page?q=1": page(b"ok")}
    ) as s:
        found = await fetched(World({"http://a.example": s}), "http://a.example#top")
    assert found.body == b"ok"
    assert found.url == "http://a.example/sub/page?q=1"
    assert found.redirects == ("http://a.example",)


async def test_five_redirects_are_followed_and_no_sixth() -> None:
    routes = {f"/{n}": redirect(f"/{n - 1}") for n in range(1, 9)}
    async with Site({**routes, "/0": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        assert len((await fetched(world, "http://a.example/5")).redirects) == 5
        site.requests.clear()
        error = await failure(world, "http://a.example/6")
        assert error.error_class == "SoftFailure"
        assert site.targets == ["/6", "/5", "/4", "/3", "/2", "/1"]


async def test_a_loop_ends() -> None:
    async with Site({"/a": redirect("/b"), "/b": redirect("/a"), "/": redirect("/")}) as site:
        world = World({"http://a.example": site})
        for path in ("a", ""):
            assert (await failure(world, f"http://a.example/{path}")).error_class == "SoftFailure"
        assert len(site.requests) == 12


# S2.34
async def test_what_is_secret_is_sent_to_its_own_origin_alone_and_never_again_after() -> None:
    """It leaves the origin, comes back, and is still without its key."""
    async with Site() as first, Site() as second:
        first.routes = {
            "/": redirect("/same"),
            "/same": redirect("http://b.example/"),
            "/back": page(b"ok"),
        }
        second.routes = {"/": redirect("http://a.example/back")}
        world = World({"http://a.example": first, "http://b.example": second})
        request = Request(
            url="http://a.example/",
            headers={"Accept": "text/html"},
            secret_headers={"X-Key": KEY, "Authorization": SecretStr("Bearer canary-2")},
            etag='"1"',
            last_modified="Thu, 01 Jan 2026 00:00:00 GMT",
        )
        async with world.fetcher() as fetcher:
            await fetcher.fetch(request, PLAIN)
    for received in first.requests[:2]:
        assert received.headers["x-key"] == KEY.get_secret_value()
        assert received.headers["if-none-match"] == '"1"'
    for received in (*second.requests, first.requests[2]):
        assert received.headers["accept"] == "text/html"
        assert not {"x-key", "authorization", "cookie"} & set(received.headers)
        assert not {"if-none-match", "if-modified-since", "referer"} & set(received.headers)


async def test_a_redirect_that_repeats_a_key_is_refused_without_showing_it() -> None:
    routes = {"/": redirect(f"/in?key={KEY.get_secret_value()}")}
    async with Site(routes) as site, World({"http://a.example": site}).fetcher() as fetcher:
        request = Request(url="http://a.example/", secret_headers={"X-Key": KEY})
        with pytest.raises(RetryableError, match="with the key") as refused:
            await fetcher.fetch(request, PLAIN)
    assert refused.value.error_class == "BadResponse"
    assert KEY.get_secret_value() not in str(refused.value)
    assert site.targets == ["/"]


async def test_another_port_or_scheme_is_another_origin() -> None:
    async with Site({"/": page(b"ok")}, is_tls=True) as secure, Site() as plain:
        plain.routes = {"/": redirect("https://a.example/")}
        world = World({"http://a.example": plain, "https://a.example": secure})
        async with world.fetcher() as fetcher:
            request = Request(url="http://a.example/", secret_headers={"X-Key": KEY})
            assert (await fetcher.fetch(request, PLAIN)).body == b"ok"
    assert "x-key" in plain.requests[0].headers
    assert "x-key" not in secure.requests[0].headers


async def test_a_redirect_from_https_to_http_is_refused() -> None:
    async with Site(is_tls=True) as secure, Site({"/": page(b"ok")}) as plain:
        secure.routes = {"/": redirect("http://a.example/")}
        world = World({"http://a.example": plain, "https://a.example": secure})
        error = await failure(world, "https://a.example/")
        assert error.error_class == "Tls"
        assert "from https to http" in str(error)
        assert plain.connections == 0


async def test_a_redirect_with_a_user_and_a_password_is_refused_without_showing_them() -> None:
    async with Site({"/": redirect("http://user:canary@a.example/in")}) as site:
        error = await failure(World({"http://a.example": site}), "http://a.example/")
    assert error.error_class == "BlockedAddress"
    assert "no user and no password" in str(error)
    assert "canary" not in str(error)
    assert site.targets == ["/"]


async def test_what_is_posted_is_not_redirected() -> None:
    async with Site({"/": redirect("http://b.example/", 307)}) as site, Site() as other:
        world = World({"http://a.example": site, "http://b.example": other})
        async with world.fetcher() as fetcher:
            with pytest.raises(PermanentError, match="must name the address itself") as refused:
                await fetcher.fetch(Request(url="http://a.example/", body=b"{}"), PLAIN)
        assert refused.value.error_class == "BadRequest"
        assert other.connections == 0


@pytest.mark.parametrize("location", ["http://[::1", "http://a.example:port/", "http://☃/"])
async def test_a_redirect_to_what_is_no_url_is_a_bad_response(location: str) -> None:
    async with Site({"/": redirect(location)}) as site:
        error = await failure(World({"http://a.example": site}), "http://a.example/")
    assert error.error_class == "BadResponse"


async def test_a_redirect_to_nowhere_is_a_bad_response() -> None:
    async with Site({"/": page(b"", 302)}) as site:
        error = await failure(World({"http://a.example": site}), "http://a.example/")
    assert error.error_class == "BadResponse"
