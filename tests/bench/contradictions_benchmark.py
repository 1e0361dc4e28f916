"""Whether planted contradictions are found, and none where there is none.

    python -m tests.bench.contradictions_benchmark [--planted N] [--settings N] [--seed S]

Runs the loop without a model over Django's documentation. Two corpora of its page of settings, of
which one has other defaults of N settings, are asked for these; the documentation alone, and with a
copy of that page beside it, for all of its settings. Prints JSON. Ends with 1 if less than 95 % of
the planted contradictions are found, or one that was not planted is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.api.records import AnswerReason
from controller.evidence.report_format import ReportQuestion
from demo.corpus import django_docs
from tests.contradictions.corpora import (
    documented_settings,
    page_of,
    typed_settings,
    with_changed_defaults,
    write_page,
)
from tests.contradictions.runs import asked

LEAST_FOUND_PERCENT = 95


def contested(answers: Mapping[str, ReportQuestion]) -> list[str]:
    """Return the settings whose answer is contested."""
    return [name for name, asked in answers.items() if asked.reason is AnswerReason.CONTESTED]


def over(sources: Mapping[str, Path], names: Sequence[str]) -> dict[str, ReportQuestion]:
    """Return what the loop answers over some corpora."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(asked(Path(folder), sources, names))


def planted(documentation: Path, folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Plant contradictions, and return how many are found, by the kind of value."""
    page = page_of(documentation)
    names = sorted(random.Random(seed).sample(typed_settings(page), count))  # noqa: S311
    changed, changes = with_changed_defaults(page, names, seed)
    sources = {
        "manual": write_page(folder / "manual", page),
        "mirror": write_page(folder / "mirror", changed),
    }
    found = contested(over(sources, names))
    return {
        "planted": len(changes),
        "contested": len(found),
        "byKind": {
            kind: [sum(c.name in found for c in changes if c.kind == kind), number]
            for kind, number in Counter(change.kind.value for change in changes).items()
        },
        "missed": [change.name for change in changes if change.name not in found],
    }


def clean(sources: Mapping[str, Path], names: Sequence[str]) -> dict[str, Any]:
    """Return how many answers are contested where nothing is planted: which is wrong of each."""
    answers = over(sources, names)
    return {
        "questions": len(answers),
        "answered": sum(asked.state == "Answered" for asked in answers.values()),
        "contested": contested(answers),
        "disagreements": {
            name: [(d.ruling, [v.value for v in d.values]) for d in asked.disagreements]
            for name, asked in answers.items()
            if asked.disagreements
        },
    }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--planted", type=int, default=40)
    parser.add_argument("--settings", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    documentation, began = django_docs(), time.monotonic()
    names = documented_settings(page_of(documentation))[: options.settings]
    with tempfile.TemporaryDirectory() as folder:
        copy = write_page(Path(folder) / "copy", page_of(documentation))
        result = {
            "planted": planted(documentation, Path(folder), options.planted, options.seed),
            "manual": clean({"django-docs": documentation}, names),
            "manualAndCopy": clean({"django-docs": documentation, "copy": copy}, names),
        }
    result["seconds"] = {"all": round(time.monotonic() - began, 1)}
    print(json.dumps(result, indent=2, ensure_ascii=False))
    found, told = result["planted"]["contested"], result["planted"]["planted"]
    is_missed = 100 * found < LEAST_FOUND_PERCENT * told
    is_false = any(result[name]["contested"] for name in ("manual", "manualAndCopy"))
    return 1 if is_missed or is_false else 0


if __name__ == "__main__":
    sys.exit(main())
