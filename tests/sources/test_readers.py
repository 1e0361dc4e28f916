"""Which reader reads a file, from which charset; and what holds for any file and any reader."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.sources.readers import (
    SUFFIXES,
    UnreadableDocumentError,
    html,
    markdown,
    plain,
    read_file,
    rest,
)
from controller.sources.readers.text import MAX_BLOCK_CHARACTERS, Text

PAGE = "<!DOCTYPE html><html><body><p>Text</p></body></html>"

CHOICES = {
    ("a.rst", "plain words"): "text/x-rst",
    ("a.txt", "plain words"): "text/plain",
    ("a.txt", "Title\n=====\n\nwords"): "text/x-rst",
    ("a.txt", "words\n\n.. note:: x\n"): "text/x-rst",
    ("a.txt", ".. _target:\n"): "text/x-rst",
    ("a.txt", "see .. this\n--\nwords"): "text/plain",
    ("a.txt", PAGE): "text/html",
    ("a.md", PAGE): "text/html",
    ("a.md", "Title\n=====\n\nwords"): "text/markdown",
    ("a.MD", "words"): "text/markdown",
    ("a.html", "<p>Text"): "text/html",
    ("a.html", "1 < 2 and words"): "text/plain",
    ("a.htm", "<?xml version='1.0'?><html/>"): "text/html",
    ("key", "# Heading\n\nwords"): "text/markdown",
    ("key", PAGE): "text/html",
    ("key", "words"): "text/plain",
    ("a.md", "# H\n" + "x" * 100_001): "text/plain",
    ("a.rst", ""): "text/x-rst",
}


@pytest.mark.parametrize(("path", "source"), CHOICES)
def test_content_decides_who_reads(path: str, source: str) -> None:
    assert read_file(source.encode(), path).content_type == CHOICES[path, source]


CYRILLIC = "Привет, это обычный текст на русском языке, который нужно прочитать. " * 5

CHARSETS: dict[str, tuple[bytes, str, str]] = {
    "UTF-8": ("grün 🙂".encode(), "utf-8", "grün 🙂"),
    "UTF-8 with a byte order mark": (codecs.BOM_UTF8 + "grün".encode(), "utf-8", "grün"),
    "UTF-16": ("grün 🙂".encode("utf-16"), "utf-16-le", "grün 🙂"),
    "UTF-16, big end first": (
        codecs.BOM_UTF16_BE + "grün".encode("utf-16-be"),
        "utf-16-be",
        "grün",
    ),
    "UTF-32": ("grün".encode("utf-32"), "utf-32-le", "grün"),
    "KOI8-R, as the page says": (
        b"<html><head><meta charset=koi8-r></head><body>" + "Привет".encode("koi8-r"),
        "koi8-r",
        "Привет",
    ),
    "Latin-1 is what the web takes it for": (
        b"<html><meta http-equiv=x content='text/html; charset=iso-8859-1'><body>\x93x\x94",
        "cp1252",
        "\u201cx\u201d",
    ),
    "a charset that nobody knows is not believed": (
        "<html><meta charset=quux><body>grün".encode(),
        "utf-8",
        "grün",
    ),
    "a codec that is none for text is not believed": (
        "<html><meta charset=rot13><body>grün".encode(),
        "utf-8",
        "grün",
    ),
    "Windows-1251, detected": (CYRILLIC.encode("cp1251"), "cp1251", CYRILLIC.strip()),
    "UTF-8 with one flaw": (
        CYRILLIC.encode() + b"\xff",
        "utf-8",
        CYRILLIC.strip() + " \ufffd",
    ),
}


@pytest.mark.parametrize("situation", CHARSETS)
def test_charsets(situation: str) -> None:
    data, charset, text = CHARSETS[situation]
    reading = read_file(data, "a")
    assert (reading.charset, reading.text.text) == (charset, text)


def test_a_declaration_in_a_text_about_html_is_no_declaration() -> None:
    source = 'Write\n\n<meta charset="koi8-r">\n\nfor grün.\n'
    assert read_file(source.encode(), "a.txt").charset == "utf-8"


@pytest.mark.parametrize(
    ("data", "rule", "bars"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary", False),
        (b"text\x00text", "binary", False),
        (codecs.BOM_UTF8 + b"\xff\xfe\xfd" * 50, "BadCharset", True),
        (codecs.BOM_UTF16_LE + b"\x00\xd8" * 50, "BadCharset", True),
        (b"<html><meta charset=utf-8>" + b"\xc3" * 200, "BadCharset", True),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, rule: str, bars: bool) -> None:  # noqa: FBT001 - a column of the table
    with pytest.raises(UnreadableDocumentError, match=rule) as refused:
        read_file(data, "a.html")
    assert refused.value.bars_absence is bars


def test_line_ends_are_line_feeds() -> None:
    text = read_file(b"a\r\nb\r\n\r\nc\rd\r\r e", "a.txt").text
    assert [block.text for block in text.blocks] == ["a b", "c d", "e"]


def test_plain_text_keeps_its_layout_and_joins_its_prose() -> None:
    source = "one\ntwo\n\nname   use\na      b\n\nfirst\n  indented\n\n第一\n第二\n"
    text = plain.read(source, "hint")
    assert [block.text for block in text.blocks] == [
        "one two",
        "name   use\na      b",
        "first\n  indented",
        "第一第二",
    ]


FIXED_TEXTS = {
    "right to left": "مرحبا بالعالم. هذا نص عربي.",
    "emoji sequences": "👩‍👩‍👧‍👦 and 🏳️‍🌈",
    "decomposed characters": "e\u0301 A\u030a",
    "bidirectional controls": "a\u202eb\u202cc",
    "line separators of Unicode": "a\u2028b\u0085c",
}


@pytest.mark.parametrize("situation", FIXED_TEXTS)
@pytest.mark.parametrize("suffix", ["txt", "rst", "md", "html"])
def test_text_goes_through_untouched(situation: str, suffix: str) -> None:
    source = FIXED_TEXTS[situation]
    written = f"<p>{source}</p>" if suffix == "html" else source
    text = read_file(written.encode(), f"a.{suffix}").text.text
    assert text == unicodedata.normalize("NFC", source)


def test_long_sequences_are_not_torn_apart() -> None:
    family = "👩‍👩‍👧‍👦"
    text = plain.read(family * 2000, "hint")
    assert len(text.blocks) > 1
    assert "".join(block.text for block in text.blocks) == family * 2000
    assert not any(block.text.startswith(("\u200d", "\ufe0f")) for block in text.blocks)


MARKUP = st.sampled_from(
    [
        *"\n\n\n    \t*_`|:.-=+#<>[]()~&\\\"'0aB漢א🙂\u0301\u200d\r\x00\x0b\x0c\x85\u2028",
        "::\n\n", ".. ", ".. note:: ", ".. list-table::\n", '.. csv-table::\n\n   "', "* - ",
        "====\n", "==  ==\n", "+--+--+\n", "|  |\n", "```\n", "    ", "Default: ", ":role:`",
        "<p>", "</p>", "<dl>", "<dt>", "<table>", "<tr>", "<td>", "<pre>", "</pre>", "<nav>",
        "<!--", "-->", "&#0;", "&#xD800;", "| a | b |\n|---|---|\n", "> ", "1. ", "---\n", ">>> ",
        "word ", "A sentence. ", "x" * 3100, "<main>", "<a href=x>", "</a>", "<p hidden>",
        "<b style='color:#fff;background:white'>", "<template>", "</template>", "{", "}", "[", "]",
        '"name": ', "1.5, ", "<?xml version='1.0'?>", "<rss>", "<item>", "</item>", "</rss>",
    ]
)  # fmt: skip
SOURCES = st.one_of(
    st.lists(MARKUP, max_size=60).map("".join),
    st.text(max_size=400),
    st.lists(st.one_of(MARKUP, st.text(max_size=8)), max_size=40).map("".join),
)


BEGINNINGS = st.sampled_from(
    ["", "<!doctype html><body>", "<?xml version='1.0'?><r>", "{", "[", "<rss><channel>", "# "]
)


def assert_offsets_hold(text: Text) -> None:
    assert text.text == "\n".join(block.text for block in text.blocks)
    starts = [block.start for block in text.blocks]
    assert starts == sorted(set(starts))
    for block in text.blocks:
        assert text.text[block.start : block.end] == block.text
        assert block.text.strip()
        assert len(block.text) <= MAX_BLOCK_CHARACTERS
        assert block.lines is not None
        assert 1 <= block.lines.first <= block.lines.last
    assert unicodedata.is_normalized("NFC", text.text)
    assert "\x00" not in text.text
    text.text.encode()


@pytest.mark.parametrize("read", [rest.read, markdown.read, plain.read, html.read])
@settings(deadline=None)
@given(source=SOURCES)
def test_offsets_hold_for_any_text(read: Callable[[str, str], Text], source: str) -> None:
    assert_offsets_hold(read(source, "hint"))


@pytest.mark.parametrize("read", [rest.read, markdown.read, plain.read, html.read])
@settings(deadline=None)
@given(source=SOURCES)
def test_reading_twice_gives_the_same(read: Callable[[str, str], Text], source: str) -> None:
    assert read(source, "hint") == read(source, "hint")


@settings(deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.tuples(BEGINNINGS, SOURCES).map(lambda parts: "".join(parts).encode("utf-8", "replace")),
        st.tuples(SOURCES, st.sampled_from(["utf-16", "cp1251", "shift_jis", "utf-32-be"])).map(
            lambda parts: parts[0].encode(parts[1], "replace")
        ),
    ),
    suffix=st.sampled_from(["", *SUFFIXES]),
    header=st.sampled_from([None, "text/html; charset=koi8-r", "text/xml", "a/b; charset=utf-16"]),
)
def test_any_bytes_are_read_or_refused(data: bytes, suffix: str, header: str | None) -> None:
    with suppress(UnreadableDocumentError):
        assert_offsets_hold(read_file(data, f"a{suffix}", header).text)


WORDS = st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1)


@settings(deadline=None)
@given(words=st.lists(WORDS, min_size=1))
def test_no_word_of_plain_text_is_lost(words: list[str]) -> None:
    text = plain.read("\n".join(words), "hint").text
    expected = unicodedata.normalize("NFC", "".join(words))
    assert "".join(text.split()) == "".join(expected.split())


ENDLESS = {
    "emphasis": "*a ",
    "interpreted text": "`a ",
    "roles": ":x:`",
    "references": "a_ ",
    "strong emphasis": "**a*",
    "substitutions": "|a ",
    "borders of simple tables": "=== ===\n",
    "borders of grid tables": "+--+--+\n\n",
    "directives": ".. a::\n",
    "deep lists": "   " * 20 + "- x\n",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_markup_that_never_ends_is_read_in_linear_time(what: str) -> None:
    """Each of these is 300,000 characters: in quadratic time it would take longer than a test."""
    pattern = ENDLESS[what]
    read_file((pattern * (300_000 // len(pattern))).encode(), "a.rst")
