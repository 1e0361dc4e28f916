"""arXiv by its public interface: abstracts, pinned to the version that was read.

Its terms of use: one connection, and one request in three seconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from controller.api.errors import PermanentError
from controller.api.records import BlockKind, Extractor
from controller.evidence.terms import content_terms
from controller.ports import Reread, SearchOutcome
from controller.sources.readers import Reading
from controller.sources.readers.text import TextBuilder
from controller.sources.remote.documents import document_record
from controller.sources.remote.feeds import Entry, Feed, NoFeedError, read_feed
from controller.sources.remote.hits import Result, outcome_of, plain
from controller.sources.remote.interface import Interface, below, with_parameters
from controller.sources.web.failures import FetchFailure, fetch_error, named
from controller.sources.web.request import Request

MOST_WORDS: Final = 20
"""So many words of a query are asked for."""

_ABSTRACTS: Final = "https://arxiv.org/abs/"
_ID: Final = re.compile(
    r"/abs/((?:[0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[A-Z]{2})?/[0-9]{7}))(?:v([1-9][0-9]{0,3}))?/?$"
)
_EXTRACTOR: Final = Extractor(name="arxiv", version="1")
_ERROR: Final = "/api/errors"


class ArXivSource(Interface):
    """The preprints of arXiv; of each its title, authors and abstract are read."""

    least_delay_seconds = 3.0

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Put the words of a query to arXiv, which ranks what has some of them."""
        del terms
        words = [re.sub(r"[^\w.+-]", " ", term).strip() for term in content_terms(query)]
        asked = [f'all:"{word}"' for word in words if word]
        if not asked:
            return outcome_of((), limit, warnings=["the query has no word to search for"])
        warnings = ["the query was cut: it has too many words"] if len(asked) > MOST_WORDS else []
        feed = await self._feed(
            search_query=" OR ".join(asked[:MOST_WORDS]), start=0, max_results=limit
        )
        return outcome_of(
            (Result(_locator(e) or "", e.title, e.summary) for e in feed.entries),
            limit,
            total=feed.total,
            warnings=warnings,
        )

    async def read(self, locator: str) -> Reread:
        """Read the newest version of a preprint's abstract.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """
        found = _ID.search(urlsplit(locator).path)
        if found is None:
            message = f"{named(locator)} names no preprint of arXiv"
            raise PermanentError(FetchFailure.DOCUMENT_MISSING, message)
        feed = await self._feed(id_list=found[1], max_results=1)
        entry = next((e for e in feed.entries if _number(e) == found[1]), None)
        cited = _locator(entry) if entry is not None else None
        if entry is None or cited is None:
            return Reread(None)
        reading = _reading(entry)
        data = reading.text.text.encode()
        document = document_record(reading, data, cited, self._owner)
        return Reread(document, reading.text.blocks)

    @property
    def _address(self) -> str:
        assert self._spec.arxiv is not None
        return self._spec.arxiv.base_url

    @property
    def _field(self) -> str:
        return "spec.arxiv.baseURL"

    async def _feed(self, **parameters: str | int) -> Feed:
        url = with_parameters(below(self._address, "api/query"), parameters)
        fetched = await self._ask(Request(url=url))
        try:
            feed = read_feed(fetched.body)
        except NoFeedError as error:
            message = f"{named(url)} answered with what is no feed ({error})"
            raise fetch_error(FetchFailure.BAD_RESPONSE, message) from None
        if any(_ERROR in entry.id for entry in feed.entries):
            message = f"{named(url)} answered with an error in place of preprints"
            raise fetch_error(FetchFailure.BAD_REQUEST, message)
        if feed.total and not feed.entries:
            # It does so now and then; asked again, it has them.
            message = f"{named(url)} counts {feed.total} preprints and names none"
            raise fetch_error(FetchFailure.BAD_RESPONSE, message)
        return feed


def _locator(entry: Entry) -> str | None:
    """Return where an abstract is shown to people, with its version; None: it has no number."""
    found = _ID.search(urlsplit(entry.id).path)
    return None if found is None else f"{_ABSTRACTS}{found[1]}v{found[2] or 1}"


def _number(entry: Entry) -> str | None:
    found = _ID.search(urlsplit(entry.id).path)
    return None if found is None else found[1]


def _reading(entry: Entry) -> Reading:
    builder = TextBuilder()
    title = plain(entry.title)
    builder.add(BlockKind.HEADING, title, (title,), 1, 1)
    if entry.authors:
        authors = ", ".join(map(plain, entry.authors))
        builder.add(BlockKind.PARAGRAPH, f"Authors: {authors}", (title,), 2, 2)
    abstract = " ".join(entry.summary.split())
    builder.add(BlockKind.PARAGRAPH, abstract, (title, "Abstract"), 3, 3)
    return Reading(
        text=builder.build(title),
        content_type="application/atom+xml",
        charset="utf-8",
        extractor=_EXTRACTOR,
    )
