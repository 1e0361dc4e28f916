"""Brave's search engine: a key, at most 20 results and one request a second."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import SecretStr

from controller.api.errors import ActionError, PermanentError
from controller.ports import SearchOutcome
from controller.sources.remote.hits import Result, cut_query, outcome_of
from controller.sources.remote.interface import (
    QUOTA_EXHAUSTED,
    Interface,
    bad_shape,
    below,
    objects_in,
    text_in,
    with_parameters,
)
from controller.sources.web.failures import named, status_error
from controller.sources.web.fetcher import Fetched
from controller.sources.web.request import Request

MOST_RESULTS: Final = 20
LONGEST_QUERY: Final = 400
MOST_WORDS: Final = 50

_INVALID_KEY: Final = b"SUBSCRIPTION_TOKEN_INVALID"


class BraveSource(Interface):
    """Brave's web search."""

    least_delay_seconds = 1.0

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Put a query to the engine."""
        del terms
        text, warnings = cut_query(query, LONGEST_QUERY, MOST_WORDS)
        url = with_parameters(
            below(self._address, "res/v1/web/search"),
            {"q": text, "count": min(limit, MOST_RESULTS), "text_decorations": "false"},
        )
        answer = await self._asked(Request(url=url, headers={"accept": "application/json"}))
        if answer.get("type") != "search":
            raise bad_shape(url)
        web = answer.get("web")
        if not isinstance(web, dict):
            web = {"results": []}  # how it answers where it has found nothing
        return outcome_of(
            (
                Result(text_in(r, "url"), text_in(r, "title"), text_in(r, "description"))
                for r in objects_in(web.get("results"), url)
            ),
            limit,
            warnings=warnings,
        )

    @property
    def _address(self) -> str:
        assert self._spec.brave is not None
        return self._spec.brave.base_url

    @property
    def _field(self) -> str:
        return "spec.brave.baseURL"

    def _secret_headers(self, key: SecretStr) -> Mapping[str, SecretStr]:
        return {"x-subscription-token": key}

    def _refusal(self, fetched: Fetched) -> ActionError | None:
        if fetched.status == HTTPStatus.UNPROCESSABLE_ENTITY and _INVALID_KEY in fetched.body:
            return self._rejected(fetched, has_key=True)
        if fetched.status == HTTPStatus.TOO_MANY_REQUESTS:
            return self._too_many(fetched)
        return None

    def _too_many(self, fetched: Fetched) -> ActionError:
        """Tell the limit of a second, which passes, from that of the month: both are named."""
        if _is_spent(fetched.body):
            message = f"{named(fetched.url)} answered 429: the plan's requests are used up"
            return PermanentError(QUOTA_EXHAUSTED, message)
        return status_error(fetched.url, fetched.status, fetched.retry_after_seconds)


def _is_spent(body: bytes) -> bool:
    """Say whether a plan's quota is used up, as its error counts."""
    meta = _meta(body)
    limit, current = meta.get("quota_limit"), meta.get("quota_current")
    return isinstance(limit, int) and isinstance(current, int) and current >= limit > 0


def _meta(body: bytes) -> Mapping[str, Any]:
    try:
        meta = json.loads(body)["error"]["meta"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return meta if isinstance(meta, dict) else {}
