from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.api.records import BlockKind
from controller.sources.readers import json_values, read_file
from controller.sources.readers.json_values import NotJsonError
from controller.sources.readers.text import MAX_BLOCK_CHARACTERS, Text

Shown = tuple[str, tuple[str, ...], str]


def shown(text: Text) -> list[Shown]:
    return [(block.kind.value, block.heading_path, block.text) for block in text.blocks]


STRUCTURES: dict[str, tuple[str, list[Shown]]] = {
    "a scalar with a name is a field": (
        '{"port": 8080, "on": true, "off": false, "none": null, "name": "Kiel"}',
        [
            ("Field", (), "port: 8080"),
            ("Field", (), "on: true"),
            ("Field", (), "off: false"),
            ("Field", (), "none: null"),
            ("Field", (), "name: Kiel"),
        ],
    ),
    "names lead to a value": (
        '{"server": {"tls": {"port": 443}}, "last": 1}',
        [
            ("Heading", ("server",), "server"),
            ("Heading", ("server", "tls"), "tls"),
            ("Field", ("server", "tls"), "port: 443"),
            ("Field", (), "last: 1"),
        ],
    ),
    "what an array holds has a place": (
        '{"hosts": ["a", "b", {"name": "c"}, [1, [2]]]}',
        [
            ("Heading", ("hosts",), "hosts"),
            ("Item", ("hosts",), "a"),
            ("Item", ("hosts",), "b"),
            ("Field", ("hosts", "[2]"), "name: c"),
            ("Item", ("hosts", "[3]"), "1"),
            ("Item", ("hosts", "[3]", "[1]"), "2"),
        ],
    ),
    "a long text stands under its name": (
        json.dumps({"text": "First paragraph.\n\nSecond,\nof two lines."}),
        [
            ("Term", ("text",), "text"),
            ("Paragraph", ("text",), "First paragraph."),
            ("Paragraph", ("text",), "Second,\nof two lines."),
        ],
    ),
    "numbers are as they are written": (
        '{"a": 1.50, "b": 1e400, "c": 123456789012345678901234567890, "d": -0.0}',
        [
            ("Field", (), "a: 1.50"),
            ("Field", (), "b: 1e400"),
            ("Field", (), "c: 123456789012345678901234567890"),
            ("Field", (), "d: -0.0"),
        ],
    ),
    "both values of one name": ('{"a": 1, "a": 2}', [("Field", (), "a: 1"), ("Field", (), "a: 2")]),
    "escapes are characters": (
        r'{"\u0061": "\u00fc \ud83d\ude42 \t\"\\ \ud800"}',
        [("Field", (), 'a: ü 🙂 \t"\\ \ufffd')],
    ),
    "lines of values": (
        '{"a": 1}\n{"a": 2}\n[3]\n',
        [("Field", (), "a: 1"), ("Field", ("[1]",), "a: 2"), ("Item", ("[2]",), "3")],
    ),
    "nothing in it": ('{"a": {}, "b": []}', [("Heading", ("a",), "a"), ("Heading", ("b",), "b")]),
    "names that say nothing": ('{"": {"": 1}}', [("Field", (), ": 1")]),
}


@pytest.mark.parametrize("situation", STRUCTURES)
def test_structure(situation: str) -> None:
    source, expected = STRUCTURES[situation]
    assert shown(json_values.read(source, "hint")) == expected


NONE = [
    "", " ", "{", "[", "}", "]", "[}", "{]", "[1,]", "[,1]", "[1 2]", "[1]]", "[01]", "[1.]",
    "[+1]", "[.5]", "[1e]", "[nul]", "[True]", "[NaN]", "[-Infinity]", "[0x10]", "['a']", '["a]',
    '["\n"]', r'["\x"]', "{,}", '{"a"}', '{"a" 1}', '{"a":}', '{"a":1,}', "{a:1}", "{1:2}",
    '{"a":1}x', "x{}", '{"a":1};', "1", '"a"', "null", "[1]//", '{"a":1 "b":2}', '{"a"::1}',
    "[" * 1001 + "]" * 1001,
]  # fmt: skip


@pytest.mark.parametrize("source", NONE)
def test_what_is_no_json_is_refused_and_read_as_text(source: str) -> None:
    with pytest.raises(NotJsonError):
        json_values.read(source, "hint")
    assert read_file(source.encode(), "a.json").content_type == "text/plain"


def test_the_title_is_the_documents_own() -> None:
    assert json_values.read('{"title": "Tides", "name": "x"}', "hint").title == "Tides"
    assert json_values.read('{"a": {"title": "Inner"}}', "hint").title == "hint"
    assert json_values.read('[{"name": "x"}]', "hint").title == "hint"
    assert json_values.read('{"title": 5}', "hint").title == "hint"


def test_blocks_know_their_lines() -> None:
    blocks = json_values.read('{\n"a": 1,\n\n"b": {\n"c": 2}}', "hint").blocks
    assert [block.lines.first for block in blocks if block.lines] == [2, 4, 5]


def test_deep_values_keep_a_path_that_a_record_holds() -> None:
    source = '{"a":' * 500 + "1" + "}" * 500
    text = json_values.read(source, "hint")
    assert len(text.blocks[-1].heading_path) == 16


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=5)
    | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


def scalars(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(scalars, value.values()))
    return sum(map(scalars, value)) if isinstance(value, list) else 1


@settings(deadline=None)
@given(
    value=st.lists(VALUES, max_size=4) | st.dictionaries(st.text(max_size=9), VALUES, max_size=4)
)
def test_any_json_is_read_and_offsets_hold(value: object) -> None:
    text = json_values.read(json.dumps(value, ensure_ascii=False), "hint")
    assert text.text == "\n".join(block.text for block in text.blocks)
    for block in text.blocks:
        assert text.text[block.start : block.end] == block.text
        assert len(block.text) <= MAX_BLOCK_CHARACTERS
    fields = sum(b.kind in {BlockKind.FIELD, BlockKind.ITEM, BlockKind.TERM} for b in text.blocks)
    assert fields <= scalars(value)


@settings(deadline=None)
@given(value=st.integers() | st.floats(allow_nan=False).filter(math.isfinite))
def test_a_number_is_what_stands_there(value: float) -> None:
    source = json.dumps(value)
    assert json_values.read(f'{{"a": {source}}}', "hint").text == f"a: {source}"


@settings(deadline=None)
@given(source=st.text(alphabet='{}[]:,"\\aeu0 1.-\n', max_size=60))
def test_what_is_accepted_is_what_the_standard_library_accepts(source: str) -> None:
    """But that several values may follow another, and that a lone scalar is none."""
    try:
        json_values.read(source, "hint")
        accepted = True
    except NotJsonError:
        accepted = False
    decoder = json.JSONDecoder(parse_constant=pytest.fail)
    rest, values = source.strip(" \t\n\r"), []
    try:
        while rest:
            value, end = decoder.raw_decode(rest)
            values.append(value)
            rest = rest[end:].lstrip(" \t\n\r")
    except ValueError:
        values = []
    assert accepted == (bool(values) and all(isinstance(v, (list, dict)) for v in values))
