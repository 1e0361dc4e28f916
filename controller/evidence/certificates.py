"""How a question is concluded: answered, not found with a certificate, or unresolved and why.

Only records decide, so that concluding again gives the same answer. "Not found" is a claim like
any other and needs its proof: a certificate names what was asked of which corpus, and anyone who
has the corpus can run it again. What cannot be proven is `Unresolved`, which never means no.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.api.records import (
    Answer,
    AnswerReason,
    Block,
    Certificate,
    CertifiedQuery,
    FactStatus,
    Hit,
    Question,
    QuestionState,
    SearchedCorpus,
    SearchRecord,
    SearchStatus,
    TermWeight,
)
from controller.evidence.disagreements import is_contested
from controller.evidence.findings import Findings
from controller.evidence.hits import (
    bars_absence,
    is_read,
    terms_absent_in_hits,
    to_be_read,
)
from controller.evidence.score import distinct_origins
from controller.evidence.terms import content_terms, key_terms

MIN_QUERIES: Final = 3
"""How many different queries each source must have answered before an absence is certified."""

MAX_QUERIES_PER_SOURCE: Final = 8
"""How many different queries of one source a certificate names: those of eight sources fit it."""

_MAX_FACTS: Final = 64
_MAX_ABSENT_TERMS: Final = 32


def conclude(
    findings: Findings,
    question: Question,
    *,
    min_origins: int,
    source_names: Sequence[str],
    language: str = "en",
) -> Answer:
    """Return the answer that the records give to a question.

    `Answered` needs a verified fact and `min_origins` distinct origins; its reason is `Contested`
    where the sources disagree so that code can prefer none. `NotFound` needs, of each source: no
    verified fact, `MIN_QUERIES` different queries, every search complete, every hit
    read, and terms that no passage contains: a key term of the question, or, where it has none,
    all of its content terms. A question whose words are there and whose quotes were all rejected is
    not proven absent; it may only be worded otherwise than its answer. All else is `Unresolved`,
    with the first reason that applies: `TooFewOrigins`, `Vetoed`, `SearchFailed`, `SourcePartial`,
    `TooFewQueries`, `HitsUnread`, `LowConfidence`.

    A source that is set aside can be asked nothing more: where it has answered too few queries of
    the question, the reason is `SearchFailed`.

    Two queries are different if their content terms are: the order of words changes no search.
    Searches over an older state of a corpus do not count.

    A hit is read if its text is recorded as evidence. A search over a corpus ranks all of it and
    may not have room to record every hit (`blocks_dropped`); such a hit counts as read once another
    search has recorded it, and it need not be read at all where a key term of the question occurs
    in no passage of the corpus: then no passage can hold P6, recorded or not. Of a source that
    cannot be read whole, the first `MIN_HITS_READ` hits of each query must be read whole, or be
    gone; a term is absent there if none of the documents that were read contains it.
    """
    facts = findings.verified(question.id)
    if facts:
        origins = distinct_origins(facts, findings.evidence)
        enough = origins >= min_origins
        contested = enough and is_contested(findings, question, language)
        return Answer(
            question_id=question.id,
            state=QuestionState.ANSWERED if enough else QuestionState.UNRESOLVED,
            reason=_answer_reason(is_enough=enough, is_contested=contested),
            fact_ids=tuple(fact.id for fact in facts[:_MAX_FACTS]),
            origins=origins,
        )
    if findings.vetoed(question.id):
        return _unresolved(question, AnswerReason.VETOED)
    searches = [_searches(findings, question.id, name) for name in source_names]
    names = key_terms(question.text, language)
    sources = [
        _OfSource(name, of_source, findings, question.id)
        for name, of_source in zip(source_names, searches, strict=True)
    ]
    missing = _missing_terms(sources, question, names, language)
    aside = {source.source_name for source in findings.set_aside}
    cut_off = (s for s, name in zip(searches, source_names, strict=True) if name in aside)
    if any(len(_different(of_source, language)) < MIN_QUERIES for of_source in cut_off):
        reason: AnswerReason | None = AnswerReason.SEARCH_FAILED
    else:
        reason = _why_unproven(sources, names, language)
    if reason is None and not missing:
        reason = AnswerReason.LOW_CONFIDENCE
    if reason:
        return _unresolved(question, reason)
    certificate = Certificate(
        queries=_certified_queries(searches, language),
        corpora=_searched_corpora(searches),
        absent_terms=missing[:_MAX_ABSENT_TERMS],
        facts_rejected=_rejected(findings, question),
    )
    return Answer(
        question_id=question.id,
        state=QuestionState.NOT_FOUND,
        origins=0,
        certificate=certificate,
    )


def _answer_reason(*, is_enough: bool, is_contested: bool) -> AnswerReason | None:
    if not is_enough:
        return AnswerReason.TOO_FEW_ORIGINS
    return AnswerReason.CONTESTED if is_contested else None


def _unresolved(question: Question, reason: AnswerReason) -> Answer:
    return Answer(question_id=question.id, state=QuestionState.UNRESOLVED, reason=reason, origins=0)


def recheck(certificate: Certificate, searches: Iterable[SearchRecord]) -> tuple[str, ...]:
    """Return what differs where a certificate's queries are run again, a line each.

    `searches` has the new outcome of each query, in any order, with the weights of the
    certificate's absent terms. No line means that the certificate still holds.
    """
    again = {(s.source_name, s.query): s for s in searches}
    return (
        *_corpus_differences(certificate, again.values()),
        *_query_differences(certificate, again),
        *_term_differences(certificate, again.values()),
    )


def changed_corpora(certificate: Certificate, searches: Iterable[SearchRecord]) -> tuple[str, ...]:
    """Return which corpora hold something else than a certificate was made of, a line each."""
    return tuple(_corpus_differences(certificate, searches))


def against_absence(certificate: Certificate, searches: Sequence[SearchRecord]) -> tuple[str, ...]:
    """Return what speaks against an absence in corpora as they are now, a line each.

    Of a corpus that has changed, other numbers of documents and hits say nothing: a term that was
    absent and occurs now does, and a query that was not run again to its end.
    """
    again = {(s.source_name, s.query): s for s in searches}
    missed = (
        f"{query.source_name}: query {query.text!r} was not run to its end"
        for query in certificate.queries
        if (search := again.get((query.source_name, query.text))) is None
        or search.status is not SearchStatus.COMPLETE
    )
    return (*missed, *_term_differences(certificate, searches))


def _searches(findings: Findings, question_id: str, source_name: str) -> tuple[SearchRecord, ...]:
    """Return a source's searches for a question, one a query, over its newest known state."""
    newest: dict[str, SearchRecord] = {}
    for search in findings.searches:
        if search.question_id == question_id and search.source_name == source_name:
            newest.pop(search.query, None)
            newest[search.query] = search
    digests = [s.corpus_digest for s in newest.values() if s.corpus_digest]
    return tuple(s for s in newest.values() if s.corpus_digest in {None, *digests[-1:]})


