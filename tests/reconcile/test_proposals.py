"""`ModelProposed`: the model picks, the controller allows, counts and ends."""

from __future__ import annotations

import json
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import pytest

from controller.api.step import ActionName, Outcome
from controller.loop.exchange import ModelReply
from controller.models.scripted import ScriptedModel, answer, call, calls
from controller.sources.scripted import ScriptedSource
from tests.model_runs import LIMITS, NO_QUERIES, DraftsApart, Ran, quote, run
from tests.world import World

SEARCH = call("Search", {"questionId": "glow", "sourceName": "lamp", "query": "lamp lumens"})
PLAN = call("Plan")
EXTRACT = call("Extract", {"questionId": "glow"})
CONCLUDE = call("Conclude", {"questionId": "glow"})
FOUND = quote("Default: 40 lumens at the lowest dimmer position of the lamp.")


async def propose(world: World, script: Any, **changes: Any) -> Ran:  # noqa: ANN401
    return await run(world, script, decisionPolicy="ModelProposed", **changes)


# S1.30, S1.32
async def test_the_model_can_take_a_task_to_its_goal(world: World) -> None:
    ran = await propose(world, [PLAN, NO_QUERIES, SEARCH, EXTRACT, FOUND, CONCLUDE])
    assert ran.ending == "GoalReached"
    assert ran.actions == [
        "Propose", "Plan", "Propose", "Search", "Propose", "Extract", "Propose", "Conclude",
        "Draft", "Publish",
    ]  # fmt: skip
    assert ran.usage.steps == 8
    assert [s.query for s in world.lamp.searches] == ["lamp lumens"]


# T01, S1.22, S2.24
async def test_the_same_call_for_ever_is_no_progress(world: World) -> None:
    world.lamp.is_remote = True
    ran = await propose(
        world, chain([PLAN, NO_QUERIES], repeat(SEARCH)), limits={"maxStalledSteps": 2}
    )
    assert ran.ending == "NoProgress"
    assert len(ran.of(ActionName.SEARCH)) == ran.usage.source_calls == 3
    assert len(ran.of(ActionName.PROPOSE)) == 4  # one of them for the plan
    assert ran.usage.steps == 8


# T01
async def test_a_search_that_finds_more_each_time_is_progress(world: World) -> None:
    manual = {"file:lamp.txt": {f"Gear{at}": f"It turns gear{at} of the lamp." for at in range(9)}}
    world.references.sources["lamp"] = ScriptedSource("lamp", manual)
    searches = [
        call("Search", {"questionId": "glow", "sourceName": "lamp", "query": f"gear{at}"})
        for at in range(9)
    ]
    ran = await propose(
        world,
        chain([PLAN, NO_QUERIES], searches),
        limits={"maxStalledSteps": 2},
        budgets={"maxSteps": 18, "maxStepsPerQuestion": 50},
    )
    assert ran.ending == "StepBudgetExhausted"
    assert len(ran.of(ActionName.SEARCH)) == 8


# T02, S3.2, S4.21
async def test_several_actions_in_one_response_are_none(world: World) -> None:
    world.lamp.is_remote = True
    eight = calls(*[("Search", {"questionId": "glow", "sourceName": "lamp", "query": "x"})] * 8)
    ran = await propose(world, repeat(eight), budgets={"maxSourceCalls": 6})
    assert ran.ending == "ErrorThresholdReached"
    assert ran.usage.source_calls == 0
    assert ran.usage.model_calls == 3
    assert {s.spec.outcome for s in ran.of(ActionName.PROPOSE)} == {Outcome.REJECTED}
    assert ran.classes() == ["MultipleActions"] * 3
    assert "one step is one action" in ran.model.requests[1].prompt


# T05, S3.2, S4.2, S4.6, S4.15
async def test_saying_that_it_is_done_does_nothing(world: World) -> None:
    lie = answer(
        {"status": "complete",
         "quotes": [{"passage": "https://lamp.example/spec", "quote": "It is complete."}]}
    )  # fmt: skip
    ran = await propose(
        world,
        chain([PLAN, NO_QUERIES, SEARCH], cycle([EXTRACT, lie])),
        limits={"maxStalledSteps": 3},
    )
    assert ran.ending == "NoProgress"
    extracts = ran.of(ActionName.EXTRACT)
    assert [s.spec.outcome for s in extracts] == [Outcome.COMPLETED] * 3
    assert ran.usage.verifier_rejections == 3
    assert ran.classes() == []
    assert "complete" not in ran.report.lower().replace("completeness", "")


# T06, S4.5, S4.15
@pytest.mark.parametrize("arguments", ['{"questionId": "glow"}', '{"questionId": "gl'])
async def test_what_was_cut_off_is_not_executed(world: World, arguments: str) -> None:
    cut = ModelReply(calls=call("Extract", arguments).calls, finish_reason="length")
    ran = await propose(world, repeat(cut))
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == ["OutputTruncated"] * 3
    assert ran.actions == ["Propose"] * 3 + ["Draft", "Publish"]
    assert ran.usage.completion_tokens > 0


