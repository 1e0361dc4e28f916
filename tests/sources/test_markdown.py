from __future__ import annotations

import pytest

from controller.sources.readers import markdown, read_file
from controller.sources.readers.text import Text

Shown = tuple[str, tuple[str, ...], str]


def shown(text: Text) -> list[Shown]:
    return [(block.kind.value, block.heading_path, block.text) for block in text.blocks]


STRUCTURES: dict[str, tuple[str, list[Shown]]] = {
    "headings nest by their level, of either kind": (
        "# A *b* `c`\n\n## B\n\nC\n=\n\n### D\n",
        [
            ("Heading", ("A b c",), "A b c"),
            ("Heading", ("A b c", "B"), "B"),
            ("Heading", ("C",), "C"),
            ("Heading", ("C", "D"), "D"),
        ],
    ),
    "inline markup is removed and what it shows stays": (
        "one **two** [three](http://x) ![four](y.png) `five *6*`\nseven\\* &amp; <b>8</b> ~~9~~\n",
        [("Paragraph", (), "one two three four five *6* seven* & 8 9")],
    ),
    "references are links too": (
        "See [the page][1].\n\n[1]: http://x\n",
        [("Paragraph", (), "See the page.")],
    ),
    "a label directly under a heading makes a field": (
        "# Port\n\nDefault: `8080`\n",
        [("Heading", ("Port",), "Port"), ("Field", ("Port",), "Default: 8080")],
    ),
    "lists, quotes and alerts": (
        "- one\n  two\n\n  more\n  - inner\n\n> said\n\n> [!WARNING]\n> Mind it.\n>\n> Really.\n",
        [
            ("Item", (), "one two"),
            ("Item", (), "more"),
            ("Item", (), "inner"),
            ("Paragraph", (), "said"),
            ("Note", (), "Mind it."),
            ("Note", (), "Really."),
        ],
    ),
    "code is kept as it is": (
        "```py\nx = *1*\n\ny\n```\n\n    indented\n",
        [("Code", (), "x = *1*\n\ny"), ("Code", (), "indented")],
    ),
    "a table has its header above its rows": (
        "| A | B |\n|---|---|\n| 1 | `2` |\n| 3 | |\n",
        [
            ("TableRow", ("A | B",), "A\tB"),
            ("TableRow", ("A | B",), "1\t2"),
            ("TableRow", ("A | B",), "3"),
        ],
    ),
    "blocks of HTML are read as HTML": (
        (
            "# A\n\n<details><summary>More</summary>\n\nInside.\n\n</details>\n\n"
            "<!-- no -->\n\n<p hidden>no</p>\n\n<p>Raw <b>text</b></p>\n"
        ),
        [
            ("Heading", ("A",), "A"),
            ("Paragraph", ("A",), "More"),
            ("Paragraph", ("A",), "Inside."),
            ("Paragraph", ("A",), "Raw text"),
            ("Hidden", ("A",), "no"),
            ("Hidden", ("A",), "no"),
        ],
    ),
}


@pytest.mark.parametrize("situation", STRUCTURES)
def test_structure(situation: str) -> None:
    source, expected = STRUCTURES[situation]
    assert shown(markdown.read(source, "hint")) == expected


def test_blocks_know_their_lines() -> None:
    source = "---\ntitle: T\n---\n# A\n\none\ntwo\n\n```\nc\n```\n\n<p>x\n</p>\n"
    blocks = markdown.read(source, "hint").blocks
    lines = {b.text: (b.lines.first, b.lines.last) for b in blocks if b.lines is not None}
    assert lines == {
        "title: T": (2, 3),
        "A": (4, 4),
        "one two": (6, 7),
        "c": (9, 11),
        "x": (13, 13),
    }


def test_the_title_is_the_first_heading_else_the_front_matters_else_the_hint() -> None:
    assert markdown.read("---\ntitle: 'Front'\n---\n# Heading\n", "hint").title == "Heading"
    assert markdown.read("---\ntitle: 'Front'\n---\ntext\n", "hint").title == "Front"
    assert markdown.read("text\n", "hint").title == "hint"


def test_text_nested_beyond_what_the_parser_follows_is_not_lost() -> None:
    assert "the answer" in markdown.read(">" * 300 + " the answer\n", "hint").text


@pytest.mark.parametrize("pattern", ["[", "![", "*a ", "`a ", "[a](<b", "&a", "a_b "])
def test_inline_markup_that_never_ends_is_kept(pattern: str) -> None:
    """These take quadratic time in the inline parser; 90,000 characters would take minutes."""
    source = pattern * (90_000 // len(pattern)) + "\nthe answer\n"
    reading = read_file(source.encode(), "a.md")
    assert reading.text.text.endswith("the answer")
