"""Judging answers against gold: counts, of which every one is shown with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.api.records import QuestionState
from tests.bench.research.asking import Asked, Quote
from tests.bench.research.intervals import wilson
from tests.bench.research.questions import Question

IN_THREE = 3


@dataclass(frozen=True)
class Case:
    """A question, what the task answered, and what the baseline returns for it."""

    question: Question
    asked: Asked
    baseline: tuple[Quote, ...] = ()


@dataclass(frozen=True)
class Count:
    """How many of so many cases hold."""

    holds: int
    of: int

    def to_json(self) -> dict[str, Any]:
        """Return the counts, the share in percent, and its interval."""
        low, high = wilson(self.holds, self.of)
        percent = round(100 * self.holds / self.of, 1) if self.of else None
        return {
            "count": self.holds,
            "of": self.of,
            "percent": percent,
            "interval": [round(100 * low, 1), round(100 * high, 1)],
        }


Measure = Callable[[Sequence[Case]], Count]


def is_right(question: Question, quotes: Sequence[Quote]) -> bool:
    """Say whether one of some quotes stands where an answer does, and says it."""
    return any(
        gold.is_at(quote.locator, quote.line) and gold.is_said_by(quote.text)
        for quote in quotes
        for gold in question.gold
    )


def _share(holds: Callable[[Case], bool]) -> Measure:
    return lambda cases: Count(sum(map(holds, cases)), len(cases))


def _is(state: QuestionState) -> Callable[[Case], bool]:
    return lambda case: case.asked.state == state


def _certificates(cases: Sequence[Case]) -> Count:
    given = [case for case in cases if case.asked.certificate is not None]
    return Count(sum(case.asked.certificate is True for case in given), len(given))


def _citations(cases: Sequence[Case]) -> Count:
    """Count, of all that is quoted, what stands where the answer does."""
    quoted = [(case.question, quote) for case in cases for quote in case.asked.quotes]
    return Count(sum(is_right(question, [quote]) for question, quote in quoted), len(quoted))


ANSWERABLE: Mapping[str, Measure] = {
    "quoted first": _share(lambda c: is_right(c.question, c.asked.quotes[:1])),
    "in the first three": _share(lambda c: is_right(c.question, c.asked.quotes[:IN_THREE])),
    "quotes that are gold": _citations,
    "answered": _share(_is(QuestionState.ANSWERED)),
    "baseline: first passage": _share(lambda c: is_right(c.question, c.baseline[:1])),
    "baseline: first three passages": _share(lambda c: is_right(c.question, c.baseline[:IN_THREE])),
}
"""What is measured where an answer is in the corpus."""

PROVABLY_ABSENT: Mapping[str, Measure] = {
    "not found or unresolved": _share(lambda c: c.asked.state != QuestionState.ANSWERED),
    "not found": _share(_is(QuestionState.NOT_FOUND)),
    "certificates that hold again": _certificates,
    "wrongly answered": _share(_is(QuestionState.ANSWERED)),
}
"""What is measured where a name is nowhere in the corpus."""

FOREIGN: Mapping[str, Measure] = {
    "wrongly answered": _share(_is(QuestionState.ANSWERED)),
    "not found": _share(_is(QuestionState.NOT_FOUND)),
    "baseline: something returned": _share(lambda c: bool(c.baseline)),
}
"""What is measured where a corpus is about something else."""
