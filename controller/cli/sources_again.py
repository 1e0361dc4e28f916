"""Reads the sources of a published report again: what became of its citations and its proofs.

The report was true of what was read then. Here each cited document is read as it is now, and the
queries of each certificate over a corpus are run again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controller.api.errors import ActionError, NotFoundError
from controller.api.records import Certificate, SearchRecord
from controller.api.source import addresses_of
from controller.api.task import ResearchTask
from controller.cli.homes import HomeStore, default_cache
from controller.clock import SystemClock
from controller.connections import ConnectionGuard, OpenedOrigins
from controller.credentials import SecretReader
from controller.evidence.carrying import DocumentNow
from controller.evidence.certificates import against_absence, changed_corpora, recheck
from controller.evidence.report_format import Report, ReportReference
from controller.evidence.rereading import CitationNow, Fate, citation_now
from controller.ports import Source
from controller.sources.corpus import ConfigMaps
from controller.sources.making import source_maker
from controller.sources.web.fetcher import Fetcher

_NOT_THERE = frozenset({"DocumentMissing", "Gone"})


@dataclass(frozen=True)
class ReadAgain:
    """What became of a report's citations, by number, and of its certificates.

    `proofs` is how many certificates were run again; those over remote sources cannot be. What
    speaks against one is in `broken_proofs`; that a corpus is another one than it was made of, in
    `changed_corpora`.
    """

    citations: tuple[CitationNow, ...]
    proofs: int
    broken_proofs: tuple[str, ...]
    changed_corpora: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every citation was found in its source, and every certificate holds."""
        found = all(c.fate in {Fate.SAME, Fate.MOVED} for c in self.citations)
        return found and not self.broken_proofs


@dataclass(frozen=True)
class Sources:
    """A task's sources by name, and why the others cannot be asked."""

    ready: dict[str, Source]
    missing: dict[str, str]


@asynccontextmanager
async def opened_sources(
    store: HomeStore,
    task: ResearchTask,
    *,
    corpus_root: Path | None,
    contact: str | None,
    are_own: bool,
) -> AsyncIterator[Sources]:
    """Make the sources of a task, and close their connections at the end.

    Args:
        store: where they are declared.
        task: which refers to them.
        corpus_root: the folder below which directories of corpora lie here.
        contact: how a site's owner reaches whoever asks; None: not told.
        are_own: they were written by this user, so that their addresses are opened. Those of a
            cluster may be anybody's: nothing is asked there that only this machine can reach.
    """
    namespace = task.metadata.namespace
    resources, missing = {}, {}
    for reference in task.spec.source_refs:
        try:
            resources[reference.name] = await store.get_source(namespace, reference.name)
        except NotFoundError:
            missing[reference.name] = f"the ResearchSource {reference.name} does not exist any more"
    addresses = [url for r in resources.values() for _, url in addresses_of(r.spec)]
    guard = ConnectionGuard(OpenedOrigins.of_urls(addresses if are_own else ()))
    secrets = SecretReader(store)
    async with Fetcher(guard, clock=SystemClock(), contact=contact) as fetcher:
        make = source_maker(
            corpus_root=corpus_root,
            cache_directory=default_cache(),
            load_config_maps=partial(_load_config_maps, store),
            fetcher=fetcher,
            guard=guard,
            key_of=secrets.key_of,
        )
        yield Sources({name: make(resource) for name, resource in resources.items()}, missing)


async def read_again(report: Report, sources: Sources) -> ReadAgain:
    """Read each cited document again, and run the certificates over corpora again."""
    documents: dict[tuple[str, str], DocumentNow | str | None] = {}
    citations = []
    for reference in report.references:
        place = (reference.source_name, reference.locator)
        if place not in documents:
            documents[place] = await _document(*place, sources)
        citations.append(_now(reference, documents[place]))
    proofs = [q.certificate for q in report.questions if q.certificate and q.certificate.corpora]
    broken: list[str] = []
    changed: list[str] = []
    for certificate in map(_over_corpora, proofs):
        searches = await _searched_again(certificate, sources)
        changed += changed_corpora(certificate, searches)
        is_changed = bool(changed_corpora(certificate, searches))
        broken += (against_absence if is_changed else recheck)(certificate, searches)
    return ReadAgain(
        tuple(citations), len(proofs), tuple(dict.fromkeys(broken)), tuple(dict.fromkeys(changed))
    )


def _now(reference: ReportReference, document: DocumentNow | str | None) -> CitationNow:
    if isinstance(document, str):
        return CitationNow(reference.number, Fate.UNREAD, why=document)
    return citation_now(reference, document)


async def _document(source_name: str, locator: str, sources: Sources) -> DocumentNow | str | None:
    """Return a document as it is now, None if it is not there, or why nobody can tell."""
    source = sources.ready.get(source_name)
    if source is None:
        return sources.missing.get(source_name, f"the task has no source {source_name} any more")
    try:
        read = await source.read(locator)
    except ActionError as error:
        return None if error.error_class in _NOT_THERE else f"{error.error_class}: {error}"
    return DocumentNow(read.document, read.blocks) if read.document else None


def _over_corpora(certificate: Certificate) -> Certificate:
    """Return a certificate with its queries over corpora alone: only those can be run again."""
    corpora = {corpus.source_name for corpus in certificate.corpora}
    queries = tuple(q for q in certificate.queries if q.source_name in corpora)
    return certificate.model_copy(update={"queries": queries})


async def _searched_again(certificate: Certificate, sources: Sources) -> list[SearchRecord]:
    """Return the searches of a certificate as they go now; one that cannot be made is left out."""
    terms = [weight.term for weight in certificate.absent_terms]
    searches = []
    for query in certificate.queries:
        source = sources.ready.get(query.source_name)
        if source is None:
            continue
        try:
            outcome = await source.search(query.text, limit=source.max_results, terms=terms)
        except ActionError:
            continue
        searches.append(
            SearchRecord(
                source_name=query.source_name,
                question_id="again",
                query=query.text,
                status=outcome.status,
                total=max(outcome.total, len(outcome.passages)),
                corpus_digest=outcome.corpus_digest,
                documents=outcome.documents,
                term_weights=outcome.term_weights,
            )
        )
    return searches


async def _load_config_maps(store: HomeStore, namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps(*await store.load_config_maps(namespace, names))


def lines_of(again: ReadAgain, report: Report) -> Iterator[str]:
    """Yield what became of each citation, for people, a line each."""
    references = {reference.number: reference for reference in report.references}
    for citation in again.citations:
        reference = references[citation.number]
        lines = f", line {citation.lines.first}" if citation.lines else ""
        place = f"{reference.source_name} {reference.locator}{lines}"
        why = f": {citation.why}" if citation.why else ""
        yield f"[{citation.number}] {citation.fate}, {place}{why}"
