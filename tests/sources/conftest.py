"""What the tests of sources share: Django's documentation, and corpora made of given files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from controller.api.meta import ObjectMeta
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType
from controller.sources.corpus import ConfigMaps, IndexedCorpus, make_source
from demo.corpus import django_docs

MakeCorpus = Callable[..., IndexedCorpus]

NOBODY = 65534


@pytest.fixture(scope="session")
def documentation() -> Path:
    """The directory that holds Django 5.2's `docs/` tree, fetched once for each user."""
    return django_docs()


async def no_config_maps(_namespace: str, names: Sequence[str]) -> ConfigMaps:
    return ConfigMaps({}, tuple(names))


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a directory."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def corpus_root(tmp_path: Path) -> Path:
    root = tmp_path / "corpora"
    root.mkdir()
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def make_corpus(corpus_root: Path, cache: Path) -> MakeCorpus:
    """Return a function that writes files to a directory and makes a source over it."""

    def make(files: Mapping[str, str | bytes] | None = None, **changes: object) -> IndexedCorpus:
        directory = str(changes.pop("directory", "library"))
        name = str(changes.pop("name", "library"))
        if files is not None:
            write(corpus_root / directory, files)
        spec = ResearchSourceSpec(
            type=SourceType.CORPUS, corpus=Corpus(directory=directory), **changes
        )
        return make_source(
            ResearchSource(metadata=ObjectMeta(name=name), spec=spec),
            corpus_root=corpus_root,
            cache_directory=cache,
            load_config_maps=no_config_maps,
        )

    return make


@pytest.fixture
def common_directory() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture
def without_privileges(common_directory: Path) -> Iterator[Path]:
    """Act as a user whom file modes bind; root, whom they do not bind, becomes nobody."""
    if os.geteuid() != 0:
        yield common_directory
        return
    os.chown(common_directory, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield common_directory
    finally:
        os.seteuid(0)
