"""Inline markup of reStructuredText: taken away, so that what is left is what a page shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

_OPENERS: Final = r"\s'\"(\[{<\-/:\u2018\u201c\u2019\u00ab\u00a1\u00bf\u2010-\u2014"
_CLOSERS: Final = r"\s'\")\]}>\-/\\:.,;!?\u2019\u201d\u00bb\u2010-\u2014\u2026"
_WIDE: Final = r"\u3000-\u303f\uff00-\uff60"

_START: Final = rf"(?<![^{_OPENERS}{_WIDE}])"
_END: Final = rf"(?![^{_CLOSERS}{_WIDE}])"
_ROLE: Final = r"[A-Za-z0-9]+(?:[-._+:][A-Za-z0-9]+)*"
_QUOTED: Final = r"`(?=\S)(?P<{name}>(?:\\.|``[^`]{{1,500}}``|[^`\\]){{1,2000}})`"

_INLINE: Final = re.compile(
    "|".join(
        (
            r"``(?=\S)(?P<literal>.{1,2000}?)``(?!`)",
            rf":(?P<role>{_ROLE}):" + _QUOTED.format(name="titled"),
            rf"(?<!`)_?{_QUOTED.format(name='interpreted')}(?!`)(?:__?(?!\w)|:{_ROLE}:)?",
            rf"{_START}\*\*(?=\S)(?P<strong>(?:\\.|[^\\]){{1,500}}?)(?<=\S)\*\*{_END}",
            rf"{_START}\*(?=[^\s*])(?P<emphasis>(?:\\.|[^\\*]){{1,500}}?)(?<=\S)\*{_END}",
            rf"{_START}\|(?=\S)(?P<substitution>[^|\n]{{1,100}})(?<=\S)\|_{{0,2}}{_END}",
            r"(?P<footnote>\[(?:\d+|#\w*|\*|[A-Za-z][\w.-]*)\])_(?!\w)",
            r"(?P<reference>\b[^\W_]+(?:[-._+:][^\W_]+)*)__?(?!\w)",
            r"\\(?P<escaped>.|$)",
        )
    ),
    re.DOTALL,
)
_MARKUP: Final = re.compile(r"[`*|\\_]")
_TARGET: Final = re.compile(r"^(?P<title>.*?)\s*(?<!\\)<(?P<target>[^<>]*)>$", re.DOTALL)
_OBJECT_ROLES: Final = frozenset(
    {"class", "meth", "func", "attr", "mod", "exc", "data", "obj", "const"}
)
_ESCAPE: Final = re.compile(r"\\(.|$)", re.DOTALL)

_TARGET_NAME: Final = re.compile(r"^ *\.\. _(`[^`\n]+`|[^:\n]+):", re.MULTILINE)
_REPLACEMENT: Final = re.compile(r"^ *\.\. \|([^|\n]+)\| replace:: *(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class References:
    """What a document defines for its inline markup: names of targets, texts for `|names|`."""

    targets: AbstractSet[str] = frozenset()
    replacements: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> References:
        """Collect the definitions of a document."""
        targets = frozenset(name.strip("`").lower() for name in _TARGET_NAME.findall(text))
        replacements = {
            name: plain(value, cls(targets)) for name, value in _REPLACEMENT.findall(text)
        }
        return cls(targets, replacements)


def plain(text: str, references: References) -> str:
    """Return a paragraph without its inline markup.

    Literals, emphasis, and the titles of links and roles stay; targets go; `~a.b.C` becomes `C`;
    a `name_` loses its underscore only where the document defines that target.
    """
    if not _MARKUP.search(text):
        return text

    def replace(match: re.Match[str]) -> str:
        content = match[match.lastgroup or 0]
        match match.lastgroup:
            case "titled":
                shown = _role_title(content, match["role"])
            case "interpreted":
                shown = _title(content)
            case "substitution":
                shown = references.replacements.get(content, match[0])
            case "reference":
                shown = content if content.lower() in references.targets else match[0]
            case "escaped" | "literal":
                shown = content.strip()
            case _ if "`" in content:  # emphasis around other markup
                shown = plain(content, references)
            case _:
                shown = _unescape(content)
        return shown

    return _INLINE.sub(replace, text)


def _role_title(content: str, role: str) -> str:
    title = _title(content)
    if role in {"file", "samp"}:
        return title
    if title.startswith("~"):
        return title[1:].rpartition(".")[2]
    title = title.removeprefix("!")
    is_object = role.rpartition(":")[2] in _OBJECT_ROLES
    return title.removeprefix(".") if is_object else title


def _title(content: str) -> str:
    """Return the title of `title <target>`, or what stands there instead of one."""
    match = _TARGET.match(content)
    if match is not None:
        content = match["title"] or match["target"]
    return _unescape(content.replace("``", ""))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: "" if match[1].isspace() else match[1], text)
