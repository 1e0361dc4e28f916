"""Searching an index: ranked passages, how rare terms are, and documents to read again.

Ranking is BM25 with the context (headings) weighing three times the body; equal scores stand in
order of path and offset, so that the same corpus gives the same result everywhere.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controller.api.records import Block, Document, TermWeight
from controller.evidence.terms import MAX_TERM_LENGTH, term_weight
from controller.ports import Passage
from controller.sources import index_file
from controller.sources.collection import LeftOut
from controller.sources.index_builder import BLOCKS
from controller.sources.index_file import DamagedIndexError
from controller.sources.index_queries import (
    TRIGRAM,
    UNSPACED,
    Query,
    any_of,
    has_token,
    is_key_term,
    parse_query,
    quoted,
    trigrams,
)

_RANKED: Final = (
    "SELECT rowid, bm25({table}, 3.0, 1.0) AS score FROM {table} WHERE {table} MATCH ?"
    " ORDER BY score, rowid"
)
_INSTRUCTIONS_BETWEEN_CHECKS: Final = 20_000


class SearchTimeoutError(Exception):
    """A search took longer than its source allows."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a source adds to the record of a document that it holds."""

    source_name: str
    origin_key: str
    priority: int


@dataclass(frozen=True, slots=True)
class Found:
    """What an index holds for a query: the best passages, how many match, how rare terms are."""

    passages: tuple[Passage, ...]
    total: int
    term_weights: tuple[TermWeight, ...]
    is_cut: bool


