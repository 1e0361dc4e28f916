"""What a page does not show: said by its markup, or by a style written into an element.

Style sheets and scripts are not looked at: what they alone hide is read as if it were shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from controller.sources.readers.text import words

if TYPE_CHECKING:
    from lxml.etree import _Element

_HIDDEN_ELEMENTS: Final = words("noscript template")
_LANDMARKS: Final = ("main", "article", "h1")

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_DECLARATION: Final = re.compile(r"([a-z-]+)\s*:\s*([^;]+)")
_ZERO: Final = re.compile(r"[+-]?(?:0+\.?0*|\.0+)(?:[a-z]+|%)?")
_FAR_AWAY: Final = re.compile(r"-\d{3,}(?:\.\d*)?(?:px|em|rem|pt|vw|vh|%)?")
_CLIPPED: Final = re.compile(r"rect\((?:0|1px|auto)\D|inset\((?:50|100)%|circle\(0")
_HEX_COLOUR: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)")
_NAMED_COLOURS: Final = {
    "white": "#ffffff",
    "black": "#000000",
    "red": "#ff0000",
    "green": "#008000",
    "blue": "#0000ff",
    "yellow": "#ffff00",
    "gray": "#808080",
    "grey": "#808080",
    "silver": "#c0c0c0",
}


def is_hidden(element: _Element) -> bool:
    """Say whether nothing of an element is shown."""
    attributes = element.attrib
    if element.tag in _HIDDEN_ELEMENTS or (element.tag == "dialog" and "open" not in attributes):
        return True
    if not attributes:
        return False
    if "hidden" in attributes or _hides(attributes.get("style", "")):
        return True
    return attributes.get("aria-hidden") == "true" and not _holds_the_page(element)


def _holds_the_page(element: _Element) -> bool:
    """Say whether an element is what a page is about: a dialogue then lay before it."""
    return element.tag in _LANDMARKS or any(
        element.find(f".//{tag}") is not None for tag in _LANDMARKS
    )


@lru_cache(maxsize=1024)
def _hides(style: str) -> bool:
    """Say whether a `style` attribute keeps its element out of sight."""
    if ":" not in style:
        return False
    declared = {
        name: value.replace("!important", "").strip()
        for name, value in _DECLARATION.findall(_COMMENT.sub("", style.lower()))
    }

    def is_zero(*names: str) -> bool:
        return any(_ZERO.fullmatch(declared[name]) for name in names if declared.get(name))

    return (
        declared.get("display") == "none"
        or declared.get("visibility") in {"hidden", "collapse"}
        or is_zero("font-size", "opacity")
        or (
            declared.get("overflow") in {"hidden", "clip"}
            and is_zero("width", "height", "max-width", "max-height")
        )
        or declared.get("transform", "").replace(" ", "").startswith("scale(0)")
        or any(
            _FAR_AWAY.fullmatch(declared.get(name, ""))
            for name in ("left", "right", "top", "bottom", "text-indent", "margin-left")
        )
        or bool(_CLIPPED.match(declared.get("clip", "") or declared.get("clip-path", "")))
        or _is_unseen(declared)
    )


def _is_unseen(declared: dict[str, str]) -> bool:
    """Say whether text has the colour that its own style puts behind it."""
    colour = _colour(declared.get("color", ""))
    if colour == "transparent":
        return True
    behind = declared.get("background-color", "") or declared.get("background", "")
    return bool(colour) and colour in {_colour(behind), *map(_colour, behind.split())}


def _colour(value: str) -> str:
    """Return the one form of a colour, or an empty text if it is none that is known."""
    if value == "transparent":
        return value
    if match := _RGB.fullmatch(value):
        return "#" + "".join(f"{min(255, int(part)):02x}" for part in match.groups())
    if _HEX_COLOUR.fullmatch(value):
        return value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])  # noqa: PLR2004 - #rrggbb
    return _NAMED_COLOURS.get(value, "")
