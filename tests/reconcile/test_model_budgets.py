"""What a model may cost: no budget is crossed, and what is left is used as it is meant."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

import pytest

from controller.api.model_call import CallFlag
from controller.api.reasons import ConditionType
from controller.api.step import ActionName, Outcome
from controller.loop.exchange import ModelReply, ModelRequest, ReportedUsage
from controller.loop.situation import Spend
from controller.models.scripted import LOCAL_TERMS, ScriptedModel, answer
from controller.reconcile import Reconciler
from tests.model_runs import LIMITS, NO_QUERIES, NO_QUOTES, PRICED, parts, quote, run
from tests.world import World

FOUND = quote("Default: 40 lumens at the lowest dimmer position of the lamp.")
TWO = [
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "frost", "text": "What is the default of FROST_LEVEL?"},
]


def used(prompt: object, completion: object, **parts: object) -> ReportedUsage:
    return ReportedUsage(prompt, completion, **parts)


# T04, S4.16
async def test_the_last_word_of_an_exhausted_run_is_checked_like_all_others(world: World) -> None:
    lie = answer({"sentences": [{"sentence": "All done, verified.", "facts": ["f1"]}]})
    ran = await run(
        world,
        [NO_QUERIES, FOUND, lie],
        questions=TWO,
        budgets={"maxSteps": 4},
    )
    assert ran.ending == "StepBudgetExhausted"
    assert ran.usage.steps == 4
    assert ran.actions[-3:] == ["Draft", "Summarize", "Publish"]
    assert ran.usage.grace_calls == 1
    assert "All done" not in ran.report
    assert ran.task.status.is_true(ConditionType.SUCCEEDED) is False


async def test_a_closing_summary_that_holds_is_published_with_its_citations(world: World) -> None:
    true = "Default: 40 lumens at the lowest dimmer position of the lamp."
    said = answer({"sentences": [{"sentence": true, "facts": ["f1"]}]})
    ran = await run(world, [NO_QUERIES, FOUND, said], questions=TWO, budgets={"maxSteps": 4})
    assert ran.ending == "StepBudgetExhausted"
    assert "In a model's words" in ran.report
    assert f"{true} [1]" in ran.report.replace("\\", "")


@pytest.mark.parametrize(
    "sentence",
    [
        {"sentence": "The lamp has 41 lumens.", "facts": ["f1"]},
        {"sentence": "Default: 40 lumens", "facts": ["f9"]},
        {"sentence": "Default: 40 lumens", "facts": []},
        {"sentence": "Default: 40 lumens", "facts": ["f1", "https://x"]},
        {"sentence": " ", "facts": ["f1"]},
    ],
)
async def test_a_sentence_that_no_fact_bears_out_is_dropped(
    world: World, sentence: dict[str, Any]
) -> None:
    script = [NO_QUERIES, FOUND, answer({"sentences": [sentence]})]
    ran = await run(world, script, questions=TWO, budgets={"maxSteps": 4})
    assert ran.ending == "StepBudgetExhausted"
    assert ran.usage.grace_calls == 1
    assert ran.of(ActionName.SUMMARIZE)[0].spec.closing_summary == ()
    assert "In a model's words" not in ran.report


# S4.16: the template stands in where nothing is verified, where it fails, and where time is up.
async def test_without_a_fact_there_is_no_closing_call(world: World) -> None:
    ran = await run(world, chain([NO_QUERIES], repeat(NO_QUOTES)), budgets={"maxSteps": 3})
    assert ran.ending == "StepBudgetExhausted"
    assert ran.usage.grace_calls == 0
    assert ran.actions[-2:] == ["Draft", "Publish"]


# S4.36
async def test_a_closing_call_that_fails_is_made_once(world: World) -> None:
    ran = await run(
        world,
        [NO_QUERIES, FOUND, answer("no JSON")],
        questions=TWO,
        budgets={"maxSteps": 4},
        limits={"maxActionRetries": 2},
    )
    assert ran.ending == "StepBudgetExhausted"
    assert ran.usage.grace_calls == 1
    assert ran.of(ActionName.SUMMARIZE)[0].spec.outcome is Outcome.FAILED
    assert ran.actions[-1] == "Publish"


# T11, S4.10
async def test_a_budget_of_nothing_lets_nothing_be_sent(world: World) -> None:
    ran = await run(world, [NO_QUERIES], terms=PRICED, budgets={"maxCostUSD": "0"})
    assert ran.ending == "CostBudgetExhausted"
    assert ran.model.requests == []
    assert "0 of spec.budgets.maxCostUSD 0" in ran.message


# T11
async def test_a_price_of_nothing_is_a_price(world: World) -> None:
    ran = await run(world, [NO_QUERIES, FOUND], budgets={"maxCostUSD": "0"})
    assert ran.ending == "GoalReached"
    assert ran.usage.cost_usd == "0"


# S1.9, S1.26, S4.4, S4.11
@pytest.mark.parametrize(
    ("budgets", "ending"),
    [
        ({"maxModelCalls": 0}, "ModelCallBudgetExhausted"),
        ({"maxTokens": 500}, "TokenBudgetExhausted"),
        ({"maxCostUSD": "0.0001"}, "CostBudgetExhausted"),
    ],
)
async def test_a_budget_is_asked_before_a_call_is_sent(
    world: World, budgets: dict[str, Any], ending: str
) -> None:
    ran = await run(world, repeat(FOUND), terms=PRICED, budgets=budgets)
    assert ran.ending == ending
    assert ran.model.requests == []


# T10, S2.9
@pytest.mark.parametrize(
    "usage",
    [
        ReportedUsage(),
        used(0, 0),
        used("twelve", "3"),
        used(-3, 5),
        used(True, 5),
        used(float("nan"), 5),
        used(10.5, 5),
        used(2**50, 5),
    ],
)
async def test_usage_that_cannot_be_true_is_charged_as_reserved(
    world: World, usage: ReportedUsage
) -> None:
    reply = answer({"queries": []}, usage=usage)
    ran = await run(world, [reply, FOUND])
    step = ran.of(ActionName.PLAN)[0].spec
    assert step.model_call is not None
    assert step.reservation is not None
    assert step.model_call.prompt_tokens == step.reservation.prompt_tokens
    assert step.model_call.completion_tokens == step.reservation.output_tokens
    assert ran.usage.unknown_usage_calls == 1


# T10
async def test_numbers_in_strings_are_numbers(world: World) -> None:
    ran = await run(world, [answer({"queries": []}, usage=used("700", "12")), FOUND])
    call = ran.of(ActionName.PLAN)[0].spec.model_call
    assert call is not None
    assert (call.prompt_tokens, call.completion_tokens) == (700, 12)
    assert ran.usage.unknown_usage_calls == 0


# T09, S4.10
@pytest.mark.parametrize(
    ("parts_of", "cost", "flags"),
    [
        ({"cached_tokens": 900, "reasoning_tokens": 80}, 390, (CallFlag.PROMPT_UNDERESTIMATED,)),
        ({"cached_tokens": 1001}, None, (CallFlag.USAGE_INVALID,)),
        ({"reasoning_tokens": 101}, None, (CallFlag.USAGE_INVALID,)),
    ],
)
async def test_cached_and_reasoning_tokens_are_parts(
    world: World, parts_of: dict[str, int], cost: int | None, flags: tuple[CallFlag, ...]
) -> None:
    terms = PRICED.model_copy(update={"cached_input_price": 100_000})
    reply = answer({"queries": []}, usage=used(1000, 100, **parts_of))
    ran = await run(world, [reply, FOUND], terms=terms)
    step = ran.of(ActionName.PLAN)[0].spec
    assert step.model_call is not None
    assert step.reservation is not None
    expected = step.reservation.cost_micro_usd if cost is None else cost
    assert step.model_call.cost_micro_usd == expected
    assert step.model_call.flags == flags


# E15, S4.11
async def test_an_endpoint_that_ignores_the_cap_is_expected_to_ignore_it_again(
    world: World,
) -> None:
    reply = answer({"queries": []}, usage=used(1000, 2000))
    ran = await run(world, [reply, FOUND])
    plan, extract = ran.of(ActionName.PLAN)[0].spec, ran.of(ActionName.EXTRACT)[0].spec
    assert plan.model_call is not None
    assert plan.model_call.completion_tokens == 2000
    assert CallFlag.CAP_IGNORED in plan.model_call.flags
    assert extract.reservation is not None
    assert extract.reservation.output_tokens == 2000


# E7
async def test_nothing_of_an_answer_to_half_a_prompt_is_accepted(world: World) -> None:
    cut = quote("Default: 40 lumens at the lowest dimmer position of the lamp.")
    reply = ModelReply(text=cut.text, finish_reason="stop", usage=used(20, 30))
    ran = await run(world, chain([NO_QUERIES, reply, NO_QUERIES], repeat(NO_QUOTES)))
    extract = ran.of(ActionName.EXTRACT)[0].spec
    assert extract.model_call is not None
    assert CallFlag.SUSPECTED_TRUNCATION in extract.model_call.flags
    assert extract.extract is not None
    assert extract.extract.facts == ()
    assert ran.ending != "GoalReached"


# E13
async def test_a_prompt_says_what_is_spent_and_what_is_left(world: World) -> None:
    ran = await run(
        world,
        [answer({"queries": []}, usage=used(1000, 100)), FOUND],
        terms=PRICED,
        budgets={"maxModelCalls": 9, "maxTokens": 50_000, "maxCostUSD": "0.5"},
    )
    assert (
        "Budgets of the run:\n"
        "- steps: 2 spent, 58 left\n"
        "- model calls: 1 spent, 8 left\n"
        "- tokens: 1100 spent, 48900 left\n"
        "- source calls: 0 spent, 60 left\n"
        "- US dollars: 0.0012 spent, 0.4988 left"
    ) in ran.model.requests[1].prompt


def switching(world: World, script: Any, **terms: Any) -> ScriptedModel:  # noqa: ANN401
    world.references.sources["lamp"] = parts(["shade"], each=7)
    return ScriptedModel(script, LOCAL_TERMS.model_copy(update={"name": "fallback", **terms}))


DEGRADES: dict[str, Any] = {
    "questions": [{"id": "shade", "text": "Which part number has the shade?"}],
    "goal": {"minOrigins": 2},
    "terms": LOCAL_TERMS.model_copy(
        update={"context_window_tokens": 2600, "max_output_tokens": 64}
    ),
}


# E8, S3.15
async def test_the_fallback_takes_over_once(world: World) -> None:
    fallback = switching(world, repeat(NO_QUOTES), context_window_tokens=2600, max_output_tokens=64)
    ran = await run(
        world,
        chain([NO_QUERIES], repeat(NO_QUOTES)),
        fallback=fallback,
        budgets={"maxModelCalls": 5},
        limits={"degradeAtPercent": 60},
        **DEGRADES,
    )
    assert ran.ending == "ModelCallBudgetExhausted"
    assert (len(ran.model.requests), len(fallback.requests)) == (3, 1)
    notes = [s.spec.note for s in ran.of(ActionName.NOTE)]
    assert [n.reason for n in notes if n] == ["FallbackModel"]
    degraded = next(c for c in ran.task.status.conditions if c.type == "Degraded")
    assert degraded.reason == "FallbackModel"


# E8
async def test_a_fallback_whose_window_is_too_small_never_takes_over(world: World) -> None:
    fallback = switching(world, repeat(NO_QUOTES), context_window_tokens=1024)
    ran = await run(
        world,
        chain([NO_QUERIES], repeat(NO_QUOTES)),
        fallback=fallback,
        budgets={"maxModelCalls": 5},
        limits={"degradeAtPercent": 60},
        **DEGRADES,
    )
    assert ran.ending == "ModelCallBudgetExhausted"
    assert fallback.requests == []


# E8
async def test_a_fallback_without_a_price_does_not_take_over_where_money_counts(
    world: World,
) -> None:
    fallback = switching(world, repeat(NO_QUOTES), input_price=None)
    ran = await run(
        world,
        chain([NO_QUERIES], repeat(NO_QUOTES)),
        fallback=fallback,
        budgets={"maxModelCalls": 5, "maxCostUSD": "1"},
        limits={"degradeAtPercent": 60},
        **DEGRADES,
    )
    assert ran.ending == "ModelCallBudgetExhausted"
    assert fallback.requests == []


# E14, S4.17
@pytest.mark.parametrize("restarts", ["never", "after each step"])
async def test_a_planning_turn_comes_every_so_many_steps(world: World, restarts: str) -> None:
    world.references.sources["lamp"] = parts(["shade"], each=9)

    def turn(request: ModelRequest) -> ModelReply:
        is_plan = "Write search queries" in request.prompt or "still open" in request.prompt
        return NO_QUERIES if is_plan else NO_QUOTES

    world.references.models["scripted"] = ScriptedModel(repeat(turn), DEGRADES["terms"])
    key = world.apply(
        modelRef={"name": "scripted"},
        progressPolicy={**LIMITS, "planningInterval": 4},
        questions=DEGRADES["questions"],
        goal={"minOrigins": 2},
        budgets={"maxSteps": 12},
    )
    operator = world.operator()
    while (await world.task(key)).status.terminal_reason is None:
        await operator.reconcile(key)
        if restarts == "after each step":
            operator.drain()
            await operator.reconcile(key)
            operator = world.operator()
            await operator.reconcile(key)
    steps = await world.steps(key)
    planned = [s.spec.index for s in steps if s.spec.decision.reason == "PlanningInterval"]
    assert planned == [4, 9]
    assert all(s.spec.plan == steps[4].spec.plan for s in steps if s.spec.index in planned)


# E12
async def test_at_the_operator_s_ceiling_tasks_wait_and_none_starts(world: World) -> None:
    spent = Spend(limit=1_000_000, spent=999_999)
    model = ScriptedModel([NO_QUERIES, FOUND], PRICED)
    world.references.models["scripted"] = model
    key = world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS)
    operator = Reconciler(
        store=world.store,
        references=world.references,
        clock=world.clock,
        holder="operator-1",
        spend=lambda: spent,
    )
    requeue = await operator.reconcile(key)
    assert requeue.after == 30
    status = (await world.task(key)).status
    succeeded = status.condition(ConditionType.SUCCEEDED)
    assert succeeded is not None
    assert (succeeded.status, succeeded.reason) == ("Unknown", "Queued")
    assert "ceiling for all tasks is US dollars 1, and 0.999999 are used" in succeeded.message
    assert model.requests == []
    version = (await world.task(key)).metadata.resource_version
    await operator.reconcile(key)
    assert (await world.task(key)).metadata.resource_version == version
    spent = Spend(limit=1_000_000, spent=0)
    await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason == "GoalReached"


async def test_the_report_shows_what_the_model_has_used(world: World) -> None:
    ran = await run(
        world,
        [answer({"queries": []}, usage=used(1000, 100)), FOUND],
        terms=PRICED,
        budgets={"maxModelCalls": 9, "maxCostUSD": "0.5"},
    )
    tokens = ran.usage.prompt_tokens + ran.usage.completion_tokens
    rows = (
        "| maxModelCalls | 3 | 9 |",
        f"| maxTokens | {tokens} | 200000 |",
        f"| maxCostUSD | {ran.usage.cost_usd} | 0.5 |",
    )
    assert "\n".join(rows) in ran.report
