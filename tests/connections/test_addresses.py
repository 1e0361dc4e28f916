"""The table of forbidden addresses, row by row, and hosts in every form that was ever used."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest

from controller.addresses import (
    FORBIDDEN_RANGES,
    FORBIDDEN_SUFFIXES,
    ForbiddenRange,
    forbidden_address,
    forbidden_host,
    host_fault,
)


@pytest.mark.parametrize("row", FORBIDDEN_RANGES, ids=lambda row: str(row.network))
def test_a_range_is_refused_from_its_first_address_to_its_last(row: ForbiddenRange) -> None:
    for address in (row.network[0], row.network[-1]):
        reason = forbidden_address(str(address))
        assert reason is not None
        assert str(address) in reason
    assert row.what in (forbidden_address(str(row.network[-1])) or "")


def test_this_host_is_called_so_in_both_families() -> None:
    for address in ("127.0.0.1", "::1", "::"):
        assert "is this host" in (forbidden_address(address) or "")


@pytest.mark.parametrize(
    "address",
    [
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.7",
        "255.255.255.255",
        "100::1",
        "2001:db8::1",
        "2001:2::1",
        "fd00:ec2::254",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "fe80::1%eth0",
        "8.8.8.8%eth0",
        "",
        "nonsense",
    ],
)
def test_what_is_not_globally_routable_or_no_address_is_refused(address: str) -> None:
    assert forbidden_address(address) is not None


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2a00::1"]
)
def test_a_public_address_is_let_through(address: str) -> None:
    assert forbidden_address(address) is None
    assert forbidden_host(address) is None


@pytest.mark.parametrize("suffix", FORBIDDEN_SUFFIXES)
def test_a_name_of_a_network_is_refused(suffix: str) -> None:
    assert FORBIDDEN_SUFFIXES[suffix] in (forbidden_host(f"some.thing.{suffix}") or "")
    assert forbidden_host(suffix) is not None
    assert forbidden_host(f"not-{suffix}.example.com") is None


@pytest.mark.parametrize(
    "host",
    ["metadata.google.internal", "kubernetes.default.svc", "ollama", "localhost", "instance-data"],
)
def test_a_name_that_only_means_something_inside_is_refused(host: str) -> None:
    assert forbidden_host(host) is not None
    assert host_fault(host) is None, "its owner may open it"


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f.1", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.01", "1.2.3.0x4"],
)
def test_an_address_in_an_odd_form_is_refused_and_cannot_be_opened(host: str) -> None:
    assert host_fault(host) == "it is an address in an odd form"
    assert forbidden_host(host) == "it is an address in an odd form"


@pytest.mark.parametrize(
    "host", ["", ".", "a b", "exa%20mple", "-a.example", "a..b", "a" * 254, "fe80::1%25eth0"]
)
def test_what_is_neither_a_name_nor_an_address_is_refused(host: str) -> None:
    assert host_fault(host) == "it is neither a name nor an address"


@pytest.mark.parametrize(
    "host",
    ["example.com", "xn--bcher-kva.example", "a_b.example.com", "1.example.com", "api.openai.com"],
)
def test_a_usual_name_is_let_through(host: str) -> None:
    assert forbidden_host(host) is None


def test_an_address_is_refused_in_whatever_form_of_ipv6_it_hides() -> None:
    loopback = int(IPv6Address("::127.0.0.1"))
    for prefix in ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "::"):
        assert forbidden_address(str(IPv6Address(int(IPv6Address(prefix)) | loopback)))
