"""Corpora as sources: a directory or ConfigMaps, indexed once for each state of their files."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from controller.api.errors import PermanentError, RetryableError, SourceNotReadyError, StoreError
from controller.api.reasons import ReadyReason
from controller.api.records import Block, Document, SearchStatus
from controller.api.source import ResearchSource, ResearchSourceSpec
from controller.ports import Reread, SearchOutcome, Source, SourceObservation
from controller.sources import directory, index_builder, index_file
from controller.sources.collection import (
    MAX_FILE_BYTES,
    MAX_WARNINGS,
    Collection,
    CorpusFile,
    LeftOut,
    collection,
    warnings_of,
)
from controller.sources.index import CorpusIndex, Found, Origin, SearchTimeoutError
from controller.sources.index_file import DamagedIndexError
from controller.sources.readers import SUFFIXES

_COLLECTION_ATTEMPTS: Final = 3

_log: Final = logging.getLogger(__name__)
_Result = TypeVar("_Result")

# One index is built at a time: building keeps a processor busy, and reads whole files.
_builder: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="corpus-index")


@dataclass(frozen=True)
class ConfigMaps:
    """ConfigMaps as they are now: the texts of each by key, and the names of those not there."""

    texts: Mapping[str, Mapping[str, str]]
    missing: tuple[str, ...] = ()


LoadConfigMaps = Callable[[str, Sequence[str]], Awaitable[ConfigMaps]]
"""Reads the ConfigMaps of these names in a namespace."""


class IndexedCorpus(ABC, Source):
    """A source over a set of documents that is searched whole, through an index on local disk."""

    def __init__(self, name: str, spec: ResearchSourceSpec, cache_directory: Path) -> None:
        """Make a source; nothing is read before it is observed or searched."""
        self._name = name
        self._origin = Origin(name, spec.origin_key or name, spec.priority)
        self._max_results = spec.max_results
        self._timeout_seconds = spec.timeout_seconds
        self._cache_directory = cache_directory
        self._collection: Collection | None = None

    @property
    def name(self) -> str:
        """The name of the `ResearchSource`."""
        return self._name

    @property
    def max_results(self) -> int:
        """How many passages a search may return, from the source's spec."""
        return self._max_results

    @property
    def is_remote(self) -> bool:
        """A corpus is read here: no call to anybody."""
        return False

    @abstractmethod
    async def _collect(self) -> Collection:
        """Return what the corpus holds now, or raise SourceNotReadyError."""

    @abstractmethod
    def _without_documents(self) -> str:
        """Say what holds no documents, by which rule, and the mend."""

    async def observe(self) -> SourceObservation:
        """Hash the documents, and make sure that their index is there.

        Raises:
            SourceNotReadyError: with the reason that `Ready=False` and the task show.
        """
        for _ in range(_COLLECTION_ATTEMPTS):
            corpus = await self._collect()
            try:
                index = await self._with_index(corpus, _observe)
            except index_builder.CorpusChangedError as error:
                _log.info("corpus %s: %s changed while it was indexed", self._name, error)
                continue
            if not index.documents:
                raise SourceNotReadyError(ReadyReason.NO_DOCUMENTS, self._no_documents(index))
            self._collection = corpus
            return SourceObservation(corpus.digest, index.documents, warnings_of(index.left_out))
        raise SourceNotReadyError(
            ReadyReason.INDEXING,
            f"corpus {self._name!r}: its files change while they are read; let them come to rest",
        )

    async def search(self, query: str, *, limit: int, terms: Sequence[str]) -> SearchOutcome:
        """Search for a query's words; also weigh `terms` (words, identifiers or phrases).

        What is searched is what was observed last.

        Raises:
            RetryableError: the corpus is not ready (`Unreachable`), or it took longer than the
                source's timeout (`Timeout`).
        """

        def search(index: CorpusIndex) -> tuple[Found, _Summary]:
            found = index.search(
                query,
                limit=limit,
                terms=terms,
                origin=self._origin,
                seconds=self._timeout_seconds,
            )
            return found, _summary(index)

        try:
            corpus, (found, summary) = await self._with_observed(search)
        except SearchTimeoutError:
            raise RetryableError(
                "Timeout",
                f"corpus {self._name!r}: a search took longer than {self._timeout_seconds} s;"
                " raise spec.timeoutSeconds or divide the corpus",
            ) from None
        warnings = warnings_of(summary.left_out)
        if found.is_cut:
            warnings = ("the query was cut: it has too many words", *warnings)[:MAX_WARNINGS]
        is_complete = not found.is_cut and not any(i.bars_absence for i in summary.left_out)
        return SearchOutcome(
            status=SearchStatus.COMPLETE if is_complete else SearchStatus.PARTIAL,
            passages=found.passages,
            total=found.total,
            documents=summary.documents,
            term_weights=found.term_weights,
            corpus_digest=corpus.digest,
            warnings=warnings,
        )

    async def read(self, locator: str) -> Reread:
        """Return a document as it was observed last, by where it is.

        Raises:
            RetryableError: the corpus is not ready (`Unreachable`).
        """

        def read(index: CorpusIndex) -> tuple[Document, str, tuple[Block, ...]] | None:
            document_id = index.document_at(locator)
            return index.read_document(document_id, self._origin) if document_id else None

        corpus, found = await self._with_observed(read)
        if found is None:
            return Reread(None, corpus_digest=corpus.digest)
        document, _, blocks = found
        return Reread(document, blocks, corpus.digest)

    async def read_document(self, document_id: str) -> tuple[Document, str, tuple[Block, ...]]:
        """Return a document, its whole text, and all of its blocks.

        Raises:
            PermanentError: the corpus holds no such document, any more (`DocumentMissing`).
            RetryableError: the corpus is not ready (`Unreachable`).
        """
        _, read = await self._with_observed(
            lambda index: index.read_document(document_id, self._origin)
        )
        if read is None:
            raise PermanentError(
                "DocumentMissing", f"corpus {self._name!r} has no document {document_id}"
            )
        return read

    async def _with_observed(
        self, use: Callable[[CorpusIndex], _Result]
    ) -> tuple[Collection, _Result]:
        """Use the index of what was observed last; observe first where nothing was."""
        try:
            for _ in range(_COLLECTION_ATTEMPTS):
                if self._collection is None:
                    await self.observe()
                corpus = self._collection
                assert corpus is not None
                try:
                    return corpus, await self._with_index(corpus, use)
                except index_builder.CorpusChangedError:
                    self._collection = None  # its index is gone, and so are its files
        except SourceNotReadyError as error:
            raise RetryableError("Unreachable", str(error)) from error
        raise RetryableError("Unreachable", f"corpus {self._name!r}: its files keep changing")

    async def _with_index(
        self, corpus: Collection, use: Callable[[CorpusIndex], _Result]
    ) -> _Result:
        """Use a corpus's index in a thread; build it if it is missing, again if it is damaged."""
        path = index_file.index_path(self._cache_directory, corpus.scheme, corpus.digest)
        try:
            try:
                return await asyncio.to_thread(_use, path, corpus.digest, use)
            except FileNotFoundError:
                pass
            except DamagedIndexError as error:
                _log.warning("corpus %s: its index is built again: %s", self._name, error)
                path.unlink(missing_ok=True)
            await self._build(path, corpus)
            return await asyncio.to_thread(_use, path, corpus.digest, use)
        except (OSError, sqlite3.Error, DamagedIndexError) as error:
            raise self._cannot_index(str(error)) from error

    async def _build(self, path: Path, corpus: Collection) -> None:
        stop = threading.Event()
        build = partial(_build, path, corpus, self._name, stop.is_set)
        try:
            await asyncio.get_running_loop().run_in_executor(_builder, build)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _cannot_index(self, why: str) -> SourceNotReadyError:
        return SourceNotReadyError(
            ReadyReason.INDEXING,
            f"corpus {self._name!r}: its index cannot be written to {self._cache_directory}"
            f" ({why}); give that directory room and let the operator's user write to it",
        )

    def _no_documents(self, summary: _Summary) -> str:
        message = self._without_documents()
        return "; ".join([message, *warnings_of(summary.left_out)])[:1024]


