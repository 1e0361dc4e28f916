"""The connection guard with a real server on this machine, and names that a test resolves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from controller.api.errors import BlockedAddressError, UserError
from controller.connections import (
    ConnectionGuard,
    OpenedOrigins,
    Origin,
    guarded_client,
    resolve_name,
)

PUBLIC = "93.184.215.14"


@dataclass
class Names:
    """A resolver that a test sets: each name has answers, the last of which stays."""

    answers: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - as resolve_name
        self.asked.append(host)
        answers = self.answers.get(host)
        if not answers:
            raise OSError("no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


@dataclass
class Server:
    """An HTTP server on this machine that counts connections and requests."""

    port: int = 0
    connections: int = 0
    requests: list[str] = field(default_factory=list)
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append(head.decode())
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(**options: bytes) -> AsyncIterator[Server]:
    server = Server(**options)  # type: ignore[arg-type]  # the only option is bytes
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


async def get(guard: ConnectionGuard, url: str) -> httpx2.Response:
    async with guarded_client(guard) as client:
        return await client.get(url)


def guard_of(names: Names, *opened: str) -> ConnectionGuard:
    return ConnectionGuard(OpenedOrigins.parse(opened), resolve=names.resolve)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1"])
async def test_this_machine_is_closed_in_every_form(host: str) -> None:
    async with serving() as server:
        guard = ConnectionGuard(OpenedOrigins())
        with pytest.raises(BlockedAddressError) as refused:
            await get(guard, f"http://{host}:{server.port}/")
        assert f"http://{host}:{server.port} is closed" in str(refused.value)
        with pytest.raises(BlockedAddressError):
            await guard.require(f"http://{host}:{server.port}/v1")
        assert server.connections == 0


async def test_an_opened_origin_is_reached_and_its_name_is_kept() -> None:
    async with serving() as server:
        names = Names({"lamp.models.svc": [["127.0.0.1"]]})
        origin = f"http://lamp.models.svc:{server.port}"
        guard = guard_of(names, origin)
        await guard.require(f"{origin}/v1")
        assert (await get(guard, f"{origin}/v1")).text == "ok"
        assert f"Host: lamp.models.svc:{server.port}" in server.requests[0]


async def test_only_the_exact_origin_is_opened() -> None:
    async with serving() as server, serving() as other:
        names = Names({n: [["127.0.0.1"]] for n in ("lamp.svc", "a.lamp.svc", "lamp.svc.example.")})
        guard = guard_of(names, f"http://lamp.svc:{server.port}")
        for url in (
            f"http://lamp.svc:{other.port}",
            f"https://lamp.svc:{server.port}",
            f"http://a.lamp.svc:{server.port}",
            f"http://lamp.svc.example:{server.port}",
        ):
            with pytest.raises(BlockedAddressError) as refused:
                await get(guard, url)
            assert f"--allow-origin {url}" in str(refused.value)
        assert server.connections == other.connections == 0


async def test_one_forbidden_address_closes_a_name() -> None:
    names = Names({"both.example.": [[PUBLIC, "169.254.169.254"]]})
    guard = guard_of(names)
    with pytest.raises(BlockedAddressError, match="link-local"):
        await guard.require("https://both.example/v1")
    with pytest.raises(BlockedAddressError, match=r"169\.254\.169\.254"):
        await get(guard, "https://both.example/v1")


async def test_a_name_that_changes_its_answer_gains_nothing() -> None:
    async with serving() as server:
        names = Names({"rebind.example.": [[PUBLIC], ["127.0.0.1"]]})
        guard = guard_of(names)
        url = f"http://rebind.example:{server.port}/"
        await guard.require(url)
        with pytest.raises(BlockedAddressError):
            await get(guard, url)
        assert names.asked == ["rebind.example."] * 2, "once for each connection"
        assert server.connections == 0


async def test_a_name_is_resolved_once_for_each_connection() -> None:
    async with serving() as server:
        names = Names({"lamp.svc": [["127.0.0.1"], [PUBLIC]]})
        guard = guard_of(names, f"http://lamp.svc:{server.port}")
        async with guarded_client(guard) as client:
            for _ in range(3):
                await client.get(f"http://lamp.svc:{server.port}/")
        assert names.asked == ["lamp.svc"]
        assert server.connections == 1


async def test_a_name_is_never_looked_for_among_those_of_the_cluster() -> None:
    names = Names({"lamp.example.": [[PUBLIC]]})
    await guard_of(names).require("https://LAMP.example./v1")
    assert names.asked == ["lamp.example."]


async def test_a_redirect_is_not_followed() -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"
    async with serving(answer=answer) as server:
        guard = guard_of(Names(), f"http://127.0.0.1:{server.port}")
        assert (await get(guard, f"http://127.0.0.1:{server.port}/")).status_code == 302


async def test_nobody_is_remembered_by_a_cookie() -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok"
    async with serving(answer=answer) as server:
        guard = guard_of(Names(), f"http://127.0.0.1:{server.port}")
        async with guarded_client(guard) as client:
            for _ in range(2):
                await client.get(f"http://127.0.0.1:{server.port}/")
            assert not client.cookies
        assert "cookie" not in server.requests[1].lower()


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as server, serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        guard = guard_of(Names(), f"http://127.0.0.1:{server.port}")
        await get(guard, f"http://127.0.0.1:{server.port}/")
        assert (server.connections, proxy.connections) == (1, 0)


async def test_a_name_without_an_address_is_no_block_and_no_connection() -> None:
    guard = guard_of(Names())
    await guard.require("https://nowhere.example/v1")
    with pytest.raises(httpx2.ConnectError, match=r"nowhere\.example"):
        await get(guard, "https://nowhere.example/v1")


async def test_the_next_address_is_tried_where_nothing_listens_at_the_first() -> None:
    async with serving() as server:
        names = Names({"lamp.svc": [["::1", "127.0.0.1"]]})
        origin = f"http://lamp.svc:{server.port}"
        assert (await get(guard_of(names, origin), origin)).text == "ok"


async def test_many_hosts_at_once_are_each_looked_at() -> None:
    async with serving() as server:
        hosts = [f"h{number}.svc" for number in range(40)]
        names = Names({host: [["127.0.0.1"]] for host in hosts})
        opened = [f"http://{host}:{server.port}" for host in hosts[::2]]
        guard = guard_of(names, *opened)
        async with guarded_client(guard) as client:
            answers = await asyncio.gather(
                *(client.get(f"http://{host}:{server.port}/") for host in hosts),
                return_exceptions=True,
            )
        assert [isinstance(a, BlockedAddressError) for a in answers] == [False, True] * 20
        assert server.connections == 20


async def test_another_scheme_or_a_url_with_a_user_is_refused_without_its_password() -> None:
    guard = ConnectionGuard(OpenedOrigins())
    for url in ("file:///etc/passwd", "http://user:canary@example.com/", "http://ca nary@x y/"):
        with pytest.raises(BlockedAddressError) as refused:
            await guard.require(url)
        assert "nary" not in str(refused.value)
    with pytest.raises(httpx2.UnsupportedProtocol):
        await get(guard, "ftp://example.com/")


async def test_this_machine_resolves_its_own_name() -> None:
    assert set(await resolve_name("localhost", 80)) <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("http://Ollama.Models.svc:11434", Origin("http", "ollama.models.svc", 11434)),
        ("https://llm.example./", Origin("https", "llm.example", 443)),
        ("http://[::1]:8080", Origin("http", "::1", 8080)),
        ("http://bücher.example", Origin("http", "xn--bcher-kva.example", 80)),
        ("HTTP://localhost:80", Origin("http", "localhost", 80)),
    ],
)
def test_an_origin_is_read_in_its_one_form(text: str, origin: Origin) -> None:
    assert origin in OpenedOrigins.parse([text])
    assert OpenedOrigins.parse([str(origin)]) == OpenedOrigins.parse([text])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ollama:11434", "a scheme, a host and a port"),
        ("ftp://ollama", "must begin with http:// or https://"),
        ("http://", "name a host"),
        ("*", "a scheme, a host and a port"),
        ("http://*.example.com", "neither a name nor an address"),
        ("http://10.0.0.0/8", "a scheme, a host and a port and nothing else"),
        ("http://ollama:11434/v1", "a scheme, a host and a port and nothing else"),
        ("http://ollama?x=1", "a scheme, a host and a port and nothing else"),
        ("http://user:canary@ollama", "no user and no password"),
        ("http://2130706433", "odd form"),
        ("http://ollama:0", "1..65535"),
        ("http://ollama:99999", "1..65535"),
        ("http://oll ama", "neither a name nor an address"),
        ("http://127.0.0.01", "no URL"),
    ],
)
def test_what_is_no_origin_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(UserError, match=rule.replace(".", r"\.")) as refused:
        OpenedOrigins.parse([text])
    assert "canary" not in str(refused.value)


def test_the_origins_of_whole_urls_are_opened_where_their_own_user_wrote_them() -> None:
    opened = OpenedOrigins.of_urls(["http://127.0.0.1:8080/v1", "https://llm.example/v1"])
    assert Origin("http", "127.0.0.1", 8080) in opened
    assert Origin("https", "llm.example", 443) in opened
