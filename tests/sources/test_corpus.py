"""Corpora as sources: observed, searched, read again, and built again when their index is gone."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from controller.api.base import digest_of_text
from controller.api.errors import (
    PermanentError,
    RetryableError,
    SourceNotReadyError,
    UnavailableError,
)
from controller.api.meta import ObjectMeta, ObjectReference
from controller.api.reasons import ReadyReason
from controller.api.records import BlockKind, SearchStatus
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType
from controller.evidence.minhash import minhash
from controller.ports import Source
from controller.sources import index_file
from controller.sources.collection import MAX_FILE_BYTES
from controller.sources.corpus import ConfigMaps, IndexedCorpus, make_source
from tests.sources.conftest import MakeCorpus, write

MANUAL = {
    "settings.rst": (
        "Settings\n========\n\nDEBUG\n-----\n\nDefault: ``False``\n\n"
        "Never deploy with debug on.\n\n"
        "TIMEOUT\n-------\n\nDefault: ``30``\n\nSeconds until a connection is closed.\n"
    ),
    "intro.md": "# Introduction\n\nConnections are closed when they are idle.\n",
    "notes.txt": "The ATOMIC_REQUESTS of a view.\n\nUse the built-in cache of example.org.\n",
}


def builds(caplog: pytest.LogCaptureFixture) -> int:
    return sum("indexed, " in record.getMessage() for record in caplog.records)


def indexes(cache: Path) -> list[Path]:
    return list(cache.glob("corpus-*.sqlite"))


def index_of(cache: Path) -> Path:
    (path,) = indexes(cache)
    return path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


async def found(source: Source, query: str, terms: Sequence[str] = ()) -> list[tuple[str, ...]]:
    outcome = await source.search(query, limit=10, terms=terms)
    return [passage.blocks[0].heading_path for passage in outcome.passages]


async def test_a_directory_is_observed_and_searched(make_corpus: MakeCorpus) -> None:
    source = make_corpus(MANUAL, origin_key="manual", priority=70, max_results=7)
    observation = await source.observe()
    assert (observation.documents, observation.warnings) == (3, ())
    outcome = await source.search("default TIMEOUT", limit=10, terms=["default", "TIMEOUT"])
    assert outcome.status is SearchStatus.COMPLETE
    assert (outcome.documents, outcome.corpus_digest) == (3, observation.digest)
    best = outcome.passages[0]
    assert [(block.kind, block.text) for block in best.blocks] == [
        (BlockKind.HEADING, "TIMEOUT"),
        (BlockKind.FIELD, "Default: 30"),
        (BlockKind.PARAGRAPH, "Seconds until a connection is closed."),
    ]
    assert best.relevance == 1000
    assert all(1 <= passage.relevance <= 1000 for passage in outcome.passages)
    document = best.document
    assert document.locator == "file:settings.rst"
    assert document.title == "Settings"
    assert (document.source_name, document.origin_key, document.priority) == (
        "library",
        "manual",
        70,
    )
    assert document.corpus_digest == observation.digest
    assert document.bytes == len(MANUAL["settings.rst"])
    assert (source.name, source.max_results, source.is_remote) == ("library", 7, False)


async def test_the_origin_is_the_sources_name_unless_it_is_given(make_corpus: MakeCorpus) -> None:
    outcome = await make_corpus(MANUAL).search("debug", limit=1, terms=[])
    assert outcome.passages[0].document.origin_key == "library"


async def test_a_document_is_read_again_whole(make_corpus: MakeCorpus) -> None:
    source = make_corpus(MANUAL)
    outcome = await source.search("TIMEOUT", limit=1, terms=[])
    document, text, blocks = await source.read_document(outcome.passages[0].document.id)
    assert document == outcome.passages[0].document
    assert digest_of_text(text) == document.text_digest
    assert document.minhash is not None
    assert document.minhash == minhash(text)
    assert len(text) == document.characters
    assert text == "\n".join(block.text for block in blocks)
    assert all(text[block.start : block.end] == block.text for block in blocks)
    assert set(outcome.passages[0].blocks) <= set(blocks)
    with pytest.raises(PermanentError, match="d-000000000000") as missing:
        await source.read_document("d-000000000000")
    assert missing.value.error_class == "DocumentMissing"


async def test_a_document_is_read_again_by_where_it_is(make_corpus: MakeCorpus) -> None:
    source = make_corpus(MANUAL)
    outcome = await source.search("TIMEOUT", limit=1, terms=[])
    found = outcome.passages[0]
    read = await source.read(found.document.locator)
    assert read.document == found.document
    assert set(found.blocks) <= set(read.blocks)
    assert read.corpus_digest == outcome.corpus_digest
    missing = await source.read("file:nowhere.md")
    assert (missing.document, missing.blocks) == (None, ())
    assert missing.corpus_digest == outcome.corpus_digest


# S1.14
async def test_documents_are_named_by_locator_and_text(
    make_corpus: MakeCorpus, corpus_root: Path
) -> None:
    async def names() -> dict[str, str]:
        source = make_corpus()
        outcome = await source.search("same other", limit=9, terms=[])
        return {p.document.locator: p.document.id for p in outcome.passages}

    write(corpus_root / "library", {"a.txt": "same", "b.txt": "same"})
    before = await names()
    assert len(set(before.values())) == 2
    write(corpus_root / "library", {"a.txt": "same\n", "b.txt": "other"})
    after = await names()
    assert after["file:a.txt"] == before["file:a.txt"]  # its bytes changed, its text did not
    assert after["file:b.txt"] != before["file:b.txt"]


WEIGHED = {
    "a word counts up to inflection": ("closing", 2),
    "a word counts where a heading has it": ("settings", 2),
    "accents do not matter": ("débug", 1),
    "an identifier counts as it is written": ("ATOMIC_REQUESTS", 1),
    "an identifier does not count inflected": ("ATOMIC_REQUEST", 0),
    "a name with joints counts as a phrase": ("built-in", 1),
    "words in another order are another phrase": ("in-built", 0),
    "a phrase": ("closed when they", 1),
    "a host": ("example.org", 1),
    "what is nowhere": ("nonexistent", 0),
    "a term that FTS5 might take for an operator": ('"; NEAR( AND *', 0),
}


@pytest.mark.parametrize("situation", WEIGHED)
async def test_terms_are_weighed(situation: str, make_corpus: MakeCorpus) -> None:
    term, frequency = WEIGHED[situation]
    outcome = await make_corpus(MANUAL).search("debug", limit=1, terms=[term, "debug"])
    assert [weight.term for weight in outcome.term_weights] == [term, "debug"]
    assert outcome.term_weights[0].document_frequency == frequency
    assert outcome.term_weights[0].weight > 0


async def test_rare_terms_weigh_more(make_corpus: MakeCorpus) -> None:
    outcome = await make_corpus(MANUAL).search("x", limit=1, terms=["nowhere", "debug", "closed"])
    nowhere, debug, closed = (weight.weight for weight in outcome.term_weights)
    assert nowhere > debug > closed


QUERIES = [
    "",
    "   ",
    '"',
    '""',
    "AND",
    "q OR",
    "NEAR(q r)",
    "col:x",
    "-x",
    "x*",
    "^x",
    "(",
    "{q r}: s",
    "++ 🙂 ...",
    "\x00",
    "'; DROP TABLE words; --",
    "词",
    "a" * 5000,
]


@pytest.mark.parametrize("query", QUERIES)
async def test_any_query_is_text_and_no_expression(query: str, make_corpus: MakeCorpus) -> None:
    outcome = await make_corpus(MANUAL).search(query, limit=5, terms=[query])
    assert outcome.status is SearchStatus.COMPLETE
    assert outcome.passages == ()


async def test_a_query_with_too_many_words_is_cut_and_says_so(make_corpus: MakeCorpus) -> None:
    query = "debug " + " ".join(f"word{number}" for number in range(100))
    outcome = await make_corpus(MANUAL).search(query, limit=5, terms=[])
    assert outcome.status is SearchStatus.PARTIAL
    assert outcome.passages
    assert "too many words" in outcome.warnings[0]


async def test_a_phrase_in_a_query_is_searched_as_one(make_corpus: MakeCorpus) -> None:
    source = make_corpus({"a.txt": "red green", "b.txt": "green red"})
    assert (await source.search('"red green"', limit=5, terms=[])).total == 1
    assert (await source.search("red green", limit=5, terms=[])).total == 2


async def test_total_counts_beyond_the_limit(make_corpus: MakeCorpus) -> None:
    source = make_corpus({f"{number}.txt": "word" for number in range(30)})
    outcome = await source.search("word", limit=4, terms=[])
    assert (len(outcome.passages), outcome.total) == (4, 30)
    locators = [passage.document.locator for passage in outcome.passages]
    assert locators == ["file:0.txt", "file:1.txt", "file:10.txt", "file:11.txt"]


async def test_a_word_of_every_passage_neither_hides_nor_leads(make_corpus: MakeCorpus) -> None:
    files = {f"{number}.txt": "manual" for number in range(8)} | {"x.txt": "manual rare"}
    source = make_corpus(files)
    outcome = await source.search("manual rare", limit=5, terms=[])
    assert (len(outcome.passages), outcome.total) == (5, 9)
    assert outcome.passages[0].document.locator == "file:x.txt"
    outcome = await source.search("manual rare", limit=1, terms=[])
    assert (outcome.passages[0].document.locator, outcome.total) == ("file:x.txt", 9)
    outcome = await source.search("manual", limit=5, terms=[])
    assert (len(outcome.passages), outcome.total) == (5, 9)


CHINESE = {
    "zh.txt": "配置\n====\n\n连接的默认超时时间是三十秒。\n",
    "ja.txt": "データベースの接続は自動的に閉じられます。\n",
    "th.txt": "การเชื่อมต่อจะถูกปิดโดยอัตโนมัติ\n",
    "en.txt": "The timeout is thirty seconds.\n",
}

UNSPACED = {
    "a run of three or more characters": ("默认超时", "file:zh.txt", 1),
    "a word of two characters": ("默认", "file:zh.txt", 1),
    "two characters at the end": ("秒。", "file:zh.txt", 1),
    "one character": ("配", "file:zh.txt", 1),
    "Japanese": ("データベース", "file:ja.txt", 1),
    "Thai": ("อัตโนมัติ", "file:th.txt", 1),
    "a sentence around a word that is there": ("接続はいつ閉じますか", "file:ja.txt", 0),
}


@pytest.mark.parametrize("situation", UNSPACED)
async def test_text_without_spaces_is_found(situation: str, make_corpus: MakeCorpus) -> None:
    query, locator, frequency = UNSPACED[situation]
    outcome = await make_corpus(CHINESE).search(query, limit=5, terms=[query])
    assert outcome.passages[0].document.locator == locator
    assert outcome.term_weights[0].document_frequency == frequency


async def test_a_query_in_two_scripts_finds_both(make_corpus: MakeCorpus) -> None:
    outcome = await make_corpus(CHINESE).search("timeout 超时时间", limit=5, terms=[])
    assert {p.document.locator for p in outcome.passages} == {"file:zh.txt", "file:en.txt"}
    assert outcome.total == 2


async def test_a_symbol_is_counted_though_no_index_has_it(make_corpus: MakeCorpus) -> None:
    source = make_corpus({"a.txt": "left → right 🙂", "b.txt": "up"})
    outcome = await source.search("left", limit=5, terms=["→", "🙂", "🙁"])
    assert [weight.document_frequency for weight in outcome.term_weights] == [1, 1, 0]


async def test_texts_of_any_script_come_back_as_they_were(make_corpus: MakeCorpus) -> None:
    texts = {
        "ar.txt": "هذا نص عربي طويل",
        "e.txt": "emoji 👩‍👩‍👧‍👦 family",
        "he/ש.txt": "שלום עולם",
    }
    queries = dict(zip(("عربي", "family", "עולם"), texts.values(), strict=True))
    source = make_corpus(texts)
    assert (await source.observe()).documents == 3
    for query, text in queries.items():
        outcome = await source.search(query, limit=1, terms=[])
        assert outcome.passages[0].blocks[0].text == text


async def test_navigation_is_kept_and_never_found(make_corpus: MakeCorpus) -> None:
    page = "<html><body><nav>Elsewhere</nav><p>Here</p></body></html>"
    source = make_corpus({"a.html": page})
    assert (await source.search("elsewhere", limit=5, terms=[])).passages == ()
    (here,) = (await source.search("here", limit=5, terms=[])).passages
    _, text, blocks = await source.read_document(here.document.id)
    assert text == "Elsewhere\nHere"
    assert [block.kind for block in blocks] == [BlockKind.NAVIGATION, BlockKind.PARAGRAPH]


async def test_a_heading_is_found_by_what_stands_below_it(make_corpus: MakeCorpus) -> None:
    source = make_corpus({"a.md": "# A\n\n## Chapter\n\n### Section\n\ntext\n\n## Childless\n"})
    assert await found(source, "chapter") == [("A", "Chapter", "Section")]
    assert await found(source, "childless") == [("A", "Childless")]


async def test_an_anchor_finds_its_heading(make_corpus: MakeCorpus) -> None:
    source = make_corpus(
        {"a.rst": ".. setting:: CACHES-OPTIONS\n\nOPTIONS\n=======\n\nText one.\n"}
    )
    assert await found(source, "CACHES-OPTIONS") == [("OPTIONS",)]


async def test_long_sections_become_several_passages(make_corpus: MakeCorpus) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number} about words. " * 20 for number in range(10))
    source = make_corpus({"a.md": f"# Title\n\n{paragraphs}\n"})
    outcome = await source.search("words", limit=50, terms=[])
    assert outcome.total > 3
    for passage in outcome.passages:
        assert passage.blocks[-1].end - passage.blocks[0].start <= 1500
    (document_id,) = {passage.document.id for passage in outcome.passages}
    _, _, blocks = await source.read_document(document_id)
    parts = sorted((p.blocks for p in outcome.passages), key=lambda part: part[0].start)
    assert tuple(block for part in parts for block in part) == blocks


async def test_a_field_is_never_parted_from_its_literal(make_corpus: MakeCorpus) -> None:
    literal = "".join(f"    'key{number}': 'value',\n" for number in range(90))
    source = make_corpus({"a.rst": f"CACHES\n======\n\nDefault::\n\n{literal}"})
    outcome = await source.search("CACHES", limit=5, terms=[])
    kinds = [block.kind for block in outcome.passages[0].blocks]
    assert kinds == [BlockKind.HEADING, BlockKind.FIELD, BlockKind.CODE]


NOT_READY: dict[str, tuple[dict[str, str | bytes] | None, ReadyReason]] = {
    "no directory": (None, ReadyReason.DIRECTORY_NOT_FOUND),
    "nothing in it": ({}, ReadyReason.NO_DOCUMENTS),
    "nothing that is taken": ({"a.png": b"\x89PNG"}, ReadyReason.NO_DOCUMENTS),
    "nothing that is text": ({"a.txt": b"\x00\x01"}, ReadyReason.NO_DOCUMENTS),
}


@pytest.mark.parametrize("situation", NOT_READY)
async def test_a_corpus_that_is_not_ready(situation: str, make_corpus: MakeCorpus) -> None:
    files, reason = NOT_READY[situation]
    source = make_corpus(files)
    with pytest.raises(SourceNotReadyError) as not_ready:
        await source.observe()
    assert not_ready.value.reason is reason
    assert "'library'" in str(not_ready.value)
    with pytest.raises(RetryableError) as retryable:
        await source.search("x", limit=1, terms=[])
    assert retryable.value.error_class == "Unreachable"


async def test_one_bad_file_never_costs_the_corpus(
    make_corpus: MakeCorpus, corpus_root: Path
) -> None:
    source = make_corpus(
        {
            "good.txt": "The answer.",
            "binary.txt": b"\x00\x01\x02",
            "charset.txt": b"\xef\xbb\xbf" + b"\xff" * 500,
            "deep.html": "<html>" + "<div>" * 50_000,
            "large.txt": "",
            "empty.txt": "",
            "line.md": "x" * 2_000_000,
        }
    )
    os.truncate(corpus_root / "library/large.txt", MAX_FILE_BYTES + 1)
    observation = await source.observe()
    assert observation.documents == 3
    assert [warning.split(" is left out: ")[0] for warning in observation.warnings] == [
        "charset.txt",
        "deep.html",
        "large.txt",
        "binary.txt",
    ]
    outcome = await source.search("answer", limit=5, terms=[])
    assert outcome.status is SearchStatus.PARTIAL
    assert outcome.warnings == observation.warnings
    assert len(outcome.passages) == 1


async def test_a_binary_or_foreign_file_bars_nothing(make_corpus: MakeCorpus) -> None:
    source = make_corpus({"a.txt": "text", "b.txt": b"\x00", "c.png": b"\x89"})
    outcome = await source.search("nothing", limit=5, terms=[])
    assert outcome.status is SearchStatus.COMPLETE
    assert len(outcome.warnings) == 1


async def test_warnings_fit_a_record(make_corpus: MakeCorpus) -> None:
    files: dict[str, str | bytes] = {f"{number:02}.txt": b"\x00" for number in range(20)}
    observation = await make_corpus({"good.txt": "text", **files}).observe()
    assert len(observation.warnings) == 8
    assert observation.warnings[-1] == "13 more files are left out, see the log"


async def test_an_index_is_built_once_and_shared(
    make_corpus: MakeCorpus, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first, second = make_corpus(MANUAL), make_corpus(MANUAL, name="other", directory="copy")
    observations = await asyncio.gather(first.observe(), second.observe(), first.observe())
    assert len({observation.digest for observation in observations}) == 1
    assert builds(caplog) == 1
    assert len(indexes(cache)) == 1
    outcome = await second.search("debug", limit=1, terms=[])
    assert outcome.passages[0].document.source_name == "other"
    assert builds(caplog) == 1


async def test_a_changed_corpus_gets_another_index(
    make_corpus: MakeCorpus, corpus_root: Path, cache: Path
) -> None:
    source = make_corpus(MANUAL)
    before = await source.observe()
    write(corpus_root / "library", {"new.txt": "A novelty."})
    assert (await source.search("novelty", limit=1, terms=[])).passages == ()
    after = await source.observe()
    assert before.digest != after.digest
    assert (await source.search("novelty", limit=1, terms=[])).corpus_digest == after.digest
    assert await found(source, "novelty") == [()]
    assert len(indexes(cache)) == 2


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def another_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE words (x)")
    connection.close()
    data = path.read_bytes()
    path.write_bytes(data + index_file._digest(path, len(data)))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"garbage" * 5000),
    "cut short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut by a byte": lambda path: os.truncate(path, path.stat().st_size - 1),
    "overwritten in the middle": lambda path: overwrite(path, 20_000, b"\xff" * 64),
    "one bit of a text turned": lambda path: overwrite(path, path.stat().st_size // 2, b"\x01"),
    "another database": another_schema,
    "a directory's worth of zeros": lambda path: path.write_bytes(bytes(100_000)),
}


@pytest.mark.parametrize("situation", DAMAGES)
@pytest.mark.parametrize("anew", [True, False])
async def test_a_damaged_index_is_built_again(
    situation: str,
    anew: bool,  # noqa: FBT001 - a parameter of the table
    make_corpus: MakeCorpus,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    source = make_corpus(MANUAL)
    await source.observe()
    expected = await source.search("default TIMEOUT", limit=10, terms=["default"])
    DAMAGES[situation](index_of(cache))
    assert builds(caplog) == 1
    if anew:
        source = make_corpus()
    assert await source.search("default TIMEOUT", limit=10, terms=["default"]) == expected
    assert builds(caplog) == 2


async def test_a_build_that_died_leaves_nothing_in_the_way(
    make_corpus: MakeCorpus, cache: Path
) -> None:
    source = make_corpus(MANUAL)
    await source.observe()
    path = index_of(cache)
    path.rename(path.with_suffix(".unfinished"))
    assert (await make_corpus().observe()).documents == 3
    assert names(cache) == ["corpora.lock", path.name]


async def test_a_lost_index_of_files_that_changed_is_observed_anew(
    make_corpus: MakeCorpus, corpus_root: Path, cache: Path
) -> None:
    source = make_corpus(MANUAL)
    observation = await source.observe()
    index_of(cache).unlink()
    write(corpus_root / "library", {"intro.md": "# Other\n\nA novelty.\n"})
    outcome = await source.search("novelty", limit=1, terms=[])
    assert len(outcome.passages) == 1
    assert outcome.corpus_digest != observation.digest


async def test_a_cache_that_cannot_be_written(make_corpus: MakeCorpus, cache: Path) -> None:
    write(cache.parent, {cache.name: "a file where a directory should be"})
    with pytest.raises(SourceNotReadyError, match=str(cache)) as not_ready:
        await make_corpus(MANUAL).observe()
    assert not_ready.value.reason is ReadyReason.INDEXING


async def test_indexes_unused_for_long_are_removed(
    make_corpus: MakeCorpus, corpus_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "KEPT_INDEXES", 2)
    source = make_corpus(MANUAL)
    await source.observe()
    oldest = index_of(cache)
    os.utime(oldest, ns=(1, oldest.stat().st_mtime_ns))
    for number in range(2):
        write(corpus_root / "library", {"new.txt": f"Number {number}."})
        await source.observe()
    assert len(indexes(cache)) == 2
    assert not oldest.exists()


# S4.35
async def test_a_search_ends_at_its_timeout(make_corpus: MakeCorpus) -> None:
    source = make_corpus(MANUAL)
    await source.observe()
    source._timeout_seconds = 0
    with pytest.raises(RetryableError, match=r"spec\.timeoutSeconds") as late:
        await source.search("debug", limit=5, terms=["debug"])
    assert late.value.error_class == "Timeout"


async def test_a_cancelled_observation_stops_its_build(
    make_corpus: MakeCorpus, cache: Path
) -> None:
    files: dict[str, str | bytes] = {
        f"{number}.rst": "Title\n=====\n\n" + "Some *words* to read.\n\n" * 300
        for number in range(300)
    }
    source = make_corpus(files)
    observing = asyncio.create_task(source.observe())
    while not any(name.endswith(".unfinished") for name in names(cache)):  # noqa: ASYNC110 - the builder is a thread
        await asyncio.sleep(0.001)
    observing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await observing
    other = make_corpus({"a.txt": "text"}, directory="small", name="small")
    await other.observe()  # its build waits in line for the stopped one
    assert not any(name.endswith(".unfinished") for name in names(cache))
    assert len(indexes(cache)) == 1


async def test_progress_is_logged(
    make_corpus: MakeCorpus,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controller.sources.index_builder._PROGRESS_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    await make_corpus(MANUAL).observe()
    messages = [record.getMessage() for record in caplog.records]
    assert "corpus library: 1 of 3 documents indexed" in messages
    assert "corpus library: indexed, 3 documents, 5 passages" in messages


async def test_a_defect_of_a_reader_costs_the_file_alone(
    make_corpus: MakeCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_data: bytes, path: str) -> object:
        if path == "intro.md":
            raise IndexError(path)
        return read_file(_data, path)

    from controller.sources.readers import read_file

    monkeypatch.setattr("controller.sources.index_builder.read_file", fail)
    observation = await make_corpus(MANUAL).observe()
    assert observation.documents == 2
    assert observation.warnings == (
        "intro.md is left out: its reader failed; report it, with the log",
    )


class Maps:
    """ConfigMaps that a test may change."""

    def __init__(self, texts: dict[str, dict[str, str]]) -> None:
        self.texts = texts
        self.error: UnavailableError | None = None

    async def load(self, namespace: str, names: Sequence[str]) -> ConfigMaps:
        assert namespace == "research"
        if self.error is not None:
            raise self.error
        missing = tuple(name for name in names if name not in self.texts)
        return ConfigMaps({n: self.texts[n] for n in names if n in self.texts}, missing)

    def source(self, cache: Path, *names: str) -> IndexedCorpus:
        spec = ResearchSourceSpec(
            type=SourceType.CORPUS,
            corpus=Corpus(config_map_refs=tuple(ObjectReference(name=name) for name in names)),
        )
        return make_source(
            ResearchSource(metadata=ObjectMeta(name="maps", namespace="research"), spec=spec),
            corpus_root=None,
            cache_directory=cache,
            load_config_maps=self.load,
        )


async def test_the_keys_of_config_maps_are_documents(cache: Path) -> None:
    maps = Maps(
        {"one": {"faq.md": "# Port\n\nDefault: 8080\n", "notes": "Plain words."}, "two": {"x": "y"}}
    )
    source = maps.source(cache, "one", "two")
    assert (await source.observe()).documents == 3
    outcome = await source.search("port words", limit=5, terms=[])
    assert {p.document.locator for p in outcome.passages} == {
        "configmap:research/one#faq.md",
        "configmap:research/one#notes",
    }
    assert {p.document.content_type for p in outcome.passages} == {"text/markdown", "text/plain"}


async def test_a_changed_config_map_is_another_corpus(cache: Path) -> None:
    maps = Maps({"one": {"a": "before"}})
    source = maps.source(cache, "one")
    before = await source.observe()
    maps.texts["one"]["a"] = "after"
    assert (await source.observe()).digest != before.digest
    assert len((await source.search("after", limit=5, terms=[])).passages) == 1


async def test_the_index_of_a_config_map_is_its_own(cache: Path, make_corpus: MakeCorpus) -> None:
    """A file whose path looks like a key has the same digest and another locator."""
    source = Maps({"one": {"a.txt": "text"}}).source(cache, "one")
    other = make_corpus({"research/one#a.txt": "text"})
    assert (await source.observe()).digest == (await other.observe()).digest
    for corpus, scheme in ((source, "configmap:"), (other, "file:")):
        outcome = await corpus.search("text", limit=1, terms=[])
        assert outcome.passages[0].document.locator.startswith(scheme)


async def test_config_maps_that_are_missing(cache: Path) -> None:
    with pytest.raises(SourceNotReadyError, match="ConfigMap two in namespace research") as missing:
        await Maps({"one": {"a": "b"}}).source(cache, "one", "two").observe()
    assert missing.value.reason is ReadyReason.CONFIG_MAP_NOT_FOUND


async def test_config_maps_that_cannot_be_read(cache: Path) -> None:
    maps = Maps({"one": {}})
    maps.error = UnavailableError("no answer")
    with pytest.raises(SourceNotReadyError, match="no answer"):
        await maps.source(cache, "one").observe()


async def test_config_maps_without_text(cache: Path) -> None:
    with pytest.raises(SourceNotReadyError, match="no key holds text") as empty:
        await Maps({"one": {}}).source(cache, "one").observe()
    assert empty.value.reason is ReadyReason.NO_DOCUMENTS
