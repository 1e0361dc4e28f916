"""Canonical locators: the same for the same document, and never of another origin."""

from __future__ import annotations

import string

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.errors import UserError
from controller.connections import origin_of
from controller.sources.web.locators import canonical_locator, canonical_of_page
from controller.sources.web.request import LONGEST_URL


@pytest.mark.parametrize(
    ("url", "locator"),
    [
        ("http://a.example", "http://a.example/"),
        ("HTTP://A.Example:80/", "http://a.example/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("http://a.example:443/x", "http://a.example:443/x"),
        ("http://a.example.:8080/", "http://a.example:8080/"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://[2A00::1]:80/", "http://[2a00::1]/"),
        ("http://a.example/x#part", "http://a.example/x"),
        ("http://a.example/X/y/", "http://a.example/X/y/"),
        ("http://a.example/a/./b/../c", "http://a.example/a/c"),
        ("http://a.example/../../x", "http://a.example/x"),
        ("http://a.example/a/..", "http://a.example/"),
        ("http://a.example/a/b/../", "http://a.example/a/"),
        ("http://a.example/a/b/%2e/", "http://a.example/a/b/"),
        ("http://a.example/@user/post?to=b@c", "http://a.example/@user/post?to=b@c"),
        ("http://a.example/a/%2e%2E/b", "http://a.example/b"),
        ("http://a.example//a//b", "http://a.example//a//b"),
        ("http://a.example/%7euser/%c3%a9", "http://a.example/~user/%C3%A9"),
        ("http://a.example/é", "http://a.example/%C3%A9"),
        ("http://a.example/a%2fb", "http://a.example/a%2Fb"),
        ("http://a.example/100%", "http://a.example/100%"),
        ("http://a.example/?", "http://a.example/"),
        ("http://a.example/?b=2&a=1", "http://a.example/?b=2&a=1"),
        ("http://a.example/?a=&b", "http://a.example/?a=&b"),
        ("http://a.example/?a=1&&b=2&", "http://a.example/?a=1&b=2"),
        ("http://a.example/?utm_source=x&id=1&UTM_Medium=y", "http://a.example/?id=1"),
        ("http://a.example/?gclid=x&fbclid=y", "http://a.example/"),
        ("http://a.example/?%67clid=x&a=1", "http://a.example/?a=1"),
        ("http://a.example/?q=utm_source&gclids=1", "http://a.example/?q=utm_source&gclids=1"),
        ("http://a.example/?u=http://b.example/?x#y", "http://a.example/?u=http://b.example/?x"),
    ],
)
def test_the_canonical_form(url: str, locator: str) -> None:
    assert canonical_locator(url) == locator


@pytest.mark.parametrize(
    "url", ["", "a.example", "ftp://a.example/", "http://u:canary@a.example/", "http://", "file:/x"]
)
def test_what_cannot_be_fetched_has_none(url: str) -> None:
    with pytest.raises(UserError) as refused:
        canonical_locator(url)
    assert "canary" not in str(refused.value)


def test_a_form_that_no_record_can_hold_is_refused() -> None:
    assert len(canonical_locator("http://a.example/" + "x" * (LONGEST_URL - 17))) == LONGEST_URL
    with pytest.raises(UserError, match="2048"):
        canonical_locator("http://a.example/" + "x" * (LONGEST_URL - 16))


PAGE = "https://a.example/shop/lamp?utm_source=x"


@pytest.mark.parametrize(
    ("link", "locator"),
    [
        (None, "https://a.example/shop/lamp"),
        ("", "https://a.example/shop/lamp"),
        ("  ", "https://a.example/shop/lamp"),
        ("/lamp", "https://a.example/lamp"),
        (" https://A.example:443/lamp#x ", "https://a.example/lamp"),
        ("genie", "https://a.example/shop/genie"),
        ("?id=1", "https://a.example/shop/lamp?id=1"),
        ("//a.example/lamp", "https://a.example/lamp"),
        # of another origin, or none: it is not believed
        ("http://a.example/lamp", "https://a.example/shop/lamp"),
        ("https://b.example/lamp", "https://a.example/shop/lamp"),
        ("https://www.a.example/lamp", "https://a.example/shop/lamp"),
        ("https://a.example:8443/lamp", "https://a.example/shop/lamp"),
        ("//b.example/lamp", "https://a.example/shop/lamp"),
        ("https://a.example@b.example/", "https://a.example/shop/lamp"),
        ("javascript:alert(1)", "https://a.example/shop/lamp"),
        ("http://[", "https://a.example/shop/lamp"),
        ("https://a.example/" + "x" * 3000, "https://a.example/shop/lamp"),
        ("\ud800", "https://a.example/shop/lamp"),
    ],
)
def test_a_page_may_name_its_own_locator_within_its_origin_alone(
    link: str | None, locator: str
) -> None:
    assert canonical_of_page(PAGE, link) == locator


HOSTS = st.sampled_from(
    ["a.example", "A.Example.", "xn--bcher-kva.example", "bücher.example", "93.184.215.14",
     "[2a00::1]", "a_b.c.example", "localhost", "127.0.0.1"]
)  # fmt: skip
PATH = st.text(
    st.sampled_from([*string.ascii_letters, *"0123456789/.-_~%:@!$&'()*+,;=[]|\\^ é漢\u2044"])
)
SEGMENTS = st.lists(
    st.sampled_from(["a", "..", ".", "", "%2e", "%2E%2e", "%2f", "é", "a.b", "%", "%zz", ";x", "~"])
).map("/".join)
QUERY = st.lists(
    st.sampled_from(
        [
            "a=1",
            "b",
            "",
            "utm_source=x",
            "UTM_a",
            "%75tm_b=1",
            "gclid=%31",
            "q=%7e%c3",
            "x=?/#",
            "=",
        ]
    )
).map("&".join)


@st.composite
def urls(draw: st.DrawFn) -> str:
    scheme = draw(st.sampled_from(["http", "https", "HTTP", "hTTps"]))
    port = draw(st.sampled_from(["", ":80", ":443", ":8080", ":"]))
    path = draw(st.one_of(st.just(""), PATH.map("/{}".format), SEGMENTS.map("/{}".format)))
    query = draw(st.one_of(st.just(""), QUERY.map("?{}".format), PATH.map("?{}".format)))
    fragment = draw(st.sampled_from(["", "#", "#x/../?y"]))
    return f"{scheme}://{draw(HOSTS)}{port}{path}{query}{fragment}"


@given(urls())
def test_the_canonical_form_is_its_own_and_of_the_same_origin(url: str) -> None:
    locator = canonical_locator(url)
    assert canonical_locator(locator) == locator
    assert origin_of(locator) == origin_of(url)
    assert "#" not in locator
    assert locator.isascii()
    assert httpx2.URL(locator).userinfo == b""
    path = httpx2.URL(locator).raw_path.decode().partition("?")[0]
    assert path.startswith("/")
    assert not {".", ".."} & set(path.split("/"))


@given(urls(), st.one_of(urls(), PATH, SEGMENTS, QUERY, st.text()))
def test_a_page_never_leaves_its_origin_by_what_it_calls_itself(url: str, link: str) -> None:
    locator = canonical_of_page(url, link)
    assert origin_of(locator) == origin_of(url)
    assert canonical_locator(locator) == locator


@given(urls(), st.sampled_from(["utm_campaign=a", "gclid=b", "FBCLID=c"]))
def test_following_a_reader_about_makes_no_other_document(url: str, tracking: str) -> None:
    plain, _, fragment = url.partition("#")
    tracked = f"{plain}{'&' if '?' in plain else '?'}{tracking}#{fragment}"
    assert canonical_locator(tracked) == canonical_locator(url)
