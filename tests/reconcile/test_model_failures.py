"""A model that fails: how often it is asked, what it is charged, how the run goes on or ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest

from controller.api.errors import ActionError, ModelMistakeError, PermanentError, RetryableError
from controller.api.model_call import usd
from controller.api.step import ActionName, Outcome
from controller.loop.breakers import MODEL_ERROR_CLASSES
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.scripted import NoAnswer, ScriptedModel, Turn, answer
from tests.model_runs import LIMITS, NO_QUERIES, PRICED, quote, run
from tests.world import World

FOUND = quote("Default: 40 lumens at the lowest dimmer position of the lamp.")


def down(retry_after: float | None = None) -> RetryableError:
    return RetryableError("ServerError", "503 from the endpoint", retry_after)


# T12, S1.29, S4.5
@pytest.mark.parametrize(("limit", "requests"), [(1, 3), (2, 6)])
async def test_a_failing_endpoint_is_asked_so_often_and_no_more(
    world: World, limit: int, requests: int
) -> None:
    ran = await run(
        world, repeat(down()), limits={"maxActionRetries": 2, "identicalFailureLimit": limit}
    )
    assert ran.ending == "ModelUnavailable"
    assert len(ran.model.requests) == ran.usage.model_calls == requests
    outcomes = [s.spec.outcome for s in ran.of(ActionName.PLAN)]
    assert outcomes[:3] == [Outcome.RETRY_SCHEDULED, Outcome.RETRY_SCHEDULED, Outcome.FAILED]


# T12
async def test_a_failing_model_is_set_aside_and_the_run_goes_on(world: World) -> None:
    ran = await run(
        world,
        repeat(down()),
        limits={"maxActionRetries": 2, "identicalFailureLimit": 1},
        onModelFailure="Extractive",
    )
    assert ran.ending == "GoalReached"
    assert ran.usage.model_calls == 3
    degraded = next(c for c in ran.task.status.conditions if c.type == "Degraded")
    assert (degraded.status, degraded.reason) == ("True", "ServerError")
    assert "40 lumens" in ran.report
    assert "The extractive policy did its part" in ran.report


async def test_one_failed_step_is_done_by_the_extractive_policy(world: World) -> None:
    script: Iterable[Turn] = chain([down()], repeat(FOUND))
    ran = await run(world, script, onModelFailure="Extractive")
    assert ran.ending == "GoalReached"
    plans = ran.of(ActionName.PLAN)
    assert [p.spec.outcome for p in plans] == [Outcome.FAILED, Outcome.COMPLETED]
    assert [p.spec.model_call is not None for p in plans] == [True, False]
    assert not any(c.type == "Degraded" for c in ran.task.status.conditions)


# T14
@pytest.mark.parametrize(
    ("error_class", "ending"),
    [
        ("Quota", "QuotaExhausted"),
        ("Credentials", "CredentialsRejected"),
        ("ModelNotServed", "RequestRejected"),
        ("BadRequest", "RequestRejected"),
    ],
)
async def test_what_another_request_would_not_mend_ends_after_one(
    world: World, error_class: str, ending: str
) -> None:
    refused = repeat(PermanentError(error_class, "refused"))
    fallback = ScriptedModel(repeat(FOUND), PRICED.model_copy(update={"name": "fallback"}))
    ran = await run(world, refused, fallback=fallback, limits={"maxActionRetries": 2})
    assert ran.ending == ending
    assert ran.usage.model_calls == 1
    assert fallback.requests == []


# T14
async def test_without_a_quota_the_run_goes_on_without_the_model(world: World) -> None:
    ran = await run(
        world, repeat(PermanentError("Quota", "insufficient_quota")), onModelFailure="Extractive"
    )
    assert ran.ending == "GoalReached"
    assert ran.usage.model_calls == 1
    degraded = next(c for c in ran.task.status.conditions if c.type == "Degraded")
    assert degraded.reason == "Quota"


# T15, S1.29
async def test_an_endpoint_that_asks_to_come_back_after_the_deadline_ends_the_run(
    world: World,
) -> None:
    ran = await run(world, repeat(down(999_999)), limits={"maxActionRetries": 2})
    assert ran.ending == "ModelUnavailable"
    assert ran.usage.model_calls == 1
    assert "may be tried again at" in ran.message
    assert "the deadline is" in ran.message


# T16
@pytest.mark.parametrize(
    ("turn", "error_class"),
    [
        (ModelReply(text="x", refusal="I cannot help with that."), "Refused"),
        (ModelReply(text='{"queries": []', finish_reason="content_filter"), "ContentFiltered"),
        (PermanentError("ContentFiltered", "400 content policy"), "ContentFiltered"),
    ],
)
async def test_a_refusal_is_not_asked_again(
    world: World, turn: ModelReply | ActionError, error_class: str
) -> None:
    ran = await run(world, repeat(turn), limits={"maxActionRetries": 2, "identicalFailureLimit": 1})
    assert ran.ending == "ModelRefused"
    assert ran.classes() == [error_class]
    assert ran.usage.model_calls == 1


# T13, S2.9, S4.11
async def test_a_timeout_is_charged_what_was_reserved(world: World) -> None:
    first = await run(world, [NO_QUERIES, FOUND], terms=PRICED)
    reserved = first.of(ActionName.PLAN)[0].spec.reservation
    assert reserved is not None
    grace = 1024 + 2 * 512  # micro-USD at 1 and 2 USD a million tokens
    room = 300  # the second prompt tells of the first failure
    limit = usd(2 * reserved.cost_micro_usd + room + grace)
    model = ScriptedModel(repeat(NoAnswer()), PRICED)
    world.references.models["scripted"] = model
    key = world.apply(
        "slow",
        modelRef={"name": "scripted"},
        progressPolicy={**LIMITS, "stepTimeoutSeconds": 1, "maxActionRetries": 10},
        budgets={"maxCostUSD": limit},
    )
    operator = world.operator()
    while (task := await world.task(key)).status.terminal_reason is None:
        await world.run(key, operator)
        world.clock.advance(60)
    assert task.status.terminal_reason == "CostBudgetExhausted"
    assert task.status.usage is not None
    assert task.status.usage.unknown_usage_calls == len(model.requests) == 2


# E9, S2.13
@pytest.mark.parametrize(
    "text",
    ["Here are the queries:", '{"queries": "x"}', "[]", '{"queries": [{"question": 1}]}', "{" * 9],
)
async def test_a_schema_that_was_sent_proves_nothing(world: World, text: str) -> None:
    ran = await run(world, repeat(answer(text)))
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == ["InvalidOutput"] * 3
    assert "the answer is not as asked" in ran.model.requests[1].prompt


# E10
async def test_a_prompt_that_cannot_fit_is_not_sent(world: World) -> None:
    tiny = PRICED.model_copy(update={"context_window_tokens": 600, "max_output_tokens": 590})
    ran = await run(world, repeat(FOUND), terms=tiny, limits={"identicalFailureLimit": 1})
    assert ran.ending == "ContextOverflow"
    assert ran.model.requests == []
    assert ran.usage.model_calls == 0
    assert "spec.contextWindowTokens" in ran.message


async def test_a_model_that_is_no_longer_there_is_not_asked(world: World) -> None:
    model = ScriptedModel([NO_QUERIES, FOUND])
    world.references.models["scripted"] = model
    key = world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS)
    operator = world.operator()
    for _ in range(3):
        await operator.reconcile(key)
    asked = len(model.requests)
    del world.references.models["scripted"]
    await world.run(key, operator)
    assert (await world.task(key)).status.terminal_reason == "GoalReached"
    assert len(model.requests) == asked


# S2.9
async def test_cancelling_a_task_charges_the_call_that_it_interrupts(world: World) -> None:
    sent = asyncio.Event()

    async def hang(_: ModelRequest) -> ModelReply:
        sent.set()
        return await asyncio.Future()

    world.references.models["scripted"] = ScriptedModel(repeat(hang), PRICED)
    key = world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS)
    operator = world.operator()
    await operator.reconcile(key)
    turn = asyncio.create_task(operator.reconcile(key))
    await sent.wait()
    world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS, desiredState="Cancelled")
    operator.observe(key, "")
    operator.interrupt(key)
    await turn
    await world.run(key, operator)
    task = await world.task(key)
    assert task.status.terminal_reason == "Cancelled"
    assert task.status.usage is not None
    assert task.status.usage.unknown_usage_calls == task.status.usage.model_calls == 1


def test_a_mistake_is_asked_again_at_once() -> None:
    assert ModelMistakeError("InvalidOutput", "no JSON").retry_after_seconds == 0


@pytest.mark.parametrize("error_class", sorted(MODEL_ERROR_CLASSES))
def test_every_class_of_error_is_explained(error_class: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text("utf-8")
    assert f"`{error_class}`" in page


# E8
async def test_a_fallback_that_cannot_be_used_is_told_once(world: World) -> None:
    world.references.models["scripted"] = ScriptedModel([NO_QUERIES, FOUND])
    world.references.skipped = "the ResearchModel small does not exist"
    key = world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS)
    await world.run(key)
    task = await world.task(key)
    assert task.status.terminal_reason == "GoalReached"
    told = [e for e in world.store.events(task) if e.reason == "FallbackModelSkipped"]
    assert [e.message for e in told] == ["the ResearchModel small does not exist"]
