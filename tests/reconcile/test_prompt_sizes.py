"""The size of prompts: flat over the steps, halved after an overflow, learned from usage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count, repeat

import pytest

from controller.api.errors import PermanentError
from controller.api.model_call import CallFlag
from controller.api.step import ActionName, Outcome
from controller.loop.exchange import ModelReply, ModelRequest, ReportedUsage
from controller.models.scripted import LOCAL_TERMS, answer, call
from tests.model_runs import NO_QUERIES, NO_QUOTES, Ran, parts, quote, run
from tests.world import World

QUESTION = [{"id": "shade", "text": "Which part number has the shade?"}]
FOUND = quote("The shade is part number 1 of the lamp.")


def _restless() -> Iterator[ModelReply]:
    """Yield proposals of a model that never has enough: four new passages, then a reading."""
    invented = answer({"quotes": [{"passage": "p1", "quote": "It is made of glass."}]})
    yield call("Plan", {})
    yield NO_QUERIES
    for number in count(start=1):
        words = f"part number {' '.join(str(4 * number + at) for at in range(4))}"
        yield call("Search", {"questionId": "shade", "sourceName": "lamp", "query": words})
        yield call("Extract", {"questionId": "shade"})
        yield invented


# S0.62
async def test_a_prompt_grows_with_what_is_asked_and_not_with_the_steps(world: World) -> None:
    world.references.sources["lamp"] = parts(["shade"], each=160)
    ran = await run(
        world,
        _restless(),
        questions=QUESTION,
        decisionPolicy="ModelProposed",
        limits={"maxStalledSteps": 50},
        budgets={"maxSteps": 104, "maxStepsPerQuestion": 140, "maxModelCalls": 200,
                 "maxTokens": 2_000_000},
    )  # fmt: skip
    assert ran.ending == "StepBudgetExhausted"
    for action, template in ((ActionName.PROPOSE, "propose/1"), (ActionName.EXTRACT, "extract/1")):
        tokens = {
            s.spec.index: s.spec.model_call.prompt_tokens
            for s in ran.of(action)
            if s.spec.model_call and s.spec.index >= 10
            if s.spec.model_call.prompt_template == template
            if s.spec.model_call.shown == _shown(action)
        }
        first = next(iter(tokens.values()))
        assert max(tokens) >= 100
        assert all(abs(count - first) <= first * 0.2 for count in tokens.values()), tokens


def _shown(action: ActionName) -> int:
    """Return how many passages a prompt of the test shows where it shows all that it may."""
    return 4 if action is ActionName.EXTRACT else 0


def _too_large(passages: int) -> Iterator[object]:
    """Yield an endpoint whose window is smaller than its object says."""

    def extract(request: ModelRequest) -> ModelReply:
        if request.shown > passages:
            raise PermanentError("Overflow", "the prompt has 9000 tokens, the window 4096")
        return FOUND

    return chain([NO_QUERIES], repeat(extract))


class TestOverflow:
    @pytest.mark.parametrize(("room", "ending", "tried"), [
        (8, "GoalReached", [8]),
        (4, "GoalReached", [8, 4]),
        (3, "ContextOverflow", [8, 4]),
    ])  # fmt: skip
    async def test_one_smaller_prompt_is_tried(
        self, world: World, room: int, ending: str, tried: list[int]
    ) -> None:
        """E10."""
        ran = await self._run(world, room)
        assert ran.ending == ending
        shown = [r.shown for r in ran.model.requests if r.template.startswith("extract/")]
        assert shown[: len(tried)] == tried
        outcomes = [s.spec.outcome for s in ran.of(ActionName.EXTRACT)]
        assert outcomes[:1] == [Outcome.COMPLETED if len(tried) == 1 else Outcome.RETRY_SCHEDULED]

    async def test_a_passage_that_was_left_out_is_shown_later(self, world: World) -> None:
        ran = await self._run(world, 4)
        record = ran.of(ActionName.EXTRACT)[1].spec.extract
        assert record is not None
        assert (len(record.passages or ()), record.remaining) == (4, 4)

    async def _run(self, world: World, room: int) -> Ran:
        world.references.sources["lamp"] = parts(["shade"], each=8)
        wide = LOCAL_TERMS.model_copy(update={"context_window_tokens": 65_536})
        return await run(
            world, _too_large(room), terms=wide, questions=QUESTION,  # type: ignore[arg-type]
            limits={"maxActionRetries": 2, "identicalFailureLimit": 1},
        )  # fmt: skip


# S4.11
async def test_an_endpoint_that_counts_more_is_expected_to_count_more(world: World) -> None:
    dense = ReportedUsage(prompt_tokens=900, completion_tokens=9)
    ran = await run(world, [answer({"queries": []}, usage=dense), NO_QUOTES, NO_QUERIES])
    plan, extract = ran.of(ActionName.PLAN)[0].spec, ran.of(ActionName.EXTRACT)[0].spec
    assert plan.model_call is not None
    assert CallFlag.PROMPT_UNDERESTIMATED in plan.model_call.flags
    assert extract.reservation is not None
    assert extract.model_call is not None
    bytes_of = (plan.model_call.prompt_bytes, extract.model_call.prompt_bytes)
    assert extract.reservation.prompt_tokens == -(-bytes_of[1] * 900 // bytes_of[0])  # type: ignore[operator]


# S4.11
async def test_an_endpoint_that_counts_less_is_not_believed_for_the_next_prompt(
    world: World,
) -> None:
    light = ReportedUsage(prompt_tokens=300, completion_tokens=9)
    ran = await run(world, [answer({"queries": []}, usage=light), NO_QUOTES, NO_QUERIES])
    extract = ran.of(ActionName.EXTRACT)[0].spec
    assert extract.reservation is not None
    assert extract.model_call is not None
    assert extract.model_call.prompt_bytes is not None
    assert extract.reservation.prompt_tokens == -(-extract.model_call.prompt_bytes // 3)
