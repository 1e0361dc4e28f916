"""A source that says and fails what a script tells it: for tests of tasks, without a cluster.

It is an implementation of `ports.Source` like any other, so that what a test runs is the real
loop (docs/testing.md). It is deterministic: the same documents, script and queries give the same
answers, byte for byte.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from controller.api.base import digest_of, digest_of_text
from controller.api.errors import ActionError
from controller.api.reasons import AcceptedReason
from controller.api.records import (
    Block,
    BlockKind,
    Document,
    Extractor,
    Hit,
    Lines,
    SearchStatus,
    TermWeight,
)
from controller.api.task import ResearchTask
from controller.evidence.terms import content_terms, term_weight
from controller.loop.situation import MissingReference
from controller.ports import (
    Model,
    Passage,
    References,
    Reread,
    SearchOutcome,
    Source,
    SourceObservation,
)

Documents = Mapping[str, Mapping[str, str]]
"""Documents by locator, such as `file:manual.txt`; each is its paragraphs by heading."""


@dataclass(frozen=True)
class ScriptedSearch:
    """One search that was made: what was asked."""

    query: str
    limit: int
    terms: tuple[str, ...]


Hook = Callable[[ScriptedSearch], Awaitable[None]]
"""Is awaited before a search is answered: to be slow, or to change what the source holds."""


class ScriptedSource:
    """Documents in memory, found by the words that they share with a query.

    `failures` is the script: each search takes the first entry off, raises it if it is an error,
    and is answered if it is None; when none is left, `lasting_failure` is raised if there is one.
    `searches` has every search that was made, failed ones too, `reads` the locators that were
    read; `partial` says of documents, by locator, what of them could not be read. All attributes
    may be set while a task runs.
    """

    is_remote: bool = False
    has_hits: bool = False
    max_results: int = 10

    def __init__(
        self,
        name: str,
        documents: Documents,
        *,
        is_remote: bool = False,
        has_hits: bool = False,
        failures: Iterable[ActionError | None] = (),
        lasting_failure: ActionError | None = None,
        status: SearchStatus = SearchStatus.COMPLETE,
        before_search: Hook | None = None,
    ) -> None:
        """Make a source.

        Args:
            name: of the `ResearchSource` that it stands for.
            documents: what it holds.
            is_remote: whether a search is a counted call to somebody else.
            has_hits: whether a search only names documents, which are then read one by one, as a
                search engine does; such a source is remote.
            failures: the script, one entry a search or a read (`RetryableError`,
                `PermanentError`, None).
            lasting_failure: what every search after the script raises, None: nothing.
            status: how completely it searches; `Partial` proves no absence.
            before_search: is awaited before each search is answered.
        """
        self.name = name
        if is_remote or has_hits:
            self.is_remote = True
        self.has_hits = has_hits
        self.failures = list(failures)
        self.lasting_failure = lasting_failure
        self.status = status
        self.before_search = before_search
        self.searches: list[ScriptedSearch] = []
        self.reads: list[str] = []
        self.partial: dict[str, str] = {}
        self.hold(documents)

    def hold(self, documents: Documents) -> None:
        """From now on hold these documents: a changed corpus, with a digest of its own."""
        self._digest = digest_of({locator: dict(text) for locator, text in documents.items()})
        self._passages = [p for at, text in documents.items() for p in self._of(at, text)]
        self._documents = len(documents)
        self.texts = {locator: "\n".join(text.values()) for locator, text in documents.items()}

    async def observe(self) -> SourceObservation:
        """Return the digest of what the documents say; a source of hits cannot tell it."""
        if self.has_hits:
            return SourceObservation()
        return SourceObservation(self._digest, self._documents)

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Return the passages that share most words with the query, or fail as the script says.

        Raises:
            ActionError: the script's next failure.
        """
        made = ScriptedSearch(query, limit, tuple(terms))
        self.searches.append(made)
        if self.before_search is not None:
            await self.before_search(made)
        failure = self.failures.pop(0) if self.failures else self.lasting_failure
        if failure is not None:
            raise failure
        wanted = set(content_terms(query.casefold()))
        scored = [(len(wanted & _words(p)), p) for p in self._passages]
        found = sorted((s for s in scored if s[0]), key=lambda s: -s[0])
        best = found[0][0] if found else 1
        if self.has_hits:
            return SearchOutcome(status=self.status, hits=_hits(found[:limit]), total=len(found))
        return SearchOutcome(
            status=self.status,
            passages=tuple(
                Passage(p.document, p.blocks, 1000 * score // best) for score, p in found[:limit]
            ),
            total=len(found),
            documents=self._documents,
            term_weights=tuple(self._weight(term) for term in terms),
            corpus_digest=self._digest,
        )

    async def read(self, locator: str) -> Reread:
        """Return a document as it is now, or fail as the script says.

        Raises:
            ActionError: the script's next failure.
        """
        self.reads.append(locator)
        failure = self.failures.pop(0) if self.failures else self.lasting_failure
        if failure is not None:
            raise failure
        found = [p for p in self._passages if p.document.locator == locator]
        digest = None if self.has_hits else self._digest
        if not found:
            return Reread(None, corpus_digest=digest)
        blocks = tuple(block for passage in found for block in passage.blocks)
        return Reread(found[0].document, blocks, digest, self.partial.get(locator))

    def _weight(self, term: str) -> TermWeight:
        frequency = sum(term.casefold() in _words(p) for p in self._passages)
        return TermWeight(
            term=term,
            document_frequency=frequency,
            weight=term_weight(frequency, len(self._passages)),
        )

    def _of(self, locator: str, sections: Mapping[str, str]) -> list[Passage]:
        text = "\n".join(sections.values())
        document = Document(
            id="d-" + digest_of_text(locator + text)[7:19],
            source_name=self.name,
            locator=locator,
            title=locator,
            content_type="text/plain",
            charset="utf-8",
            bytes_digest=digest_of_text(text),
            text_digest=digest_of_text(text),
            bytes=len(text.encode()),
            characters=len(text),
            extractor=Extractor(name="memory", version="1"),
            origin_key=self.name,
            priority=50,
            corpus_digest=None if self.has_hits else self._digest,
        )
        passages, at = [], 0
        for line, (heading, body) in enumerate(sections.items(), start=1):
            block = Block(
                start=at,
                end=at + len(body),
                kind=BlockKind.PARAGRAPH,
                heading_path=(heading,),
                lines=Lines(first=line, last=line),
                text=body,
            )
            passages.append(Passage(document, (block,), 1000))
            at += len(body) + 1
        return passages


def _hits(found: Iterable[tuple[int, Passage]]) -> tuple[Hit, ...]:
    """Return the documents of passages, each once, best first."""
    documents = dict.fromkeys(passage.document.locator for _, passage in found)
    return tuple(
        Hit(locator=locator, title=locator, rank=rank, relevance=max(1, 1000 - rank))
        for rank, locator in enumerate(documents)
    )


def _words(passage: Passage) -> frozenset[str]:
    return _words_of(" ".join((*passage.blocks[0].heading_path, passage.blocks[0].text)))


@lru_cache(maxsize=1024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(content_terms(text.casefold()))


@dataclass
class ScriptedReferences:
    """References as a test sets them: a source that is not among them is missing.

    A model that is not among them is taken to be none: the extractive policy works then.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    skipped: str | None = None

    async def resolve(self, task: ResearchTask) -> References:
        """Return the sources, or the first that is not there."""
        for reference in task.spec.source_refs:
            if reference.name not in self.sources:
                message = f"ResearchSource {reference.name} is not there"
                return References({}, MissingReference(AcceptedReason.SOURCE_NOT_FOUND, message))
        named = (task.spec.model_ref, task.spec.fallback_model_ref)
        models = (self.models.get(r.name) for r in named if r is not None)
        observed = {
            name: (await source.observe()).digest
            for name, source in self.sources.items()
            if not source.is_remote
        }
        digests = {name: digest for name, digest in observed.items() if digest is not None}
        return References(
            self.sources,
            models=tuple(m for m in models if m is not None),
            digests=digests,
            skipped=self.skipped,
        )
