"""Which blocks of a page are its main content, and which only stand around it.

The structural reader makes the blocks: it loses no table, list or literal. Two extractors of main
content then say what is boilerplate. A block becomes navigation only if both leave it out: it
stands outside of what trafilatura takes, from its first to its last block, and is in nothing that
resiliparse takes; and if its author has not put it, as prose, in the page's `main` element.
docs/readers.md has what that loses and what it saves, measured.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Final

from controller.api.records import Block, BlockKind
from controller.sources.readers.text import TextBuilder

SET_APART: Final = frozenset({BlockKind.NAVIGATION, BlockKind.CONSENT})

MAX_CHARACTERS: Final = 2_000_000
MAX_NESTING: Final = 1_000_000
"""The extractors' time grows with the sum of all elements' depths; beyond, all is main content."""

_MAX_COMPARED: Final = 2_000_000_000
_MIN_CHARACTERS: Final = 500
"""A shorter page gives the extractors nothing to go by."""

_MIN_ANCHOR: Final = 40
"""A block of fewer characters may be in the main content by chance."""

_MIN_SHARE: Final = 0.25
"""Main content that is less of the visible text is not believed: the structure's text stays."""

_BETWEEN_LETTERS: Final = re.compile(r"[\W_]+")

# It logs what it makes of each page, as warnings and errors: for a crawler's owner, not for ours.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def set_boilerplate_apart(
    page: str, builder: TextBuilder, vouched: Sequence[bool], *, nesting: int
) -> int | None:
    """Say of the blocks around a page's main content that they are navigation.

    Args:
        page: the page's source.
        builder: what holds the blocks that the structural reader made of it.
        vouched: for each block, whether its author calls it main content.
        nesting: the sum of the depths of all elements of the page.

    Returns:
        How many characters the page shows by the second extractor; None if the page is too
        large or too deep for either of them.
    """
    if len(page) > MAX_CHARACTERS or nesting > MAX_NESTING:
        return None
    from resiliparse.extract.html2text import extract_plain_text

    storable = page.encode("utf-8", "replace").decode()
    visible = " ".join(extract_plain_text(storable, alt_texts=False, list_bullets=False).split())
    shown = [i for i, block in enumerate(builder.blocks) if block.kind not in SET_APART]
    is_open = any(not vouched[i] for i in shown)
    if len(visible) < _MIN_CHARACTERS or not is_open or len(shown) * len(page) > _MAX_COMPARED:
        return len(visible)
    second = extract_plain_text(storable, main_content=True, alt_texts=False)
    kept = _main_blocks(builder.blocks, shown, _main_text(storable), second)
    kept |= {i for i in shown if vouched[i]}
    characters = sum(len(builder.blocks[i].text) for i in kept)
    if kept and characters >= _MIN_SHARE * len(visible):
        for i in shown:
            if i not in kept:
                builder.set_kind(i, BlockKind.NAVIGATION)
    return len(visible)


def _main_text(page: str) -> str:
    import trafilatura

    return trafilatura.extract(page, fast=True, include_comments=True, include_tables=True) or ""


def _main_blocks(
    blocks: Sequence[Block], shown: Sequence[int], first: str, second: str
) -> set[int]:
    """Return the blocks that either extractor's text speaks for; none if they name no place."""
    main, other = _letters(first), _letters(second)
    letters = {i: _letters(blocks[i].text) for i in shown}
    anchors = [i for i in shown if len(blocks[i].text) >= _MIN_ANCHOR and letters[i] in main]
    if not anchors:
        return set()
    return {i for i in shown if anchors[0] <= i <= anchors[-1] or letters[i] in other}


def _letters(text: str) -> str:
    """Return what two extractors agree on of a text: its letters and digits."""
    return _BETWEEN_LETTERS.sub("", text)
