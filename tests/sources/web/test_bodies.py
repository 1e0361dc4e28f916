"""Bodies within bounds: how many bytes, how they are packed, and how slowly they come."""

from __future__ import annotations

import asyncio
import gzip
import random
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator

import pytest

from controller.api.errors import PermanentError
from controller.sources.web.body import BodyBounds, read_body
from controller.sources.web.exchange import Bounds
from controller.sources.web.request import FetchRules, Request
from tests.sources.web.site import Reply, Route, Site, gzipped, head, page
from tests.sources.web.world import HASTY, World, failure, fetched, own

MIB = 1024 * 1024
SMALL = Bounds(body=BodyBounds(raw_bytes=1000, decoded_bytes=5000))


PACKED = gzip.compress(b"some text", mtime=0)


async def class_of(route: Route, rules: FetchRules | None = None, bounds: Bounds = HASTY) -> str:
    """Fetch one page and return the class of the error that it ends with."""
    async with Site({"/": route}) as site:
        world = World({"http://a.example": site})
        error = await failure(world, "http://a.example/", rules or own(), bounds=bounds)
        return error.error_class


async def body_of(route: Route, bounds: Bounds = HASTY) -> bytes:
    async with Site({"/": route}) as site:
        world = World({"http://a.example": site})
        return (await fetched(world, "http://a.example/", bounds=bounds)).body


def endless(piece: bytes) -> Iterator[bytes]:
    yield head(200)
    while True:
        yield piece


async def test_a_packed_body_is_unpacked() -> None:
    text = b"some text, " * 1000
    assert await body_of(gzipped(text)) == text
    assert await body_of(page(gzip.compress(text), content_encoding="x-gzip")) == text
    assert await body_of(page(text, content_encoding="identity")) == text


async def test_a_packed_body_of_several_members_is_whole() -> None:
    packed = gzip.compress(b"one, ") + gzip.compress(b"") + gzip.compress(b"two")
    assert await body_of(page(packed, content_encoding="gzip")) == b"one, two"


async def test_a_packed_body_may_come_byte_by_byte() -> None:
    reply = Reply([head(200, content_encoding="gzip"), *(bytes([b]) for b in PACKED)], 0.001)
    assert await body_of(reply) == b"some text"


async def test_an_empty_body_is_empty_in_any_encoding() -> None:
    assert await body_of(page(b"", content_encoding="gzip")) == b""


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "compress", "gzip, gzip", "gzip, br",
                                      "identity, gzip, gzip", "aes128gcm", "gzip;q=1"])  # fmt: skip
async def test_another_encoding_or_one_within_another_is_refused(encoding: str) -> None:
    body = gzip.compress(gzip.compress(b"x"))
    assert await class_of(page(body, content_encoding=encoding)) == "BadResponse"


@pytest.mark.parametrize(
    "body",
    [
        PACKED[:-1],
        PACKED[:5],
        PACKED + b"more",
        PACKED + b"\0" * 512,
        zlib.compress(b"some text"),
        b"<html>not packed</html>",
    ],
    ids=["cut", "cut short", "text after it", "zeros after it", "zlib", "not packed"],
)
async def test_what_is_no_whole_gzip_is_refused(body: bytes) -> None:
    assert await class_of(page(body, content_encoding="gzip")) == "BadResponse"


async def test_a_large_body_is_read_up_to_its_bound_and_no_further() -> None:
    assert await body_of(page(b"x" * 1000), SMALL) == b"x" * 1000
    assert await class_of(page(b"x" * 1001), bounds=SMALL) == "TooLarge"
    assert await class_of(Reply([head(200), b"x" * 1001]), bounds=SMALL) == "TooLarge"


async def test_the_usual_bounds_are_5_mib_sent_and_20_mib_unpacked() -> None:
    assert await class_of(page(b"x" * (5 * MIB + 1)), bounds=Bounds()) == "TooLarge"
    dice = random.Random(1)  # noqa: S311 - the same bytes each time
    text = b"".join(dice.randbytes(1024) + bytes(15 * 1024) for _ in range(20 * 64))
    packed = gzip.compress(text, 1)
    assert len(packed) * 100 > 20 * MIB, "the ratio is not what bounds this one"
    assert len(await body_of(page(packed, content_encoding="gzip"), Bounds())) == 20 * MIB
    more = packed + gzip.compress(b"x")
    assert await class_of(page(more, content_encoding="gzip"), bounds=Bounds()) == "TooLarge"


async def test_a_body_announced_as_too_large_is_not_read() -> None:
    reply = Reply([head(200, content_length=str(6 * MIB)), b"x"], hangs=True)
    assert await class_of(reply, bounds=Bounds()) == "TooLarge"


async def test_an_endless_body_is_left_at_its_bound() -> None:
    async with Site({"/": Reply(endless(b"x" * 65536))}) as site:
        error = await failure(World({"http://a.example": site}), "http://a.example/")
    assert error.error_class == "TooLarge"
    assert site.sent < 5 * MIB + 16 * MIB, "what the sockets' buffers hold is the rest"


