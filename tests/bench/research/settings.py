"""Strata J and B: the default of a setting, of Django and of PostgreSQL.

The gold comes from the source of the pages by plain patterns, not by the readers that are
measured.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.bench.research.corpora import DJANGO, POSTGRESQL, POSTGRESQL_PACKAGE, shown
from tests.bench.research.questions import Gold, Question

SETTINGS_PAGE: Final = "docs/ref/settings.txt"

_ANCHOR: Final = re.compile(r"^\.\. setting:: (\S+)$", re.MULTILINE)
_DEFAULT: Final = re.compile(r"^Default:(:?) *(.*)$", re.MULTILINE)
_TITLE: Final = re.compile(r"^``([\w ]+)``\n([-~^])\2+$", re.MULTILINE)
_ROLE: Final = re.compile(r":[\w:]+:`~?([^`<]*?)(?: <[^>`]*>)?`")
_LEVELS: Final = "-~^"

_ENTRY: Final = re.compile(r'<dt id="GUC-[^"]*">', re.IGNORECASE)
_NAME: Final = re.compile(r'<code class="varname">(\w+)</code>')
_NO_VALUE: Final = r"(?!(?:to|the|a|an|that|this|which|latter|option|so|and|not|set|only|used)\b)"
_VALUE: Final = (
    rf"{_NO_VALUE}(?:(?:an? |the )?empty(?: string)?|'[^']*'"
    r"|(?:typically )?\d+(?:\.\d+)?(?: ?[A-Za-z]{1,12})?|[a-z_]{2,20})"
)
_ENDS: Final = r"(?=[.,;)]?(?:\s|$))"
_STATED: Final = re.compile(
    rf"\b(?:the )?default(?: value| setting)? is {_VALUE}{_ENDS}"
    rf"|\bdefaults to {_VALUE}{_ENDS}"
    rf"|(?<=[ (]){_VALUE} \(?(?:is the default|the default\))"
    rf"|(?<=[;,] ){_VALUE} by default",
    re.IGNORECASE,
)


def django_settings(folder: Path) -> Iterator[Question]:
    """Yield stratum J: a question for each setting of Django with a `Default:` line.

    A setting inside another one is asked for with both names: their headings occur more than once.
    """
    text = (folder / SETTINGS_PAGE).read_text("utf-8")
    entries = entries_of(text)
    shared = {n for n, times in Counter(entry.name for entry in entries).items() if times > 1}
    for entry in entries:
        default = _DEFAULT.search(text, entry.start, entry.end)
        if default is None:
            continue
        of = entry.name
        if of in shared and entry.outer:
            of = f"{of} in {entry.outer}"
        yield Question(
            id=f"J/{entry.anchor}",
            corpus=DJANGO,
            text=f"What is the default value of {of}?",
            gold=(
                Gold(
                    SETTINGS_PAGE,
                    _line(text, entry.start),
                    _line(text, entry.end),
                    (f"Default: {_value(text, default)}",),
                ),
            ),
        )


@dataclass(frozen=True)
class Entry:
    """A setting's section of the page: what it is called, and which setting it stands in."""

    anchor: str
    name: str
    outer: str
    start: int
    end: int


def entries_of(text: str) -> list[Entry]:
    """Return the settings of the page; the section of one ends where that of the next begins."""
    entries: list[Entry] = []
    above: list[str] = []
    anchors = list(_ANCHOR.finditer(text))
    for match, following in pairwise([*anchors, None]):
        assert match is not None
        end = following.start() if following else len(text)
        title = _TITLE.search(text, match.end(), end)
        if title is None:
            continue
        level = _LEVELS.index(title[2])
        del above[level:]
        outer = above[-1] if above else ""
        entries.append(Entry(match[1], title[1], outer, match.start(), end))
        above.append(title[1])
    return entries


def _value(text: str, default: re.Match[str]) -> str:
    """Return the value after `Default:` as a page shows it; of a literal its first line."""
    if default[1]:
        return text[default.end() :].strip().partition("\n")[0]
    line = _ROLE.sub(r"\1", default[2]).replace("``", "").replace("\\ ", "")
    return line.strip()


def postgresql_settings(folder: Path) -> Iterator[Question]:
    """Yield stratum B: a question for each setting whose entry states one short default.

    An entry that states none in these forms, or more than one, is left out.
    """
    for page in sorted((folder / POSTGRESQL_PACKAGE).glob("runtime-config*.html")):
        source = page.read_text("utf-8")
        starts = [match.start() for match in _ENTRY.finditer(source)]
        for start, end in pairwise([*starts, len(source)]):
            entry = source[start:end]
            term, _, body = entry.partition("</dt>")
            name = _NAME.search(term)
            stated = {match[0] for match in _STATED.finditer(shown(body.partition("</dl>")[0]))}
            if name is None or len(stated) != 1:
                continue
            yield Question(
                id=f"B/{name[1]}",
                corpus=POSTGRESQL,
                text=f"What is the default value of {name[1]}?",
                gold=(
                    Gold(
                        f"{POSTGRESQL_PACKAGE}/{page.name}",
                        _line(source, start),
                        _line(source, end),
                        tuple(stated),
                    ),
                ),
            )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
