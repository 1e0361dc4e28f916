"""From a server's results to hits: canonical locators, each once, best first. Pure.

A title and a snippet are for people and for ranking; nothing of them is ever cited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from typing import Final

from controller.api.errors import UserError
from controller.api.records import Hit, SearchStatus
from controller.ports import SearchOutcome
from controller.sources.readers.text import clean_title
from controller.sources.web.locators import canonical_locator

LONGEST_SNIPPET: Final = 200

_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,300}>")


@dataclass(frozen=True)
class Result:
    """One result of a server, as it gave it."""

    url: str
    title: str
    snippet: str = ""


def outcome_of(
    results: Iterable[Result],
    limit: int,
    *,
    total: int | None = None,
    warnings: Iterable[str] = (),
) -> SearchOutcome:
    """Return what a search brought.

    Args:
        results: the server's results, best first.
        limit: how many hits are returned at most.
        total: how many results the server says there are; None: it did not say.
        warnings: why the search saw less than it asked for; with one it is `Partial`.
    """
    hits: dict[str, Hit] = {}
    unusable = counted = 0
    for result in results:
        counted += 1
        try:
            locator = canonical_locator(result.url)
        except UserError:
            unusable += 1
            continue
        if len(hits) < limit and locator not in hits:
            hits[locator] = _hit(result, locator, len(hits))
    said = [*warnings]
    if unusable:
        said.append(f"{unusable} results have no URL that can be fetched")
    return SearchOutcome(
        status=SearchStatus.PARTIAL if said else SearchStatus.COMPLETE,
        hits=tuple(hits.values()),
        total=max(counted, total or 0),
        warnings=tuple(said),
    )


def plain(text: str) -> str:
    """Return a text without markup and escapes, on one line of at most 500 characters."""
    return clean_title(unescape(_TAG.sub("", text[:10_000])))


def cut_query(query: str, longest: int, most_words: int | None = None) -> tuple[str, list[str]]:
    """Return a query as a server takes it, and the warning that it was cut, if it was."""
    words = query.split()
    kept = words if most_words is None else words[:most_words]
    text = " ".join(kept)
    if len(text) > longest:
        text = text[: longest + 1].rpartition(" ")[0][:longest] or text[:longest]
    if text == " ".join(words):
        return text, []
    return text, [f"the query was cut to {len(text)} characters: the server takes no more"]


def _hit(result: Result, locator: str, rank: int) -> Hit:
    return Hit(
        locator=locator,
        title=plain(result.title) or locator[:500],
        rank=rank,
        relevance=max(1, 1000 - rank),
        snippet=plain(result.snippet)[:LONGEST_SNIPPET],
    )
