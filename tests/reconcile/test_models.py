"""Directed runs with a model: it writes queries and finds quotes; the code does the rest."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from controller.models.scripted import LOCAL_TERMS, answer
from tests.model_runs import NO_QUERIES, NO_QUOTES, parts, quote, run
from tests.world import World


async def test_a_model_s_quote_is_published_in_the_source_s_words(world: World) -> None:
    script = [NO_QUERIES, quote("Default: 40  lumens at the lowest dimmer position of the lamp.")]
    ran = await run(world, script)
    assert ran.ending == "GoalReached"
    assert ran.actions == ["Plan", "Search", "Extract", "Conclude", "Draft", "Publish"]
    assert "Default: 40 lumens at the lowest dimmer position" in ran.report
    assert len(ran.model.requests) == 2


# S2.13
async def test_an_invented_quote_is_no_fact_and_no_error(world: World) -> None:
    ran = await run(world, chain([NO_QUERIES, quote("Default: 90 lumens."), NO_QUERIES],
                                 repeat(NO_QUOTES, 10)))  # fmt: skip
    assert ran.ending == "SourcesExhausted"
    assert ran.usage.verifier_rejections == 1
    assert ran.classes() == []
    assert "90 lumens" not in ran.report


async def test_a_model_s_queries_are_asked_beside_the_question_s_own_words(world: World) -> None:
    written = answer({"queries": [{"question": "glow", "query": "lowest dimmer position"}]})
    await run(world, [written, quote("Default: 40 lumens at the lowest dimmer position")])
    asked = [s.query for s in world.lamp.searches]
    assert asked == ["default GLOW_LEVEL", "lowest dimmer position"]


@pytest.mark.parametrize(
    "address", ["https://lamp.example/spec", "see www.lamp.example", "FTP://x"]
)
async def test_a_model_writes_no_address_into_a_query(world: World, address: str) -> None:
    written = answer({"queries": [{"question": "glow", "query": address}]})
    await run(world, [written, quote("Default: 40 lumens at the lowest dimmer position")])
    assert [s.query for s in world.lamp.searches] == ["default GLOW_LEVEL"]


async def test_a_model_writes_no_address_into_a_question(world: World) -> None:
    url = "https://lamp.example/spec"
    asked = [
        {"question": f"What does {url} say?", "queries": ["lamp"]},
        {"question": "What is the default of GLOW_LEVEL?", "queries": [url, "lowest lumens"]},
    ]
    found = quote("Default: 40 lumens at the lowest dimmer position of the lamp.")
    ran = await run(world, [answer({"questions": asked}), found], questions=[])
    assert [q.text for q in ran.task.status.questions] == ["What is the default of GLOW_LEVEL?"]
    assert [s.query for s in world.lamp.searches] == ["default GLOW_LEVEL", "lowest lumens"]
    assert url not in ran.report


# T03, S1.33
async def test_a_question_s_steps_and_the_task_s_calls_are_limits_of_their_own(
    world: World,
) -> None:
    names = ("shade", "switch", "plug")
    world.references.sources["lamp"] = parts(names, each=7)
    narrow = LOCAL_TERMS.model_copy(update={"context_window_tokens": 2600, "max_output_tokens": 64})
    fact = quote("The shade is part number 1 of the lamp.")
    ran = await run(
        world,
        chain([NO_QUERIES, fact], repeat(NO_QUOTES)),
        terms=narrow,
        questions=[{"id": n, "text": f"Which part number has the {n}?"} for n in names],
        goal={"minOrigins": 2},
        budgets={"maxModelCalls": 11, "maxStepsPerQuestion": 7},
    )
    assert ran.ending == "ModelCallBudgetExhausted"
    assert (ran.usage.model_calls, ran.usage.grace_calls) == (11, 1)
    assert "the task's spec.budgets.maxModelCalls 11" in ran.message
    asked = {q.id: (q.steps, q.state, q.reason) for q in ran.task.status.questions}
    assert asked["shade"] == (7, "Unresolved", "StepLimit")
    assert all(steps <= 7 for steps, _, _ in asked.values())


# S2.15
async def test_a_call_is_recorded_with_what_steered_it(world: World) -> None:
    ran = await run(world, [NO_QUERIES, quote("Default: 40 lumens at the lowest dimmer position")])
    call, models = ran.steps[0].spec.model_call, ran.steps[0].spec.models
    assert call is not None
    assert models is not None
    assert (call.requested_model, call.returned_model) == ("scripted", "scripted")
    assert (call.temperature, call.seed, call.finish_reason) == ("0", 0, "stop")
    assert call.prompt_digest == ran.model.requests[0].digest
    assert (models[0].name, models[0].generation) == ("scripted", 1)
