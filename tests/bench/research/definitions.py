"""Stratum C: what a term means, by the glossaries of PostgreSQL and Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.bench.research.corpora import (
    MANUALS,
    POSTGRESQL,
    POSTGRESQL_PACKAGE,
    PYTHON_PACKAGE,
    shown,
)
from tests.bench.research.questions import Gold, Question

_ENTRY: Final = re.compile(r'<dt id="(?:GLOSSARY-|term-)[^"]*">', re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\s*\([^)]*\)")
_ONLY_REFERS: Final = re.compile(r"See(?: also)? [^.]{1,80}\.?", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[A-Za-z]{2}")


def postgresql_terms(folder: Path) -> Iterator[Question]:
    """Yield a question for each term of PostgreSQL's glossary."""
    return _terms(folder, f"{POSTGRESQL_PACKAGE}/glossary.html", POSTGRESQL)


def python_terms(folder: Path) -> Iterator[Question]:
    """Yield a question for each term of Python's glossary."""
    return _terms(folder, f"{PYTHON_PACKAGE}/glossary.html", MANUALS)


def _terms(folder: Path, path: str, corpus: str) -> Iterator[Question]:
    """Yield the terms of a page whose entries say something, not only where else it is said."""
    source = (folder / path).read_text("utf-8")
    starts = [match.start() for match in _ENTRY.finditer(source)]
    for start, end in pairwise([*starts, len(source)]):
        term, _, body = source[start:end].partition("</dt>")
        name = _BRACKETS.sub("", shown(term))
        said = shown(body.partition("</dl>")[0])
        if not _LETTERS.search(name) or _ONLY_REFERS.fullmatch(said):
            continue
        first = source.count("\n", 0, start) + 1
        gold = Gold(path, first, max(first + 1, source.count("\n", 0, end) + 1))
        yield Question(f"C/{corpus}/{name}", corpus, f"What is {name}?", (gold,))
