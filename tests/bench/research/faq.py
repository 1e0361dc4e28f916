"""Strata A and E: questions that people asked, of the manuals and of a foreign one.

The gold of A is the section that answers in the FAQ; its heading, which is the question, is not
in the corpus, nor is any link that repeats it. E puts the same questions to PostgreSQL's manual,
which is about something else: an answer there is a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.bench.research.corpora import MANUALS, POSTGRESQL, Library, is_faq, shown
from tests.bench.research.questions import Gold, Question

_HEADING: Final = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)


def human_questions(pages: Iterator[tuple[str, Path]]) -> Iterator[Question]:
    """Yield stratum A, from the pages as their packages have them.

    Args:
        pages: the paths of pages in the corpus, and where their originals are.
    """
    for path, file in pages:
        if not is_faq(path):
            continue
        source = file.read_text("utf-8")
        headings = list(_HEADING.finditer(source))
        for at, match in enumerate(headings):
            text = shown(match[2])
            if not text.endswith("?"):
                continue
            following = (h.start() for h in headings[at + 1 :] if h[1] <= match[1])
            end = next(following, len(source))
            gold = Gold(path, _line(source, match.start()), _line(source, end))
            yield Question(f"A/{path}/{text}", MANUALS, text, (gold,))


def foreign(questions: Iterator[Question]) -> Iterator[Question]:
    """Yield stratum E: the same questions, asked where nothing answers them."""
    for question in questions:
        yield replace(question, id="E" + question.id[1:], corpus=POSTGRESQL, gold=())


def asked_in(library: Library, package: str) -> list[Question]:
    """Return the questions of one package's FAQ."""
    return list(human_questions(library.pages(package)))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
