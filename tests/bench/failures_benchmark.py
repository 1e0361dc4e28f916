"""How often a failing model is asked before a run ends, with the defaults of the task.

    python -m tests.bench.failures_benchmark

Prints JSON. The model is a scripted one and the home is the local one: what is counted is a
decision of the loop, and the same on any machine.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from itertools import repeat
from pathlib import Path

from controller.api.errors import PermanentError, RetryableError
from controller.models.scripted import ScriptedModel, Turn, answer
from tests.world import World

FAILURES: dict[str, Turn] = {
    "HTTP 401": PermanentError("Credentials", "401 from the endpoint"),
    "HTTP 500": RetryableError("ServerError", "500 from the endpoint"),
    "empty replies": answer(""),
}


async def requests_until_the_end(turn: Turn, folder: Path) -> dict[str, object]:
    """Run a task on a model that answers so for ever; return its requests and its ending."""
    world = World(folder)
    model = ScriptedModel(repeat(turn))
    world.references.models["scripted"] = model
    key = world.apply(modelRef={"name": "scripted"})
    while (task := await world.task(key)).status.terminal_reason is None:
        await world.run(key)
        world.clock.advance(60)  # past any back-off
    world.close()
    return {"requests": len(model.requests), "terminalReason": task.status.terminal_reason}


async def main() -> None:
    """Measure each failure."""
    measured = {}
    for name, turn in FAILURES.items():
        with tempfile.TemporaryDirectory() as folder:
            measured[name] = await requests_until_the_end(turn, Path(folder))
    print(json.dumps({"benchmark": "failures", "failures": measured}, indent=2))


if __name__ == "__main__":
    asyncio.run(main())
