"""The corpora of the strata: folders of text below one root, made from what packages hold.

A corpus is copied from its packages, each file unchanged or with what a stratum takes out of it,
line for line: so that the lines of the gold are the lines of the copy.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from demo.corpus import CorpusUnavailableError, django_docs
from tests.bench.research.packages import Package, PackageUnavailableError, unpacked

DJANGO: Final = "django-docs"
POSTGRESQL: Final = "postgresql"
MANUALS: Final = "manuals"
REDUCED: Final = "django-reduced"

POSTGRESQL_PACKAGE: Final = "postgresql-doc-15"
PYTHON_PACKAGE: Final = "python3.11-doc"
FAQ_PACKAGE: Final = "debian-faq"

_TREES: Final = {
    POSTGRESQL_PACKAGE: ("usr/share/doc/postgresql-doc-15/html", "*.html"),
    PYTHON_PACKAGE: ("usr/share/doc/python3.11/html", "*.html"),
    FAQ_PACKAGE: ("usr/share/doc/debian/FAQ", "*.en.html"),
    "debian-policy": ("usr/share/doc/debian-policy/policy.html", "*.html"),
    "developers-reference": ("usr/share/developers-reference", "*.html"),
    "debian-reference-en": ("usr/share/debian-reference", "*.en.html"),
    "git-doc": ("usr/share/doc/git/html", "*.html"),
}
"""Where a package has its manual, and the names of its pages."""

_LISTS_ALONE: Final = re.compile(
    r"(?:^|/)(?:genindex.*|py-modindex|contents|search|bookindex|index\.en|changelog)\.html$"
)
"""Pages that only list the headings of others, or every change ever made."""

_LINK: Final = re.compile(r"(<a\b[^>]*>)(.*?)(</a>)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"<[^>]*>")
_HEADING: Final = re.compile(r"<(h[1-6])\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_NUMBER: Final = re.compile(r"^(?:Q?\d+(?:\.\d+)*\.?)\s+")


class CorpusMissingError(Exception):
    """A corpus cannot be made here; the text says why."""


@dataclass
class Library:
    """The corpora of a run, in one folder; each is made when it is first asked for."""

    root: Path
    packages: dict[str, Package] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def folder(self, corpus: str) -> Path:
        """Return the folder of a corpus.

        Raises:
            CorpusMissingError: it cannot be made here.
        """
        if corpus in self.missing:
            raise CorpusMissingError(self.missing[corpus])
        folder = self.root / corpus
        if not folder.is_dir():
            unfinished = self.root / f".unfinished-{corpus}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            try:
                _MAKERS[corpus](self, unfinished)
            except (PackageUnavailableError, CorpusUnavailableError) as error:
                self.missing[corpus] = str(error).splitlines()[0]
                raise CorpusMissingError(self.missing[corpus]) from error
            unfinished.rename(folder)
        return folder

    def pages(self, package: str) -> Iterator[tuple[str, Path]]:
        """Yield the pages of a package's manual: their paths in the corpus, and where they are.

        Raises:
            PackageUnavailableError: the package cannot be had.
        """
        folder, came = unpacked(package)
        self.packages[package] = came
        place, names = _TREES[package]
        for file in sorted((folder / place).rglob(names)):
            path = file.relative_to(folder / place).as_posix()
            if file.is_file() and not file.is_symlink() and not _LISTS_ALONE.search(path):
                yield f"{package}/{path}", file


def _copy(library: Library, target: Path, packages: Iterable[str]) -> None:
    for package in packages:
        for path, file in library.pages(package):
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def _make_django(_: Library, target: Path) -> None:
    shutil.copytree(django_docs(), target, dirs_exist_ok=True)


def _make_postgresql(library: Library, target: Path) -> None:
    _copy(library, target, [POSTGRESQL_PACKAGE])


def _make_manuals(library: Library, target: Path) -> None:
    """Copy all other manuals; of the two FAQs every question is taken out, headings and links."""
    _copy(library, target, [package for package in _TREES if package != POSTGRESQL_PACKAGE])
    for package in (FAQ_PACKAGE, PYTHON_PACKAGE):
        pages = list(library.pages(package))
        asked = {question for path, file in pages for question in questions_on(path, file)}
        for path, _file in pages:
            place = target / path
            source = place.read_text("utf-8")
            place.write_text(without_questions(source, asked), "utf-8")


def is_faq(path: str) -> bool:
    """Say whether a page of the manuals is one of the two FAQs'."""
    return path.startswith((f"{FAQ_PACKAGE}/", f"{PYTHON_PACKAGE}/faq/"))


def questions_on(path: str, file: Path) -> list[str]:
    """Return the questions that a page of a FAQ answers, as they are asked."""
    if not is_faq(path):
        return []
    found = (shown(match[2]) for match in _HEADING.finditer(file.read_text("utf-8")))
    return [text for text in found if text.endswith("?")]


def shown(markup: str) -> str:
    """Return what a piece of HTML shows, without a section number and the mark of a permalink."""
    text = " ".join(html.unescape(_TAG.sub("", markup)).replace("\u00b6", " ").split())
    return _NUMBER.sub("", text)


def without_questions(source: str, asked: set[str]) -> str:
    """Return a page without the words of questions in its headings and links, line for line."""

    def blank(text: str) -> str:
        return "\n" * text.count("\n")

    def heading(match: re.Match[str]) -> str:
        if shown(match[2]) not in asked:
            return match[0]
        start, end = match.start(2) - match.start(), match.end(2) - match.start()
        return match[0][:start] + blank(match[2]) + match[0][end:]

    def link(match: re.Match[str]) -> str:
        text = shown(match[2])
        if not any(question in text for question in asked):
            return match[0]
        return match[1] + blank(match[2]) + match[3]

    return _LINK.sub(link, _HEADING.sub(heading, source))


def _make_reduced(library: Library, target: Path) -> None:
    from tests.bench.research.absent import reduce

    shutil.copytree(library.folder(DJANGO), target, dirs_exist_ok=True)
    reduce(target)


_MAKERS: Final[dict[str, Callable[[Library, Path], None]]] = {
    DJANGO: _make_django,
    POSTGRESQL: _make_postgresql,
    MANUALS: _make_manuals,
    REDUCED: _make_reduced,
}
