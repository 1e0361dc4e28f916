"""The acceptance of the reader: the documentation of Django 5.2, 619 text files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from controller.api.records import Block, BlockKind
from controller.sources.readers import rest
from controller.sources.readers.text import Text

pytestmark = pytest.mark.xdist_group("django-documentation")  # parsed once for all

ROLE = re.compile(r":[a-z:]+:`[^`]+`")


@pytest.fixture(scope="module")
def texts(documentation: Path) -> dict[str, tuple[str, Text]]:
    """Every text file by its path: its source, and what the reader makes of it."""
    found = {}
    for path in sorted(documentation.rglob("*.txt")):
        source = path.read_text(encoding="utf-8")
        found[str(path.relative_to(documentation))] = (source, rest.read(source, path.name))
    return found


@pytest.fixture(scope="module")
def settings(texts: dict[str, tuple[str, Text]]) -> Text:
    return texts["docs/ref/settings.txt"][1]


def defaults(settings: Text) -> list[Block]:
    return [
        block
        for block in settings.blocks
        if block.kind is BlockKind.FIELD and block.text.startswith("Default: ")
    ]


def test_every_file_is_read_and_offsets_hold(texts: dict[str, tuple[str, Text]]) -> None:
    assert len(texts) == 619
    for name, (source, text) in texts.items():
        lines = source.count("\n") + 1
        assert text.text == "\n".join(block.text for block in text.blocks), name
        for block in text.blocks:
            assert text.text[block.start : block.end] == block.text, name
            assert block.lines is not None
            assert 1 <= block.lines.first <= block.lines.last <= lines, name


def test_the_settings_have_their_anchors(settings: Text) -> None:
    assert len(settings.anchors) == 199
    headings = {b.start: b.text for b in settings.blocks if b.kind is BlockKind.HEADING}
    named = {anchor.name: headings[anchor.offset] for anchor in settings.anchors}
    assert named["DATABASE-ATOMIC_REQUESTS"] == "ATOMIC_REQUESTS"
    assert named["CACHES-BACKEND"] == "BACKEND"


def test_each_default_is_a_field_directly_under_its_heading(settings: Text) -> None:
    fields = defaults(settings)
    assert len(fields) == 188
    position = {block.start: index for index, block in enumerate(settings.blocks)}
    for block in fields:
        heading = settings.blocks[position[block.start] - 1]
        assert heading.kind is BlockKind.HEADING
        assert heading.text == block.heading_path[-1]


def test_defaults_that_are_literals_stand_beside_them(settings: Text) -> None:
    pairs = [
        (block, following)
        for block, following in zip(settings.blocks, settings.blocks[1:], strict=False)
        if block.text == "Default:"
    ]
    assert [following.kind for _, following in pairs] == [BlockKind.CODE] * 9
    assert all(following.start == block.end + 1 for block, following in pairs)
    paragraphs = [b.heading_path[-1] for b, _ in pairs if b.kind is not BlockKind.FIELD]
    assert paragraphs == ["PASSWORD_HASHERS"]  # a sentence stands between it and its heading


def test_most_settings_have_a_heading_of_their_own(settings: Text) -> None:
    headings = Counter(b.text for b in settings.blocks if b.kind is BlockKind.HEADING)
    assert sum(headings[block.heading_path[-1]] == 1 for block in defaults(settings)) == 174


def test_a_setting_reads_as_people_read_it(settings: Text) -> None:
    field = next(b for b in defaults(settings) if b.heading_path[-1] == "ATOMIC_REQUESTS")
    assert field.text == "Default: False"
    assert field.heading_path == ("Settings", "Core Settings", "DATABASES", "ATOMIC_REQUESTS")
    assert field.lines is not None
    assert field.lines.first == 524


def test_no_markup_is_left_but_what_a_literal_shows(texts: dict[str, tuple[str, Text]]) -> None:
    """A role is left only where the source shows how to write one: within double backquotes."""
    with_backquotes = []
    for name, (source, text) in texts.items():
        shown = " ".join(source.split())
        for block in text.blocks:
            if block.kind is BlockKind.CODE:
                continue
            for role in ROLE.findall(block.text):
                assert f"``{role}``" in shown, (name, block.lines)
            assert "`_" not in ROLE.sub("", block.text), (name, block.lines)
            if "``" in block.text:
                with_backquotes.append(name)
    assert with_backquotes == ["docs/internals/contributing/writing-documentation.txt"]
