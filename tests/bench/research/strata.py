"""The strata: what each asks of which corpora, what is measured, and what was to be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.bench.research import judging
from tests.bench.research.absent import absent_settings
from tests.bench.research.corpora import (
    DJANGO,
    FAQ_PACKAGE,
    MANUALS,
    POSTGRESQL,
    PYTHON_PACKAGE,
    REDUCED,
    Library,
)
from tests.bench.research.definitions import postgresql_terms, python_terms
from tests.bench.research.faq import foreign, human_questions
from tests.bench.research.judging import Measure
from tests.bench.research.questions import Question
from tests.bench.research.settings import django_settings, postgresql_settings


@dataclass(frozen=True)
class Target:
    """A percentage that is to be reached on the test half: at least, or at most."""

    percent: float
    at_most: bool = False

    def is_met_by(self, percent: float | None) -> bool:
        """Say whether a measured percentage reaches it; nothing measured reaches nothing."""
        if percent is None:
            return False
        return percent <= self.percent if self.at_most else percent >= self.percent

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.percent:g} %"


@dataclass(frozen=True)
class Stratum:
    """A kind of questions.

    `corpora` are made first; `questions` raises nothing then. `gold` says how the gold is made.
    """

    letter: str
    title: str
    gold: str
    corpora: tuple[str, ...]
    questions: Callable[[Library], list[Question]]
    measures: Mapping[str, Measure]
    targets: Mapping[str, Target] = field(default_factory=dict)


def _human(library: Library) -> list[Question]:
    return [q for p in (FAQ_PACKAGE, PYTHON_PACKAGE) for q in human_questions(library.pages(p))]


SETTING_TARGETS: Final = {"quoted first": Target(90), "in the first three": Target(98)}

STRATA: Final = (
    Stratum(
        "A",
        "questions that people asked",
        "the section of the FAQ that answers; its heading and every link to it are taken out",
        (MANUALS,),
        _human,
        judging.ANSWERABLE,
        {"in the first three": Target(40)},
    ),
    Stratum(
        "B",
        "defaults of PostgreSQL's settings",
        "the words that state the default, in the setting's entry",
        (POSTGRESQL,),
        lambda library: list(postgresql_settings(library.folder(POSTGRESQL))),
        judging.ANSWERABLE,
        SETTING_TARGETS,
    ),
    Stratum(
        "C",
        "definitions",
        "the term's entry in the glossary",
        (POSTGRESQL, MANUALS),
        lambda library: [
            *postgresql_terms(library.folder(POSTGRESQL)),
            *python_terms(library.folder(MANUALS)),
        ],
        judging.ANSWERABLE,
    ),
    Stratum(
        "D",
        "names that are provably absent",
        "none: 50 settings of which every mention was taken out, 50 invented; both searched for "
        "in the bytes of all files",
        (DJANGO, REDUCED),
        lambda library: list(absent_settings(library.folder(REDUCED), library.folder(DJANGO))),
        judging.PROVABLY_ABSENT,
        {"not found or unresolved": Target(100), "certificates that hold again": Target(100)},
    ),
    Stratum(
        "E",
        "questions of another subject",
        "none: the questions of stratum A, put to PostgreSQL's manual",
        (POSTGRESQL, MANUALS),
        lambda library: list(foreign(iter(_human(library)))),
        judging.FOREIGN,
        {"wrongly answered": Target(2, at_most=True)},
    ),
    Stratum(
        "J",
        "defaults of Django's settings",
        "the setting's `Default:` line, in its section",
        (DJANGO,),
        lambda library: list(django_settings(library.folder(DJANGO))),
        judging.ANSWERABLE,
        SETTING_TARGETS,
    ),
)
