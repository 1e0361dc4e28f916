"""What an answer means, what is asked for, and what interfaces of programs need."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import format_datetime

import pytest
from pydantic import SecretStr

from controller.api.errors import PermanentError, RetryableError, UserError
from controller.sources.web.exchange import Bounds
from controller.sources.web.failures import RETRYABLE, FetchFailure, exchange_error, named
from controller.sources.web.fetcher import Delays, user_agent
from controller.sources.web.politeness import USUAL_DELAY_SECONDS
from controller.sources.web.request import FetchRules, Request
from tests.sources.web.site import Received, Reply, Route, Site, head, page, trusting
from tests.sources.web.world import HASTY, NOW, PLAIN, World, failure, fetched

KEY = SecretStr("canary-5f1e0c7a9b")

STATUSES = {
    201: "SoftFailure", 202: "SoftFailure", 204: "SoftFailure", 206: "SoftFailure",
    300: "BadResponse", 304: "BadResponse", 305: "BadResponse",
    400: "BadRequest", 401: "Forbidden", 402: "Forbidden", 403: "Forbidden",
    404: "DocumentMissing", 405: "BadRequest", 406: "BadRequest", 407: "Forbidden",
    408: "Timeout", 410: "Gone", 414: "BadRequest", 418: "BadRequest", 429: "RateLimited",
    451: "Forbidden", 500: "BadResponse", 502: "BadResponse", 503: "BadResponse",
    504: "BadResponse", 530: "BadResponse", 599: "BadResponse", 999: "BadResponse",
}  # fmt: skip


async def answered(route: Route, url: str = "http://a.example/") -> PermanentError | RetryableError:
    async with Site({"/": route}) as site:
        return await failure(World({"http://a.example": site}), url, bounds=HASTY)


@pytest.mark.parametrize(("status", "expected"), STATUSES.items())
async def test_each_status_has_a_class(status: int, expected: str) -> None:
    error = await answered(page(b"<p>words of the server</p>", status))
    assert error.error_class == expected
    assert isinstance(error, RetryableError) == (expected in RETRYABLE)
    assert f"answered {status}" in str(error)
    assert "words" not in str(error)


# T15
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7),
        ("120", 120),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        ("Thu, 01 Jan 2026 02:00:07 +0200", 7),
    ],
)
async def test_when_to_come_back_is_told_and_never_slept(
    status: int, said: str, seconds: float
) -> None:
    error = await answered(page(b"", status, retry_after=said))
    assert isinstance(error, RetryableError)
    assert error.error_class == "RateLimited"
    assert error.retry_after_seconds == seconds


@pytest.mark.parametrize("said", ["0", "-1", "soon", format_datetime(NOW - timedelta(days=1))])
async def test_what_says_no_time_to_come_back_is_nothing(said: str) -> None:
    error = await answered(page(b"", 429, retry_after=said))
    assert isinstance(error, RetryableError)
    assert error.retry_after_seconds is None


async def test_a_document_comes_with_what_its_headers_say() -> None:
    route = page(
        b"<p>text</p>",
        content_type='Text/HTML; Charset="ISO-8859-1"; x=y',
        etag='W/"abc"',
        last_modified="Thu, 01 Jan 2026 00:00:00 GMT",
        x_robots_tag="noarchive, max-snippet: 5",
    )
    async with Site({"/x?b=1&a=2": route}) as site:
        found = await fetched(World({"http://a.example": site}), "http://A.example:80/x?b=1&a=2#c")
    assert found.url == "http://a.example/x?b=1&a=2"
    assert (found.status, found.content_type, found.charset) == (200, "text/html", "iso-8859-1")
    assert (found.etag, found.last_modified) == ('W/"abc"', "Thu, 01 Jan 2026 00:00:00 GMT")
    assert found.directives == {"noarchive"}
    assert found.redirects == ()
    assert not found.is_slowed
    assert "<p>" not in repr(found), "a body belongs in no log"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content_type": "text"},
        {"content_type": "text/" + "x" * 300},
        {"content_type": "text/html; charset="},
        {"content_type": "te xt/html; charset=" + "x" * 99},
        {"etag": "x" * 300, "last_modified": ""},
        {"etag": "\xe9", "content_type": "\xe9/\xe9"},
    ],
)
async def test_headers_that_cannot_be_relied_on_are_left_out(headers: dict[str, str]) -> None:
    async with Site({"/": page(b"x", **headers)}) as site:
        found = await fetched(World({"http://a.example": site}), "http://a.example/")
    assert found.content_type in {"", "text/html"}
    assert (found.charset, found.etag, found.last_modified) == (None, None, None)


@pytest.mark.parametrize(
    ("values", "directives"),
    [
        (["noindex"], {"noindex"}),
        (["NOINDEX, NoArchive"], {"noindex", "noarchive"}),
        (["nofollow, nosnippet, none"], {"noindex"}),
        (["otherbot: noindex", "fixpoint: noarchive"], {"noarchive"}),
        (["Fixpoint: noindex, noarchive"], {"noindex", "noarchive"}),
        (["*: noindex"], {"noindex"}),
        (["otherbot: noindex, noarchive"], set()),
        (["unavailable_after: 25 Jun 2026 15:00:00 PST"], set()),
        (["max-snippet: 10, noindex"], {"noindex"}),
        (["all", ""], set()),
    ],
)
async def test_what_a_site_says_of_keeping_its_pages_is_told(
    values: list[str], directives: set[str]
) -> None:
    lines = "".join(f"X-Robots-Tag: {value}\r\n" for value in values).encode()
    reply = Reply([b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: 0\r\n\r\n"])
    async with Site({"/": reply}) as site:
        found = await fetched(World({"http://a.example": site}), "http://a.example/")
    assert found.directives == directives


async def test_only_what_is_ours_is_sent() -> None:
    async with Site({"/": page(b"ok", set_cookie="id=1")}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher(contact="research@example.com") as fetcher:
            for _ in range(2):
                await fetcher.fetch(Request(url="http://a.example/"), PLAIN)
    for request in site.requests:
        assert request.method == "GET"
        assert dict(request.headers) == {
            "host": "a.example",
            "accept": "*/*",
            "accept-encoding": "gzip, identity",
            "user-agent": user_agent("research@example.com"),
            "connection": "close",
        }
    assert site.connections == 2


async def test_what_is_ours_cannot_be_sent_otherwise() -> None:
    async with Site({"/": page(b"ok")}) as site:
        request = Request(
            url="http://a.example/",
            headers={"User-Agent": "Mozilla/5.0", "Accept-Encoding": "br", "Connection": "x"},
        )
        async with World({"http://a.example": site}).fetcher() as fetcher:
            await fetcher.fetch(request, PLAIN)
    assert site.requests[0].headers["user-agent"].startswith("Fixpoint/")
    assert site.requests[0].headers["accept-encoding"] == "gzip, identity"
    assert site.requests[0].headers["connection"] == "close"


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Site({"/": page(b"ok")}) as site, Site() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
            monkeypatch.setenv(name.lower(), proxy.origin)
        assert (await fetched(World({"http://a.example": site}), "http://a.example/")).body == b"ok"
        assert proxy.connections == 0


async def test_a_copy_at_hand_is_not_sent_again() -> None:
    def current(received: Received) -> Reply:
        is_same = received.headers.get("if-none-match") == '"1"'
        return Reply([head(304, etag='"1"')]) if is_same else page(b"text", etag='"1"')

    async with Site({"/": current}) as site:
        world = World({"http://a.example": site})
        first = await fetched(world, "http://a.example/")
        request = Request(url=first.url, etag=first.etag, last_modified="yesterday")
        async with world.fetcher() as fetcher:
            again = await fetcher.fetch(request, PLAIN)
    assert (first.status, first.body, first.etag) == (200, b"text", '"1"')
    assert (again.status, again.body) == (304, b"")
    assert site.requests[1].headers["if-modified-since"] == "yesterday"


async def test_an_interface_is_asked_with_json_and_a_key() -> None:
    def found(received: Received) -> Reply:
        return page(json.dumps({"query": json.loads(received.body)["query"]}).encode())

    async with Site({"/search": found}) as site:
        request = Request(
            url="http://a.example/search",
            headers={"Accept": "application/json"},
            secret_headers={"X-Subscription-Token": KEY},
            body=json.dumps({"query": "lamp"}).encode(),
        )
        async with World({"http://a.example": site}).fetcher() as fetcher:
            answer = await fetcher.fetch(request, PLAIN)
    assert answer.json() == {"query": "lamp"}
    received = site.requests[0]
    assert received.method == "POST"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["x-subscription-token"] == KEY.get_secret_value()
    assert KEY.get_secret_value() not in repr(request)


async def test_an_error_of_an_interface_can_be_read() -> None:
    reply = page(b'{"detail": "quota exceeded"}', 403, retry_after="9")
    async with Site({"/": reply}) as site, World({"http://a.example": site}).fetcher() as fetcher:
        answer = await fetcher.exchange(Request(url="http://a.example/"), PLAIN)
    assert (answer.status, answer.json()) == (403, {"detail": "quota exceeded"})
    assert answer.retry_after_seconds == 9


# S2.34
async def test_a_key_that_a_server_repeats_is_taken_out() -> None:
    def echo(received: Received) -> Reply:
        return page(f"your key {received.headers['x-key']}".encode(), int(received.target[1:]))

    async with Site({"/200": echo, "/403": echo}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher() as fetcher:
            for status in (200, 403):
                url = f"http://a.example/{status}"
                request = Request(url=url, secret_headers={"X-Key": KEY})
                assert (await fetcher.exchange(request, PLAIN)).body == b"your key [secret]"


@pytest.mark.parametrize(
    "body", [b"<!doctype html><p>Error</p>", b"", b'{"a":', b"[" * 100_000, b"\xff\xfe\xff"]
)
async def test_a_page_where_json_should_be_is_a_bad_response(body: bytes) -> None:
    """An interface that answers 200 with an HTML error page."""
    async with Site({"/": page(body)}) as site:
        found = await fetched(World({"http://a.example": site}), "http://a.example/")
    with pytest.raises(RetryableError) as refused:
        found.json()
    assert refused.value.error_class == "BadResponse"


async def test_a_header_that_cannot_be_sent_is_not_shown() -> None:
    request = Request(url="http://a.example/", secret_headers={"X-Key": SecretStr("canary\nx: y")})
    async with Site({"/": page(b"ok")}) as site:
        async with World({"http://a.example": site}).fetcher() as fetcher:
            with pytest.raises(PermanentError) as refused:
                await fetcher.fetch(request, PLAIN)
        assert refused.value.error_class == "BadRequest"
        assert "canary" not in str(refused.value)
        assert site.requests == []


async def test_a_name_without_an_address_has_its_class() -> None:
    error = await failure(World(), "http://nowhere.example/")
    assert (type(error), error.error_class) == (RetryableError, "Dns")
    assert "http://nowhere.example/" in str(error)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    world = World(answers={"a.example": [["93.184.215.14"]]})
    error = await failure(world, "http://a.example/")
    assert (type(error), error.error_class) == (RetryableError, "Unreachable")


async def test_a_certificate_that_is_not_trusted_is_named() -> None:
    async with Site({"/": page(b"ok")}, is_tls=True) as site:
        world = World({"https://a.example": site, "https://c.example": site})
        assert (await fetched(world, "https://a.example/")).body == b"ok"
        for url, why, context in (
            ("https://a.example/", "self-signed certificate", None),
            ("https://c.example/", "Hostname mismatch", trusting()),
        ):
            error = await failure(world, url, context=context)
            assert (type(error), error.error_class) == (PermanentError, "Tls")
            assert why in str(error)
            assert "SSL_CERT_FILE" in str(error)
        assert len(site.requests) == 1


async def test_a_server_without_tls_where_tls_is_expected_is_named() -> None:
    async with Site({"/": page(b"ok")}) as site:
        error = await failure(World({"https://a.example": site}), "https://a.example/")
    assert error.error_class == "Tls"


async def test_a_handshake_that_is_not_finished_is_no_fault_of_a_certificate() -> None:
    async with Site({"": Reply([])}) as site:
        error = await failure(World({"https://a.example": site}), "https://a.example/")
    assert error.error_class == "Unreachable"


async def test_slowness_behind_tls_is_slowness() -> None:
    """Not every error of the TLS library beneath another error is the cause of it."""
    for route, is_tls in (
        ({"/": Reply([], hangs=True)}, True),
        ({"": Reply([], hangs=True)}, False),
    ):
        async with Site(dict(route), is_tls=is_tls) as site:
            world = World({"https://a.example": site})
            bounds = Bounds(connect_seconds=0.3, read_seconds=0.3)
            error = await failure(world, "https://a.example/", bounds=bounds)
        assert error.error_class == "Timeout"


async def test_a_url_in_a_message_is_bounded_and_on_one_line() -> None:
    error = await answered(page(b"", 500), "http://a.example/")
    assert str(error) == "http://a.example/ answered 500"
    long = exchange_error("http://u:canary@a.example/\n" + "x" * 5000, OSError())
    assert len(str(long)) < 300
    assert "\n" not in str(long)
    assert "canary" not in str(long)
    for url in (
        "http://u:can/ary@a.example/",
        "http://u@a.example/",
        "//u:canary@x",
        "http://u:a@b",
    ):
        assert "u" not in named(url).removeprefix("http").partition("?")[0]
    for url in ("http://a.example/@user", "http://[::1]:8080/a@b", "http://a.example?x=a@b"):
        assert named(url) == url


async def test_a_path_may_have_what_elsewhere_parts_a_user_from_a_host() -> None:
    async with Site({"/@user/post": page(b"ok")}) as site:
        found = await fetched(World({"http://a.example": site}), "http://a.example/@user/post")
    assert found.url == "http://a.example/@user/post"


def test_the_user_agent_says_who_asks() -> None:
    assert user_agent(None).startswith("Fixpoint/")
    assert user_agent("a@b.example").endswith(" (+a@b.example)")
    assert user_agent("https://b.example/bot").endswith(" (+https://b.example/bot)")


@pytest.mark.parametrize("contact", ["", " ", "a\nb", "a\r\nHost: b", "é@b", "a(b)", "x" * 300])
def test_a_contact_that_no_header_can_hold_is_refused(contact: str) -> None:
    with pytest.raises(UserError, match="printable ASCII"):
        user_agent(contact)


def test_politeness_and_bounds_are_on_unless_somebody_turns_them_off() -> None:
    assert Delays() == Delays(usual=USUAL_DELAY_SECONDS, opened=USUAL_DELAY_SECONDS)
    rules = FetchRules()
    assert rules.obey_robots
    assert rules.seconds == 30
    assert rules.ports == {80, 443}
    assert rules.own_origins == frozenset()


def test_every_class_is_one_word() -> None:
    assert all(failure.value.isalpha() and failure.value[0].isupper() for failure in FetchFailure)
