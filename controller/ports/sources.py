"""Sources: what is asked of a place to look, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from controller.api.records import Block, Document, Hit, SearchStatus, TermWeight


@dataclass(frozen=True)
class Passage:
    """A search result over a corpus: consecutive blocks under one heading path of a document.

    `relevance` is the engine's score relative to the best result, in thousandths (1..1000).
    """

    document: Document
    blocks: tuple[Block, ...]
    relevance: int


@dataclass(frozen=True)
class SearchOutcome:
    """What one query to one source brought, best first: passages, or hits that are to be read.

    A source that is searched whole returns `passages`; `total` counts all that match, `documents`
    is how many documents it searched, and `term_weights` has one entry for each term asked for.
    A remote source returns `hits`, and counts what it can.
    """

    status: SearchStatus
    passages: tuple[Passage, ...] = ()
    hits: tuple[Hit, ...] = ()
    total: int = 0
    documents: int = 0
    term_weights: tuple[TermWeight, ...] = ()
    corpus_digest: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceObservation:
    """What a source holds now; a remote source tells neither its digest nor its size.

    `warnings` names files that were left out, and why.
    """

    digest: str | None = None
    documents: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reread:
    """A document as a source holds it now, with all of its blocks; None: it holds it no more.

    `corpus_digest` is what the source held when it was read, where that has a digest. `partial`
    says what of the document could not be read, for people; an answer may stand there.
    """

    document: Document | None
    blocks: tuple[Block, ...] = ()
    corpus_digest: str | None = None
    partial: str | None = None


class Source(Protocol):
    """A place to look, made from a `ResearchSource`."""

    @property
    def name(self) -> str:
        """The name of the `ResearchSource`."""
        ...

    @property
    def max_results(self) -> int:
        """How many passages a search may return, from the source's spec."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether a search is a call to somebody else: counted, and charged if in doubt."""
        ...

    async def observe(self) -> SourceObservation:
        """Return the digest and size of what the source holds now, made ready to be searched.

        Raises:
            SourceNotReadyError: with the reason that `Ready=False` and the task show.
        """
        ...

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Search for a query's words; also weigh `terms` (words, identifiers or phrases).

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """
        ...

    async def read(self, locator: str) -> Reread:
        """Read one document, by where it is: a hit, or what was cited before.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
        """
        ...
