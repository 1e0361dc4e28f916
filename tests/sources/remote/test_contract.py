"""What holds of every adapter: how it is observed, and the class of each way to fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from controller.api.errors import RetryableError, SourceNotReadyError
from controller.api.reasons import ReadyReason
from controller.api.records import SearchStatus
from controller.api.source import SourceType, addresses_of
from controller.sources.making import REMOTE
from tests.sources.remote import shapes
from tests.sources.remote.adapters import (
    KEY,
    SECRET,
    ByPath,
    HeldKey,
    article,
    as_html,
    as_json,
    refused,
    resource,
    searched,
    source_of,
)
from tests.sources.web.site import Received, Reply, Route, Site, page, redirect
from tests.sources.web.world import HASTY, World

PAGE = "http://pages.example/glow"


@dataclass(frozen=True)
class Adapter:
    """An adapter with a server: what it is asked at, and what that answers to a search."""

    spec: dict[str, Any]
    path: str
    answer: Reply
    host: str = "api.example"
    key: str | None = None
    statuses: dict[int, str] = field(default_factory=dict)


def xml(body: bytes) -> Reply:
    return page(body, content_type="application/xml")


AT = "http://api.example"
ADAPTERS = {
    "MediaWiki": Adapter(
        {"mediaWiki": {"apiURL": f"{AT}/w/api.php"}},
        "/w/api.php",
        as_json(shapes.wiki_search((7, "GLOW_LEVEL", "lumens"))),
    ),
    "SearXNG": Adapter(
        {"searxng": {"baseURL": f"{AT}/searxng/"}},
        "/searxng/search",
        as_json(shapes.searxng(*shapes.PAGES)),
        statuses={403: "FormatDisabled"},
    ),
    "Feed": Adapter({"feed": {"url": f"{AT}/feed"}}, "/feed", xml(shapes.rss(*shapes.PAGES))),
    "ArXiv": Adapter(
        {"arxiv": {"baseURL": AT}},
        "/api/query",
        xml(shapes.arxiv(("2101.00001v2", "Lamps", "An abstract."))),
    ),
    "Brave": Adapter(
        {"brave": {"baseURL": AT}, "credentialsSecretRef": SECRET},
        "/res/v1/web/search",
        as_json(shapes.brave(*shapes.PAGES)),
        key=KEY,
    ),
    "Tavily": Adapter(
        {"tavily": {"baseURL": AT}, "credentialsSecretRef": SECRET},
        "/search",
        as_json(shapes.tavily(*shapes.PAGES)),
        key=KEY,
    ),
}
"""Those that are asked by an interface; the other one, `Web`, fetches pages alone."""

READERS = {name: ADAPTERS[name].spec for name in ("SearXNG", "Brave", "Tavily")} | {
    "Feed": {"feed": {"url": "http://pages.example/feed"}},
    "Web": {"web": {"urls": [PAGE]}},
}
"""Those that read web pages."""


async def failure(name: str, route: Route, **options: Any) -> Any:  # noqa: ANN401 - an error
    """Return the error of a search whose server answers so."""
    adapter = ADAPTERS[name]
    async with Site(ByPath({adapter.path: route})) as site:
        world = World({AT: site})
        key = HeldKey(adapter.key)
        async with source_of(world, key=key, type=name, **adapter.spec, **options) as source:
            return await refused(source)


def test_every_type_but_the_corpus_has_an_adapter_and_is_tested_here() -> None:
    assert set(REMOTE) == set(SourceType) - {SourceType.CORPUS}
    assert {*ADAPTERS, *READERS} == {kind.value for kind in REMOTE}


@pytest.mark.parametrize("name", ADAPTERS)
async def test_a_search_names_documents_and_says_that_it_saw_all(name: str) -> None:
    adapter = ADAPTERS[name]
    async with Site(ByPath({adapter.path: adapter.answer})) as site:
        world = World({AT: site})
        async with source_of(world, key=HeldKey(adapter.key), type=name, **adapter.spec) as source:
            found = await searched(source)
    assert found.status is SearchStatus.COMPLETE
    assert found.hits
    assert [hit.rank for hit in found.hits] == list(range(len(found.hits)))
    assert all(len(hit.snippet) <= 200 and "<" not in hit.snippet for hit in found.hits)
    assert found.passages == ()
    assert found.corpus_digest is None
    assert len(site.requests) == 1


@pytest.mark.parametrize("name", [*ADAPTERS, "Web"])
async def test_what_is_remote_tells_neither_digest_nor_size_and_asks_nobody(name: str) -> None:
    spec = ADAPTERS[name].spec if name in ADAPTERS else READERS[name]
    async with Site() as site:
        sites = {AT: site, "http://pages.example": site}
        async with source_of(World(sites), type=name, **spec) as source:
            seen = await source.observe()
            assert source.is_remote
    assert (seen.digest, seen.documents, seen.warnings) == (None, None, ())
    assert site.connections == 0


@pytest.mark.parametrize("name", [*ADAPTERS, "Web"])
async def test_an_address_that_only_the_operator_reaches_is_no_source(name: str) -> None:
    spec = ADAPTERS[name].spec if name in ADAPTERS else READERS[name]
    ((field_name, url), *_) = addresses_of(resource(type=name, **spec).spec)
    host = url.split("/")[2]
    world = World(answers={host: [["169.254.169.254"]]})
    async with source_of(world, type=name, **spec) as source:
        with pytest.raises(SourceNotReadyError) as blocked:
            await source.observe()
    assert blocked.value.reason is ReadyReason.ADDRESS_BLOCKED
    assert f"spec.{field_name}: the origin http://{host}:80 is closed" in str(blocked.value)


@pytest.mark.parametrize("name", [*ADAPTERS, "Web"])
async def test_a_missing_key_is_named_before_anything_is_sent(name: str) -> None:
    spec = ADAPTERS[name].spec if name in ADAPTERS else READERS[name]
    async with Site() as site:
        sites = {AT: site, "http://pages.example": site}
        key = HeldKey(is_missing=True)
        async with source_of(World(sites), key=key, type=name, **spec) as source:
            with pytest.raises(SourceNotReadyError) as missing:
                await source.observe()
    assert missing.value.reason is ReadyReason.SECRET_NOT_FOUND
    assert site.connections == 0


async def test_a_source_that_goes_past_robots_files_says_so() -> None:
    async with source_of(World(), type="Web", robots="Ignore", **READERS["Web"]) as source:
        assert "spec.robots is Ignore" in (await source.observe()).warnings[0]


STATUSES = {
    401: "CredentialsRejected",
    402: "QuotaExhausted",
    403: "CredentialsRejected",
    404: "BadRequest",
    408: "Timeout",
    410: "BadRequest",
    429: "RateLimited",
    451: "CredentialsRejected",
    500: "BadResponse",
    502: "BadResponse",
    503: "BadResponse",
    204: "BadResponse",
    400: "BadRequest",
}
RETRIED = {"RateLimited", "Timeout", "BadResponse", "EnginesUnresponsive", "Dns", "Unreachable"}


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_of_an_interface_has_its_class(name: str, status: int) -> None:
    error = await failure(name, page(b"", status))
    expected = ADAPTERS[name].statuses.get(status, STATUSES[status])
    assert error.error_class == expected
    assert isinstance(error, RetryableError) == (expected in RETRIED)


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize(("status", "wait"), [(429, "17"), (503, "17")])
async def test_who_asks_for_patience_is_given_it(name: str, status: int, wait: str) -> None:
    error = await failure(name, page(b"", status, retry_after=wait))
    assert (error.error_class, error.retry_after_seconds) == ("RateLimited", 17.0)


@pytest.mark.parametrize("name", sorted(set(ADAPTERS) - {"SearXNG"}))
@pytest.mark.parametrize("status", [403, 429])
async def test_a_quota_that_is_used_up_is_told_from_a_key_and_from_haste(
    name: str, status: int
) -> None:
    answer = page(b'{"message": "You have exceeded your monthly quota"}', status)
    if (name, status) == ("Brave", 429):  # it names the quota in each refusal, with its numbers
        answer = as_json(shapes.brave_limit(current=2000), 429)
    error = await failure(name, answer)
    assert error.error_class == "QuotaExhausted"


def echoed(request: Received) -> Reply:
    """Answer an error that repeats all that was sent."""
    return page("\n".join(request.headers.values()).encode(), 403)


@pytest.mark.parametrize("name", ADAPTERS)
async def test_a_key_stands_in_no_message(name: str) -> None:
    adapter = ADAPTERS[name]
    async with Site(ByPath({adapter.path: echoed})) as site:
        spec = {**adapter.spec, "credentialsSecretRef": SECRET}
        async with source_of(World({AT: site}), key=HeldKey(KEY), type=name, **spec) as source:
            error = await refused(source)
    assert KEY in " ".join(site.requests[0].headers.values())
    assert KEY not in site.requests[0].target
    assert KEY not in f"{error} {error!r} {error.__cause__} {error.__context__}"


@pytest.mark.parametrize("name", ["Brave", "Tavily", "MediaWiki"])
async def test_a_key_that_was_rotated_meanwhile_is_tried_once_more(name: str) -> None:
    adapter = ADAPTERS[name]
    async with Site(ByPath({adapter.path: page(b"", 401)})) as site:
        spec = {**adapter.spec, "credentialsSecretRef": SECRET}
        key = HeldKey(KEY, fresh="another-key-123")
        async with source_of(World({AT: site}), key=key, type=name, **spec) as source:
            error = await refused(source)
            assert (error.error_class, key.looks) == ("CredentialsChanged", [False, True])
            assert isinstance(error, RetryableError)
            key.held = key.fresh
            assert (await refused(source)).error_class == "CredentialsRejected"


@pytest.mark.parametrize("name", ADAPTERS)
async def test_a_page_in_place_of_an_answer_is_no_empty_result(name: str) -> None:
    error = await failure(name, as_html("<h1>Sorry</h1><p>Something went wrong.</p>"))
    assert error.error_class == "BadResponse"
    assert isinstance(error, RetryableError)


WRONG = [
    as_json([]),
    as_json({}),
    as_json(None),
    as_json({"results": "none", "type": "search", "web": {"results": {}}, "query": []}),
    as_json({"results": [1], "type": "search", "web": {"results": [1]}, "query": {"search": [1]}}),
    page(b""),
    page(b"<rss"),
    page(b"<!DOCTYPE x [<!ENTITY e 'e'>]><rss><channel>&e;</channel></rss>"),
    page(b"\xff\xfe\x00"),
]


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("number", range(len(WRONG)))
async def test_an_answer_of_another_shape_is_an_error(name: str, number: int) -> None:
    assert (await failure(name, WRONG[number])).error_class == "BadResponse"


@pytest.mark.parametrize("name", ADAPTERS)
async def test_a_server_that_is_silent_or_not_there_has_its_class(name: str) -> None:
    adapter = ADAPTERS[name]
    silent = Reply([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"], hangs=True)
    async with Site(ByPath({adapter.path: silent})) as site:
        world, key = World({AT: site}), HeldKey(adapter.key)
        made: dict[str, Any] = {"key": key, "options": {"bounds": HASTY}, **adapter.spec}
        async with source_of(world, type=name, **made) as source:
            assert (await refused(source)).error_class == "Timeout"
    world = World(answers={"api.example": [["93.184.215.14"]]})
    async with source_of(world, type=name, **made) as source:
        assert (await refused(source)).error_class == "Unreachable"
    async with source_of(World(), type=name, **made) as source:
        assert (await refused(source)).error_class == "Dns"


@pytest.mark.parametrize("name", ADAPTERS)
async def test_an_interface_is_asked_without_the_robots_file_of_pages(name: str) -> None:
    adapter = ADAPTERS[name]
    robots = page(b"User-agent: *\nDisallow: /")
    async with Site(ByPath({adapter.path: adapter.answer, "/robots.txt": robots})) as site:
        key = HeldKey(adapter.key)
        async with source_of(World({AT: site}), key=key, type=name, **adapter.spec) as source:
            assert (await searched(source)).hits


PAGES: dict[str, tuple[Route, str]] = {
    "missing": (page(b"", 404), "DocumentMissing"),
    "gone": (page(b"", 410), "Gone"),
    "forbidden": (page(b"", 403), "Forbidden"),
    "for members": (page(b"", 401), "Forbidden"),
    "an odd status": (page(b"", 418), "SoftFailure"),
    "not yet": (page(b"later", 202), "SoftFailure"),
    "in haste": (page(b"", 429, retry_after="3"), "RateLimited"),
    "broken": (page(b"", 500), "BadResponse"),
    "an image": (page(b"GIF89a\x00\x01", content_type="image/gif"), "UnsupportedType"),
    "an image that is text": (
        page(b"<svg></svg>", content_type="image/svg+xml"),
        "UnsupportedType",
    ),
    "bytes": (page(bytes(range(256)) * 20), "UnsupportedType"),
    "no charset": (
        page(b"<meta charset=utf-8><p>" + b"\xe9\xe8" * 500, content_type="text/html"),
        "BadCharset",
    ),
    "empty": (page(b""), "BadResponse"),
    "a shell for scripts": (
        as_html("<body><div id=app></div><script>start()</script></body>"),
        "BadResponse",
    ),
    "a login": (
        as_html(
            "<title>Log in</title><body><h1>Please log in</h1>"
            "<a href=/forgot>Forgot your password?</a><button>Log in</button></body>"
        ),
        "SoftFailure",
    ),
    "a challenge": (
        as_html("<title>Just a moment...</title><p>Checking your browser before you enter.</p>"),
        "SoftFailure",
    ),
    "an error page with 200": (
        as_html("<title>404 Not Found</title><h1>Not Found</h1><p>The page is not here.</p>"),
        "SoftFailure",
    ),
    "too many redirects": (redirect("/glow"), "SoftFailure"),
    "elsewhere within": (redirect("http://127.0.0.1:22/"), "BlockedAddress"),
    "to metadata": (redirect("http://169.254.169.254/latest"), "BlockedAddress"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("what", PAGES)
async def test_a_page_that_is_no_document_has_its_class(name: str, what: str) -> None:
    route, expected = PAGES[what]
    async with Site({"/glow": route}) as site:
        world = World({"http://pages.example": site})
        async with source_of(world, type=name, **READERS[name]) as source:
            error = await refused(source, PAGE)
    assert error.error_class == expected
    assert isinstance(error, RetryableError) == (expected in RETRIED)


@pytest.mark.parametrize("name", READERS)
async def test_a_page_that_the_robots_file_forbids_is_read_only_if_the_spec_says_so(
    name: str,
) -> None:
    robots = page(b"User-agent: *\nDisallow: /")
    routes: dict[str, Route] = {"/robots.txt": robots, "/glow": article("Glow", shapes.GLOW)}
    async with Site(routes) as site:
        world = World({"http://pages.example": site})
        async with source_of(world, type=name, **READERS[name]) as source:
            assert (await refused(source, PAGE)).error_class == "RobotsDisallowed"
        async with source_of(world, type=name, robots="Ignore", **READERS[name]) as source:
            assert (await source.read(PAGE)).document is not None


@pytest.mark.parametrize("name", sorted(set(READERS) - {"Web", "Feed"}))
async def test_where_a_search_leads_is_never_an_origin_that_was_opened(name: str) -> None:
    async with Site({"/glow": article("Glow", shapes.GLOW)}) as site:
        world = World({"http://pages.example": site})
        async with source_of(world, opened=(site.origin, AT), type=name, **READERS[name]) as source:
            error = await refused(source, f"{site.origin}/glow")
    assert error.error_class == "BlockedAddress"
    assert site.connections == 0


@pytest.mark.parametrize("name", sorted(set(READERS) - {"Web"}))
async def test_a_key_is_not_sent_to_a_page(name: str) -> None:
    async with Site({"/glow": article("Glow", shapes.GLOW)}) as site:
        world = World({"http://pages.example": site})
        spec = {**READERS[name], "credentialsSecretRef": SECRET}
        async with source_of(world, key=HeldKey(KEY), type=name, **spec) as source:
            await source.read(PAGE)
    assert KEY not in str([request.headers for request in site.requests])


@pytest.mark.parametrize("name", READERS)
async def test_a_page_becomes_a_document_with_its_canonical_locator(name: str) -> None:
    text = article("Glow", shapes.GLOW, "Wipe the glass with a dry cloth.")
    async with Site(ByPath({"/glow": text, "/old": redirect("/glow?utm_source=x#part")})) as site:
        world = World({"http://pages.example": site})
        async with source_of(world, type=name, priority=80, **READERS[name]) as source:
            read = await source.read("http://pages.example/old")
            again = await source.read(PAGE)
    document = read.document
    assert document is not None
    assert (document.locator, document.title) == (PAGE, "Glow")
    assert (document.origin_key, document.priority) == ("pages.example", 80)
    assert document.source_name == "library"
    assert "".join(b.text for b in read.blocks).startswith("Glow")
    assert [b.text for b in read.blocks][1] == shapes.GLOW
    assert read.partial is None
    assert again == read, "the same text at the same place is the same document"
