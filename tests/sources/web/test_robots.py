"""Robots files: obeyed unless a source says otherwise, read once a day, bounded and harmless."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from pydantic import SecretStr

from controller.api.errors import PermanentError
from controller.connections import Origin
from controller.sources.web.exchange import Bounds
from controller.sources.web.request import FetchRules, Request
from controller.sources.web.robots import KEPT_SECONDS, RobotsAnswer, RobotsFiles, parsed_rules
from tests.sources.web.site import Received, Reply, Route, Site, gzipped, page, redirect
from tests.sources.web.timing import Time
from tests.sources.web.world import HASTY, World, failure, fetched, own

URL = "http://a.example/page"
POLITE = FetchRules()
NO_FILE = page(b"", 404)


async def outcome(robots: Route, rules: FetchRules = POLITE, url: str = URL) -> str:
    """Return the class of the error that a page ends with under a robots file; or `ok`."""
    async with Site({"/robots.txt": robots, "/page": page(b"ok"), "/": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(bounds=HASTY) as fetcher:
            answer = await fetcher.exchange(Request(url=url), replace(rules, obey_robots=False))
            assert answer.body == b"ok", "the page itself is there"
            try:
                await fetcher.fetch(Request(url=url), rules)
            except Exception as error:
                if not hasattr(error, "error_class"):
                    raise
                assert "/page" not in site.targets[1:]
                return str(error.error_class)
            return "ok"


def text(*lines: str) -> Reply:
    return page("\n".join(lines).encode(), content_type="text/plain")


ALLOWED = {
    "no file": NO_FILE,
    "gone": page(b"", 410),
    "refused": page(b"", 403),
    "asked to log in": page(b"", 401),
    "empty": page(b""),
    "204": Reply([b"HTTP/1.1 204 No Content\r\n\r\n"]),
    "a web page": page(b"<!doctype html><p>Disallow: /</p>", content_type="text/html"),
    "bytes": page(bytes(range(256)) * 100),
    "another path": text("User-agent: *", "Disallow: /other"),
    "another agent": text("User-agent: otherbot", "Disallow: /"),
    "a prefix of our name": text("User-agent: fix", "Disallow: /"),
    "a longer name": text("User-agent: fixpointer", "Disallow: /"),
    "everything": text("User-agent: *", "Disallow:"),
    "the more exact rule": text("User-agent: *", "Disallow: /", "Allow: /page"),
    "our own group": text("User-agent: *", "Disallow: /", "", "User-agent: Fixpoint", "Disallow:"),
    "our own group, empty": text("User-agent: *", "Disallow: /", "", "User-agent: fixpoint"),
    "rules without an agent": text("Disallow: /"),
    "a redirect": redirect("/robots-moved.txt"),
}  # fmt: skip

FORBIDDEN = {
    "all": text("User-agent: *", "Disallow: /"),
    "the path": text("User-agent: *", "Disallow: /page"),
    "a pattern": text("User-agent: *", "Disallow: /*g$", "Disallow: /*e$"),
    "us": text("User-agent: Fixpoint", "Disallow: /"),
    "us in capitals": text("USER-AGENT: FIXPOINT/1.0", "DISALLOW: /"),
    "us among others": text(
        "User-agent: a", "User-agent: fixpoint", "User-agent: b", "Disallow: /"
    ),
    "us with a comment": text("User-agent: fixpoint # the operator", "Disallow: / # all"),
    "us in a second group": text(
        "User-agent: fixpoint", "Disallow: /x", "User-agent: b", "Disallow: /y",
        "User-agent: fixpoint", "Disallow: /page",
    ),
    "a group with a sitemap in it": text(
        "User-agent: *", "Sitemap: http://a.example/map", "Disallow: /"
    ),
    "agents around a sitemap": text(
        "User-agent: *", "Sitemap: http://a.example/map", "User-agent: b", "Disallow: /"
    ),
    "a byte order mark": page(b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n"),
    "packed": gzipped(b"User-agent: *\nDisallow: /"),
    "an error of the server": page(b"", 500),
    "unavailable": page(b"", 503, retry_after="5"),
    "a silent server": Reply([], hangs=True),
    "no HTTP": Reply([b"220 mail.example ESMTP\r\n"]),
    "a broken body": page(b"not packed", content_encoding="gzip"),
    "a loop of redirects": redirect("/robots.txt"),
}  # fmt: skip


@pytest.mark.parametrize("robots", ALLOWED.values(), ids=ALLOWED.keys())
async def test_what_nothing_forbids_is_read(robots: Reply) -> None:
    assert await outcome(robots) == "ok"


@pytest.mark.parametrize("robots", FORBIDDEN.values(), ids=FORBIDDEN.keys())
async def test_what_is_forbidden_or_cannot_be_known_is_not_read(robots: Reply) -> None:
    assert await outcome(robots) == "RobotsDisallowed"


async def test_a_source_may_go_past_them() -> None:
    async with Site(
        {"/robots.txt": text("User-agent: *", "Disallow: /"), "/page": page(b"ok")}
    ) as s:
        assert (await fetched(World({"http://a.example": s}), URL, own())).body == b"ok"
        assert s.targets == ["/page"]


async def test_a_site_that_asks_for_patience_is_not_forbidden() -> None:
    async with Site({"/robots.txt": page(b"", 429, retry_after="7")}) as site:
        error = await failure(World({"http://a.example": site}), URL, POLITE)
    assert error.error_class == "RateLimited"
    assert getattr(error, "retry_after_seconds", None) == 7


async def test_a_site_that_is_not_there_is_not_forbidden_and_nothing_is_kept() -> None:
    world = World(answers={"a.example": [["93.184.215.1"]]})
    async with Site({"/page": page(b"ok")}) as site, world.fetcher() as fetcher:
        for expected, answer in (("Unreachable", "93.184.215.9"), ("BlockedAddress", "10.0.0.1")):
            world.answers = {"a.example": [[answer]]}
            with pytest.raises(Exception, match=r".") as refused:
                await fetcher.fetch(Request(url=URL), POLITE)
            assert getattr(refused.value, "error_class", "") == expected
        world.sites, world.answers = {"http://a.example": site}, {}
        assert (await fetcher.fetch(Request(url=URL), POLITE)).body == b"ok"


@pytest.mark.parametrize("robots", [NO_FILE, text("User-agent: *", "Disallow: /"), page(b"", 500)])
async def test_a_file_is_read_once_a_day(robots: Reply) -> None:
    time = Time(0.0)
    async with Site({"/robots.txt": robots, "/page": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(monotonic=time.monotonic) as fetcher:
            for now, reads in (
                (0.0, 1), (1.0, 1), (KEPT_SECONDS - 1, 1), (KEPT_SECONDS, 2), (KEPT_SECONDS + 9, 2),
            ):  # fmt: skip
                time.now = now
                answers = await asyncio.gather(
                    *(fetcher.fetch(Request(url=URL), POLITE) for _ in range(3)),
                    return_exceptions=True,
                )
                assert len({getattr(a, "error_class", "ok") for a in answers}) == 1
                assert site.targets.count("/robots.txt") == reads


async def test_each_origin_has_its_own_file() -> None:
    closed = text("User-agent: *", "Disallow: /")
    async with Site({"/robots.txt": closed}) as a, Site({"/page": page(b"ok")}) as b:
        world = World({"http://a.example": a, "http://b.example": b, "http://a.example:8080": b})
        assert (await failure(world, URL, POLITE)).error_class == "RobotsDisallowed"
        assert (await fetched(world, "http://b.example/page", POLITE)).body == b"ok"
        rules = FetchRules(ports=frozenset({8080}))
        assert (await fetched(world, "http://a.example:8080/page", rules)).body == b"ok"


async def test_where_a_redirect_leads_has_rules_as_well() -> None:
    async with Site({"/page": redirect("http://b.example/in")}) as a, Site() as b:
        b.routes = {"/robots.txt": text("User-agent: *", "Disallow: /in"), "/in": page(b"ok")}
        world = World({"http://a.example": a, "http://b.example": b})
        error = await failure(world, URL, POLITE)
        assert error.error_class == "RobotsDisallowed"
        assert "http://b.example/in" in str(error)
        assert b.targets == ["/robots.txt"]


async def test_the_query_of_a_url_is_looked_at() -> None:
    robots = text("User-agent: *", "Disallow: /*?print=")
    assert await outcome(robots) == "ok"
    async with Site({"/robots.txt": robots}) as site:
        error = await failure(World({"http://a.example": site}), f"{URL}?print=1", POLITE)
    assert error.error_class == "RobotsDisallowed"


async def test_no_key_is_sent_for_a_robots_file() -> None:
    request = Request(url=URL, secret_headers={"X-Key": SecretStr("canary")}, etag='"1"')
    async with Site({"/page": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher() as fetcher:
            await fetcher.fetch(request, POLITE)
    assert site.targets == ["/robots.txt", "/page"]
    assert not {"x-key", "if-none-match"} & set(site.requests[0].headers)


async def test_a_huge_file_is_read_as_far_as_512_kib() -> None:
    filler = b"# " + b"x" * 1020 + b"\n"
    closed = b"User-agent: *\nDisallow: /page\n"
    assert await outcome(page(closed + filler * 2000)) == "RobotsDisallowed"
    assert await outcome(page(filler * 2000 + closed)) == "ok"
    assert await outcome(gzipped(closed + b"\0" * 30 * 1024 * 1024)) == "RobotsDisallowed"


async def test_an_endless_file_ends() -> None:
    def endless(_: Received) -> Reply:
        return Reply(iter(_endless()))

    assert await outcome(endless) == "RobotsDisallowed"


def _endless() -> list[bytes]:
    closed = b"User-agent: *\nDisallow: /page\n"
    return [b"HTTP/1.1 200 OK\r\n\r\n", closed, *[b"# " + b"x" * 65536 + b"\n"] * 1000]


async def test_a_slow_file_costs_the_fetch_its_time_and_forbids_nothing() -> None:
    """The fetch's own deadline says nothing of the file: others may wait longer for it."""
    slow = Reply([b"", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"], pause=0.5)
    async with Site({"/robots.txt": slow, "/page": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher() as fetcher:
            with pytest.raises(Exception, match="in all") as refused:
                await fetcher.fetch(Request(url=URL), replace(POLITE, seconds=0.2))
            assert getattr(refused.value, "error_class", "") == "Timeout"
            assert (await fetcher.fetch(Request(url=URL), POLITE)).body == b"ok"


async def test_a_file_that_drips_is_left_and_taken_for_forbidding() -> None:
    drips = Reply([b"HTTP/1.1 200 OK\r\n\r\n", *[b"#"] * 1000], pause=0.02)
    async with Site({"/robots.txt": drips, "/page": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(bounds=Bounds(robots_seconds=0.3)) as fetcher:
            for _ in range(2):
                with pytest.raises(PermanentError, match="could not be read"):
                    await fetcher.fetch(Request(url=URL), POLITE)
        assert site.targets == ["/robots.txt"]


@pytest.mark.parametrize(("robots", "expected"), [(NO_FILE, "ok"), (FORBIDDEN["all"], "no")])
async def test_one_source_learns_nothing_of_the_file_that_another_one_reaches(
    robots: Reply, expected: str
) -> None:
    """Who may not reach an origin cannot make others take it for closed, and gets no answer."""
    async with Site({"/page": page(b"ok"), "/robots.txt": robots}) as site:
        rules = own(site.origin, obey_robots=True)
        stranger = FetchRules(ports=frozenset({site.port}))
        request = Request(url=f"{site.origin}/page")
        async with World().fetcher(site.origin, network=None) as fetcher:
            for _ in range(2):
                with pytest.raises(PermanentError, match="only to sources whose spec names it"):
                    await fetcher.fetch(request, stranger)
                if expected == "ok":
                    assert (await fetcher.fetch(request, rules)).body == b"ok"
                else:
                    with pytest.raises(PermanentError, match="robots file"):
                        await fetcher.fetch(request, rules)


HOSTILE = {
    "agents and rules": "".join(f"User-agent: a{n}\n" for n in range(15_000))
    + "".join(f"Disallow: /{n}\n" for n in range(15_000)),
    "agents again and again": "User-agent: a\nUser-agent: b\nUser-agent: fixpoint\n" * 9_000
    + "Disallow: /x\n" * 9_000,
    "patterns": "User-agent: *\n" + "".join(f"Disallow: /*a*a*a*{n}$\n" for n in range(20_000)),
    "stars": "User-agent: *\nDisallow: /" + "*a" * 250_000,
    "groups": "User-agent: *\nDisallow: /x\n\n" * 15_000,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_hostile_file_is_read_in_seconds(hostile: str) -> None:
    """Read whole by the matcher, the first of them would take hours and all memory."""
    began = time.process_time()
    rules = parsed_rules(hostile.encode()[: 512 * 1024])
    assert (await rules.permission("http://a.example/" + "a" * 2000)).is_allowed
    assert time.process_time() - began < 30


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("Crawl-delay: 3", 3),
        ("crawl-delay: 0.5", 0.5),
        ("Crawl-delay: 86400", 86400),
        ("Crawl-delay: -1", 0),
        ("Crawl-delay: inf", 0),
        ("Crawl-delay: soon", 0),
        ("", 0),
    ],
)
async def test_the_pause_that_a_file_asks_for(line: str, delay: float) -> None:
    rules = parsed_rules(f"User-agent: *\nDisallow: /x\n{line}".encode())
    assert (await rules.permission(URL)).delay_seconds == delay


async def test_what_is_kept_is_bounded() -> None:
    files = RobotsFiles()
    reads = 0

    async def read() -> RobotsAnswer:
        nonlocal reads
        reads += 1
        return RobotsAnswer(URL, 200, b"User-agent: *\n" + b"Disallow: /" + b"x" * 400_000, None)

    for number in range(20):
        await files.rules_of(Origin("http", f"h{number}.example", 80), is_own=False, read=read)
    assert sum(rules.size for _, rules in files._kept.values()) <= 4 * 1024 * 1024
    assert 5 < len(files._kept) < 20
    await files.rules_of(Origin("http", "h19.example", 80), is_own=False, read=read)
    assert reads == 20, "what was asked for last is still there"
    await files.rules_of(Origin("http", "h0.example", 80), is_own=False, read=read)
    assert reads == 21
    assert len(files._locks) == 0