@dataclass(frozen=True)
class _OfSource:
    """What a question's searches at one source have shown."""

    name: str
    searches: tuple[SearchRecord, ...]
    findings: Findings
    question_id: str

    def absent(self, terms: Sequence[str]) -> dict[str, TermWeight]:
        """Return which of the terms the source does not contain, as far as it was looked at."""
        wanted = {term.casefold() for term in terms}
        weights = {w.term.casefold(): w for s in self.searches for w in s.term_weights}
        absent = {t: w for t, w in weights.items() if t in wanted and w.document_frequency == 0}
        if self.searches and all(s.corpus_digest is None for s in self.searches):
            in_hits = terms_absent_in_hits(self.findings, self.question_id, self.name)
            unseen = wanted - set(weights) if in_hits is None else wanted & in_hits
            for term in terms:
                if term.casefold() in unseen:
                    absent.setdefault(
                        term.casefold(), TermWeight(term=term, document_frequency=0, weight=0)
                    )
        return absent

    def is_partial(self) -> bool:
        """Say whether a hit was not read whole, and an answer may stand in the rest."""
        return bars_absence(self.findings, self.question_id, self.name)

    def is_unread(self) -> bool:
        """Say whether a hit that counts is not recorded as evidence, and not read in any way."""
        blocks = {e.document.id: e.blocks for e in self.findings.evidence}
        for search in self.searches:
            if search.corpus_digest is None:
                read = all(is_read(self.findings, search, hit) for hit in to_be_read(search))
            else:
                read = not search.blocks_dropped or all(
                    _recorded(hit, blocks.get(hit.document_id or "", ())) for hit in search.hits
                )
            if not read:
                return True
        return False


def _missing_terms(
    sources: Sequence[_OfSource],
    question: Question,
    names: Sequence[str],
    language: str,
) -> tuple[TermWeight, ...]:
    """Return the terms whose absence proves that no passage answers; none: it is not proven."""
    if names:
        return _absent(sources, names)
    words = content_terms(question.text, language)
    absent = _absent(sources, words)
    return absent if len(absent) == len(words) else ()


