"""Whole runs on a scripted model, and what holds of every one of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from controller.api.model_call import ModelTerms, usd
from controller.api.step import ActionName, ResearchStep
from controller.api.task import ResearchTask, Usage
from controller.loop.exchange import ModelReply, ModelRequest
from controller.loop.replay import decided_again, reduced
from controller.models.scripted import LOCAL_TERMS, ScriptedModel, Turn, answer
from controller.ports import TaskKey
from controller.sources.scripted import ScriptedSource
from tests.world import World

PRICED = LOCAL_TERMS.model_copy(update={"input_price": 1_000_000, "output_price": 2_000_000})

LIMITS: dict[str, Any] = {
    "planningInterval": 0,
    "maxStalledSteps": 50,
    "errorThreshold": 3,
    "maxActionRetries": 0,
    "identicalFailureLimit": 20,
}
"""What the cases suppose: a bad answer counts at once, and one counter is seen alone."""

NO_QUERIES = answer({"queries": []})
NO_QUOTES = answer({"quotes": []})


class DraftsApart(ScriptedModel):
    """A scripted model whose drafts are not a part of its script: most cases end before one.

    It writes nothing of its own, so that the facts' own words are published. `drafts` has what was
    asked.
    """

    def __init__(self, script: Iterable[Turn], terms: ModelTerms = LOCAL_TERMS) -> None:
        super().__init__(script, terms)
        self.drafts: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Play the next turn, or write an empty draft."""
        if not request.template.startswith("draft/"):
            return await super().complete(request)
        self.drafts.append(request)
        return await ScriptedModel([answer({"sentences": []})]).complete(request)


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    task: ResearchTask
    steps: tuple[ResearchStep, ...]
    report: str

    @property
    def ending(self) -> str | None:
        """The terminal reason."""
        return self.task.status.terminal_reason

    @property
    def usage(self) -> Usage:
        """What the status shows as used."""
        assert self.task.status.usage is not None
        return self.task.status.usage

    @property
    def message(self) -> str:
        """The message of the ending."""
        return next(c.message for c in self.task.status.conditions if c.type == "Succeeded")

    @property
    def actions(self) -> list[str]:
        """The actions of the journal, in order."""
        return [s.spec.action.value for s in self.steps]

    def of(self, action: ActionName) -> list[ResearchStep]:
        """Return the steps of one action."""
        return [s for s in self.steps if s.spec.action is action]

    def classes(self) -> list[str]:
        """Return the error classes of the journal, in order."""
        return [s.spec.error.error_class for s in self.steps if s.spec.error]


@dataclass(frozen=True)
class Ran(Ended):
    """A run that has ended, and the model that it asked."""

    model: DraftsApart


def quote(text: str, passage: str = "p1") -> ModelReply:
    """Return an answer with one quote."""
    return answer({"quotes": [{"passage": passage, "quote": text}]})


async def run(
    world: World,
    script: Iterable[Turn],
    *,
    terms: ModelTerms = LOCAL_TERMS,
    fallback: ScriptedModel | None = None,
    limits: dict[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - any field
) -> Ran:
    """Run a task on a scripted model to its end; check what holds of every run."""
    model = DraftsApart(script, terms)
    world.references.models["scripted"] = model
    if fallback is not None:
        world.references.models["fallback"] = fallback
        spec["fallbackModelRef"] = {"name": "fallback"}
    key = world.apply(
        modelRef={"name": "scripted"}, progressPolicy={**LIMITS, **(limits or {})}, **spec
    )
    ended = await finished(world, key)
    return Ran(ended.task, ended.steps, ended.report, model)


async def finished(world: World, key: TaskKey) -> Ended:
    """Run a task to its end; check what holds of every run."""
    await world.run(key)
    while (task := await world.task(key)).status.terminal_reason is None:
        world.clock.advance(60)
        await world.run(key)
    steps = await world.steps(key)
    check_run(task, steps)
    stored = await world.store.get_report(task)
    return Ended(task, steps, stored.files["report.md"] if stored else "")


def check_run(task: ResearchTask, steps: tuple[ResearchStep, ...]) -> None:
    """Check that a run's status is its journal, to the unit, and that it decides again the same."""
    usage, budgets = task.status.usage, task.spec.budgets
    assert usage is not None
    charged = [s.spec.model_call for s in steps if s.spec.model_call]
    assert usage.model_calls == len(charged) <= budgets.max_model_calls
    assert usage.prompt_tokens == sum(c.prompt_tokens for c in charged)
    assert usage.completion_tokens == sum(c.completion_tokens for c in charged)
    assert usage.cost_usd == usd(sum(c.cost_micro_usd for c in charged))
    assert usage.steps == sum(s.spec.usage.steps for s in steps) <= budgets.max_steps
    specs = {task.metadata.generation: task.spec}
    difference = reduced(task, steps, specs) or decided_again(task, steps, specs).divergence
    assert difference is None, str(difference)


def parts(names: Iterable[str], each: int) -> ScriptedSource:
    """Return a source with so many long passages for each name that none shares a prompt."""
    filler = "It is made of brass and steel and was made in the works of the company. " * 60
    sections = {
        f"{name} {at}": f"The {name} is part number {at} of the lamp. {filler}"
        for name in names
        for at in range(1, each + 1)
    }
    return ScriptedSource("lamp", {"file:parts.txt": sections})
