"""Origin keys: whose a page is, by the Public Suffix List that is installed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.errors import UserError
from controller.sources.web.origin_keys import origin_key


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("example.com", "example.com"),
        ("www.example.com", "example.com"),
        ("a.b.c.Example.COM.", "example.com"),
        ("en.wikipedia.org", "wikipedia.org"),
        ("de.wikipedia.org", "wikipedia.org"),
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("foo.bar.baz.kawasaki.jp", "bar.baz.kawasaki.jp"),
        # the private part: users of one hosting domain are several owners
        ("alice.github.io", "alice.github.io"),
        ("docs.alice.github.io", "alice.github.io"),
        ("bob.github.io", "bob.github.io"),
        ("alice.blogspot.com", "alice.blogspot.com"),
        # a public suffix by itself
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        # names in other scripts, in either form
        ("www.bücher.de", "xn--bcher-kva.de"),
        ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("www.食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn"),
        ("www.食狮.中国", "xn--85x722f.xn--fiqs8s"),
        # an unknown ending
        ("a.b.nosuchending", "b.nosuchending"),
        # addresses
        ("93.184.215.14", "93.184.215.14"),
        ("[2A00:0::1]", "2a00:0::1"),
        ("10.0.0.7", "10.0.0.7"),
        # names of a cluster or a private network, which an owner may open: each is its own
        ("wiki.docs.svc", "wiki.docs.svc"),
        ("searx.docs.svc.cluster.local", "searx.docs.svc.cluster.local"),
        ("intranet", "intranet"),
        ("wiki.corp.internal", "wiki.corp.internal"),
        ("localhost", "localhost"),
    ],
)
def test_a_page_belongs_to(host: str, key: str) -> None:
    for url in (f"http://{host}/", f"https://{host}:8443/a?b=c"):
        assert origin_key(url) == key


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "http://", "http://u@example.com/"])
def test_what_is_no_place_to_fetch_from_belongs_to_nobody(url: str) -> None:
    with pytest.raises(UserError):
        origin_key(url)


@given(st.lists(st.from_regex("[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True), max_size=4))
def test_a_page_of_a_part_of_a_domain_belongs_to_the_domain(labels: list[str]) -> None:
    assert origin_key(f"https://{'.'.join([*labels, 'example', 'org'])}/") == "example.org"