def _why_unproven(
    sources: Sequence[_OfSource],
    names: Sequence[str],
    language: str,
) -> AnswerReason | None:
    """Return the first reason why an absence is not proven, None if it is."""
    statuses = {search.status for source in sources for search in source.searches}
    if SearchStatus.FAILED in statuses:
        return AnswerReason.SEARCH_FAILED
    if SearchStatus.PARTIAL in statuses or any(source.is_partial() for source in sources):
        return AnswerReason.SOURCE_PARTIAL
    if not sources or any(len(_different(s.searches, language)) < MIN_QUERIES for s in sources):
        return AnswerReason.TOO_FEW_QUERIES
    if any(source.is_unread() and not source.absent(names) for source in sources):
        return AnswerReason.HITS_UNREAD
    return None


def _different(searches: Iterable[SearchRecord], language: str) -> tuple[SearchRecord, ...]:
    """Return the first search of each set of content terms."""
    first: dict[frozenset[str], SearchRecord] = {}
    for search in searches:
        terms = frozenset(term.casefold() for term in content_terms(search.query, language))
        first.setdefault(terms, search)
    return tuple(first.values())


def _recorded(hit: Hit, blocks: Iterable[Block]) -> bool:
    """Say whether a passage is recorded whole: blocks, by offset, with one line break between."""
    if hit.span is None:
        return False
    at = hit.span.start
    for block in blocks:
        if block.start <= at + 1:
            at = max(at, block.end)
    return at >= hit.span.end


def _absent(sources: Iterable[_OfSource], terms: Sequence[str]) -> tuple[TermWeight, ...]:
    """Return the terms that no source contains, as far as each was looked at."""
    absent: dict[str, TermWeight] | None = None
    for source in sources:
        found = source.absent(terms)
        absent = found if absent is None else {t: w for t, w in absent.items() if t in found}
    return tuple((absent or {}).values())


def _certified_queries(
    searches: Sequence[Sequence[SearchRecord]], language: str
) -> tuple[CertifiedQuery, ...]:
    return tuple(
        CertifiedQuery(
            source_name=search.source_name,
            text=search.query,
            status=search.status,
            hits=hits_of(search),
        )
        for of_source in searches
        for search in _different(of_source, language)[:MAX_QUERIES_PER_SOURCE]
    )


def _searched_corpora(searches: Sequence[Sequence[SearchRecord]]) -> tuple[SearchedCorpus, ...]:
    return tuple(
        SearchedCorpus(
            source_name=of_source[-1].source_name,
            corpus_digest=of_source[-1].corpus_digest,
            documents=of_source[-1].documents,
        )
        for of_source in searches
        if of_source[-1].corpus_digest
    )


def _rejected(findings: Findings, question: Question) -> int:
    mine = (fact for fact in findings.facts if fact.question_id == question.id)
    return sum(fact.status is FactStatus.REJECTED for fact in mine)


def hits_of(search: SearchRecord) -> int:
    """Return how many passages a search found, those beyond its limit included."""
    return max(search.total, len(search.hits))


def _corpus_differences(certificate: Certificate, again: Iterable[SearchRecord]) -> Iterator[str]:
    searched = {s.source_name: s for s in again}
    for corpus in certificate.corpora:
        search = searched.get(corpus.source_name)
        if search is None:
            yield f"{corpus.source_name}: was not searched again"
        elif search.corpus_digest != corpus.corpus_digest:
            digest = search.corpus_digest or "unknown"
            yield f"{corpus.source_name}: the corpus is {digest}, not {corpus.corpus_digest}"
        elif search.documents != corpus.documents:
            yield f"{corpus.source_name}: {search.documents} documents, not {corpus.documents}"


def _query_differences(
    certificate: Certificate, again: dict[tuple[str, str], SearchRecord]
) -> Iterator[str]:
    for query in certificate.queries:
        search = again.get((query.source_name, query.text))
        named = f"{query.source_name}: query {query.text!r}"
        if search is None:
            yield f"{named} was not run again"
        elif search.status is not query.status:
            yield f"{named} was {query.status}, is {search.status}"
        elif hits_of(search) != query.hits:
            yield f"{named} finds {hits_of(search)} passages, not {query.hits}"


def _term_differences(certificate: Certificate, again: Iterable[SearchRecord]) -> Iterator[str]:
    absent = {weight.term for weight in certificate.absent_terms}
    found = {
        (search.source_name, weight.term, weight.document_frequency)
        for search in again
        for weight in search.term_weights
        if weight.term in absent and weight.document_frequency > 0
    }
    for source_name, term, frequency in sorted(found):
        yield f"{source_name}: {term!r} occurs in {frequency} passages, not in none"
