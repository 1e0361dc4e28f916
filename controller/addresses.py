"""Which addresses and names nobody but the operator's owner may open: one table, and no network.

A tenant writes the addresses of models and sources, and the operator stands inside the cluster's
network: what it may connect to must not be what only it can reach. `ipaddress.is_global` is not
enough: it says yes to multicast, to translated IPv4 addresses and to others of the list here.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple


class ForbiddenRange(NamedTuple):
    """A range of addresses, and what it is."""

    network: IPv4Network | IPv6Network
    what: str


def _range(network: str, what: str) -> ForbiddenRange:
    return ForbiddenRange(ip_network(network), what)


FORBIDDEN_RANGES: Final = (
    _range("0.0.0.0/8", "this host"),
    _range("10.0.0.0/8", "a private network"),
    _range("100.64.0.0/10", "a carrier's or a cluster's own network"),
    _range("127.0.0.0/8", "this host"),
    _range("168.63.129.16/32", "the metadata of a cloud"),
    _range("169.254.0.0/16", "link-local, where clouds keep their metadata"),
    _range("172.16.0.0/12", "a private network"),
    _range("192.0.0.0/24", "kept for protocols"),
    _range("192.88.99.0/24", "a relay from IPv6"),
    _range("192.168.0.0/16", "a private network"),
    _range("224.0.0.0/4", "multicast"),
    _range("240.0.0.0/4", "reserved"),
    _range("::/128", "this host"),
    _range("::1/128", "this host"),
    _range("::/96", "an IPv4 address in another form"),
    _range("::ffff:0:0/96", "an IPv4 address in another form"),
    _range("::ffff:0:0:0/96", "an IPv4 address in another form"),
    _range("64:ff9b::/96", "an IPv4 address in another form"),
    _range("64:ff9b:1::/48", "an IPv4 address in another form"),
    _range("2001::/32", "an IPv4 address in another form"),
    _range("2002::/16", "an IPv4 address in another form"),
    _range("fc00::/7", "a private network"),
    _range("fe80::/10", "link-local"),
    _range("fec0::/10", "a private network"),
    _range("ff00::/8", "multicast"),
)
"""What is refused by name; all else that is not globally routable is refused as that."""

FORBIDDEN_SUFFIXES: Final = {
    "cluster.local": "a name of the cluster",
    "svc": "a name of the cluster",
    "localhost": "this host",
    "local": "a name of the local network",
    "internal": "a name of a private network, where clouds keep their metadata",
    "home.arpa": "a name of the local network",
}
"""The last labels of names that only mean something inside a network."""

_NAME: Final = re.compile(
    r"[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*"
)
_NUMERIC_LABEL: Final = re.compile("[0-9]+|0x[0-9a-f]*")
_MAX_NAME: Final = 253


def is_literal(host: str) -> bool:
    """Say whether a host is an address, in the one form of each that is written everywhere."""
    return _address(host) is not None


def host_fault(host: str) -> str | None:
    """Say what is wrong with a host, whoever opens it; None: it is a name or an address.

    Forms such as `2130706433` and `0x7f.1` are addresses to some programs and names to others.
    """
    if is_literal(host):
        return None
    if len(host) > _MAX_NAME or not _NAME.fullmatch(host):
        return "it is neither a name nor an address"
    if _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
        return "it is an address in an odd form"
    return None


def forbidden_host(host: str) -> str | None:
    """Say why nothing may be sent to a name or address by itself, None: it may.

    Args:
        host: in small letters, without a dot at its end and without brackets.
    """
    if (fault := host_fault(host)) is not None:
        return fault
    if is_literal(host):
        return forbidden_address(host)
    if "." not in host and host not in FORBIDDEN_SUFFIXES:
        return "a name without a dot is one of the cluster or of the local network"
    for suffix, what in FORBIDDEN_SUFFIXES.items():
        if host == suffix or host.endswith(f".{suffix}"):
            return f"it is {what}"
    return None


def forbidden_address(address: str) -> str | None:
    """Say why nothing may be sent to an address, None: it may.

    An address that cannot be read, or that has a zone, is refused as well.
    """
    parsed = _address(address)
    if parsed is None:
        return "it is no address"
    for network, what in FORBIDDEN_RANGES:
        if parsed.version == network.version and parsed in network:
            return f"{parsed} is {what} ({network})"
    if not parsed.is_global:
        return f"{parsed} is not globally routable"
    return None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    if "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None
