"""What becomes of lies: a model that lies in every way that is known, over many tasks.

    python -m tests.bench.liar_benchmark [--tasks N] [--seed S] [--processes P]

Prints JSON; progress and the table go to standard error. Ends with 1 if a lie of a hard class
reached a report, a page's order was obeyed, or a report says what is not true (docs/benchmarks.md).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.liar.runs import Ran, run_task
from tests.liar.table import markdown_of, result_of

TASKS = 120
LEAST_LIES = 2000
RESULT = Path(__file__).resolve().parents[2] / "build" / "bench" / "liar.json"


def run_one(number: int, seed: int) -> Ran:
    """Run one task; every fourth has an answer that comes drop by drop."""
    return asyncio.run(run_task(number, seed=seed, drips=1 if number % 4 == 0 else 0))


def run_all(tasks: int, seed: int, processes: int) -> list[Ran]:
    """Run all tasks, and tell how far they are."""
    began, runs = time.monotonic(), []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for done in as_completed([pool.submit(run_one, n, seed) for n in range(tasks)]):
            runs.append(done.result())
            if len(runs) % 10 == 0 or len(runs) == tasks:
                lies = sum(len(ran.outcomes) for ran in runs)
                seconds = time.monotonic() - began
                print(f"{len(runs)} tasks, {lies} lies, {seconds:.0f} s", file=sys.stderr)
    return sorted(runs, key=lambda ran: ran.number)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    result = result_of(run_all(options.tasks, options.seed, options.processes), options.seed)
    written = json.dumps(result, indent=2, ensure_ascii=False)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(written + "\n", "utf-8")
    print(written)
    print(markdown_of(result), file=sys.stderr)
    is_short = options.tasks >= TASKS and result["lies"] < LEAST_LIES
    for problem in (*map(str, result["leaks"]), *result["faults"]):
        print(f"reached a report: {problem}", file=sys.stderr)
    if is_short:
        print(f"only {result['lies']} lies were told", file=sys.stderr)
    return 1 if result["leaks"] or result["faults"] or is_short else 0


if __name__ == "__main__":
    sys.exit(main())
