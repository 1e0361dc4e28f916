# ruff: noqa: RUF001, S104 - odd hosts are what this file is about
"""Whatever a URL, a redirect or a resolver says: no socket is opened to a refused address.

The network is the machine's own here. What is connected to is recorded below it, and everything
that must not be reached is either a server of the test that counts connections, or an address
that the recorder would show.
"""

from __future__ import annotations

import pytest

from controller.api.errors import PermanentError
from controller.sources.web.request import FetchRules, Request
from tests.sources.web.conftest import Sockets
from tests.sources.web.site import Site, page, redirect
from tests.sources.web.world import World, failure, fetched, own

FORBIDDEN_HOSTS = [
    # this host, in every form that some program takes for it
    "127.0.0.1", "127.0.0.1.", "127.255.255.254", "127.1", "127.0.1", "2130706433", "0x7f000001",
    "0x7f.1", "0x7f.0.0.1", "0177.0.0.1", "0177.1", "017700000001", "127.0.0.01", "0", "0.0.0.0",
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]",
    "127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1", "%31%32%37.0.0.1", "[::1%25lo]",
    # IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]", "[2001:0:5ef5:79fd:0:59d:7f00:1]",
    # private, shared, link-local, metadata
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1",
    "169.254.169.254", "169.254.170.2", "168.63.129.16", "[fd00:ec2::254]", "[fc00::1]",
    "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "2852039166", "0xa9fea9fe",
    # kept for other uses
    "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "[ff02::1]", "[2001:db8::1]", "[100::1]",
    # names that mean something inside alone
    "metadata.google.internal", "metadata", "instance-data", "kubernetes",
    "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "ollama.models.svc",
    "printer.local", "router.home.arpa", "db.internal",
    # no names
    "-a.example", "a..example", "a_b%00.example", "a" * 254 + ".example", "☃.example",
    "a b.example",
]  # fmt: skip

ODD_URLS = [
    "ftp://a.example/", "file:///etc/passwd", "file://localhost/etc/passwd", "gopher://a.example/",
    "dict://a.example:11211/", "ldap://a.example/", "javascript:alert(1)", "data:text/html,x",
    "unix:///var/run/docker.sock", "ws://a.example/", "jar:http://a.example!/", "//a.example/",
    "a.example", "/etc/passwd", "", "http:", "http://", "http:///x", "http://?x", "http://#",
    "http://user@a.example/", "http://user:canary@a.example/", "http://a.example@10.0.0.1/",
    "http://a.example:canary@10.0.0.1/", "http://:@a.example/", "http://a.example:22/",
    "http://a.example:6443/", "http://a.example:10250/", "http://a.example:2379/",
    "http://a.example:8080/", "https://a.example:8443/", "http://a.example:0/",
    "http://a.example:65536/", "http://a.example:-1/", "http://a.example:8o/",
    "http://a.example/\r\nHost: b.example", "http://a.example\r\nHost: b.example/",
    "http://a.example/\0", "http://[::1/", "http://[a.example]/", "http://a.example\\@10.0.0.1/",
    "http://a.example/" + "x" * 2100, "http://a.example/" + "é" * 700, "http://a\ud800.example/",
    "http://a.example/\ud800",
]  # fmt: skip

NO_REDIRECTS = {"", "//a.example/", "a.example", "/etc/passwd", "http:", "http://", "http:///x",
                "http://?x", "http://#"}  # fmt: skip
"""Within a page these are references like any other."""

ODD_TARGETS = [
    url for url in ODD_URLS if url not in NO_REDIRECTS and not {"\ud800", "\r", "\0"} & set(url)
]
"""What a header can hold of them."""


def test_the_tables_hold_what_they_promise() -> None:
    assert len(set(FORBIDDEN_HOSTS)) + len(set(ODD_URLS)) >= 60


@pytest.mark.parametrize("host", FORBIDDEN_HOSTS)
async def test_a_forbidden_host_is_refused_before_a_socket_is_opened(
    host: str, sockets: Sockets
) -> None:
    async with Site({"/": page(b"secret")}) as victim:
        rules = FetchRules(ports=frozenset({80, 443, victim.port}), obey_robots=False)
        for url in (f"http://{host}:{victim.port}/", f"http://{host}/", f"https://{host}/"):
            error = await failure(World(), url, rules, network=None)
            assert isinstance(error, PermanentError)
            assert error.error_class == "BlockedAddress"
        assert victim.connections == 0
    assert sockets.connected == []


@pytest.mark.parametrize("host", FORBIDDEN_HOSTS)
async def test_a_redirect_leads_to_no_forbidden_host(host: str, sockets: Sockets) -> None:
    async with Site({"/": page(b"secret")}) as victim, Site() as site:
        for location in (f"http://{host}:{victim.port}/", f"//{host}/latest/meta-data/"):
            site.routes = {"/": redirect(location)}
            rules = own(site.origin, ports=frozenset({80, 443, victim.port}))
            error = await failure(
                World(), f"{site.origin}/", rules, opened=site.origin, network=None
            )
            assert error.error_class in {"BlockedAddress", "BadResponse"}
        assert victim.connections == 0
        assert set(sockets.connected) == {("127.0.0.1", site.port)}


@pytest.mark.parametrize("url", ODD_URLS)
async def test_an_odd_url_is_refused_before_a_name_is_resolved(url: str, sockets: Sockets) -> None:
    world = World(answers={"a.example": [["93.184.215.14"]]})
    error = await failure(world, url, network=None)
    assert isinstance(error, PermanentError)
    assert error.error_class == "BlockedAddress"
    assert "canary" not in str(error)
    assert world.asked == []
    assert sockets.connected == []


