"""Runs a task against a random script, with small budgets and restarts; checks what it spent."""

from __future__ import annotations

import asyncio
import random
import tempfile
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from controller.api.errors import StoreError
from controller.api.model import Backend
from controller.api.model_call import CallFlag, micro_usd
from controller.api.reasons import TerminalReason
from controller.api.step import Outcome, ResearchStep
from controller.api.task import ResearchTask
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from tests.endpoint.clients import endpoint_model
from tests.endpoint.server import ScriptedEndpoint
from tests.faults import FaultyStore, Moment
from tests.model_runs import check_run
from tests.spend.scripts import REQUEST_TIMEOUT_SECONDS, SkippingLoop, script_of
from tests.world import World

BACKENDS: Final = tuple(Backend)
PRICES: Final = {
    "inputUSDPerMillionTokens": "1",
    "cachedInputUSDPerMillionTokens": "0.1",
    "outputUSDPerMillionTokens": "2",
}
QUESTIONS: Final = (
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "absent", "text": "What is the default of FROST_LEVEL?"},
    {"id": "colour", "text": "What is the default of GLOW_COLOUR?"},
)
OVERRUNS: Final = frozenset({CallFlag.CAP_IGNORED, CallFlag.PROMPT_UNDERESTIMATED})
"""What an endpoint did that no reservation could know: such a call may cross a budget."""


@dataclass(frozen=True)
class Spent:
    """How a script ended, and what it spent."""

    seed: int
    ending: TerminalReason
    calls: int
    requests: int
    interrupted: int
    unknown: int
    overran: bool


def run_script(seed: int) -> Spent:
    """Run one script to its end and check it, in an event loop of its own."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(_run(seed))


def spec_of(dice: random.Random) -> dict[str, Any]:
    """Return a task that is short of something, by the dice."""
    return {
        "modelRef": {"name": "scripted"},
        "questions": list(QUESTIONS[: dice.randint(0, 3)]),
        "decisionPolicy": dice.choice(["Directed", "Directed", "ModelProposed"]),
        "onModelFailure": dice.choice(["Fail", "Extractive"]),
        "budgets": {
            "maxSteps": dice.randint(1, 30),
            "maxModelCalls": dice.choice([0, *range(2, 13)]),
            "maxTokens": dice.choice([2500, 6000, 12_000, 30_000, 200_000, 200_000]),
            "maxCostUSD": dice.choice(["0", "0.005", "0.01", "0.02", "1", "1", "1"]),
            "activeDeadlineSeconds": dice.choice([60, 900, 90_000]),
        },
        "progressPolicy": {
            "maxActionRetries": dice.randint(0, 2),
            "planningInterval": dice.choice([0, 2, 10]),
            "errorThreshold": dice.randint(1, 6),
            "identicalFailureLimit": dice.randint(1, 4),
            "maxStalledSteps": dice.randint(2, 12),
        },
    }


async def _run(seed: int) -> Spent:
    dice = random.Random(f"spend {seed}")  # noqa: S311 - no secret
    backend = BACKENDS[seed % len(BACKENDS)]
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        try:
            async with (
                ScriptedEndpoint(repeat(script_of(seed, backend))) as endpoint,
                endpoint_model(
                    endpoint.url,
                    backend,
                    clock=world.clock,
                    pricing=PRICES,
                    requestTimeoutSeconds=REQUEST_TIMEOUT_SECONDS,
                ) as model,
            ):
                world.references.models["scripted"] = model
                key = world.apply(**spec_of(dice))
                await _to_its_end(world, key, dice)
            task, steps = await world.task(key), await world.steps(key)
        finally:
            world.close()
    return checked(seed, task, steps, len(endpoint.requests))


async def _to_its_end(world: World, key: TaskKey, dice: random.Random) -> None:
    """Reconcile to the end; now and then the process dies, or a write or its answer is lost."""
    operator = world.operator()
    for _ in range(400):
        if dice.random() < 0.05:
            operator = world.operator()
        elif dice.random() < 0.05:
            operator = _unlucky(world, dice)
        operator.observe(key, "999999999")
        try:
            requeue = await operator.reconcile(key)
        except StoreError:
            operator = world.operator()
            continue
        if (await world.task(key)).status.terminal_reason is not None:
            return
        if requeue.after != 0:
            world.clock.advance(requeue.after or 60)
    raise AssertionError("the run came to no end")


def _unlucky(world: World, dice: random.Random) -> Reconciler:
    store = FaultyStore(world.store, dice.randint(1, 3), dice.choice(list(Moment)))
    return Reconciler(
        store=store.port,
        references=world.references,
        clock=world.clock,
        holder=f"unlucky-{world.clock.time:%H%M%S%f}",
    )


def checked(seed: int, task: ResearchTask, steps: tuple[ResearchStep, ...], requests: int) -> Spent:
    """Check what a run has spent, against its budgets, its steps and its endpoint."""
    check_run(task, steps)
    usage, ending = task.status.usage, task.status.terminal_reason
    assert usage is not None
    assert ending is not None
    calls = [s.spec.model_call for s in steps if s.spec.model_call is not None]
    interrupted = sum(
        s.spec.outcome is Outcome.INTERRUPTED and s.spec.model_call is not None for s in steps
    )
    # What a dead process has sent is not known: it is charged, whether it was received or not.
    assert requests <= usage.model_calls <= requests + interrupted
    assert usage.cached_tokens == sum(c.cached_tokens for c in calls)
    assert usage.unknown_usage_calls == sum(c.is_usage_unknown for c in calls)
    return Spent(
        seed=seed,
        ending=ending,
        calls=usage.model_calls,
        requests=requests,
        interrupted=interrupted,
        unknown=usage.unknown_usage_calls,
        overran=_overran(task, steps),
    )


def _overran(task: ResearchTask, steps: tuple[ResearchStep, ...]) -> bool:
    """Check each call against what was left; say whether the last one crossed a budget.

    Its worst case fitted before it was sent. Only one whose answer ignored the cap, or whose
    prompt was counted higher than any before, may cross a budget, and no call follows it.
    """
    budgets, tokens, cost, crossed = task.spec.budgets, 0, 0, False
    assert budgets.max_cost_usd is not None
    limit = micro_usd(budgets.max_cost_usd)
    for spec in (step.spec for step in steps):
        call, reserved = spec.model_call, spec.reservation
        if call is None:
            continue
        assert reserved is not None
        assert not crossed
        assert tokens + reserved.tokens <= budgets.max_tokens
        assert cost + reserved.cost_micro_usd <= limit
        tokens += call.prompt_tokens + call.completion_tokens
        cost += call.cost_micro_usd
        crossed = tokens > budgets.max_tokens or cost > limit
        assert not crossed or OVERRUNS & set(call.flags)
    return crossed
