"""Pages that answer 200 and are no document, and documents that only look like one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence.soft_failures import SHORTER_THAN, SoftFailure, soft_failure

CONSENT = (
    "Before you continue. We use cookies and data to deliver our services. "
    "Accept all Reject all More options Privacy Terms English"
)
LOGIN = "Log in to Example. Email Password Log in Forgot your password? Create an account Help"

FAILURES: dict[str, tuple[str, Sequence[str], SoftFailure]] = {
    "a challenge without a link": (
        "Just a moment...\nEnable JavaScript and cookies to continue",
        [],
        SoftFailure.CHALLENGE,
    ),
    "a challenge with some": (
        (
            "Attention Required! | Verify you are human by completing the action below. "
            "Ray ID: 8a1b2c Performance & security by Cloudflare"
        ),
        ["Cloudflare"],
        SoftFailure.CHALLENGE,
    ),
    "a challenge in curly quotes": (
        "Making sure you\u2019re not a bot! Loading...",
        [],
        SoftFailure.CHALLENGE,
    ),
    "a question for consent": (
        CONSENT,
        ["Accept all", "Reject all", "More options", "Privacy", "Terms", "English"],
        SoftFailure.CONSENT,
    ),
    "one in German": (
        "Bevor Sie zu Beispiel fortfahren. Alle akzeptieren Alle ablehnen Weitere Optionen",
        ["Alle akzeptieren", "Alle ablehnen", "Weitere Optionen"],
        SoftFailure.CONSENT,
    ),
    "a login": (
        LOGIN,
        ["Log in", "Forgot your password?", "Create an account", "Help"],
        SoftFailure.LOGIN,
    ),
    "an error page": (
        "404 Not Found\nThe requested URL was not found on this server.",
        [],
        SoftFailure.ERROR,
    ),
    "an error page without a number": (
        "Page not found\n\nSorry, that page does not exist. Home Search",
        ["Home", "Search"],
        SoftFailure.ERROR,
    ),
    "an error of a gateway": ("502 Bad Gateway\nnginx", [], SoftFailure.ERROR),
    "a refusal": ("Access Denied. You don't have permission.", [], SoftFailure.ERROR),
}

DOCUMENTS: dict[str, tuple[str, Sequence[str]]] = {
    "nothing": ("", []),
    "a short page": ("GLOW_LEVEL\nDefault: 40 lumens.", ["Settings"]),
    "a short page that speaks of cookies": (
        (
            "COOKIE_BANNER: the text above the buttons Accept all and Reject all. Default: empty. "
            "It is shown once to each visitor of the site, on the first page."
        ),
        ["Settings"],
    ),
    "a short page about passwords": (
        (
            "The template forgotten-password.html is sent to whoever clicks Forgot password. "
            "It has the variables user and link."
        ),
        ["user"],
    ),
    "a page that speaks of an error": ("The view returns 404 Not Found if there is none.", []),
    "a long page about challenges": (
        "Verify you are human: how such pages work. " + "They measure the browser. " * 12,
        [],
    ),
    "a long page of links": (
        "Log in to read more. " + "Another article of ours. " * 20,
        ["Another article of ours."] * 20,
    ),
    "a list of links": ("Index A B C", ["A", "B", "C"]),
}


@pytest.mark.parametrize(("text", "clickable", "kind"), FAILURES.values(), ids=FAILURES.keys())
def test_what_is_no_document(text: str, clickable: Sequence[str], kind: SoftFailure) -> None:
    assert soft_failure(text, clickable) is kind
    assert soft_failure(f"\n\t {text.upper()}  ", clickable) is kind


@pytest.mark.parametrize(("text", "clickable"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_what_is_one(text: str, clickable: Sequence[str]) -> None:
    assert soft_failure(text, clickable) is None


@pytest.mark.parametrize("text", [CONSENT, LOGIN])
def test_without_much_to_click_a_page_only_speaks_of_it(text: str) -> None:
    assert soft_failure(text, []) is None
    assert soft_failure(text, [text[: len(text) * 29 // 100]]) is None
    assert soft_failure(text, [text[: len(text) * 31 // 100]]) is not None


@given(st.text(), st.lists(st.text()), st.sampled_from([t for t, _, _ in FAILURES.values()]))
def test_a_page_of_some_length_is_a_document(text: str, links: list[str], marker: str) -> None:
    long = f"{marker} {text} " + "word " * 60
    assert len(" ".join(long.split())) >= SHORTER_THAN
    assert soft_failure(long, links) is None
