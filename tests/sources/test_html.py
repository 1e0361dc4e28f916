from __future__ import annotations

import pytest

from controller.sources.readers import UnreadableDocumentError, html
from controller.sources.readers.text import Text

Shown = tuple[str, tuple[str, ...], str]


def shown(text: Text) -> list[Shown]:
    return [(block.kind.value, block.heading_path, block.text) for block in text.blocks]


STRUCTURES: dict[str, tuple[str, list[Shown]]] = {
    "headings and paragraphs, white space as a page shows it": (
        "<h1>A\n <em>b</em></h1><p>One <b>two</b>\n three<br>four&nbsp;&amp; 5</p>loose<h2>C</h2>x",
        [
            ("Heading", ("A b",), "A b"),
            ("Paragraph", ("A b",), "One two three four\u00a0& 5"),
            ("Paragraph", ("A b",), "loose"),
            ("Heading", ("A b", "C"), "C"),
            ("Paragraph", ("A b", "C"), "x"),
        ],
    ),
    "what is not shown stands apart, what follows it does not": (
        (
            "<p>a<!-- no -->b<script>no</script>c<span hidden>no</span>d"
            "<i style='color:red; display : none'>no</i>e<template>no</template>f</p>"
            "<noscript>no</noscript><style>no</style><a class='headerlink'>¶</a>g"
        ),
        [
            ("Paragraph", (), "abcdef"),
            ("Paragraph", (), "g"),
            *[("Hidden", (), "no")] * 5,
        ],
    ),
    "navigation and consent are marked, with all that is in them": (
        (
            "<nav><h2>Menu</h2><ul><li>Home</li></ul></nav><div role='navigation'>Next</div>"
            "<div id='cookie-banner'><p>We use cookies.</p></div><p>Text</p>"
        ),
        [
            ("Navigation", (), "Menu"),
            ("Navigation", (), "Home"),
            ("Navigation", (), "Next"),
            ("Consent", (), "We use cookies."),
            ("Paragraph", (), "Text"),
        ],
    ),
    "lists, terms, notes and code": (
        (
            "<ul><li>one<ul><li><p>two</p></li></ul></li></ul>"
            "<dl><dt>term</dt><dd>said<dl><dt>inner</dt><dd>Default: 5</dd></dl></dd></dl>"
            "<div class='admonition note'><p>Mind.</p></div><pre>a\n  <b>b</b>\n</pre>"
        ),
        [
            ("Item", (), "one"),
            ("Item", (), "two"),
            ("Term", ("term",), "term"),
            ("Paragraph", ("term",), "said"),
            ("Term", ("term", "inner"), "inner"),
            ("Field", ("term", "inner"), "Default: 5"),
            ("Note", (), "Mind."),
            ("Code", (), "a\n  b"),
        ],
    ),
    "a table has its header above its rows": (
        (
            "<table><caption>C</caption><thead><tr><th>A<th>B</thead><tr><th>1</th><td><p>2</p><p>3</p>"
            "</td></tr><tr><td></td></tr></table>after"
        ),
        [
            ("Paragraph", (), "C"),
            ("TableRow", ("A | B",), "A\tB"),
            ("TableRow", ("A | B",), "1\t2 3"),
            ("Paragraph", (), "after"),
        ],
    ),
    "a table that lays out a page is no table": (
        "<table><tr><td><h1>A</h1><p>Text</p></td></tr></table>",
        [("Heading", ("A",), "A"), ("Paragraph", ("A",), "Text")],
    ),
    "XHTML with a declaration": (
        (
            '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml">'
            "<body><p>Text</p></body></html>"
        ),
        [("Paragraph", (), "Text")],
    ),
    "markup that is broken": (
        "<p>a<div>b</p></span><td>c<li>d</ul></body>e<",
        [
            ("Paragraph", (), "a"),
            ("Paragraph", (), "b"),
            ("Paragraph", (), "c"),
            ("Item", (), "d"),
            ("Paragraph", (), "e<"),
        ],
    ),
    "nothing": ("", []),
    "a comment alone": ("<!-- x -->", []),
    "end tags without a beginning": (
        "</dl></table></dt></tr></td>text",
        [("Paragraph", (), "text")],
    ),
}


@pytest.mark.parametrize("situation", STRUCTURES)
def test_structure(situation: str) -> None:
    source, expected = STRUCTURES[situation]
    assert shown(html.read(source, "hint")) == expected


def test_the_title_is_the_first_heading_else_the_pages_else_the_hint() -> None:
    page = "<html><head><title>Page</title></head><body>{}</body></html>"
    assert html.read(page.format("<h1>Heading</h1>"), "hint").title == "Heading"
    assert html.read(page.format("text"), "hint").title == "Page"
    assert html.read("text", "hint").title == "hint"


def test_blocks_know_their_lines() -> None:
    source = "<h1>A</h1>\n\n<p>one\ntwo</p>\n<pre>\nx\ny</pre>\n"
    blocks = html.read(source, "hint").blocks
    assert [(b.lines.first, b.lines.last) for b in blocks if b.lines] == [(1, 1), (3, 4), (6, 7)]


def test_a_page_is_read_at_any_depth_that_the_parser_follows() -> None:
    source = "<div>" * 1500 + "<p>deep</p>" + "</div>" * 1500 + "<p>after</p>"
    assert html.read(source, "hint").text == "deep\nafter"


def test_a_page_that_the_parser_would_cut_is_refused() -> None:
    with pytest.raises(UnreadableDocumentError, match="nested deeper") as refused:
        html.read("<div>" * 100_000 + "deep", "hint")
    assert refused.value.bars_absence