class CorpusIndex:
    """A finished index of one corpus, open for reading by one thread at a time.

    Every method but `close` raises `DamagedIndexError` if the file is damaged after all.
    """

    def __init__(self, path: Path, digest: str) -> None:
        """Open an index.

        Raises:
            FileNotFoundError: there is none.
            DamagedIndexError: it is not what was written.
        """
        self._path = path
        self._digest = digest
        self._connection = index_file.connect(path)
        self._deadline: float | None = None
        self._connection.set_progress_handler(self._is_late, _INSTRUCTIONS_BETWEEN_CHECKS)
        with self._guarded():
            rows = self._execute("SELECT name, value FROM facts").fetchall()
            facts = {name: json.loads(value) for name, value in rows}
            self.documents: int = facts["documents"]
            self.passages: int = facts["passages"]
            self.left_out = tuple(LeftOut(*item) for item in facts["leftOut"])

    def mark_used(self) -> None:
        """Note that the index is in use, so that it is kept."""
        index_file.mark_used(self._path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def search(
        self, query: str, *, limit: int, terms: Sequence[str], origin: Origin, seconds: float
    ) -> Found:
        """Return the best passages for a query, and the weight of each term.

        Raises:
            SearchTimeoutError: it took longer than `seconds`.
        """
        with self._guarded(seconds):
            parsed = parse_query(query)
            ranked, total = self._ranked(parsed, limit)
            best = ranked[0][1] if ranked else 0.0
            passages = tuple(
                self._passage(number, _relative(score, best), origin) for number, score in ranked
            )
            weights = tuple(self._weight(term) for term in terms if term.strip())
        return Found(passages, total, weights, parsed.is_cut)

    def read_document(
        self, document_id: str, origin: Origin
    ) -> tuple[Document, str, tuple[Block, ...]] | None:
        """Return a document with its whole text and all of its blocks, or None."""
        with self._guarded():
            row = self._execute(
                "SELECT number, record, text FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
            if row is None:
                return None
            number, record, text = row
            packed = self._execute(
                "SELECT blocks FROM passages WHERE document = ? ORDER BY number", (number,)
            )
            blocks = tuple(block for (data,) in packed for block in _blocks(data))
            return self._document(record, origin), zlib.decompress(text).decode(), blocks

    def document_at(self, locator: str) -> str | None:
        """Return the id of the document at a place of the corpus, or None."""
        with self._guarded():
            row = self._execute(
                "SELECT id FROM documents WHERE json_extract(record, '$.locator') = ?", (locator,)
            ).fetchone()
            return None if row is None else str(row[0])

    @contextmanager
    def _guarded(self, seconds: float | None = None) -> Iterator[None]:
        """Turn what damage looks like into one error, and end a query that takes too long."""
        self._deadline = None if seconds is None else time.monotonic() + seconds
        try:
            yield
        except (sqlite3.DatabaseError, zlib.error, ValueError, KeyError, TypeError) as error:
            if self._is_late():
                raise SearchTimeoutError from error
            raise DamagedIndexError(str(error)) from error

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._is_late():
            raise SearchTimeoutError
        return self._connection.execute(statement, values)

    def _ranked(self, query: Query, limit: int) -> tuple[list[tuple[int, float]], int]:
        """Return the best passages by number with their scores (lower is better), and the total."""
        unspaced = self._trigrams(query.unspaced)
        if not unspaced:
            return self._ranked_words(query.words, limit)
        scores: dict[int, float] = {}
        for table, expression in (("words", any_of(query.words)), ("unspaced", any_of(unspaced))):
            if expression:
                statement = _RANKED.format(table=table)
                for number, score in self._execute(statement, (expression,)):
                    scores[number] = scores.get(number, 0.0) + score
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]))
        return ranked[:limit], len(ranked)

    def _ranked_words(
        self, words: tuple[str, ...], limit: int
    ) -> tuple[list[tuple[int, float]], int]:
        """Rank by words; those of more than half of the passages only where others are too few.

        Such a word adds one millionth to a score (SQLite's floor of idf), and most of the work.
        """
        if not words:
            return [], 0
        statement = _RANKED.format(table="words") + " LIMIT ?"
        everything = any_of(words)
        total = self._count("words", everything)
        telling = [w for w in words if 2 * self._count("words", quoted(w)) <= self.passages]
        for expression in dict.fromkeys((any_of(telling), everything)):
            ranked = self._execute(statement, (expression, limit)).fetchall() if expression else []
            if len(ranked) >= min(limit, total):
                break
        return ranked, total

    def _trigrams(self, runs: Sequence[str]) -> list[str]:
        """Return the trigrams to look for; a shorter run stands for all that begin with it."""
        found: dict[str, None] = {}
        for run in runs:
            expanded = trigrams(run) if len(run) >= TRIGRAM else self._beginning_with(run)
            found.update(dict.fromkeys(expanded))
        return list(found)

    def _beginning_with(self, run: str) -> list[str]:
        rows = self._execute(
            "SELECT term FROM unspaced_terms WHERE term >= ? AND term < ?",
            (run, run + "\U0010ffff"),
        )
        return [term for (term,) in rows]

    def _count(self, table: str, expression: str) -> int:
        statement = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"  # noqa: S608 - our names
        count: int = self._execute(statement, (expression,)).fetchone()[0]
        return count

    def _weight(self, term: str) -> TermWeight:
        frequency = self._document_frequency(term)
        return TermWeight(
            term=term[:MAX_TERM_LENGTH],
            document_frequency=frequency,
            weight=term_weight(frequency, self.passages),
        )

    def _document_frequency(self, term: str) -> int:
        """Count the passages with a term: a word up to inflection, a key term as it is written."""
        if UNSPACED.search(term):
            if len(term.strip()) >= TRIGRAM:
                return self._count("unspaced", quoted(term.strip()))
            expanded = self._beginning_with(term.strip())
            return self._count("unspaced", any_of(expanded)) if expanded else 0
        if has_token(term):
            return self._count("exact" if is_key_term(term) else "words", quoted(term))
        return self._count_symbols(term)

    def _count_symbols(self, term: str) -> int:
        """Count the passages with a term that has no letter or digit: in no table, so read all."""
        rows = self._execute("SELECT blocks FROM passages")
        return sum(any(term in block.text for block in _blocks(data)) for (data,) in rows)

    def _passage(self, number: int, relevance: int, origin: Origin) -> Passage:
        blocks, record = self._execute(
            "SELECT blocks, record FROM passages JOIN documents ON documents.number = document"
            " WHERE passages.number = ?",
            (number,),
        ).fetchone()
        return Passage(self._document(record, origin), _blocks(blocks), relevance)

    def _document(self, record: str, origin: Origin) -> Document:
        return Document(
            **json.loads(record),
            source_name=origin.source_name,
            origin_key=origin.origin_key,
            priority=origin.priority,
            corpus_digest=self._digest,
        )


def _relative(score: float, best: float) -> int:
    """Return a score in thousandths of the best, at least 1."""
    return max(1, round(1000 * score / best)) if best else 1000


def _blocks(packed: bytes) -> tuple[Block, ...]:
    return BLOCKS.validate_json(zlib.decompress(packed))