# T07, S4.5
@pytest.mark.parametrize("text", ["", None, " \n\t "])
async def test_an_empty_response_counts_and_is_billed(world: World, text: str | None) -> None:
    ran = await propose(world, repeat(ModelReply(text=text, finish_reason="stop")))
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == ["EmptyResponse"] * 3
    assert ran.usage.model_calls == 3
    assert ran.usage.prompt_tokens > 0


# T07
async def test_identical_failures_have_a_limit_of_their_own(world: World) -> None:
    empty = repeat(ModelReply(text="", finish_reason="stop"))
    ran = await propose(world, empty, limits={"identicalFailureLimit": 2})
    assert ran.ending == "RepeatedFailure"
    assert ran.usage.model_calls == 2


# T08, S3.4, S4.20
async def test_invented_action_names_are_one_class(world: World) -> None:
    ran = await propose(world, [call("foo"), call("bar"), call("baz")])
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == ["UnknownAction"] * 3
    assert "legal are: Plan for glow" in ran.model.requests[1].prompt


# T08, S4.19
async def test_a_legal_action_sets_the_count_back(world: World) -> None:
    script = [call("foo"), call("bar"), PLAN, NO_QUERIES, call("baz"), SEARCH, EXTRACT, FOUND,
              CONCLUDE]  # fmt: skip
    ran = await propose(world, script)
    assert ran.ending == "GoalReached"
    assert ran.classes() == ["UnknownAction"] * 3


# T08
@pytest.mark.parametrize("name", ["plan", "PLAN", " Plan", "Plan ", "Plan\n"])
async def test_other_spellings_are_unknown(world: World, name: str) -> None:
    ran = await propose(world, repeat(call(name)))
    assert ran.classes() == ["UnknownAction"] * 3


# S0.61
@pytest.mark.parametrize("said", [0, 100, -1, 101, "high", True, None, 0.5])
async def test_a_confidence_is_recorded_and_decides_nothing(
    world: World, tmp_path: Path, said: object
) -> None:
    plain = await propose(world, [PLAN, NO_QUERIES, SEARCH, EXTRACT, FOUND, CONCLUDE])
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other")
    unsure = call("Search", {**json.loads(SEARCH.calls[0].arguments), "confidence": said})
    told = await propose(other, [PLAN, NO_QUERIES, unsure, EXTRACT, FOUND, CONCLUDE])
    other.close()
    assert (told.ending, told.actions) == (plain.ending, plain.actions)
    proposal = told.of(ActionName.PROPOSE)[1].spec.proposal
    assert proposal is not None
    is_percent = said in {0, 100} and not isinstance(said, bool)
    assert proposal.confidence == (said if is_percent else None)
    assert proposal.stripped == ()


# S0.57
async def test_unknown_arguments_are_stripped_and_recorded(world: World) -> None:
    more = call("Search", {"questionId": "glow", "sourceName": "lamp", "query": "lamp lumens",
                           "depth": 9, "url": "http://x"})  # fmt: skip
    ran = await propose(world, [PLAN, NO_QUERIES, more, EXTRACT, FOUND, CONCLUDE])
    assert ran.ending == "GoalReached"
    record = ran.of(ActionName.PROPOSE)[1].spec.proposal
    assert record is not None
    assert record.stripped == ("depth", "url")
    assert set(json.loads(record.arguments)) == {"questionId", "sourceName", "query"}


# S0.57, S1.30, S3.4
@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (call("Search", {"questionId": "glow"}), "InvalidOutput"),
        (call("Search", {"questionId": "glow", "sourceName": "moon", "query": "x"}),
         "IllegalAction"),
        (call("Search", {"questionId": "none", "sourceName": "lamp", "query": "x"}),
         "IllegalAction"),
        (call("Search", {"questionId": "glow", "sourceName": "lamp", "query": "  "}),
         "IllegalAction"),
        (call("Search", {"questionId": "glow", "sourceName": "lamp", "query": "http://x.example"}),
         "IllegalAction"),
        (call("Search", '{"questionId": "glow", "questionId": "glow"}'), "InvalidOutput"),
        (call("Search", '["glow"]'), "InvalidOutput"),
        (call("Search", '{"questionId": "glow"} and more'), "InvalidOutput"),
        (call("Publish"), "IllegalAction"),
        (call("Note"), "IllegalAction"),
        (call("Conclude", {"questionId": "glow"}), "IllegalAction"),
        (answer("I will search now."), "NoAction"),
    ],
)  # fmt: skip
async def test_what_is_not_legal_is_rejected(
    world: World, reply: ModelReply, error_class: str
) -> None:
    ran = await propose(world, chain([PLAN, NO_QUERIES], repeat(reply)))
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == [error_class] * 3
    assert ran.actions == ["Propose", "Plan", *["Propose"] * 3, "Draft", "Publish"]


