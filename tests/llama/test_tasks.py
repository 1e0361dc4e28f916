"""Whole tasks in process on a real small model: honest accounts, and not one false quote.

How well the model does is not asked. It is a base model of 270 million weights, and may answer
anything; what must be true of the run is true whatever it answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.actions.publish import JSON_FILE
from controller.api.model_call import usd
from controller.api.step import ActionName, ResearchStep
from controller.cli.checking import check_report
from tests.llama.real_model import PATIENCE_SECONDS, Wire, real_model
from tests.llama.server import LlamaServer
from tests.model_runs import Ended, finished
from tests.world import LAMP_MANUAL, World

pytestmark = [pytest.mark.llama, pytest.mark.timeout(3600)]

GLOW = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
COLOUR = {"id": "colour", "text": "What is the default of GLOW_COLOUR?"}
PATIENT = {"stepTimeoutSeconds": PATIENCE_SECONDS, "planningInterval": 0}


async def run(
    world: World,
    llama: LlamaServer,
    *,
    model: Mapping[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - any field
) -> tuple[Ended, Wire]:
    """Run a task on the real model to its end; check its account, and its report's quotes."""
    names = ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total")
    before = [llama.count(name) for name in names]
    async with real_model(llama, **(model or {})) as (made, wire):
        world.references.models["tiny"] = made
        key = world.apply(
            modelRef={"name": "tiny"},
            progressPolicy={**PATIENT, **spec.pop("progressPolicy", {})},
            **{
                "onModelFailure": "Extractive",
                "budgets": {"activeDeadlineSeconds": 86_400},
                **spec,
            },
        )
        ran = await finished(world, key)
    after = [llama.count(name) for name in names]
    counted = [now - then for now, then in zip(after, before, strict=True)]
    check_account(ran, wire, processed=counted[0] + counted[1], predicted=counted[2])
    stored = await world.store.get_report(ran.task)
    assert stored is not None
    assert check_report(ran.task, ran.steps, stored).lies == ()
    quotes = [r["quote"] for r in json.loads(stored.files[JSON_FILE])["references"]]
    assert all(any(quote in text for text in world.lamp.texts.values()) for quote in quotes)
    return ran, wire


def check_account(ran: Ended, wire: Wire, *, processed: int, predicted: int) -> None:
    """Check that what the task is charged is what the server has counted, token for token.

    A request that the server refused was charged what was reserved for it, and is counted apart.
    """
    calls = [s.spec.model_call for s in ran.steps if s.spec.model_call]
    known = [c for c in calls if not c.is_usage_unknown]
    refused = [c for c in calls if c.is_usage_unknown]
    said = [e.answered["usage"] for e in wire.answers]
    assert [c.prompt_tokens for c in known] == [u["prompt_tokens"] for u in said]
    assert [c.completion_tokens for c in known] == [u["completion_tokens"] for u in said]
    assert len(calls) == ran.usage.model_calls == wire.begun
    assert len(refused) == ran.usage.unknown_usage_calls == len(wire.exchanges) - len(said)
    assert ran.usage.prompt_tokens == processed + sum(c.prompt_tokens for c in refused)
    assert ran.usage.completion_tokens == predicted + sum(c.completion_tokens for c in refused)
    micro = sum(u["prompt_tokens"] + 2 * u["completion_tokens"] for u in said)
    assert ran.usage.cost_usd == usd(micro + sum(c.cost_micro_usd for c in refused))


def templates(steps: tuple[ResearchStep, ...]) -> list[str]:
    return [s.spec.model_call.prompt_template or "" for s in steps if s.spec.model_call]


# S2.2, S2.3, S2.9
async def test_a_task_runs_to_its_end_on_a_real_model(world: World, llama: LlamaServer) -> None:
    ran, _ = await run(world, llama, questions=[GLOW, COLOUR])
    assert ran.task.status.terminal_reason is not None
    asked = [template.split("/")[0] for template in templates(ran.steps)]
    assert asked[0] == "plan"
    assert "extract" in asked
    assert set(ran.classes()) <= {"OutputTruncated", "InvalidOutput", "EmptyResponse"}
    rejected = [
        fact
        for step in ran.of(ActionName.EXTRACT)
        if step.spec.extract
        for fact in step.spec.extract.facts
        if fact.status != "Verified"
    ]
    assert ran.usage.verifier_rejections == len(rejected)


# S2.13
async def test_answers_at_a_small_cap_are_used_for_nothing(
    world: World, llama: LlamaServer
) -> None:
    ran, wire = await run(world, llama, model={"maxOutputTokens": 8})
    assert set(ran.classes()) == {"OutputTruncated"}
    assert {e.answered["choices"][0]["finish_reason"] for e in wire.answers} == {"length"}
    assert all(e.answered["usage"]["completion_tokens"] == 8 for e in wire.answers)
    # The extractive policy did each step that the model failed at.
    assert ran.ending == "GoalReached"
    assert "40 lumens" in ran.report


# S2.34, T11
async def test_a_wrong_key_costs_a_task_one_request(world: World, llama: LlamaServer) -> None:
    async with real_model(llama, key="wrong-key") as (model, wire):
        world.references.models["tiny"] = model
        ran = await finished(
            world, world.apply(modelRef={"name": "tiny"}, onModelFailure="Extractive")
        )
    assert wire.begun == 1
    assert ran.classes() == ["Credentials"]
    assert ran.ending == "GoalReached"
    assert "wrong-key" not in ran.report


# E10
async def test_a_window_that_is_claimed_too_large_ends_no_run(
    world: World, llama: LlamaServer
) -> None:
    words = {f"Note {n}": f"GLOW_LEVEL note {n}. " + "It is made of brass. " * 90 for n in range(8)}
    world.now_holds({"file:lamp.txt": {**LAMP_MANUAL["file:lamp.txt"], **words}})
    ran, wire = await run(world, llama, model={"contextWindowTokens": 65_536})
    refused = [e for e in wire.exchanges if e.status == 400]
    assert refused
    assert "Overflow" in ran.classes()
    assert ran.task.status.terminal_reason is not None


# S2.5: the actions are offered as JSON, since this server's template knows no tools
async def test_a_real_model_picks_actions(world: World, llama: LlamaServer) -> None:
    ran, wire = await run(
        world, llama, decisionPolicy="ModelProposed", budgets={"maxModelCalls": 8}
    )
    assert any(t.startswith("propose/") for t in templates(ran.steps))
    assert all("tools" not in e.asked for e in wire.answers)
    assert ran.task.status.terminal_reason is not None