@dataclass(frozen=True, slots=True)
class _Summary:
    documents: int
    left_out: tuple[LeftOut, ...]


def _summary(index: CorpusIndex) -> _Summary:
    return _Summary(index.documents, index.left_out)


def _observe(index: CorpusIndex) -> _Summary:
    index.mark_used()
    return _summary(index)


def _use(path: Path, digest: str, use: Callable[[CorpusIndex], _Result]) -> _Result:
    with closing(CorpusIndex(path, digest)) as index:
        return use(index)


def _build(path: Path, corpus: Collection, name: str, is_stopped: Callable[[], bool]) -> None:
    """Build an index, unless another process, or the one before in the queue, has done it."""
    with index_file.exclusive(path.parent):
        if path.exists():
            return
        with index_file.writing(path) as connection:
            index_builder.build(connection, corpus, name, is_stopped)
        index_file.remove_unused(path.parent)


class DirectoryCorpus(IndexedCorpus):
    """The documents below a directory, which lies below the operator's corpus root."""

    def __init__(
        self,
        name: str,
        spec: ResearchSourceSpec,
        *,
        corpus_root: Path | None,
        cache_directory: Path,
    ) -> None:
        """Make a source over `spec.corpus.directory`."""
        super().__init__(name, spec, cache_directory)
        assert spec.corpus is not None
        assert spec.corpus.directory is not None
        self._directory = spec.corpus.directory
        self._corpus_root = corpus_root

    async def _collect(self) -> Collection:
        return await asyncio.to_thread(self._collect_now)

    def _collect_now(self) -> Collection:
        root = directory.resolve_directory(self._directory, self._corpus_root)
        return directory.collect(self._directory, root)

    def _without_documents(self) -> str:
        return (
            f"directory {self._directory!r}: it holds no documents; place files with one of the"
            f" suffixes {' '.join(sorted(SUFFIXES))} there"
        )


