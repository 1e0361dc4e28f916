"""What the headers of an answer say, in the forms that servers use. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

NOARCHIVE: Final = "noarchive"
NOINDEX: Final = "noindex"
_NOTHING: Final = "none"
"""Stands for `noindex` and `nofollow`."""

_RECORDED: Final = frozenset({NOARCHIVE, NOINDEX})

_LONGEST_TYPE: Final = 128
_LONGEST_CHARSET: Final = 64
_LONGEST_VALIDATOR: Final = 256

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([a-z0-9_.:+-]+)", re.IGNORECASE)
_VALUED_DIRECTIVE: Final = re.compile(r"(unavailable_after|max-[a-z-]+)\s*:.*", re.DOTALL)
_AGENT: Final = re.compile(r"([a-z0-9_*-]+)\s*:\s*(.*)", re.DOTALL)


def media_type(content_type: str) -> str:
    """Return type and subtype in small letters; an empty text where there is none to rely on."""
    name = content_type.partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) and len(name) <= _LONGEST_TYPE else ""


def declared_charset(content_type: str) -> str | None:
    """Return the charset that a `Content-Type` names, in small letters."""
    found = _CHARSET.search(content_type)
    return found[1].lower() if found and len(found[1]) <= _LONGEST_CHARSET else None


def validator(value: str | None) -> str | None:
    """Return an `ETag` or `Last-Modified` that can be sent back as it is; None: it cannot."""
    if value is None or not 0 < len(value) <= _LONGEST_VALIDATOR:
        return None
    return value if value.isascii() and value.isprintable() else None


def robots_directives(values: Iterable[str], agent: str) -> frozenset[str]:
    """Return which of `noarchive` and `noindex` are said of a page.

    Args:
        values: those of `X-Robots-Tag`, or the content of a page's `<meta name="robots">`.
        agent: our product token; what is said to another agent is not said to us.
    """
    found: set[str] = set()
    for value in values:
        text = value.strip().lower()
        addressed = None if _VALUED_DIRECTIVE.match(text) else _AGENT.match(text)
        if addressed is not None:
            if addressed[1] not in {agent.lower(), "*"}:
                continue
            text = addressed[2]
        found |= {directive.strip() for directive in text.split(",")}
    if _NOTHING in found:
        found.add(NOINDEX)
    return frozenset(found & _RECORDED)