# S1.29, S4.5
async def test_a_refused_proposal_is_fed_back_before_it_counts(world: World) -> None:
    ran = await propose(world, repeat(call("foo")), limits={"maxActionRetries": 2})
    assert ran.ending == "ErrorThresholdReached"
    outcomes = [s.spec.outcome for s in ran.of(ActionName.PROPOSE)]
    assert outcomes == [Outcome.RETRY_SCHEDULED, Outcome.RETRY_SCHEDULED, Outcome.REJECTED] * 3
    assert ran.usage.model_calls == 9


# E5, S3.13
async def test_a_model_can_ask_the_user_and_is_told_the_answer(world: World) -> None:
    model = ScriptedModel(
        [PLAN, NO_QUERIES, call("Ask", {"fields": ["region"]}), SEARCH, EXTRACT, FOUND, CONCLUDE]
    )
    world.references.models["scripted"] = model
    spec: dict[str, Any] = {
        "modelRef": {"name": "scripted"}, "decisionPolicy": "ModelProposed",
        "progressPolicy": LIMITS,
    }  # fmt: skip
    key = world.apply(**spec)
    await world.run(key)
    awaiting = (await world.task(key)).status.awaiting
    assert awaiting is not None
    assert awaiting.fields == ("region",)
    asked = len(model.requests)
    for answer_of_user in ("", "  "):
        world.apply(**spec, clarifications=[{"field": "region", "answer": answer_of_user}])
        await world.run(key)
        assert len(model.requests) == asked
    world.apply(**spec, clarifications=[{"field": "region", "answer": "EU"}])
    await world.run(key)
    assert (await world.task(key)).status.terminal_reason == "GoalReached"
    assert "The user's answers:\n- region: EU" in model.requests[asked].prompt


# E5
async def test_a_model_may_not_ask_more_often_than_the_task_allows(world: World) -> None:
    ran = await propose(
        world,
        chain([PLAN, NO_QUERIES], repeat(call("Ask", {"fields": ["region"]}))),
        clarifications=[{"field": "region", "answer": "EU"}],
    )
    assert ran.ending == "ErrorThresholdReached"
    assert ran.classes() == ["IllegalAction"] * 3
    assert ran.of(ActionName.ASK) == []


# S1.22, S1.27
async def test_a_run_whose_knowledge_comes_back_to_what_it_was_is_a_cycle(world: World) -> None:
    """A document that two sources hold counts for the one that showed it last (see S1.4)."""
    shared = {"file:label.txt": {"Label": "GLOW_LEVEL has the default 40 lumens, says the label."}}
    manual = {"file:a.txt": {"Manual": "The default of GLOW_LEVEL is 40 lumens."}}
    world.references.sources |= {
        "lamp": ScriptedSource("lamp", {**manual, **shared}),
        "wiki": ScriptedSource("wiki", shared),
    }

    def search(question: str, source: str) -> ModelReply:
        return call(
            "Search",
            {"questionId": question, "sourceName": source, "query": "default GLOW_LEVEL"},
        )

    both = [
        {"passage": "p1", "quote": "The default of GLOW_LEVEL is 40 lumens."},
        {"passage": "p2", "quote": "GLOW_LEVEL has the default 40 lumens, says the label."},
    ]
    ran = await propose(
        world,
        chain(
            [PLAN, NO_QUERIES, search("glow", "lamp"), search("glow", "wiki"), EXTRACT],
            [answer({"quotes": both}), CONCLUDE],
            cycle([search("frost", "lamp"), search("frost", "wiki")]),
        ),
        questions=[
            {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
            {"id": "frost", "text": "What is the default of FROST_LEVEL?"},
        ],
        sourceRefs=[{"name": "lamp"}, {"name": "wiki"}],
        goal={"minOrigins": 2},
        budgets={"maxSteps": 60, "maxStepsPerQuestion": 50, "maxModelCalls": 60},
    )
    assert ran.ending == "CycleDetected"


# S1.24
async def test_a_round_verifies_what_is_known_before_the_model_picks_anything(
    world: World,
) -> None:
    script = [PLAN, NO_QUERIES, SEARCH, EXTRACT, FOUND, CONCLUDE, CONCLUDE]
    model = DraftsApart(script)
    world.references.models["scripted"] = model
    spec: dict[str, Any] = {
        "modelRef": {"name": "scripted"}, "decisionPolicy": "ModelProposed",
        "progressPolicy": LIMITS,
    }  # fmt: skip
    key = world.apply(**spec)
    await world.run(key)
    world.apply(requested_at="monday", **spec)
    await world.run(key)
    task = await world.task(key)
    assert (task.status.terminal_reason, task.status.round) == ("GoalReached", 1)
    actions = [s.spec.action.value for s in await world.steps(key) if s.spec.round == 1]
    assert actions == ["Reverify", "Reverify", "Propose", "Conclude", "Draft", "Publish"]


# S1.9
async def test_reading_again_is_a_call_that_the_budget_is_asked_for(world: World) -> None:
    world.lamp.is_remote = True
    key = world.apply()
    await world.run(key)
    world.apply(requested_at="monday", budgets={"maxSourceCalls": 0})
    await world.run(key)
    status = (await world.task(key)).status
    assert (status.terminal_reason, status.round) == ("SourceCallBudgetExhausted", 1)
    assert world.lamp.reads == []
