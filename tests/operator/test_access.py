"""Which directories a namespace may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.access import EVERYTHING_OPEN, CorpusAccess, read_corpus_access
from controller.api.errors import SourceNotReadyError, UserError
from controller.api.meta import ObjectMeta, ObjectReference
from controller.api.reasons import ReadyReason
from controller.api.source import Corpus, ResearchSource, ResearchSourceSpec, SourceType

RULES = """
team-a: [django-docs, "books/open"]
team-b: ["."]
team-c: []
"*": [public]
"""


def source(namespace: str, directory: str) -> ResearchSource:
    spec = ResearchSourceSpec(type=SourceType.CORPUS, corpus=Corpus(directory=directory))
    return ResearchSource(metadata=ObjectMeta(name="s", namespace=namespace), spec=spec)


@pytest.fixture
def access(tmp_path: Path) -> CorpusAccess:
    file = tmp_path / "access.yaml"
    file.write_text(RULES, encoding="utf-8")
    return read_corpus_access(file)


@pytest.mark.parametrize(
    ("namespace", "directory"),
    [
        ("team-a", "django-docs"),
        ("team-a", "django-docs/ref"),
        ("team-a", "./django-docs/"),
        ("team-a", "books/open"),
        ("team-b", "anything/at/all"),
        ("anybody", "public/notes"),
    ],
)
def test_open(access: CorpusAccess, namespace: str, directory: str) -> None:
    access.require(source(namespace, directory))


@pytest.mark.parametrize(
    ("namespace", "directory"),
    [
        ("team-a", "books"),
        ("team-a", "books/closed"),
        ("team-a", "django-docs-internal"),
        ("team-a", "django-docs/../secret"),
        ("team-a", "public"),
        ("team-b", "../outside"),
        ("team-b", "/etc"),
        ("team-c", "public"),
        ("anybody", "django-docs"),
    ],
)
def test_closed(access: CorpusAccess, namespace: str, directory: str) -> None:
    with pytest.raises(SourceNotReadyError, match=f"not open to the namespace {namespace}") as told:
        access.require(source(namespace, directory))
    assert told.value.reason is ReadyReason.DIRECTORY_NOT_ALLOWED


def test_without_a_file_everything_is_open() -> None:
    EVERYTHING_OPEN.require(source("anybody", "anything"))


def test_config_maps_are_a_namespaces_own(access: CorpusAccess) -> None:
    corpus = Corpus(config_map_refs=(ObjectReference(name="manual"),))
    spec = ResearchSourceSpec(type=SourceType.CORPUS, corpus=corpus)
    metadata = ObjectMeta(name="s", namespace="team-c")
    access.require(ResearchSource(metadata=metadata, spec=spec))


@pytest.mark.parametrize(
    "text",
    ["[a, b]", "team-a: django-docs", "team-a: [1]", "team-a: [/etc]", "team-a: [../x]", "1: [a]"],
)
def test_files_that_say_something_else_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="must map namespaces"):
        read_corpus_access(file)


@pytest.mark.parametrize("content", [b"team-a: [", b"\xff\xfe\xff"])
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "access.yaml"
    file.write_bytes(content)
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus_access(file)
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus_access(tmp_path / "missing")
