"""Measures the CPU of a call to a model: `python -m tests.bench.call_benchmark`.

Prints JSON: milliseconds of CPU of the calling thread, which is all of the client's own work, for
one request with its answer over a real socket. The endpoint runs in another thread.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from itertools import repeat

from tests.endpoint.clients import QUERIES, endpoint_model
from tests.endpoint.server import RunningEndpoint, ScriptedEndpoint
from tests.endpoint.shapes import good

CALLS = 300


async def milliseconds(url: str) -> list[float]:
    """Return the CPU of each call; the first, which loads the SDK, is left out."""
    spent = []
    async with endpoint_model(url) as model:
        await model.complete(QUERIES)
        for _ in range(CALLS):
            began = time.thread_time()
            await model.complete(QUERIES)
            spent.append((time.thread_time() - began) * 1000)
    return spent


def main() -> int:
    """Measure, and print the result."""
    with RunningEndpoint(ScriptedEndpoint(repeat(good({"queries": []})))) as endpoint:
        spent = asyncio.run(milliseconds(endpoint.url))
    result = {
        "calls": CALLS,
        "median_cpu_ms": round(statistics.median(spent), 2),
        "p95_cpu_ms": round(statistics.quantiles(spent, n=20)[-1], 2),
    }
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
