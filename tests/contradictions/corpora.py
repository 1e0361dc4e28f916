"""The settings of Django's manual, and a copy of it in which defaults were changed."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from controller.api.records import BlockKind
from controller.evidence.report_disagreements import ValueKind
from controller.evidence.typed_values import typed_value
from controller.sources.readers import read_file

PAGE: Final = "docs/ref/settings.txt"

_SETTING: Final = re.compile(
    r"^\.\. setting:: (?P<name>[A-Z0-9_]+)\n\n``(?P=name)``\n-+\n\n"
    r"Default: ``(?P<default>[^`\n]+)``",
    re.MULTILINE,
)
"""A setting that is not a part of another one, with its default."""


class Setting(NamedTuple):
    """A setting, its default as the manual writes it, and where that stands in the page."""

    name: str
    default: str
    start: int
    end: int


class Planted(NamedTuple):
    """A default that was changed."""

    name: str
    kind: ValueKind
    before: str
    after: str


def settings_of(page: str) -> list[Setting]:
    """Return the settings of the page of settings whose default stands right below their name."""
    return [
        Setting(m["name"], m["default"], m.start("default"), m.end("default"))
        for m in _SETTING.finditer(page)
    ]


def question(name: str) -> str:
    """Return what is asked of a setting."""
    return f"What is the default value of {name}?"


def with_changed_defaults(
    page: str, names: Sequence[str], seed: int
) -> tuple[str, tuple[Planted, ...]]:
    """Return the page with other defaults of some settings, each of the kind that it was."""
    dice = random.Random(seed)  # noqa: S311 - the same changes each time
    pieces, at, changes = [], 0, []
    for setting in settings_of(page):
        value = typed_value(setting.default)
        if setting.name in names and value is not None:
            other = _other(setting.default, value.kind, dice)
            changes.append(Planted(setting.name, value.kind, setting.default, other))
            pieces += [page[at : setting.start], other]
            at = setting.end
    return "".join([*pieces, page[at:]]), tuple(changes)


def typed_settings(page: str) -> list[str]:
    """Return the names of the settings whose default is a typed value."""
    return [s.name for s in settings_of(page) if typed_value(s.default) is not None]


def _other(default: str, kind: ValueKind, dice: random.Random) -> str:
    if kind is ValueKind.BOOLEAN:
        return str(default != "True")
    if kind is ValueKind.NUMBER:
        return str(int(default) + dice.randrange(1, 90))
    word = dice.choice(("planted", "changed.entirely", "elsewhere"))
    return f"'{word}'"


def documented_settings(page: str) -> list[str]:
    """Return the names that one field `Default` of the page of settings stands under."""
    blocks = read_file(page.encode(), PAGE).text.blocks
    fields = [b for b in blocks if b.kind is BlockKind.FIELD and b.text.startswith("Default:")]
    names = Counter(field.heading_path[-1] for field in fields)
    return [name for name, count in names.items() if count == 1]


def page_of(documentation: Path) -> str:
    """Return the page of settings, as it is."""
    return (documentation / PAGE).read_text(encoding="utf-8")


def write_page(directory: Path, page: str) -> Path:
    """Make a corpus of one page, and return its directory."""
    path = directory / PAGE
    path.parent.mkdir(parents=True)
    path.write_text(page, encoding="utf-8")
    return directory
