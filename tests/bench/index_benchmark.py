"""Measures the index over Django's documentation: `python -m tests.bench.index_benchmark`.

Prints JSON: seconds to build, documents, passages, size, peak memory, and milliseconds of a query
(search and the weights of about eight terms) over 200 questions about settings.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from controller.api.meta import ObjectMeta
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType
from controller.evidence.terms import content_terms, weighed_terms
from controller.sources.corpus import ConfigMaps, IndexedCorpus, make_source
from controller.sources.index import CorpusIndex
from controller.sources.readers import rest
from demo.corpus import django_docs

QUESTIONS = 200


async def no_config_maps(_namespace: str, names: Sequence[str]) -> ConfigMaps:
    """Find none: the benchmark reads a directory."""
    return ConfigMaps({}, tuple(names))


def source_over(directory: Path, cache_directory: Path) -> IndexedCorpus:
    """Return a source over a directory."""
    resource_ = ResearchSource(
        metadata=ObjectMeta(name="django-docs"),
        spec=ResearchSourceSpec(type=SourceType.CORPUS, corpus=Corpus(directory=directory.name)),
    )
    return make_source(
        resource_,
        corpus_root=directory.parent,
        cache_directory=cache_directory,
        load_config_maps=no_config_maps,
    )


def questions(directory: Path) -> list[str]:
    """Return 200 questions about the settings that the documentation describes."""
    text = (directory / "docs/ref/settings.txt").read_text(encoding="utf-8")
    names = re.findall(r"^\.\. setting:: (\S+)$", text, re.MULTILINE)
    forms = (
        "What is the default value of the {} setting in Django and what does it change?",
        "When should {} be set to another value than its default in a deployment?",
    )
    return [form.format(name) for form in forms for name in names][:QUESTIONS]


def size_of(cache_directory: Path, digest: str) -> tuple[int, int]:
    """Return the bytes and the passages of the only index in a cache."""
    (path,) = cache_directory.glob("*.sqlite")
    with closing(CorpusIndex(path, digest)) as index:
        return path.stat().st_size, index.passages


def parse_seconds(directory: Path) -> float:
    """Return the seconds of a processor that it takes to read all text files."""
    texts = [path.read_text(encoding="utf-8") for path in directory.rglob("*.txt")]
    started = time.process_time()
    for text in texts:
        rest.read(text, "")
    return round(time.process_time() - started, 2)


async def measure() -> dict[str, float]:
    """Build the index in an empty cache, then ask."""
    directory = django_docs()
    with tempfile.TemporaryDirectory() as cache:
        source = source_over(directory, Path(cache))
        started = time.perf_counter()
        observation = await source.observe()
        assert observation.digest is not None
        assert observation.documents is not None
        built = time.perf_counter() - started
        started = time.perf_counter()
        await source.observe()
        observed_again = time.perf_counter() - started
        took = []
        total = 0
        for question in questions(directory):
            query, terms = " ".join(content_terms(question)), weighed_terms(question)
            started = time.perf_counter()
            outcome = await source.search(query, limit=10, terms=terms)
            took.append(1000 * (time.perf_counter() - started))
            total += outcome.total
        size, passages = size_of(Path(cache), observation.digest)
    took.sort()
    return {
        "parseSeconds": parse_seconds(directory),
        "buildSeconds": round(built, 2),
        "observeAgainMilliseconds": round(1000 * observed_again, 1),
        "documents": observation.documents,
        "passages": passages,
        "indexMebibytes": round(size / 2**20, 1),
        "peakMebibytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, 1),
        "queries": len(took),
        "medianMilliseconds": round(statistics.median(took), 1),
        "p95Milliseconds": round(took[int(0.95 * len(took))], 1),
        "meanMatchingPassages": round(total / len(took), 1),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(measure()), indent=2) + "\n")