@pytest.mark.parametrize("unpacked", [5 * MIB, 30 * MIB, 100 * MIB])
async def test_a_bomb_is_left_before_it_unpacks(unpacked: int) -> None:
    """100 MiB in 100 KB, with the right length announced: 100 times what was sent is the end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(b"\0" * MIB) for _ in range(unpacked // MIB))
    packed += packer.flush()
    assert unpacked > 1000 * len(packed)
    assert await class_of(page(packed, content_encoding="gzip"), bounds=Bounds()) == "TooLarge"


async def test_of_a_bomb_no_more_is_unpacked_than_is_allowed() -> None:
    packed = zlib.compress(b"\0" * 100 * MIB, 9, wbits=31)

    async def whole() -> AsyncIterator[bytes]:
        yield packed

    tracemalloc.start()
    try:
        with pytest.raises(PermanentError, match="decoded bytes"):
            await read_body(
                "http://a.example/",
                whole(),
                encodings=["gzip"],
                announced=None,
                bounds=BodyBounds(),
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * MIB


async def test_a_bomb_of_many_members_is_left_as_well() -> None:
    packed = gzip.compress(b"\0" * 4 * MIB) * 40
    assert await class_of(page(packed, content_encoding="gzip"), bounds=Bounds()) == "TooLarge"


async def test_a_small_text_that_repeats_itself_is_no_bomb() -> None:
    text = b"\0" * (MIB - 1)
    assert len(text) > 100 * len(gzip.compress(text))
    assert await body_of(gzipped(text)) == text


@pytest.mark.parametrize(
    ("name", "reply"),
    {
        "a length that is too large": Reply([head(200, content_length="10"), b"short"]),
        "a length that is none": Reply([head(200, content_length="ten"), b"0123456789"]),
        "a negative length": Reply([head(200, content_length="-1"), b"0123456789"]),
        "two lengths": Reply([head(200, content_length="3, 5"), b"01234"]),
        "chunks that end early": Reply([head(200, transfer_encoding="chunked"), b"5\r\nab"]),
        "chunks that are none": Reply([head(200, transfer_encoding="chunked"), b"zz\r\nab\r\n"]),
        "another transfer encoding": Reply([head(200, transfer_encoding="gzip"), b"ab"]),
        "no HTTP": Reply([b"SSH-2.0-OpenSSH_9.2\r\n"]),
        "no status": Reply([b"HTTP/1.1 OK\r\n\r\n"]),
        "a header without a name": Reply([b"HTTP/1.1 200 OK\r\n: x\r\n\r\n"]),
        "headers without an end": Reply([b"HTTP/1.1 200 OK\r\n", *[b"a: b\r\n"] * 40_000]),
        "a header without an end": Reply([b"HTTP/1.1 200 OK\r\na: ", b"b" * 200_000]),
        "nothing at all": Reply([]),
        "half a head": Reply([b"HTTP/1.1 200 OK\r\nContent-Ty"]),
        "another protocol": Reply([head(101, upgrade="websocket")]),
    }.items(),
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
async def test_what_is_not_as_http_asks_is_a_bad_response(name: str, reply: Reply) -> None:
    del name
    assert await class_of(reply) == "BadResponse"


async def test_what_follows_a_body_of_the_announced_length_is_not_read() -> None:
    """Nothing of it is taken for the answer to the next request: that has its own connection."""
    smuggled = head(200, content_length="4") + b"evil"
    async with Site({"/": Reply([head(200, content_length="2"), b"ok" + smuggled])}) as site:
        world = World({"http://a.example": site})
        async with world.fetcher() as fetcher:
            for _ in range(2):
                found = await fetcher.fetch(Request(url="http://a.example/"), own())
                assert found.body == b"ok"
        assert site.connections == 2


async def test_a_connection_that_is_reset_is_unreachable() -> None:
    reply = Reply([head(200, content_length="9"), b"ab"], resets=True)
    assert await class_of(reply) == "Unreachable"


async def test_a_server_that_says_nothing_is_left_after_the_read_timeout() -> None:
    assert await class_of(Reply([], hangs=True)) == "Timeout"
    assert await class_of(Reply([head(200, content_length="5"), b"ab"], hangs=True)) == "Timeout"


@pytest.mark.parametrize(
    "reply",
    [
        Reply([bytes([b]) for b in head(200, x="y" * 1000)], pause=0.02),
        Reply([head(200, content_length="1000"), *[b"x"] * 1000], pause=0.02),
        Reply([head(200, transfer_encoding="chunked"), *[b"1\r\nx\r\n"] * 1000], pause=0.02),
        Reply([b"HTTP/1.1 103 Early Hints\r\n\r\n"] * 1000, pause=0.02),
    ],
    ids=["headers", "body", "chunks", "hints"],
)
async def test_what_drips_is_left_at_the_deadline(reply: Reply) -> None:
    """Each byte comes in time; all of them together do not."""
    began = asyncio.get_running_loop().time()
    assert await class_of(reply, own(seconds=0.5)) == "Timeout"
    assert asyncio.get_running_loop().time() - began < 5


async def test_a_deadline_covers_all_redirects_together() -> None:
    def slow(location: str) -> Reply:
        return Reply([b"", head(302, location=location, content_length="0")], pause=0.2)

    async with Site({f"/{n}": slow(f"/{n + 1}") for n in range(5)}) as site:
        world = World({"http://a.example": site})
        error = await failure(world, "http://a.example/0", own(seconds=0.5))
        assert error.error_class == "Timeout"
        assert "0.5 s in all" in str(error)
        assert 1 < len(site.requests) < 5


async def test_an_error_that_cannot_be_read_counts_by_its_status() -> None:
    for reply in (
        page(b"x" * (6 * MIB), 404),
        Reply([head(404, content_length="10"), b"short"]),
        page(b"not packed", 404, content_encoding="gzip"),
        page(b"?", 404, content_encoding="br"),
        Reply([head(404, content_length="10"), b"short"], hangs=True),
    ):
        assert await class_of(reply) == "DocumentMissing"
