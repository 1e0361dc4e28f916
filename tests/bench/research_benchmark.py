"""DebDocs-R: how well questions over real manuals are answered without a model.

    python -m tests.bench.research_benchmark [--strata JB] [--limit N] [--processes P]

The result is build/bench/research.json; progress goes to standard error, the table to standard
output. A run of all strata and all questions writes docs/benchmark.md as well.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.bench.research.asking import Asked, Quote, ask_all, best_passages, observe
from tests.bench.research.corpora import CorpusMissingError, Library
from tests.bench.research.judging import Case
from tests.bench.research.questions import Half, Question, digest_of_questions
from tests.bench.research.strata import STRATA, Stratum

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "build" / "bench" / "research"
RESULT: Final = ROOT / "build" / "bench" / "research.json"

_CHUNK: Final = 20
"""How many questions a process takes at a time."""

Answers = tuple[list[Asked], list[tuple[Quote, ...]]]


def say(line: str) -> None:
    """Print a line of progress."""
    print(f"research: {line}", file=sys.stderr, flush=True)


def answers(folder: Path, indexes: Path, questions: Sequence[str]) -> Answers:
    """Ask questions, and the baseline as well."""
    return ask_all(folder, indexes, questions), best_passages(folder, indexes, questions)


def run(strata: Sequence[Stratum], limit: int | None, processes: int) -> dict[str, Any]:
    """Run strata and return what was measured."""
    began = time.monotonic()
    library, indexes = Library(FOLDER / "corpora"), FOLDER / "indexes"
    asked: dict[str, list[Question]] = {}
    skipped: dict[str, str] = {}
    corpora: dict[str, dict[str, Any]] = {}
    for stratum in strata:
        try:
            folders = {corpus: library.folder(corpus) for corpus in stratum.corpora}
        except CorpusMissingError as error:
            skipped[stratum.letter] = str(error)
            say(f"{stratum.letter} is skipped: {error}")
            continue
        for corpus in folders.keys() - corpora.keys():
            started = time.monotonic()
            digest, documents = observe(folders[corpus], indexes)
            seconds = time.monotonic() - started
            corpora[corpus] = {"digest": digest, "documents": documents}
            say(f"corpus {corpus}: {documents} documents, {seconds:.0f} s")
        asked[stratum.letter] = stratum.questions(library)[:limit]
    questions = [question for all_of in asked.values() for question in all_of]
    cases = _ask(library, indexes, questions, processes)
    return {
        "questions": len(questions),
        "seconds": round(time.monotonic() - began),
        "python": platform.python_version(),
        "packages": [asdict(package) for package in library.packages.values()],
        "corpora": corpora,
        "skipped": skipped,
        "strata": {
            stratum.letter: _measured(stratum, [cases[q.id] for q in asked[stratum.letter]])
            for stratum in strata
            if stratum.letter in asked
        },
    }


def _ask(
    library: Library, indexes: Path, questions: Sequence[Question], processes: int
) -> dict[str, Case]:
    began, done = time.monotonic(), 0
    cases: dict[str, Case] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        jobs = {
            pool.submit(
                answers, library.folder(part[0].corpus), indexes, [q.text for q in part]
            ): part
            for part in _parts(questions)
        }
        for job in as_completed(jobs):
            for question, asked, baseline in zip(jobs[job], *job.result(), strict=True):
                cases[question.id] = Case(question, asked, baseline)
            done += len(jobs[job])
            seconds = time.monotonic() - began
            say(f"{done} of {len(questions)} questions, {seconds:.0f} s")
    return cases


def _parts(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Yield the questions in chunks, each of one corpus."""
    for corpus in dict.fromkeys(question.corpus for question in questions):
        of_corpus = [question for question in questions if question.corpus == corpus]
        for at in range(0, len(of_corpus), _CHUNK):
            yield of_corpus[at : at + _CHUNK]


def _measured(stratum: Stratum, cases: Sequence[Case]) -> dict[str, Any]:
    halves = {half: [c for c in cases if c.question.half is half] for half in Half}
    measured = {
        half: {name: measure(of).to_json() for name, measure in stratum.measures.items()}
        for half, of in halves.items()
    }
    seconds = sorted(case.asked.seconds for case in cases) or [0.0]
    return {
        "title": stratum.title,
        "gold": stratum.gold,
        "questions": len(cases),
        "digest": digest_of_questions(case.question for case in cases),
        "targets": {
            name: {
                "target": str(target),
                "met": target.is_met_by(measured[Half.TEST][name]["percent"]),
            }
            for name, target in stratum.targets.items()
        },
        **{str(half): shares for half, shares in measured.items()},
        "secondsPerTask": {
            "median": seconds[len(seconds) // 2],
            "p95": seconds[int(0.95 * (len(seconds) - 1))],
        },
        "stepsPerTask": round(sum(c.asked.steps for c in cases) / max(1, len(cases)), 1),
        "wrong": [_wrong(case) for case in cases if _is_wrong(case)],
    }


def _is_wrong(case: Case) -> bool:
    from tests.bench.research.judging import is_right

    if case.question.gold:
        return not is_right(case.question, case.asked.quotes[:1])
    return bool(case.asked.quotes)


def _wrong(case: Case) -> dict[str, Any]:
    """Return what is needed to see why an answer is wrong."""
    return {
        "half": case.question.half,
        "question": case.question.text,
        "gold": [
            f"{g.path}:{g.first}" + (f" {g.says[0]}" if g.says else "") for g in case.question.gold
        ],
        "state": f"{case.asked.state} {case.asked.reason}".strip(),
        "quotes": [f"{q.locator}:{q.line} {q.text}" for q in case.asked.quotes],
    }


def table(result: dict[str, Any]) -> str:
    """Return the test half's numbers as lines of text."""
    lines = []
    for letter, measured in result["strata"].items():
        lines.append(f"{letter}: {measured['title']} ({measured['questions']} questions)")
        for name, share in measured[Half.TEST].items():
            low, high = share["interval"]
            target = measured["targets"].get(name)
            reached = (
                ""
                if target is None
                else f"  {'met' if target['met'] else 'MISSED'}: " + str(target["target"])
            )
            counts = f"{share['count']}/{share['of']}"
            lines.append(f"   {name:32}{counts:>9}  {share['percent']} % [{low}, {high}]{reached}")
    lines += [f"{letter}: skipped, {why}" for letter, why in result["skipped"].items()]
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    letters = "".join(stratum.letter for stratum in STRATA)
    parser.add_argument("--strata", default=letters, help=f"letters, of {letters}")
    parser.add_argument("--limit", type=int, help="so many questions of each stratum, at most")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    unknown = set(options.strata) - set(letters)
    if unknown:
        parser.error(f"--strata: {', '.join(sorted(unknown))}: there is no such stratum")
    chosen = [stratum for stratum in STRATA if stratum.letter in options.strata]
    result = run(chosen, options.limit, options.processes)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(table(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
