"""Whose a page is: the key by which pages of one owner count as one origin.

For a public name it is the registrable domain by the Public Suffix List, whose private part
counts: two users of one hosting domain are two owners. The list is the one that the package
`publicsuffixlist` carries; nothing is fetched.
"""

from __future__ import annotations

from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from controller.addresses import forbidden_host, is_literal
from controller.connections import origin_of


def origin_key(url: str) -> str:
    """Return the origin key of an http or https URL, in ASCII and small letters.

    | host | key |
    | --- | --- |
    | a public name | its registrable domain |
    | a name that is itself a public suffix | the name |
    | an address | the address |
    | a name of a cluster or a private network, which an owner may open | the whole name |

    Raises:
        UserError: it is no URL that could be fetched.
    """
    host = origin_of(url).host
    if is_literal(host) or forbidden_host(host) is not None:
        return host
    return _public_suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _public_suffixes() -> PublicSuffixList:
    """Return the list, which takes a tenth of a second to read, at the first use."""
    return PublicSuffixList()
