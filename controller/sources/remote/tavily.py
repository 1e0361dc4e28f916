"""Tavily's search engine: a key, and queries of at most 400 characters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from controller.ports import SearchOutcome
from controller.sources.remote.hits import Result, cut_query, outcome_of
from controller.sources.remote.interface import Interface, below, objects_in, text_in
from controller.sources.web.request import Request

MOST_RESULTS: Final = 20
LONGEST_QUERY: Final = 400


class TavilySource(Interface):
    """Tavily's search; its own extracts of pages are not used, since nobody else could see them."""

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Put a query to the engine."""
        del terms
        text, warnings = cut_query(query, LONGEST_QUERY)
        url = below(self._address, "search")
        asked = {
            "query": text,
            "max_results": min(limit, MOST_RESULTS),
            "search_depth": "basic",
            "include_answer": False,
            "include_raw_content": False,
        }
        answer = await self._asked(Request(url=url, body=json.dumps(asked).encode()))
        return outcome_of(
            (
                Result(text_in(r, "url"), text_in(r, "title"), text_in(r, "content"))
                for r in objects_in(answer.get("results"), url)
            ),
            limit,
            warnings=warnings,
        )

    @property
    def _address(self) -> str:
        assert self._spec.tavily is not None
        return self._spec.tavily.base_url

    @property
    def _field(self) -> str:
        return "spec.tavily.baseURL"
