"""Building an index: documents are read one by one, cut into passages, and written.

A passage is a run of blocks under one heading path. What it is found by is its context (the
headings above it, and the anchors that name them) and its body (what can be quoted of it).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable
from typing import Any, Final

from pydantic import TypeAdapter

from controller.api.base import digest_of, digest_of_text
from controller.api.records import Block, BlockKind
from controller.evidence.minhash import minhash
from controller.evidence.passages import NOT_SEARCHED, cut
from controller.sources.collection import Collection, CorpusFile, LeftOut
from controller.sources.index_queries import UNSPACED
from controller.sources.readers import Reading, Text, UnreadableDocumentError, read_file

BLOCKS: Final = TypeAdapter(tuple[Block, ...])

_PROGRESS_SECONDS: Final = 2.0
_ONLY_CONTEXT: Final = frozenset({BlockKind.HEADING, BlockKind.TERM})

_TUNING: Final = (  # fewer, larger segments to merge
    "INSERT INTO words (words, rank) VALUES ('hashsize', 16777216)",
    "INSERT INTO exact (exact, rank) VALUES ('hashsize', 16777216)",
)
_INSERTS: Final = (
    "INSERT INTO words (rowid, context, body) VALUES (?, ?, ?)",
    "INSERT INTO exact (rowid, context, body) VALUES (?, ?, ?)",
)
_INSERT_UNSPACED: Final = "INSERT INTO unspaced (rowid, context, body) VALUES (?, ?, ?)"
_OPTIMISING: Final = (
    "INSERT INTO words (words) VALUES ('optimize')",
    "INSERT INTO exact (exact) VALUES ('optimize')",
    "INSERT INTO unspaced (unspaced) VALUES ('optimize')",
)

# What a defect of a reader raises: it costs the file, not the corpus.
_READER_DEFECTS: Final = (ValueError, LookupError, RecursionError)

_log: Final = logging.getLogger(__name__)


class CorpusChangedError(Exception):
    """A file is not what was hashed: the corpus has changed and must be collected again."""


class BuildStoppedError(Exception):
    """Nobody waits for the index any more."""


def build(
    connection: sqlite3.Connection, corpus: Collection, name: str, is_stopped: Callable[[], bool]
) -> None:
    """Fill an empty index with a corpus; `name` is the source's, for the log.

    Raises:
        CorpusChangedError: a file was changed or removed since it was collected.
        BuildStoppedError: `is_stopped` said so.
    """
    left_out = list(corpus.left_out)
    writer = _Writer(connection)
    total = len(corpus.files)
    reported = time.monotonic()
    for done, file in enumerate(corpus.files):
        if is_stopped():
            raise BuildStoppedError
        if time.monotonic() - reported >= _PROGRESS_SECONDS:
            reported = time.monotonic()
            _log.info("corpus %s: %d of %d documents indexed", name, done, total)
        try:
            writer.add(file)
        except UnreadableDocumentError as error:
            left_out.append(LeftOut(file.path, error.rule, error.mend, error.bars_absence))
        except _READER_DEFECTS:
            _log.exception("corpus %s: a reader failed on %s", name, file.locator)
            rule = "its reader failed"
            left_out.append(LeftOut(file.path, rule, "report it, with the log", bars_absence=True))
    for item in left_out:
        _log.warning("corpus %s: %s", name, item)
    writer.finish(left_out)
    _log.info(
        "corpus %s: indexed, %d documents, %d passages", name, writer.documents, writer.passages
    )


class _Writer:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.documents = 0
        self.passages = 0
        self._connection = connection
        for statement in _TUNING:
            connection.execute(statement)

    def add(self, file: CorpusFile) -> None:
        """Read a document and write it with its passages."""
        try:
            data = file.load()
        except OSError as error:
            raise CorpusChangedError(file.locator) from error
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise CorpusChangedError(file.locator)
        reading = read_file(data, file.path)
        record = _record(file, data, reading)
        self.documents += 1
        self._connection.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?)",
            (self.documents, record["id"], json.dumps(record), _packed(reading.text.text.encode())),
        )
        passages = [_Passage(blocks, reading.text) for blocks in cut(reading.text.blocks)]
        for passage, following in itertools.zip_longest(passages, passages[1:]):
            self._add_passage(passage, following)

    def _add_passage(self, passage: _Passage, following: _Passage | None) -> None:
        self.passages += 1
        blocks = _packed(BLOCKS.dump_json(passage.blocks, by_alias=True, exclude_none=True))
        self._connection.execute(
            "INSERT INTO passages VALUES (?, ?, ?)", (self.passages, self.documents, blocks)
        )
        if not passage.is_searched:
            return
        if not passage.body and following is not None and following.is_below(passage):
            return  # a heading is found by what stands below it
        row = (self.passages, passage.context, passage.body or passage.lead)
        for statement in _INSERTS:
            self._connection.execute(statement, row)
        if UNSPACED.search(passage.context) or UNSPACED.search(passage.body):
            # line feeds at the end make trigrams of the last characters
            padded = (self.passages, f"{passage.context}\n\n", f"{passage.body}\n\n")
            self._connection.execute(_INSERT_UNSPACED, padded)

    def finish(self, left_out: list[LeftOut]) -> None:
        """Write what is known of the whole corpus."""
        facts = {
            "documents": self.documents,
            "passages": self.passages,
            "leftOut": [[item.path, item.rule, item.mend, item.bars_absence] for item in left_out],
        }
        self._connection.executemany(
            "INSERT INTO facts VALUES (?, ?)",
            [(name, json.dumps(value)) for name, value in facts.items()],
        )
        for statement in _OPTIMISING:
            self._connection.execute(statement)


class _Passage:
    """A run of blocks, and what it is found by."""

    def __init__(self, blocks: tuple[Block, ...], text: Text) -> None:
        self.blocks = blocks
        self.path = blocks[0].heading_path
        self.is_searched = blocks[0].kind not in NOT_SEARCHED
        last = blocks[-1].end
        names = [a.name for a in text.anchors if blocks[0].start <= a.offset < last]
        headings = self.path if self.path[:1] == (text.title,) else (text.title, *self.path)
        shown = set(headings)
        self.context = "\n".join([*headings, *(name for name in names if name not in shown)])
        self.body = "\n".join(block.text for block in blocks if not _is_context(block))
        self.lead = "\n".join(block.text for block in blocks)

    def is_below(self, other: _Passage) -> bool:
        """Say whether this passage stands below the headings of another."""
        depth = len(other.path)
        return len(self.path) > depth and self.path[:depth] == other.path


def _is_context(block: Block) -> bool:
    """Say whether a block's text is in the heading path already."""
    return (
        block.kind in _ONLY_CONTEXT
        and bool(block.heading_path)
        and block.text in block.heading_path[-1]
    )


def _record(file: CorpusFile, data: bytes, reading: Reading) -> dict[str, Any]:
    """Return a `Document` without what its source adds (name, origin, priority)."""
    text = reading.text.text
    text_digest = digest_of_text(text)
    return {
        "id": "d-" + digest_of([file.locator, text_digest]).removeprefix("sha256:")[:12],
        "locator": file.locator,
        "title": reading.text.title,
        "content_type": reading.content_type,
        "charset": reading.charset,
        "bytes_digest": f"sha256:{file.sha256}",
        "text_digest": text_digest,
        "bytes": len(data),
        "characters": len(text),
        "extractor": reading.extractor.to_json(),
        "minhash": minhash(text),
    }


def _packed(data: bytes) -> bytes:
    """Compress: a third of the room, and a checksum for each row."""
    return zlib.compress(data, 1)
