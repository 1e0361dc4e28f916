"""The runs that the golden journals record, and how they are made: deterministic to the byte.

A stepped clock, counted uids and holders, a corpus in memory. Each scenario drives the real loop
over the real local store; two are then changed as an older program would have written them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controller.api.base import canonical_json, digest_of
from controller.api.errors import PermanentError, RetryableError
from controller.api.step import ActionName
from controller.cli.jsonl import line_of
from controller.loop.migration import Record
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from tests.world import LAMP_MANUAL, World

GLOW: Final = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
COLOUR: Final = {"id": "colour", "text": "What is the default of GLOW_COLOUR?"}
ABSENT: Final = {"id": "absent", "text": "What is the default of FROST_LEVEL?"}

REVISED: Final = {
    "file:lamp.txt": {
        **LAMP_MANUAL["file:lamp.txt"],
        "GLOW_COLOUR": "Default: cold white, which is 6500 kelvin on every lamp of the series.",
    }
}
"""The manual with another default of one setting."""

Manifest = dict[str, Any]


class RemoteSource(ScriptedSource):
    """The same corpus at somebody else's: each search is a counted call."""

    is_remote = True


@dataclass
class Recording:
    """A world with one task, and the task as it was at each generation."""

    world: World
    key: TaskKey = field(default_factory=lambda: TaskKey("default", "task"))
    tasks: list[Manifest] = field(default_factory=list)

    async def apply(self, **spec: Any) -> None:  # noqa: ANN401 - any field
        """Apply the task with these fields of its spec."""
        self.key = self.world.apply(**spec)
        task = await self.world.task(self.key)
        metadata = task.metadata
        self.tasks.append(
            {
                "apiVersion": "research.fixpoint.dev/v1alpha1",
                "kind": "ResearchTask",
                "metadata": {
                    "name": metadata.name,
                    "namespace": metadata.namespace,
                    "uid": metadata.uid,
                    "generation": metadata.generation,
                },
                "spec": task.spec.to_json(),
            }
        )

    async def run(self, operator: Reconciler | None = None) -> None:
        """Take the task as far as it goes."""
        await self.world.run(self.key, operator)

    async def run_until_pending(self, action: ActionName) -> None:
        """Stop as a killed process does, right after the intent of an action was stored."""
        operator = self.world.operator()
        for _ in range(100):
            pending = (await self.world.task(self.key)).status.pending
            if pending is not None and pending.action is action:
                return
            await operator.reconcile(self.key)
        raise AssertionError(f"no {action} was ever pending")


async def complete(run: Recording) -> None:
    """One question is answered, the other certified absent: the goal is reached."""
    await run.apply(questions=[GLOW, ABSENT])
    await run.run()


async def not_found(run: Recording) -> None:
    """The only question is certified absent: the sources are exhausted."""
    await run.apply(questions=[ABSENT])
    await run.run()


async def exhausted(run: Recording) -> None:
    """The task's steps are used up after the first fact."""
    await run.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 3})
    await run.run()


async def reopened(run: Recording) -> None:
    """A larger budget re-opens an exhausted run; it goes on where it stopped."""
    await exhausted(run)
    await run.apply(questions=[GLOW, ABSENT], budgets={"maxSteps": 60})
    await run.run()


async def interrupted(run: Recording) -> None:
    """A call to a remote source was in flight when the process died: charged, and made anew."""
    run.world.references.sources["lamp"] = RemoteSource("lamp", LAMP_MANUAL)
    await run.apply(questions=[GLOW], budgets={"maxSourceCalls": 5})
    await run.run_until_pending(ActionName.SEARCH)
    operator = run.world.operator()
    await run.run(operator)
    run.world.clock.advance(5)
    await run.run(operator)


async def taken_over(run: Recording) -> None:
    """The process died with the report in flight; the one after it asks, and goes on."""
    await run.apply(questions=[GLOW])
    await run.run_until_pending(ActionName.PUBLISH)
    await run.run()


async def fails_then_passes(run: Recording) -> None:
    """The first attempt of a search fails, the second one passes."""
    run.world.lamp.failures = [RetryableError("Unreachable", "no route")]
    await _run_and_back_off(run)


