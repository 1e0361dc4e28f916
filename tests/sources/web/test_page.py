"""docs/fetching.md: its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.connections import CONNECT_SECONDS
from controller.sources.web import exchange, fetcher, politeness, request, robots
from controller.sources.web.body import ACCEPT_ENCODING, BodyBounds
from controller.sources.web.exchange import Bounds
from controller.sources.web.failures import RETRYABLE, FetchFailure, status_error
from controller.sources.web.origin_keys import origin_key

PAGE = (Path(__file__).parents[3] / "docs" / "fetching.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("|")
]
CLASSES = {row[0].strip("`"): row for row in ROWS if row[1] in {"yes", "no"}}


def test_every_class_is_there_and_whether_it_is_tried_again() -> None:
    assert list(CLASSES) == [failure.value for failure in FetchFailure]
    assert {name for name, row in CLASSES.items() if row[1] == "yes"} == set(RETRYABLE)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 407, 408, 410, 429, 451])
def test_every_status_that_is_named_has_its_class(status: int) -> None:
    named = [name for name, row in CLASSES.items() if re.search(rf"\b{status}\b", row[2])]
    assert named == [status_error("http://a.example/", status, None).error_class]


@pytest.mark.parametrize(
    ("row", "numbers"),
    [
        ("redirects", [request.MOST_REDIRECTS]),
        ("connecting", [CONNECT_SECONDS]),
        ("silence", [Bounds().read_seconds]),
        ("the whole fetch", [request.FetchRules().seconds]),
        ("a robots file", [Bounds().robots_seconds]),
        ("body as it is sent", [BodyBounds().raw_bytes / 1024**2]),
        ("body as it is unpacked", [BodyBounds().decoded_bytes / 1024**2, BodyBounds().ratio]),
        ("body of an answer", [exchange.LONGEST_ERROR / 1024]),
        ("robots file", [robots.LONGEST_FILE / 1024]),
        ("port", sorted(request.USUAL_PORTS)),
        ("length", [request.LONGEST_URL]),
        ("from the end of one", [politeness.USUAL_DELAY_SECONDS]),
        ("`Crawl-delay`", [politeness.LONGEST_DELAY_SECONDS]),
    ],
)
def test_every_bound_is_the_one_that_holds(row: str, numbers: list[float]) -> None:
    (bound,) = (r[1] for r in ROWS if r[0].startswith(row))
    found = [float(number) for number in re.findall(r"\d+", bound)]
    assert found[: len(numbers)] == numbers


def test_the_bound_of_connecting_is_the_guards() -> None:
    assert Bounds().connect_seconds == CONNECT_SECONDS


def test_the_origins_are_as_the_table_says() -> None:
    rows = [row for row in ROWS if re.match(r"`[\w.]+\.\w+`", row[0])]
    pairs = [
        pair
        for row in rows
        for pair in zip(*(re.findall("`([^`]+)`", c) for c in row), strict=True)
    ]
    assert len(pairs) == 4
    assert [origin_key(f"https://{host}/") for host, _ in pairs] == [key for _, key in pairs]


def test_what_is_accepted_is_what_is_said() -> None:
    assert f"`Accept-Encoding` is `{ACCEPT_ENCODING}`" in PAGE
    assert f"robots files call it `{robots.PRODUCT}`" in PAGE
    assert fetcher.user_agent("CONTACT").startswith(f"{robots.PRODUCT}/")
