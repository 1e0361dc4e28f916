"""What random endpoints can make a run spend: many scripts of HTTP, small budgets, restarts.

    python -m tests.bench.spend_benchmark [--scripts N] [--processes P]

Prints JSON; progress goes to standard error. Every script is checked as it ends, and the first one
that breaks a promise ends the benchmark with 1 (docs/benchmarks.md).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from tests.spend.runs import Spent, run_script

SCRIPTS = 1000


def run_all(scripts: int, processes: int) -> list[Spent]:
    """Run all scripts, and tell how far they are."""
    began, ran = time.monotonic(), []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for done in as_completed([pool.submit(run_script, seed) for seed in range(scripts)]):
            ran.append(done.result())
            if len(ran) % 100 == 0 or len(ran) == scripts:
                print(f"{len(ran)} scripts, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return ran


def result_of(ran: Sequence[Spent]) -> dict[str, Any]:
    """Return what was counted."""
    return {
        "benchmark": "spend",
        "scripts": len(ran),
        "modelCalls": sum(spent.calls for spent in ran),
        "requests": sum(spent.requests for spent in ran),
        "interruptedCalls": sum(spent.interrupted for spent in ran),
        "callsOfUnknownUsage": sum(spent.unknown for spent in ran),
        "runsWhoseLastCallCrossedABudget": sum(spent.overran for spent in ran),
        "budgetsCrossedOtherwise": 0,  # the checks of every script say so
        "endings": dict(Counter(spent.ending.value for spent in ran).most_common()),
    }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scripts", type=int, default=SCRIPTS)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(json.dumps(result_of(run_all(options.scripts, options.processes)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
