"""Whole tasks on a real HTTP endpoint: what it answers, and what becomes of the run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from email.utils import format_datetime
from itertools import chain, repeat
from typing import Any

import pytest

from controller.api.model import Backend
from controller.api.model_call import CallFlag, usd
from controller.api.step import ActionName, Outcome
from controller.logs import quiet_transports
from tests.endpoint.clients import CANARY, Keys, endpoint_model
from tests.endpoint.server import Answer, Delivery, Received, ScriptedEndpoint, Turn
from tests.endpoint.shapes import (
    ERRORS,
    HTML,
    USAGE,
    answer_of,
    envelope,
    good,
    picked,
    with_headers,
)
from tests.model_runs import LIMITS, Ended, finished
from tests.world import World

QUOTE = {"passage": "p1", "quote": "Default: 40 lumens at the lowest dimmer position of the lamp."}
NO_QUERIES = good({"queries": []})
FOUND = good({"quotes": [QUOTE]})
PRICES = {
    "inputUSDPerMillionTokens": "1",
    "cachedInputUSDPerMillionTokens": "0.1",
    "outputUSDPerMillionTokens": "2",
}
DOWN = answer_of({}, 503)
CUT_OFF = good({"queries": []}, finish_reason="length")
ECHO = {"error": {"message": f"no {CANARY}", "code": CANARY}}


def openai_error(error_class: str, **headers: str) -> Answer:
    return with_headers(ERRORS[Backend.OPENAI][error_class], **headers)


def drafts_apart(script: Iterable[Turn]) -> Iterator[Turn]:
    """Return a script that has no draft in it: one is answered with nothing, so facts speak."""
    turns = iter(script)

    def turn(request: Received) -> Answer:
        if "The research is done" in request.prompt:
            return good({"sentences": []})
        now = next(turns)
        return now if isinstance(now, Answer) else now(request)

    return repeat(turn)


async def run(
    world: World,
    script: Iterable[Turn],
    *,
    backend: Backend = Backend.OPENAI,
    model: Mapping[str, Any] | None = None,
    keys: Keys | None = None,
    limits: Mapping[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - any field
) -> Ended:
    """Run a task on an endpoint to its end; check what holds of every run."""
    async with (
        ScriptedEndpoint(drafts_apart(script)) as endpoint,
        endpoint_model(
            endpoint.url, backend, clock=world.clock, credentials=keys, **(model or {})
        ) as made,
    ):
        world.references.models["scripted"] = made
        key = world.apply(
            modelRef={"name": "scripted"}, progressPolicy={**LIMITS, **(limits or {})}, **spec
        )
        ran = await finished(world, key)
    assert len(endpoint.requests) == ran.usage.model_calls
    return ran


def used(**usage: object) -> Answer:
    return good({"queries": []}, usage={**USAGE, **usage})


# S2.15, rule 14
@pytest.mark.parametrize("backend", list(Backend))
async def test_a_task_reaches_its_goal_on_each_kind_of_endpoint(
    world: World, backend: Backend
) -> None:
    script = [good({"queries": []}, backend), good({"quotes": [QUOTE]}, backend)]
    ran = await run(world, script, backend=backend, model={"seed": 7})
    assert ran.ending == "GoalReached"
    assert "40 lumens" in ran.report
    step = ran.of(ActionName.PLAN)[0].spec
    call, reserved = step.model_call, step.reservation
    assert call is not None
    assert reserved is not None
    assert (call.requested_model, call.returned_model) == ("scripted", "served-name")
    assert (call.temperature, reserved.generation) == ("0.2", 3)
    assert call.seed == (None if backend is Backend.OPENAI_COMPATIBLE else 7)
    assert bool(call.fingerprint) is (backend not in {Backend.VLLM, Backend.OPENAI_COMPATIBLE})
    assert (call.prompt_tokens, call.completion_tokens) == (1000, 100)


@pytest.mark.parametrize("backend", list(Backend))
async def test_a_model_picks_actions_on_each_kind_of_endpoint(
    world: World, backend: Backend
) -> None:
    def pick(name: str, **arguments: str) -> Answer:
        if backend in {Backend.OPENAI, Backend.OLLAMA}:
            return picked((name, arguments), backend=backend)
        return good({"action": name, "arguments": arguments}, backend)

    script = [
        pick("Plan"),
        good({"queries": []}, backend),
        pick("Search", questionId="glow", sourceName="lamp", query="lamp lumens"),
        pick("Extract", questionId="glow"),
        good({"quotes": [QUOTE]}, backend),
        pick("Conclude", questionId="glow"),
    ]
    ran = await run(world, script, backend=backend, decisionPolicy="ModelProposed")
    assert ran.ending == "GoalReached"
    assert ran.classes() == []


# T09, S4.10
async def test_cached_and_reasoning_tokens_cost_390_millionths_of_a_dollar(world: World) -> None:
    answer = used(
        prompt_tokens_details={"cached_tokens": 900},
        completion_tokens_details={"reasoning_tokens": 80},
    )
    ran = await run(world, [answer, FOUND], model={"pricing": PRICES})
    call = ran.of(ActionName.PLAN)[0].spec.model_call
    assert call is not None
    assert call.cost_micro_usd == 390


# T10, rule 8
@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -3, "completion_tokens": 5},
        {"prompt_tokens": True, "completion_tokens": 5},
        {"prompt_tokens": 1000.5, "completion_tokens": 5},
        {**USAGE, "prompt_tokens_details": {"cached_tokens": 1001}},
        {**USAGE, "completion_tokens_details": {"reasoning_tokens": 101}},
    ],
)
async def test_usage_that_cannot_be_true_is_charged_as_reserved(
    world: World, usage: Mapping[str, object] | None
) -> None:
    ran = await run(world, [good({"queries": []}, usage=usage), FOUND])
    step = ran.of(ActionName.PLAN)[0].spec
    assert step.model_call is not None
    assert step.reservation is not None
    assert step.model_call.prompt_tokens == step.reservation.prompt_tokens
    assert ran.usage.unknown_usage_calls == 1
    assert ran.ending == "GoalReached"


# T10
async def test_numbers_in_strings_are_numbers(world: World) -> None:
    ran = await run(world, [used(prompt_tokens="700", completion_tokens="12"), FOUND])
    call = ran.of(ActionName.PLAN)[0].spec.model_call
    assert call is not None
    assert (call.prompt_tokens, call.completion_tokens) == (700, 12)


# T12, rule 1, S1.29
@pytest.mark.parametrize(("limit", "requests"), [(1, 3), (2, 6)])
async def test_an_endpoint_that_is_down_is_asked_so_often_and_no_more(
    world: World, limit: int, requests: int
) -> None:
    limits = {"maxActionRetries": 2, "identicalFailureLimit": limit}
    ran = await run(world, repeat(DOWN), limits=limits)
    assert ran.ending == "ModelUnavailable"
    assert ran.usage.model_calls == requests
    outcomes = [s.spec.outcome for s in ran.of(ActionName.PLAN)]
    assert outcomes[:3] == [Outcome.RETRY_SCHEDULED, Outcome.RETRY_SCHEDULED, Outcome.FAILED]


# T12, T14
@pytest.mark.parametrize(("answer", "requests"), [(DOWN, 3), (openai_error("Quota"), 1)])
async def test_the_run_goes_on_without_the_model(
    world: World, answer: Answer, requests: int
) -> None:
    limits = {"maxActionRetries": 2, "identicalFailureLimit": 1}
    ran = await run(world, repeat(answer), limits=limits, onModelFailure="Extractive")
    assert ran.ending == "GoalReached"
    assert ran.usage.model_calls == requests
    assert any(c.type == "Degraded" for c in ran.task.status.conditions)


# T13, rule 2, rule 8, S2.9
async def test_a_silent_endpoint_is_charged_what_was_reserved(world: World) -> None:
    first = await run(world, [NO_QUERIES, FOUND], model={"pricing": PRICES})
    reserved = first.of(ActionName.PLAN)[0].spec.reservation
    assert reserved is not None
    grace, room = 1024 + 2 * 512, 300
    async with (
        ScriptedEndpoint(repeat(Answer(delivery=Delivery.SILENCE))) as endpoint,
        endpoint_model(
            endpoint.url, clock=world.clock, pricing=PRICES, requestTimeoutSeconds=1
        ) as model,
    ):
        world.references.models["scripted"] = model
        key = world.apply(
            "silent",
            modelRef={"name": "scripted"},
            progressPolicy={**LIMITS, "maxActionRetries": 10},
            budgets={"maxCostUSD": usd(2 * reserved.cost_micro_usd + room + grace)},
        )
        ran = await finished(world, key)
    assert ran.ending == "CostBudgetExhausted"
    assert ran.usage.unknown_usage_calls == len(endpoint.requests) == 2
    assert ran.classes() == ["Timeout", "Timeout"]


# T14, rule 11; and a model that disappears, a redirect, a parameter that is refused
@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (openai_error("Quota"), "QuotaExhausted"),
        (openai_error("Quota", retry_after="7"), "QuotaExhausted"),
        (Answer(402), "QuotaExhausted"),
        (openai_error("Credentials"), "CredentialsRejected"),
        (Answer(403), "CredentialsRejected"),
        (openai_error("ModelNotServed"), "RequestRejected"),
        (openai_error("BadRequest"), "RequestRejected"),
        (Answer(307, headers={"Location": "http://127.0.0.1:1/"}), "RequestRejected"),
    ],
)
@pytest.mark.parametrize("policy", ["Directed", "ModelProposed"])
async def test_what_another_request_would_not_mend_ends_after_one(
    world: World, answer: Answer, ending: str, policy: str
) -> None:
    limits = {"maxActionRetries": 2}
    ran = await run(world, repeat(answer), limits=limits, decisionPolicy=policy)
    assert ran.ending == ending
    assert ran.usage.model_calls == 1


async def test_a_model_that_disappears_during_a_run_ends_it(world: World) -> None:
    script = chain([NO_QUERIES], repeat(openai_error("ModelNotServed")))
    ran = await run(world, script)
    assert ran.ending == "RequestRejected"
    assert ran.usage.model_calls == 2
    assert "check spec.model" in ran.message


async def test_a_key_that_is_rotated_during_a_run_goes_on(world: World) -> None:
    keys = Keys(now=["sk-the-new-key"])

    def answered(request: Received) -> Answer:
        is_new = request.headers["authorization"].endswith("sk-the-new-key")
        return NO_QUERIES if is_new else openai_error("Credentials")

    limits = {"maxActionRetries": 1}
    ran = await run(world, [answered, answered, FOUND], keys=keys, limits=limits)
    assert ran.ending == "GoalReached"
    assert ran.classes() == ["CredentialsChanged"]
    assert ran.of(ActionName.PLAN)[0].spec.outcome is Outcome.RETRY_SCHEDULED


# T15, rule 12, S1.29
@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7), ("date", 7), ("1.5", 1.5), ("0", 1), ("-1", 1), ("abc", 1)],
)
async def test_when_to_come_back_is_a_time_to_wake_up(
    world: World, said: str, seconds: float
) -> None:
    began = world.clock.now()
    later = format_datetime(began + timedelta(seconds=7), usegmt=True)
    said = later if said == "date" else said
    limited = openai_error("RateLimited", retry_after=said)
    async with (
        ScriptedEndpoint(drafts_apart([limited, NO_QUERIES, FOUND])) as endpoint,
        endpoint_model(endpoint.url, clock=world.clock) as model,
    ):
        world.references.models["scripted"] = model
        limits = {**LIMITS, "maxActionRetries": 2}
        key = world.apply(modelRef={"name": "scripted"}, progressPolicy=limits)
        await world.run(key)
        assert len(endpoint.requests) == 1
        status = (await world.task(key)).status
        assert status.next_wake_up_time is not None
        waited = (status.next_wake_up_time - began).total_seconds()
        assert abs(waited - seconds) < 0.2  # the stepped clock moves a little with each look
        other = world.apply("other")
        await world.run(other)
        assert (await world.task(other)).status.terminal_reason == "GoalReached"
        assert (await finished(world, key)).ending == "GoalReached"


# T15, rule 12
async def test_a_wait_beyond_the_deadline_ends_at_once(world: World) -> None:
    limited = openai_error("RateLimited", retry_after="999999")
    ran = await run(world, repeat(limited), limits={"maxActionRetries": 2})
    assert ran.ending == "ModelUnavailable"
    assert ran.usage.model_calls == 1
    assert "may be tried again at" in ran.message
    assert "the deadline is" in ran.message


# T16, rule 6
@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (answer_of(envelope(message={"content": None, "refusal": "I cannot."})), "Refused"),
        (good('{"queries": []', finish_reason="content_filter"), "ContentFiltered"),
        (openai_error("ContentFiltered"), "ContentFiltered"),
    ],
)
async def test_a_refusal_is_not_asked_again(world: World, answer: Answer, error_class: str) -> None:
    limits = {"maxActionRetries": 2, "identicalFailureLimit": 1}
    ran = await run(world, repeat(answer), limits=limits)
    assert ran.ending == "ModelRefused"
    assert ran.classes() == [error_class]


# T07, T06, E9, E11, rule 5, rule 6, rule 7
# S2.3
@pytest.mark.parametrize(
    ("answer", "error_class", "ending"),
    [
        (good(""), "EmptyResponse", "ErrorThresholdReached"),
        (good(None), "EmptyResponse", "ErrorThresholdReached"),
        (good(" \n"), "EmptyResponse", "ErrorThresholdReached"),
        (
            answer_of(envelope(message={"content": None, "reasoning": "Let me think."})),
            "EmptyResponse",
            "ErrorThresholdReached",
        ),
        (
            good('{"queries": []}', finish_reason="length"),
            "OutputTruncated",
            "ErrorThresholdReached",
        ),
        (good('{"queries": [', finish_reason="length"), "OutputTruncated", "ErrorThresholdReached"),
        (good("Here you are: queries"), "InvalidOutput", "ErrorThresholdReached"),
        (good("x" * 500_000), "OutputTruncated", "ErrorThresholdReached"),
        (answer_of({**envelope(), "choices": None}), "BadResponse", "ModelUnavailable"),
        (answer_of({**envelope(), "choices": []}), "BadResponse", "ModelUnavailable"),
        (answer_of({"error": {"message": "no"}}), "BadResponse", "ModelUnavailable"),
        (Answer(200, HTML), "BadResponse", "ModelUnavailable"),
        (Answer(502, HTML), "ServerError", "ModelUnavailable"),
        (Answer(200, b""), "BadResponse", "ModelUnavailable"),
        (Answer(delivery=Delivery.RESET_BEFORE), "Unreachable", "ModelUnavailable"),
    ],
)
async def test_an_answer_that_is_no_use_is_charged_and_counted(
    world: World, answer: Answer, error_class: str, ending: str
) -> None:
    ran = await run(world, repeat(answer))
    assert ran.ending == ending
    assert ran.classes() == [error_class] * 3
    assert ran.usage.prompt_tokens > 0
    is_answered = ending == "ErrorThresholdReached"
    assert ran.usage.unknown_usage_calls == (0 if is_answered else 3)


# T07
async def test_the_same_empty_answer_twice_is_a_repeated_failure(world: World) -> None:
    ran = await run(world, repeat(good("")), limits={"identicalFailureLimit": 2})
    assert ran.ending == "RepeatedFailure"
    assert ran.usage.model_calls == 2


# T02, rule 15
@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (picked(*[("Search", "{}")] * 8), "MultipleActions"),
        (picked(("Search", '{"query": "a", "query": "b"}')), "InvalidOutput"),
        (picked(("Search", '{"query": "a"} and')), "InvalidOutput"),
        (picked(("Fly", {})), "UnknownAction"),
        (good("I would plan."), "NoAction"),
    ],
)
async def test_a_proposal_that_is_no_use_is_rejected(
    world: World, answer: Answer, error_class: str
) -> None:
    def turn(request: Received) -> Answer:
        return answer if "tools" in request.json else NO_QUERIES

    first: list[Turn] = [picked(("Plan", "")), NO_QUERIES]
    script = chain(first, repeat(turn))
    ran = await run(world, script, decisionPolicy="ModelProposed")
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == [error_class] * 3


# E7, rule 13
async def test_nothing_of_an_answer_to_half_a_prompt_is_accepted(world: World) -> None:
    cut = good({"quotes": [QUOTE]}, usage={"prompt_tokens": 20, "completion_tokens": 30})
    ran = await run(world, chain([NO_QUERIES, cut, NO_QUERIES], repeat(good({"quotes": []}))))
    extract = ran.of(ActionName.EXTRACT)[0].spec
    assert extract.model_call is not None
    assert CallFlag.SUSPECTED_TRUNCATION in extract.model_call.flags
    assert extract.extract is not None
    assert extract.extract.facts == ()
    assert ran.ending != "GoalReached"


# E15, rule 4
async def test_an_answer_beyond_its_cap_is_charged_and_expected_again(world: World) -> None:
    ran = await run(world, [used(completion_tokens=2000), FOUND])
    plan, extract = ran.of(ActionName.PLAN)[0].spec, ran.of(ActionName.EXTRACT)[0].spec
    assert plan.model_call is not None
    assert plan.model_call.completion_tokens == 2000
    assert CallFlag.CAP_IGNORED in plan.model_call.flags
    assert extract.reservation is not None
    assert extract.reservation.output_tokens == 2000


# S4.43, E1, rule 17
async def test_an_answer_without_end_is_cut_and_the_record_says_so(world: World) -> None:
    endless = good('{"queries": [' + '"x", ' * 200_000)
    ran = await run(world, chain([endless], repeat(NO_QUERIES)), limits={"maxActionRetries": 1})
    call = ran.of(ActionName.PLAN)[0].spec.model_call
    assert call is not None
    assert CallFlag.ANSWER_CUT in call.flags
    assert ran.classes()[0] == "OutputTruncated"


# E1: what a model writes is stored, and the next request is accepted
async def test_text_that_no_record_can_hold_goes_through(world: World) -> None:
    odd = "lamp \ud800 \0 \u202e lumens"
    answer = good({"queries": [{"question": "glow", "query": odd}]})
    ran = await run(world, [answer, FOUND])
    assert ran.ending == "GoalReached"


# rule 19, S2.34
ECHOES: Iterable[Turn] = [
    *(
        answer_of({"error": {"message": f"no {CANARY}", "code": CANARY}}, s)
        for s in (400, 401, 404)
    ),
    *(
        answer_of({"error": {"message": f"no {CANARY}", "code": CANARY}}, s)
        for s in (402, 429, 503)
    ),
    answer_of({"error": CANARY}),
    Answer(200, CANARY.encode()),
    Answer(302, headers={"Location": f"http://127.0.0.1:1/{CANARY}"}),
    good(CANARY, model=CANARY, system_fingerprint=CANARY),
    good({"queries": [{"question": "glow", "query": CANARY}]}),
    good({"queries": []}, finish_reason=CANARY),
    answer_of(envelope(message={"content": None, "refusal": CANARY})),
    picked((CANARY, {CANARY: CANARY})),
    Answer(body=CANARY.encode(), delivery=Delivery.CUT),
]


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    quiet_transports()
    caplog.set_level(logging.DEBUG)
    return caplog


async def test_the_key_is_in_nothing_that_is_kept(
    world: World, everything_logged: pytest.LogCaptureFixture
) -> None:
    for at, answer in enumerate(ECHOES):
        for policy in ("Directed", "ModelProposed"):
            async with (
                ScriptedEndpoint(repeat(answer)) as endpoint,
                endpoint_model(endpoint.url, clock=world.clock) as model,
            ):
                world.references.models["scripted"] = model
                key = world.apply(
                    f"{policy.lower()}-{at}",
                    modelRef={"name": "scripted"},
                    decisionPolicy=policy,
                    progressPolicy=LIMITS,
                )
                ran = await finished(world, key)
            events = world.store.events(ran.task)
            kept = [ran.task, *ran.steps, *events, ran.report]
            assert endpoint.requests
            assert not [k for k in kept if CANARY in repr(k)], answer
    for record in everything_logged.records:
        assert CANARY not in record.getMessage()
        assert record.exc_info is None
