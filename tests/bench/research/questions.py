"""Questions with gold: what is asked, of which corpus, and where the answer stands.

Every question belongs to one half for good: the development half, on which thresholds may be
chosen, or the test half, whose numbers are published. The half is a digest's parity, so that
no question changes sides when others come or go.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controller.evidence.normalisation import normalise


class Half(StrEnum):
    """The two halves of every stratum."""

    DEVELOPMENT = "development"
    TEST = "test"


@dataclass(frozen=True)
class Gold:
    """Where an answer stands: lines `first` to before `end` of a file, from 1.

    `says` are what a quote from there must contain one of, in normal form and in any case; none:
    any quote from there is right.
    """

    path: str
    first: int
    end: int
    says: tuple[str, ...] = ()

    def is_at(self, locator: str, line: int | None) -> bool:
        """Say whether a quote that begins at a line of a document stands here."""
        is_path = locator.partition(":")[2].endswith(self.path)
        return is_path and line is not None and self.first <= line < self.end

    def is_said_by(self, quote: str) -> bool:
        """Say whether a text says the answer."""
        return not self.says or any(_says(quote, wanted) for wanted in self.says)


@dataclass(frozen=True)
class Question:
    """A question of a stratum; without gold there is no answer to it in its corpus."""

    id: str
    corpus: str
    text: str
    gold: tuple[Gold, ...] = ()

    @property
    def half(self) -> Half:
        """The half that the question belongs to."""
        digest = hashlib.sha256(self.id.encode()).digest()
        return Half.TEST if digest[0] % 2 else Half.DEVELOPMENT


def digest_of_questions(questions: Iterable[Question]) -> str:
    """Return what tells a set of questions and its gold from any other."""
    told = [
        [q.id, q.corpus, q.text, *([g.path, g.first, g.end, *g.says] for g in q.gold)]
        for q in questions
    ]
    lines = sorted(json.dumps(question) for question in told)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _says(quote: str, wanted: str) -> bool:
    """Say whether a text contains another in normal form, not as a part of a word or number."""
    found = re.escape(_plain(wanted))
    return re.search(rf"(?<![\w]){found}(?![\w]|[.,]\d)", _plain(quote)) is not None


def _plain(text: str) -> str:
    return normalise(text).text.casefold().strip(" .,;:")