async def unavailable(run: Recording) -> None:
    """Every attempt of the search fails: the sources are unavailable."""
    run.world.lamp.failures = [RetryableError("Unreachable", "no route") for _ in range(3)]
    await _run_and_back_off(run)


async def _run_and_back_off(run: Recording) -> None:
    await run.apply(questions=[GLOW])
    operator = run.world.operator()
    for _ in range(3):
        await run.run(operator)
        run.world.clock.advance(5)


async def set_aside(run: Recording) -> None:
    """One of two sources fails for ever: it is set aside, and the run goes on with the other."""
    wiki = run.world.references.sources["wiki"] = ScriptedSource("wiki", LAMP_MANUAL)
    wiki.failures = [PermanentError("Gone", "no such page") for _ in range(3)]
    both = [{"name": "lamp"}, {"name": "wiki"}]
    await run.apply(questions=[GLOW, ABSENT], sourceRefs=both)
    await run.run()


async def waiting(run: Recording) -> None:
    """A source is missing and comes; the run is suspended and resumed."""
    await run.apply(questions=[GLOW], sourceRefs=[{"name": "later"}])
    operator = run.world.operator()
    await run.run(operator)
    run.world.references.sources["later"] = ScriptedSource("later", LAMP_MANUAL)
    for _ in range(4):
        operator.observe(run.key, "")
        await operator.reconcile(run.key)
    await run.apply(questions=[GLOW], sourceRefs=[{"name": "later"}], desiredState="Suspended")
    await run.run(operator)
    run.world.clock.advance(5000)
    await run.apply(questions=[GLOW], sourceRefs=[{"name": "later"}])
    await run.run(operator)


async def unfinished(run: Recording) -> None:
    """The process died in the middle; the status shows the next intent."""
    await run.apply(questions=[GLOW, ABSENT])
    await run.run_until_pending(ActionName.REFINE)


async def question_limit(run: Recording) -> None:
    """Three questions use up their own steps, none is concluded; the report is still written."""
    questions = [
        {"id": name.lower(), "text": f"What is the default of {name}_LEVEL?"}
        for name in ("FROST", "SMOKE", "STEAM")
    ]
    await run.apply(questions=questions, budgets={"maxStepsPerQuestion": 6})
    await run.run()


async def no_progress(run: Recording) -> None:
    """One step that brings nothing new is one too many."""
    await run.apply(questions=[ABSENT], progressPolicy={"maxStalledSteps": 1})
    await run.run()


async def deadline(run: Recording) -> None:
    """The source never comes, and the active time runs out."""
    await run.apply(questions=[GLOW], sourceRefs=[{"name": "never"}])
    operator = run.world.operator()
    await run.run(operator)
    run.world.clock.advance(1000)
    await run.run(operator)


async def no_source_calls(run: Recording) -> None:
    """No call to a remote source may be made, so none is."""
    run.world.references.sources["lamp"] = RemoteSource("lamp", LAMP_MANUAL)
    await run.apply(questions=[GLOW], budgets={"maxSourceCalls": 0})
    await run.run()


async def clarified(run: Recording) -> None:
    """A field of the question is asked for, and answered."""
    asks = [{"id": "glow", "text": "What is the default of {setting}?"}]
    await run.apply(questions=asks)
    await run.run()
    run.world.clock.advance(4000)
    answer = [{"field": "setting", "answer": "GLOW_LEVEL"}]
    await run.apply(questions=asks, clarifications=answer)
    await run.run()


async def approved(run: Recording) -> None:
    """The draft waits for a person, who approves it."""
    await run.apply(questions=[GLOW], approval={"mode": "Required"})
    await run.run()
    run.world.clock.advance(4000)
    awaiting = (await run.world.task(run.key)).status.awaiting
    assert awaiting is not None
    decision = {"digest": awaiting.approval_digest, "verdict": "Approved"}
    await run.apply(questions=[GLOW], approval={"mode": "Required", "decision": decision})
    await run.run()