@pytest.mark.parametrize("url", ODD_TARGETS)
async def test_a_redirect_leads_to_no_odd_url(url: str, sockets: Sockets) -> None:
    async with Site({"/": redirect(url)}) as site:
        error = await failure(
            World(), f"{site.origin}/", own(site.origin), opened=site.origin, network=None
        )
        assert error.error_class in {"BlockedAddress", "BadResponse"}
        assert "canary" not in str(error)
        assert len(site.requests) == 1
        assert set(sockets.connected) == {("127.0.0.1", site.port)}


FORBIDDEN_ADDRESSES = [
    "127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "10.1.2.3",
    "172.20.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "fd00:ec2::254", "fe80::1",
    "0.0.0.0", "::", "224.0.0.1", "192.0.0.8", "fe80::1%eth0", "nonsense",
]  # fmt: skip


@pytest.mark.parametrize("address", FORBIDDEN_ADDRESSES)
async def test_a_name_with_one_forbidden_address_is_refused(address: str, sockets: Sockets) -> None:
    for answer in ([address], ["93.184.215.14", address], [address, "93.184.215.14"]):
        world = World(answers={"rebind.example": [answer]})
        error = await failure(world, "http://rebind.example/", network=None)
        assert error.error_class == "BlockedAddress"
        assert world.asked == ["rebind.example."]
    assert sockets.connected == []


async def test_a_name_that_changes_its_answer_between_two_requests_gains_nothing(
    sockets: Sockets,
) -> None:
    """The first page is served, and sends the reader on to its own name, which has moved."""
    async with Site({"/": redirect("/secret"), "/secret": page(b"secret")}) as site:
        world = World({"http://rebind.example": site})
        public = world.address_of("rebind.example")
        world.answers = {"rebind.example": [[public], ["127.0.0.1"]]}
        error = await failure(world, "http://rebind.example/")
        assert error.error_class == "BlockedAddress"
        assert world.asked == ["rebind.example."] * 2, "once for each connection"
        assert world.connected == [(public, 80)]
        assert sockets.connected == [("127.0.0.1", site.port)]
        assert site.targets == ["/"]


async def test_the_address_that_was_looked_at_is_the_one_that_is_connected_to() -> None:
    """A resolver that gives another answer each time it is asked is asked once."""
    async with Site({"/": page(b"ok")}) as site:
        world = World({"http://a.example": site})
        public = world.address_of("a.example")
        world.answers = {"a.example": [[public], ["10.0.0.1"]]}
        assert (await fetched(world, "http://a.example/")).body == b"ok"
        assert world.connected == [(public, 80)]


async def test_a_name_is_never_looked_for_among_those_of_the_cluster() -> None:
    world = World()
    error = await failure(world, "http://kubernetes.default/")
    assert error.error_class == "Dns"
    assert world.asked == ["kubernetes.default."]


async def test_robots_files_are_asked_for_through_the_same_guard(sockets: Sockets) -> None:
    async with Site({"/robots.txt": redirect("http://169.254.169.254/")}) as site:
        world = World({"http://a.example": site})
        error = await failure(world, "http://a.example/", FetchRules())
        assert error.error_class == "BlockedAddress"
        assert site.targets == ["/robots.txt"]
        assert set(sockets.connected) == {("127.0.0.1", site.port)}


async def test_an_opened_origin_is_no_way_in_for_others(sockets: Sockets) -> None:
    """What an owner opened for a model or one source is not open to where a page leads."""
    async with Site({"/": page(b"secret")}) as opened, Site() as site:
        site.routes = {"/": redirect(f"{opened.origin}/")}
        for url, rules in (
            (f"{opened.origin}/", FetchRules(ports=frozenset({opened.port}), obey_robots=False)),
            (f"{site.origin}/", own(site.origin, ports=frozenset({opened.port}))),
        ):
            async with World().fetcher(opened.origin, site.origin, network=None) as fetcher:
                with pytest.raises(PermanentError, match="only to sources whose spec names it"):
                    await fetcher.fetch(Request(url=url), rules)
        assert opened.connections == 0
        assert ("127.0.0.1", opened.port) not in sockets.connected


async def test_an_opened_origin_is_open_to_the_source_that_names_it() -> None:
    async with Site({"/": page(b"wiki")}) as site:
        async with World().fetcher(site.origin, network=None) as fetcher:
            found = await fetcher.fetch(Request(url=f"{site.origin}/"), own(site.origin))
        assert found.body == b"wiki"


async def test_a_source_opens_nothing_by_naming_it(sockets: Sockets) -> None:
    async with Site({"/": page(b"secret")}) as victim:
        error = await failure(World(), f"{victim.origin}/", own(victim.origin), network=None)
        assert error.error_class == "BlockedAddress"
        assert "--allow-origin" in str(error)
    assert sockets.connected == []


async def test_a_port_is_open_where_the_source_opens_it() -> None:
    async with Site({"/": page(b"ok")}) as site:
        world = World({"http://a.example:8080": site, "http://a.example": site})
        for rules in (own("http://a.example:8080"), own(ports=frozenset({8080}))):
            assert (await fetched(world, "http://a.example:8080/", rules)).body == b"ok"
        error = await failure(world, "http://a.example/", own(ports=frozenset({8080})))
        assert error.error_class == "BlockedAddress"
        assert "8080" in str(error)


async def test_a_host_that_is_not_in_ascii_is_asked_for_by_its_ascii_name() -> None:
    async with Site({"/": page(b"ok")}) as site:
        world = World({"http://bücher.example": site})
        assert (await fetched(world, "http://BÜCHER.example/")).body == b"ok"
        assert world.asked == ["xn--bcher-kva.example."]
        assert site.requests[0].headers["host"] == "xn--bcher-kva.example"
