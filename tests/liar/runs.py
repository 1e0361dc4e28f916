"""Runs a task against the liar: the real loop and the real client, on an endpoint of loopback."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from controller.actions.publish import JSON_FILE, MARKDOWN_FILE
from controller.api.model import Backend
from controller.api.records import FactStatus
from controller.api.step import ResearchStep, ResearchStepSpec
from controller.api.task import ResearchTask
from controller.ports import TaskKey
from controller.sources.scripted import ScriptedSource
from tests.endpoint.clients import endpoint_model
from tests.endpoint.server import ScriptedEndpoint
from tests.liar.judge import Published, Reach, faults_in, reach_of
from tests.liar.liar import Liar
from tests.liar.lies import Lie, Part
from tests.liar.truth import GUIDE, MANUAL, TrueWorld, true_world
from tests.model_runs import check_run
from tests.world import World

BACKENDS: Final = tuple(Backend)

_PROGRESS: Final = {
    "planningInterval": 6,
    "maxStalledSteps": 12,
    "errorThreshold": 6,
    "identicalFailureLimit": 6,
    "maxActionRetries": 2,
}


@dataclass(frozen=True)
class Outcome:
    """A lie, how far it came, and what stopped it."""

    task: int
    lie: Lie
    reach: Reach
    stopped_by: str


@dataclass(frozen=True)
class Ran:
    """A task that has ended, and what came of each lie in it.

    `blind` is how many requests asked for queries or an action, `shown` how many of them had an
    order of a page in their prompt.
    """

    number: int
    ending: str
    outcomes: tuple[Outcome, ...]
    faults: tuple[str, ...]
    calls: int
    blind: int
    shown: int
    statements: int
    worded: int


async def run_task(number: int, *, seed: int, drips: int = 0) -> Ran:
    """Run one task to its end and judge what it has published."""
    world = true_world(seed * 1_000_003 + number)
    backend = BACKENDS[number % len(BACKENDS)]
    liar = Liar(world, seed * 1_000_003 + number, backend=backend, drips=drips)
    with tempfile.TemporaryDirectory() as folder:
        home = World(Path(folder))
        sources = {name: ScriptedSource(name, world.documents[name]) for name in (MANUAL, GUIDE)}
        home.references.sources = {**sources}
        try:
            async with (
                ScriptedEndpoint(repeat(liar.answer)) as endpoint,
                endpoint_model(
                    endpoint.url, backend, requestTimeoutSeconds=2, pricing=PRICES
                ) as model,
            ):
                home.references.models["scripted"] = model
                key = home.apply(**spec_of(number, world))
                await _to_its_end(home, key)
            task, steps = await home.task(key), await home.steps(key)
            check_run(task, steps)
            assert task.status.usage is not None
            counts = (task.status.usage.model_calls, len(liar.asked), len(endpoint.requests))
            assert len(set(counts)) == 1, f"calls charged, answered and received: {counts}"
            stored = await home.store.get_report(task)
            files = dict(stored.files) if stored else {}
            told = task.status.model_dump_json() + " ".join(
                e.message for e in home.store.events(task)
            )
        finally:
            home.close()
    published = Published(
        markdown=files.get(MARKDOWN_FILE, ""),
        report=json.loads(files.get(JSON_FILE, "{}")),
        told=told,
        sent=tuple(s.query for source in sources.values() for s in source.searches),
        counted=tuple(_counted(steps)),
        carried_out=_carried_out(steps),
    )
    return _judged(number, task, steps, liar, published)


PRICES: Final = {"inputUSDPerMillionTokens": "1", "outputUSDPerMillionTokens": "2"}


def spec_of(number: int, world: TrueWorld) -> dict[str, Any]:
    """Return a task: every third lets the model choose, some are short of everything."""
    dice = random.Random(f"task {number}")  # noqa: S311 - a task is no secret
    budgets: dict[str, Any] = {"maxModelCalls": 60, "maxTokens": 400_000, "maxSteps": 90}
    if number % 4 == 1:
        budgets |= {"maxModelCalls": dice.randint(4, 9)}
    elif number % 8 == 6:
        budgets |= {"maxTokens": dice.randint(9_000, 20_000)}
    spec: dict[str, Any] = {
        "topic": f"The {world.product}",
        "sourceRefs": [{"name": MANUAL}, {"name": GUIDE}],
        "modelRef": {"name": "scripted"},
        "questions": [] if number % 10 == 9 else world.questions(),
        "decisionPolicy": "ModelProposed" if number % 3 == 2 else "Directed",
        "onModelFailure": "Extractive" if number % 5 == 3 else "Fail",
        "budgets": {**budgets, "activeDeadlineSeconds": 100_000},
        "progressPolicy": _PROGRESS,
        "goal": {"minOrigins": 2 if number % 4 == 1 else 1},
    }
    return spec


async def _to_its_end(home: World, key: TaskKey) -> None:
    operator = home.operator()
    for _ in range(200):
        await home.run(key, operator)
        if (await home.task(key)).status.terminal_reason is not None:
            return
        home.clock.advance(600)
    raise AssertionError(f"{key} came to no end")


def _judged(
    number: int,
    task: ResearchTask,
    steps: tuple[ResearchStep, ...],
    liar: Liar,
    published: Published,
) -> Ran:
    calls = [s.spec for s in steps if s.spec.model_call is not None]
    blind = [a for a in liar.asked if a.wanted in {"queries", "questions", "action"}]
    orders = [planted.text for planted in liar.world.planted]
    outcomes = []
    for lie in liar.lies:
        reach = reach_of(lie, published)
        why = _stopped_by(lie, calls[lie.request]) if reach is Reach.NOT else ""
        outcomes.append(Outcome(number, lie, reach, why))
    said = list(published.statements)
    return Ran(
        number=number,
        ending=str(task.status.terminal_reason),
        outcomes=tuple(outcomes),
        faults=tuple(faults_in(published, liar.world, liar.lies)),
        calls=len(calls),
        blind=len(blind),
        shown=sum(any(order in asked.prompt for order in orders) for asked in blind),
        statements=len(said),
        worded=sum(is_marked for _, is_marked, _ in said),
    )


def _counted(steps: tuple[ResearchStep, ...]) -> Iterator[str]:
    """Yield the texts of steps that count: what was rejected may hold anything."""
    for spec in (step.spec for step in steps):
        if spec.extract is not None:
            verified = (f for f in spec.extract.facts if f.status is FactStatus.VERIFIED)
            yield from (
                text for f in verified for text in (f.claim, *(c.quote for c in f.citations))
            )
        for statement in (*(spec.statements or ()), *(spec.closing_summary or ())):
            yield statement.text
        if spec.plan is not None:
            yield from (query.text for query in spec.plan.queries)
            yield from (question.text for question in spec.plan.questions)
        if spec.proposal is not None:
            yield spec.proposal.arguments
        if spec.ask is not None:
            yield from spec.ask.fields


def _carried_out(steps: tuple[ResearchStep, ...]) -> frozenset[int]:
    calls = [s.spec for s in steps if s.spec.model_call is not None]
    return frozenset(at for at, spec in enumerate(calls) if spec.proposal is not None)


def _stopped_by(lie: Lie, spec: ResearchStepSpec) -> str:
    """Say what became of the answer that a lie stood in."""
    if spec.error is not None:
        return spec.error.error_class
    if lie.part in {Part.QUOTE, Part.CLAIM}:
        return _verdict(lie, spec)
    if lie.part is Part.SENTENCE:
        kept = [s.text for s in (*(spec.statements or ()), *(spec.closing_summary or ()))]
        return "kept, with what bears it out" if lie.text in kept else "sentence dropped"
    by_part = {
        Part.QUERY: "query dropped",
        Part.DOUBT: "doubt not shown",
        Part.ANSWER: "judged as any other answer",
    }
    return by_part.get(lie.part, "not carried out")


def _verdict(lie: Lie, spec: ResearchStepSpec) -> str:
    """Name the predicate's reason; a claim that is none leaves no trace but its quote."""
    facts = spec.extract.facts if spec.extract else ()
    found = [f for f in facts if lie.text in f.claim]
    failed = [v.reason for f in found for v in f.verdicts if v.reason]
    if failed:
        return str(failed[0])
    return "verified, not published" if found else "left out"
