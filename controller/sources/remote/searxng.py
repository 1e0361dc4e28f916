"""SearXNG: one query to many engines, answered as JSON; the pages that they find are read."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.ports import SearchOutcome
from controller.sources.remote.hits import Result, outcome_of, plain
from controller.sources.remote.interface import (
    ENGINES_UNRESPONSIVE,
    FORMAT_DISABLED,
    Interface,
    below,
    objects_in,
    text_in,
    with_parameters,
)
from controller.sources.web.failures import named
from controller.sources.web.fetcher import Fetched
from controller.sources.web.request import Request

_MOST_NAMES = 10


class SearXNGSource(Interface):
    """A SearXNG instance."""

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Put a query to the engines of the instance.

        With results and engines that did not answer the outcome is `Partial`; without results
        that is an error: nothing was looked at.
        """
        del terms
        assert self._spec.searxng is not None
        url = with_parameters(
            below(self._address, "search"),
            {
                "q": query,
                "format": "json",
                "categories": self._spec.searxng.categories,
                "engines": self._spec.searxng.engines,
            },
        )
        answer = await self._asked(Request(url=url))
        results = objects_in(answer.get("results"), url)
        silent = _unresponsive(answer.get("unresponsive_engines"))
        if silent and not results:
            raise RetryableError(
                ENGINES_UNRESPONSIVE,
                f"{named(self._address)} found nothing, and {silent} did not answer; ask for "
                "others with spec.searxng.engines",
            )
        return outcome_of(
            (
                Result(text_in(r, "url"), text_in(r, "title"), text_in(r, "content"))
                for r in results
            ),
            limit,
            warnings=[f"{silent} did not answer"] if silent else [],
        )

    @property
    def _address(self) -> str:
        assert self._spec.searxng is not None
        return self._spec.searxng.base_url

    @property
    def _field(self) -> str:
        return "spec.searxng.baseURL"

    def _refusal(self, fetched: Fetched) -> ActionError | None:
        if fetched.status != HTTPStatus.FORBIDDEN:
            return None
        return PermanentError(
            FORMAT_DISABLED,
            f"{named(self._address)} answered 403: its JSON format is switched off; add json to "
            "search.formats in the settings.yml of the instance",
        )


def _unresponsive(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Name the engines that did not answer: each is given as its name and the reason."""
    if not isinstance(value, list) or not value:
        return ""
    names = [
        plain(item[0])[:50]
        for item in value
        if isinstance(item, list) and item and isinstance(item[0], str)
    ]
    shown = ", ".join(names[:_MOST_NAMES]) or "some"
    return f"{len(value)} engines ({shown})"
