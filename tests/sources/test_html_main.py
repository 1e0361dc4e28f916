"""What stands around a page's main content is navigation; where that is in doubt, nothing is."""

from __future__ import annotations

import pytest

from controller.api.records import BlockKind
from controller.sources.readers import html, html_main, read_file
from controller.sources.readers.text import Text

PROSE = [
    "The tide tables of the harbour are computed anew each year, in the last week of November.",
    "They hold the times of high and low water for every day, and the height of each.",
    "A master of a vessel that draws more than four metres has to ask the harbour office first.",
    "In winter the office closes at four in the afternoon, and the radio is on until six.",
    "Whoever leaves the harbour without notice pays the fee of one more day for the berth.",
    "Berths are given in the order of arrival, but for vessels that have to be mended at once.",
]
LINKS = "".join(f"<li><a href='/{n}'>Another page about things {n}</a></li>" for n in range(12))
FOOT = (
    "<div class='footer'>Copyright 2026 by the harbour office, all rights reserved."
    " <a href='/imprint'>Imprint</a> <a href='/privacy'>Privacy</a></div>"
)


def page(body: str, *, landmark: bool = False) -> str:
    main = "main" if landmark else "div"
    return (
        f"<!doctype html><html><head><title>Tides</title></head><body><div class='menu'><ul>{LINKS}"
        f"</ul></div><{main} class='text'>{body}</{main}>{FOOT}</body></html>"
    )


BODY = "<h1>Tides</h1>" + "".join(f"<p>{sentence}</p>" for sentence in PROSE)


def kinds(text: Text, kind: BlockKind) -> list[str]:
    return [block.text for block in text.blocks if block.kind is kind]


def test_what_stands_around_the_text_is_navigation() -> None:
    text = html.read(page(BODY), "hint")
    assert kinds(text, BlockKind.PARAGRAPH) == PROSE
    apart = kinds(text, BlockKind.NAVIGATION)
    assert len(apart) == 13
    assert apart[-1].startswith("Copyright 2026")


def test_blocks_set_apart_keep_their_places() -> None:
    text = html.read(page(BODY), "hint")
    assert text.text == "\n".join(block.text for block in text.blocks)
    assert all(text.text[block.start : block.end] == block.text for block in text.blocks)


TABLE = "<table><tr><th>Vessel</th><th>Fee</th></tr>" + "".join(
    f"<tr><td>{n} m</td><td>{n * 3} EUR</td></tr>" for n in range(4, 9)
)
LITERAL = "<pre>tide --year 2027 --out table.csv</pre>"
TERMS = "<dl><dt>Draught</dt><dd>How deep a vessel is.</dd><dt>Berth</dt><dd>Its place.</dd></dl>"

KEPT = {
    "a table": (TABLE + "</table>", "8 m\t24 EUR"),
    "a literal": (LITERAL, "tide --year 2027 --out table.csv"),
    "terms": (TERMS, "How deep a vessel is."),
    "a short paragraph": ("<p>No.</p>", "No."),
    "a list": ("<ul><li>One boat.</li><li>Two boats.</li></ul>", "Two boats."),
}


@pytest.mark.parametrize("what", KEPT)
@pytest.mark.parametrize("place", ["between", "behind"])
def test_what_an_extractor_drops_is_main_content_within_it(what: str, place: str) -> None:
    markup, expected = KEPT[what]
    half = len(PROSE) // 2
    paragraphs = [f"<p>{sentence}</p>" for sentence in PROSE]
    if place == "between":
        body = "".join(["<h1>Tides</h1>", *paragraphs[:half], markup, *paragraphs[half:]])
    else:
        body = "".join(["<h1>Tides</h1>", *paragraphs, markup])
    text = html.read(page(body, landmark=place == "behind"), "hint")
    found = [block.text for block in text.blocks if block.kind is not BlockKind.NAVIGATION]
    assert expected in found


def test_links_in_the_main_element_are_navigation_all_the_same() -> None:
    related = f"<ul class='related'>{LINKS}</ul>"
    text = html.read(page(BODY + related, landmark=True), "hint")
    assert kinds(text, BlockKind.PARAGRAPH) == PROSE
    assert not any("Another page" in item for item in kinds(text, BlockKind.ITEM))


UNDECIDED = {
    "a page with a few words": "<p>One sentence.</p><div>And a foot.</div>",
    "a page of links alone": f"<ul>{LINKS * 4}</ul>",
    "a page whose main text is a small part of it": (
        f"<div><p>{PROSE[0]}</p></div><table>"
        + "".join(f"<tr><td>Row {n}</td><td>{n * 7} items of it</td></tr>" for n in range(200))
        + "</table>"
    ),
}


@pytest.mark.parametrize("situation", UNDECIDED)
def test_where_there_is_doubt_nothing_is_set_apart(situation: str) -> None:
    text = html.read(f"<!doctype html><body>{UNDECIDED[situation]}", "hint")
    assert kinds(text, BlockKind.NAVIGATION) == []


def test_the_second_extractors_length_is_recorded() -> None:
    reading = read_file(page(BODY).encode(), "a")
    recorded = reading.fields()["alternative_characters"]
    shown = sum(len(block.text) for block in reading.text.blocks)
    assert 0.9 * shown < recorded < 1.1 * shown


BOUNDS = {"MAX_CHARACTERS": 1000, "MAX_NESTING": 50}


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_page_beyond_the_extractors_bounds_is_read_by_its_structure(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_main, bound, BOUNDS[bound])
    text = html.read(page(BODY), "hint")
    assert text.alternative_characters is None
    assert kinds(text, BlockKind.NAVIGATION) == []
    assert set(PROSE) <= {block.text for block in text.blocks}


DEEP = {
    "elements in each other": "<div>" * 1500 + "deep" + "</div>" * 1500,
    "paragraphs deep within": "<div>" * 200 + f"<p>{PROSE[0]}</p>" * 20_000,
    "lists in lists": "<ul><li>item" * 800,
    "emphasis never ended": "<b>x" * 1000,
    "tables in tables": "<table><tr><td>cell" * 300,
}


@pytest.mark.parametrize("situation", DEEP)
def test_deep_pages_are_read_in_bounded_time(situation: str) -> None:
    """Without bounds, the second of them takes an extractor twelve seconds, and more grow so."""
    text = html.read(f"<!doctype html><body>{DEEP[situation]}", "hint")
    assert text.blocks


def test_fragments_in_other_documents_are_not_judged() -> None:
    source = (
        f"# Title\n\n<div>{'<p>Words of a paragraph, and more of them.</p>' * 20}</div>\n\n{FOOT}\n"
    )
    text = read_file(source.encode(), "a.md").text
    assert text.alternative_characters is None
    assert kinds(text, BlockKind.NAVIGATION) == []