class ConfigMapCorpus(IndexedCorpus):
    """The keys of ConfigMaps in the source's namespace: each is a document."""

    def __init__(
        self,
        name: str,
        spec: ResearchSourceSpec,
        *,
        namespace: str,
        load: LoadConfigMaps,
        cache_directory: Path,
    ) -> None:
        """Make a source over `spec.corpus.configMapRefs`, which `load` reads."""
        super().__init__(name, spec, cache_directory)
        assert spec.corpus is not None
        assert spec.corpus.config_map_refs is not None
        self._names = tuple(reference.name for reference in spec.corpus.config_map_refs)
        self._namespace = namespace
        self._load = load

    async def _collect(self) -> Collection:
        try:
            found = await self._load(self._namespace, self._names)
        except StoreError as error:
            raise self._not_found(self._names, f"it cannot be read ({error})") from error
        if found.missing:
            raise self._not_found(found.missing, "there is none of this name")
        files: list[CorpusFile] = []
        left_out: list[LeftOut] = []
        for config_map, texts in found.texts.items():
            for key, text in texts.items():
                data = text.encode("utf-8", "replace")
                path = f"{self._namespace}/{config_map}#{key}"
                if len(data) > MAX_FILE_BYTES:  # beyond what the API server stores
                    left_out.append(LeftOut(path, "it is too large", "split it", True))
                    continue
                sha256 = hashlib.sha256(data).hexdigest()
                locator = f"configmap:{self._namespace}/{config_map}#{quote(key, safe='')}"
                files.append(CorpusFile(path, locator, sha256, partial(bytes, data)))
        return collection("configmap", files, left_out)

    def _not_found(self, names: Sequence[str], why: str) -> SourceNotReadyError:
        return SourceNotReadyError(
            ReadyReason.CONFIG_MAP_NOT_FOUND,
            f"ConfigMap {', '.join(names)} in namespace {self._namespace}: {why};"
            " create it, let the operator read it, or correct spec.corpus.configMapRefs",
        )

    def _without_documents(self) -> str:
        names = ", ".join(self._names)
        return f"ConfigMap {names}: no key holds text; put the documents under keys of data"


def make_source(
    resource: ResearchSource,
    *,
    corpus_root: Path | None,
    cache_directory: Path,
    load_config_maps: LoadConfigMaps,
) -> IndexedCorpus:
    """Return the source that a `ResearchSource` describes.

    Args:
        resource: a resource that its schema accepts.
        corpus_root: the directory below which corpus directories lie; None allows none.
        cache_directory: where indexes are kept; it may be emptied at any time.
        load_config_maps: reads ConfigMaps by namespace and names.
    """
    corpus = resource.spec.corpus
    assert corpus is not None
    name = resource.metadata.name
    if corpus.directory is not None:
        return DirectoryCorpus(
            name, resource.spec, corpus_root=corpus_root, cache_directory=cache_directory
        )
    return ConfigMapCorpus(
        name,
        resource.spec,
        namespace=resource.metadata.namespace,
        load=load_config_maps,
        cache_directory=cache_directory,
    )
