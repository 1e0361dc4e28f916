"""MediaWiki: full-text search, and pages pinned to the revision that was read.

A page is known by its number, which a move to another title does not change. What is read is the
newest revision; what is cited names it, so that a reader of the report sees the same words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.ports import Reread, SearchOutcome
from controller.sources.remote.documents import document_record, read_document
from controller.sources.remote.hits import Result, outcome_of, plain
from controller.sources.remote.interface import (
    CREDENTIALS_REJECTED,
    FORMAT_DISABLED,
    Interface,
    bad_shape,
    objects_in,
    text_in,
    with_parameters,
)
from controller.sources.web.failures import FetchFailure, fetch_error, named
from controller.sources.web.locators import canonical_locator
from controller.sources.web.request import Request, joined

MAX_LAG_SECONDS: Final = 5
"""A wiki whose replicas lag further behind answers no program: it asks it to come back."""

MOST_CONTINUATIONS: Final = 3
"""So many further portions of one answer are asked for."""

_MISSING: Final = frozenset(
    {"missingtitle", "nosuchpageid", "nosuchrevid", "invalidtitle", "pagecannotexist"}
)
_RATE_LIMITED: Final = frozenset({"maxlag", "ratelimited", "actionthrottled"})
_FORBIDDEN: Final = frozenset(
    {"readapidenied", "permissiondenied", "mwoauth-invalid-authorization", "badtoken", "blocked"}
)
_SWITCHED_OFF: Final = frozenset(
    {"search-text-disabled", "srsearch-text-disabled", "srsearch-disabled", "moduledisabled"}
)
_PASSING: Final = re.compile(r"internal_api_error|readonly|search-error|search-backend|timeout")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,18}")


class MediaWikiSource(Interface):
    """A wiki that runs MediaWiki, by its `api.php`."""

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Search the texts of the wiki's articles."""
        del terms
        asked = {
            "action": "query",
            "list": "search",
            "srsearch": query,
            "srwhat": "text",
            "srnamespace": 0,
            "srinfo": "totalhits",
            "srprop": "snippet",
            "srlimit": limit,
        }
        found: list[dict[str, Any]] = []
        total = 0
        warnings: list[str] = []
        continued: dict[str, Any] = {}
        for _ in range(1 + MOST_CONTINUATIONS):
            answer = await self._query({**asked, **continued})
            portion = _object(answer, "query", self._address)
            found += objects_in(portion.get("search"), self._address)
            total = max(total, _total(portion))
            if "search" in _mapping(answer.get("warnings")):
                warnings = ["the wiki says that its results may not be all that there are"]
            continued = {n: v for n, v in _mapping(answer.get("continue")).items() if v is not None}
            if len(found) >= limit or not continued:
                break
        return outcome_of(
            (
                Result(self._locator(r.get("pageid")), text_in(r, "title"), text_in(r, "snippet"))
                for r in found
            ),
            limit,
            total=total,
            warnings=warnings,
        )

    async def read(self, locator: str) -> Reread:
        """Read the newest revision of a page, by the locator of a hit or of a cited revision.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will; a page that is gone is `DocumentMissing`.
        """
        try:
            page = await self._parsed(self._page_of(locator))
        except PermanentError as error:
            if error.error_class == FetchFailure.DOCUMENT_MISSING:
                return Reread(None)
            raise
        cited = self._locator(page.id, page.revision)
        data = _as_document(page).encode("utf-8", "replace")
        reading = await asyncio.to_thread(read_document, data, "text/html", cited)
        document = document_record(reading, data, cited, self._owner, title=plain(page.title))
        return Reread(document, reading.text.blocks)

    def _page_of(self, locator: str) -> Mapping[str, Any]:
        """Return the parameters that name the page of a locator."""
        named_by = parse_qs(urlsplit(locator).query)
        for name, parameter in (("curid", "pageid"), ("oldid", "oldid")):
            value = named_by.get(name, [""])[0]
            if _NUMBER.fullmatch(value):
                return {parameter: value}
        message = f"{named(locator)} names no page of {named(self._address)} by its number"
        raise PermanentError(FetchFailure.DOCUMENT_MISSING, message)

    async def _parsed(self, page: Mapping[str, Any]) -> _Parsed:
        answer = await self._query(
            {
                "action": "parse",
                **page,
                "redirects": 1,
                "prop": "text|revid|displaytitle",
                "disableeditsection": 1,
                "disablelimitreport": 1,
                "disabletoc": 1,
            }
        )
        parsed = _object(answer, "parse", self._address)
        number, revision = parsed.get("pageid"), parsed.get("revid")
        if not isinstance(number, int) or not isinstance(revision, int):
            raise bad_shape(self._address)
        return _Parsed(number, revision, text_in(parsed, "title"), text_in(parsed, "text"))

    async def _query(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the wiki; return its answer.

        Raises:
            ActionError: it answered with an error, which it does with status 200.
        """
        url = with_parameters(
            self._address,
            {**parameters, "format": "json", "formatversion": 2, "maxlag": MAX_LAG_SECONDS},
        )
        fetched = await self._ask(Request(url=url))
        answer = fetched.json()
        if not isinstance(answer, dict):
            raise bad_shape(self._address)
        if "error" in answer:
            raise self._error(_mapping(answer["error"]), fetched.retry_after_seconds)
        return answer

    def _error(self, error: Mapping[str, Any], retry_after_seconds: float | None) -> ActionError:
        """Return what an error of the wiki stands for, by its code."""
        code = re.sub(r"[^A-Za-z0-9_.-]", "", text_in(error, "code"))[:64]
        said = f"{named(self._address)} answered with the error {code or 'unnamed'}"
        if code in _RATE_LIMITED:
            return RetryableError(FetchFailure.RATE_LIMITED, said, retry_after_seconds)
        if code in _MISSING:
            return PermanentError(FetchFailure.DOCUMENT_MISSING, said)
        if code in _FORBIDDEN:
            mend = "it may be read only with a token, whose Secret spec.credentialsSecretRef names"
            return PermanentError(CREDENTIALS_REJECTED, f"{said}; {mend}")
        if code in _SWITCHED_OFF:
            mend = "its text search is switched off (wgDisableTextSearch)"
            return PermanentError(FORMAT_DISABLED, f"{said}; {mend}")
        if _PASSING.search(code):
            return fetch_error(FetchFailure.BAD_RESPONSE, said)
        return fetch_error(FetchFailure.BAD_REQUEST, said)

    def _locator(self, page: object, revision: int | None = None) -> str:
        """Return where a page is shown to people, beside `api.php`; pinned, with a revision."""
        pinned = "" if revision is None else f"&oldid={revision}"
        return canonical_locator(joined(self._address, f"index.php?curid={page}{pinned}"))

    @property
    def _address(self) -> str:
        assert self._spec.media_wiki is not None
        return self._spec.media_wiki.api_url

    @property
    def _field(self) -> str:
        return "spec.mediaWiki.apiURL"


@dataclass(frozen=True)
class _Parsed:
    """A page as the wiki shows it: its number, revision and title, and its text as HTML."""

    id: int
    revision: int
    title: str
    text: str


def _as_document(page: _Parsed) -> str:
    """Return a whole HTML document, under the heading that the wiki shows above the text."""
    title = escape(plain(page.title))
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><h1>{title}</h1>{page.text}</body></html>"
    )


def _total(portion: Mapping[str, Any]) -> int:
    total = _mapping(portion.get("searchinfo")).get("totalhits")
    return total if isinstance(total, int) else 0


def _object(answer: Mapping[str, Any], name: str, url: str) -> dict[str, Any]:
    value = answer.get(name)
    if not isinstance(value, dict):
        raise bad_shape(url)
    return value


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