async def second_round(run: Recording) -> None:
    """One of two quotes is gone from the manual: the other holds, its question is not searched."""
    await run.apply(questions=[GLOW, COLOUR])
    await run.run()
    run.world.now_holds(REVISED)
    await run.run()


async def third_round(run: Recording) -> None:
    """The interval has passed twice; of the first two rounds nothing is kept."""
    await run.apply(questions=[GLOW], refreshIntervalSeconds=600, historyLimit=1)
    for _ in range(3):
        await run.run()
        run.world.clock.advance(601)


def as_recorded(records: list[Manifest]) -> list[Manifest]:
    """Return the steps as they are."""
    return records


def in_format_zero(records: list[Manifest]) -> list[Manifest]:
    """Return the steps in a format that never was, with another name for the arguments."""
    return _sealed(records, _older)


def _older(spec: Manifest) -> Manifest:
    older = {**spec, "formatVersion": 0, "arguments": spec["argumentsJSON"]}
    del older["argumentsJSON"]
    return older


def from_format_zero(record: Record) -> Record:
    """Read a record of that format as one of format 1: the migration that the test registers."""
    newer = {**record, "argumentsJSON": record["arguments"]}
    del newer["arguments"]
    return newer


def with_another_policy(records: list[Manifest]) -> list[Manifest]:
    """Return the steps as a program would have written them that concludes for another reason."""

    def changed(spec: Manifest) -> Manifest:
        if spec["action"] != "Conclude":
            return spec
        return {**spec, "decision": {**spec["decision"], "reason": "EnoughFacts"}}

    return _sealed(records, changed)


def _sealed(records: list[Manifest], change: Callable[[Manifest], Manifest]) -> list[Manifest]:
    """Change each step's spec and close the chain again."""
    made: list[Manifest] = []
    for record in records:
        spec = change(record["spec"])
        if made:
            spec = {**spec, "previousDigest": made[-1]["spec"]["digest"]}
        content = {name: value for name, value in spec.items() if name != "digest"}
        made.append({**record, "spec": {**content, "digest": digest_of(content)}})
    return made


@dataclass(frozen=True)
class Scenario:
    """How a golden run is made: what happens in the world, and what is made of the records."""

    happens: Callable[[Recording], Awaitable[None]]
    records: Callable[[list[Manifest]], list[Manifest]] = as_recorded


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "complete": Scenario(complete),
    "not-found": Scenario(not_found),
    "exhausted": Scenario(exhausted),
    "reopened": Scenario(reopened),
    "interrupted": Scenario(interrupted),
    "taken-over": Scenario(taken_over),
    "fails-then-passes": Scenario(fails_then_passes),
    "unavailable": Scenario(unavailable),
    "set-aside": Scenario(set_aside),
    "waiting": Scenario(waiting),
    "unfinished": Scenario(unfinished),
    "question-limit": Scenario(question_limit),
    "no-progress": Scenario(no_progress),
    "deadline": Scenario(deadline),
    "no-source-calls": Scenario(no_source_calls),
    "clarified": Scenario(clarified),
    "approved": Scenario(approved),
    "second-round": Scenario(second_round),
    "third-round": Scenario(third_round),
    "older-format": Scenario(complete, in_format_zero),
    "changed-policy": Scenario(complete, with_another_policy),
}


@dataclass(frozen=True)
class Made:
    """A golden run, made now: its journal, its task at each generation, its status."""

    journal: bytes
    tasks: list[Manifest]
    status: Manifest


async def make(name: str, folder: Path) -> Made:
    """Let a scenario happen in a new world."""
    scenario, run = SCENARIOS[name], Recording(World(folder))
    try:
        await scenario.happens(run)
        task, steps = await run.world.task(run.key), await run.world.steps(run.key)
    finally:
        run.world.close()
    records = scenario.records([json.loads(line_of(step)) for step in steps])
    status = task.status.to_json()
    if records and "journal" in status:
        first = records[0]["spec"]["index"]
        last = records[status["journal"]["steps"] - 1 - first]
        status["journal"]["digest"] = last["spec"]["digest"]
    journal = "".join(canonical_json(record) + "\n" for record in records).encode()
    return Made(journal, run.tasks, status)
