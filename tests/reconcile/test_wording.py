"""What a model words: claims beside its quotes, a soft check of them, and the draft."""

from __future__ import annotations

import json
from itertools import chain, repeat
from typing import Any

import pytest

from controller.api.errors import RetryableError
from controller.api.records import FactKind, FactStatus
from controller.api.step import ActionName, Outcome
from controller.cli.checking import check_report
from controller.loop.exchange import ModelReply
from controller.models.scripted import ScriptedModel, Turn, answer
from controller.ports import TaskKey
from tests.model_runs import LIMITS, NO_QUERIES, NO_QUOTES, Ended, check_run, parts, run
from tests.world import World

QUOTE = "Default: 40 lumens at the lowest dimmer position of the lamp."
HOLDS = "At its lowest dimmer position the lamp has 40 lumens."
MARKS = (
    "*(in a model's words; the quote is the source's)* *(no soft check was made of these words)*"
)
NO_DOUBTS = answer({"doubts": []})


def claimed(claim: str, quote: str = QUOTE) -> ModelReply:
    """Return an answer with one quote and a claim about it."""
    return answer({"quotes": [{"passage": "p1", "quote": quote, "claim": claim}]})


def sentences(*pairs: tuple[str, list[str]]) -> ModelReply:
    """Return a draft: sentences, each with the facts that it names."""
    return answer({"sentences": [{"sentence": s, "facts": f} for s, f in pairs]})


async def drafting(world: World, *script: Turn, **spec: Any) -> Ended:  # noqa: ANN401
    """Run a task whose model writes the draft as well; the drafts are part of the script."""
    model = ScriptedModel(script)
    world.references.models["scripted"] = model
    key = world.apply(modelRef={"name": "scripted"}, progressPolicy=LIMITS, **spec)
    await world.run(key)
    task, steps = await world.task(key), await world.steps(key)
    check_run(task, steps)
    stored = await world.store.get_report(task)
    return Ended(task, steps, stored.files["report.md"] if stored else "")


async def next_round(world: World, key: TaskKey) -> tuple[list[ActionName], str]:
    """Run a task's second round; return its actions and its report, which the journal bears out."""
    await world.run(key)
    task, steps = await world.task(key), await world.steps(key)
    stored = await world.store.get_report(task)
    assert stored is not None
    assert check_report(task, steps, stored).lies == ()
    actions = [s.spec.action for s in steps if s.spec.round == 1]
    assert actions[-1] is ActionName.PUBLISH
    return actions, stored.files["report.md"]


class TestClaims:
    async def test_a_claim_that_its_quote_says_is_published_beside_it(self, world: World) -> None:
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), NO_DOUBTS])
        assert ran.ending == "GoalReached"
        assert HOLDS in ran.report
        assert QUOTE in ran.report
        fact = ran.of(ActionName.EXTRACT)[0].spec.extract.facts[0]  # type: ignore[union-attr]
        assert (fact.kind, fact.citations[0].quote) == (FactKind.PARAPHRASE, QUOTE)

    @pytest.mark.parametrize(
        "claim",
        [
            "At its lowest dimmer position the lamp has 90 lumens.",
            "At its lowest dimmer position the lamp does not have 40 lumens.",
            "At its lowest dimmer position the lamp has 40 lumens; ask SALES_DESK for more.",
        ],
    )
    async def test_a_claim_that_says_something_else_leaves_the_quote(
        self, world: World, claim: str
    ) -> None:
        ran = await run(world, [NO_QUERIES, claimed(claim)])
        assert ran.ending == "GoalReached"
        assert ran.usage.verifier_rejections == 1
        assert claim not in ran.report
        assert QUOTE in ran.report
        assert "Review" not in ran.actions

    # T05
    async def test_what_was_rejected_is_told_in_the_next_prompt(self, world: World) -> None:
        world.references.sources["lamp"] = parts(["shade"], each=9)
        invented = answer({"quotes": [{"passage": "p1", "quote": "It has 90 lumens at night."}]})
        ran = await run(
            world,
            chain([NO_QUERIES, invented], repeat(NO_QUOTES)),
            questions=[{"id": "shade", "text": "Which part number has the shade?"}],
            budgets={"maxModelCalls": 5},
        )
        asked = [r.prompt for r in ran.model.requests if r.template.startswith("extract/")]
        assert "- It has 90 lumens at night.: QuoteNotFound" in asked[1]
        assert "Rejected before" not in asked[0]

    @pytest.mark.parametrize(
        "claim", ["What is the default of GLOW_LEVEL?", "The default of GLOW_LEVEL."]
    )
    async def test_a_claim_that_repeats_the_question_is_none(
        self, world: World, claim: str
    ) -> None:
        ran = await run(world, [NO_QUERIES, claimed(claim)])
        assert ran.ending == "GoalReached"
        facts = ran.of(ActionName.EXTRACT)[0].spec.extract.facts  # type: ignore[union-attr]
        assert [fact.kind for fact in facts] == [FactKind.QUOTE]
        assert ran.usage.verifier_rejections == 0


class TestSoftCheck:
    # S4.25, S3.5, S3.11
    async def test_it_stands_between_the_claim_and_the_conclusion(self, world: World) -> None:
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), NO_DOUBTS])
        assert ran.actions[2:5] == ["Extract", "Review", "Conclude"]
        review = ran.of(ActionName.REVIEW)[0].spec
        assert review.review is not None
        assert len(review.review.fact_ids) == 1
        assert review.model_call is not None
        assert review.model_call.answer == '{"doubts": []}'
        assert f"claim: {HOLDS}\nquote: {QUOTE}" in ran.model.requests[2].prompt

    # S3.5
    async def test_a_doubt_takes_the_fact_away_and_the_run_goes_on(self, world: World) -> None:
        doubt = answer({"doubts": [{"claim": "c1", "why": "it says more"}]})
        ran = await run(
            world,
            chain([NO_QUERIES, claimed(HOLDS), doubt, NO_QUERIES], repeat(NO_QUOTES, 9)),
        )
        assert ran.ending == "SourcesExhausted"
        assert HOLDS not in ran.report
        assert [(q.state, q.reason) for q in ran.task.status.questions] == [
            ("Unresolved", "Vetoed")
        ]

    @pytest.mark.parametrize("name", ["c2", "f1", ""])
    async def test_a_doubt_about_nothing_that_was_shown_does_nothing(
        self, world: World, name: str
    ) -> None:
        doubt = answer({"doubts": [{"claim": name, "why": "it says more"}]})
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), doubt])
        assert ran.ending == "GoalReached"
        assert HOLDS in ran.report

    # S4.25
    @pytest.mark.parametrize("fault", [RetryableError("ServerError", "HTTP 500"), answer("{}")])
    async def test_where_it_fails_the_hard_checks_stand(self, world: World, fault: Turn) -> None:
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), fault])
        assert ran.ending == "GoalReached"
        assert [s.spec.outcome for s in ran.of(ActionName.REVIEW)] == [Outcome.FAILED]
        assert f"{HOLDS} {MARKS}" in ran.report

    # S3.5
    async def test_what_it_has_looked_at_is_not_marked_as_unchecked(self, world: World) -> None:
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), NO_DOUBTS])
        assert HOLDS in ran.report
        assert MARKS not in ran.report

    async def test_a_later_round_without_it_says_so_of_what_it_carries(self, world: World) -> None:
        await run(world, [NO_QUERIES, claimed(HOLDS), NO_DOUBTS])
        key = world.apply(requested_at="monday")  # and no model any more
        actions, report = await next_round(world, key)
        assert ActionName.REVIEW not in actions
        assert f"{HOLDS} {MARKS}" in report

    async def test_a_later_round_with_it_looks_again(self, world: World) -> None:
        ran = await run(world, [NO_QUERIES, claimed(HOLDS), NO_DOUBTS, NO_DOUBTS])
        key = world.apply(
            requested_at="monday", modelRef={"name": "scripted"}, progressPolicy=LIMITS
        )
        actions, report = await next_round(world, key)
        assert actions.count(ActionName.REVIEW) == len(ran.of(ActionName.REVIEW)) == 1
        assert HOLDS in report
        assert MARKS not in report

    @pytest.mark.parametrize("doubts", [[], [{"claim": "c1", "why": "it says more"}]])
    async def test_it_may_be_the_last_step_of_a_question(
        self, world: World, doubts: list[dict[str, str]]
    ) -> None:
        script = [NO_QUERIES, claimed(HOLDS), answer({"doubts": doubts})]
        ran = await run(world, script, budgets={"maxStepsPerQuestion": 3})
        assert ran.actions[:4] == ["Plan", "Search", "Extract", "Review"]
        assert [(q.state, q.reason) for q in ran.task.status.questions] == [
            ("Unresolved", "StepLimit")
        ]

    async def test_a_run_with_no_call_left_concludes_without_it(self, world: World) -> None:
        budgets = {"maxModelCalls": 3}  # one is kept for the closing summary
        ran = await run(world, [NO_QUERIES, claimed(HOLDS)], budgets=budgets)
        assert ran.ending == "GoalReached"
        assert "Review" not in ran.actions
        assert ran.model.drafts == []


class TestDraft:
    async def test_sentences_that_their_facts_say_are_published(self, world: World) -> None:
        ran = await drafting(
            world,
            NO_QUERIES,
            answer({"quotes": [{"passage": "p1", "quote": QUOTE, "claim": ""}]}),
            sentences((HOLDS, ["f1"])),
        )
        assert ran.ending == "GoalReached"
        assert HOLDS in ran.report
        assert [s.text for s in ran.of(ActionName.DRAFT)[0].spec.statements or ()] == [HOLDS]
        assert ran.usage.model_calls == 3

    @pytest.mark.parametrize(
        ("sentence", "facts"),
        [
            ("At its lowest dimmer position the lamp has 90 lumens.", ["f1"]),
            ("The lamp is sold in forty countries and loved in all of them.", ["f1"]),
            ("At its lowest dimmer position the lamp never has 40 lumens.", ["f1"]),
            (HOLDS, ["f2"]),
            (HOLDS, []),
            (HOLDS, ["f1", "f9"]),
            ("What is the default of GLOW_LEVEL?", ["f1"]),
            ("The default of GLOW_LEVEL.", ["f1"]),
            ("", ["f1"]),
        ],
    )
    async def test_other_sentences_give_way_to_the_facts_own_words(
        self, world: World, sentence: str, facts: list[str]
    ) -> None:
        ran = await drafting(
            world,
            NO_QUERIES,
            answer({"quotes": [{"passage": "p1", "quote": QUOTE}]}),
            sentences((sentence, facts)),
        )
        assert ran.ending == "GoalReached"
        assert [s.text for s in ran.of(ActionName.DRAFT)[0].spec.statements or ()] == [QUOTE]

    async def test_a_fact_that_no_sentence_names_keeps_its_own_words(self, world: World) -> None:
        other = "Default: warm white, which is 2700 kelvin on every lamp of the series."
        ran = await drafting(
            world,
            NO_QUERIES,
            answer({"quotes": [{"passage": "p1", "quote": QUOTE}]}),
            answer({"quotes": [{"passage": "p1", "quote": other}]}),
            sentences((HOLDS, ["f1"]), (HOLDS, ["f1"])),
            questions=[
                {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
                {"id": "colour", "text": "What is the default of GLOW_COLOUR?"},
            ],
        )
        assert ran.ending == "GoalReached"
        texts = [s.text for s in ran.of(ActionName.DRAFT)[0].spec.statements or ()]
        assert texts == [HOLDS, other]

    # S3.11
    @pytest.mark.parametrize(
        "fault",
        [
            RetryableError("RateLimited", "HTTP 429", retry_after_seconds=600),
            answer("{}"),
            answer(""),
        ],
    )
    async def test_where_it_fails_the_facts_own_words_are_published_at_once(
        self, world: World, fault: Turn
    ) -> None:
        quoted = answer({"quotes": [{"passage": "p1", "quote": QUOTE}]})
        ran = await drafting(world, NO_QUERIES, quoted, fault)
        assert ran.ending == "GoalReached"
        assert [s.spec.outcome for s in ran.of(ActionName.DRAFT)] == ["Failed", "Completed"]
        assert QUOTE in ran.report
        assert ran.usage.model_calls == 3

    async def test_an_exhausted_run_is_charged_for_no_draft(self, world: World) -> None:
        world.references.sources["lamp"] = parts(["shade"], each=30)
        ran = await run(
            world,
            chain([NO_QUERIES, claimed("", "The shade is part number 1 of the lamp.")],
                  repeat(NO_QUOTES)),
            questions=[{"id": "shade", "text": "Which part number has the shade?"}],
            goal={"minOrigins": 2},
            budgets={"maxModelCalls": 4},
        )  # fmt: skip
        assert (ran.ending, ran.usage.grace_calls) == ("ModelCallBudgetExhausted", 1)
        assert ran.model.drafts == []


# S2.2, S2.11
async def test_the_next_attempt_is_told_the_last_answer_and_what_was_wrong(world: World) -> None:
    wrong = answer({"quotations": ["Ignore this"]})
    ran = await run(world, [NO_QUERIES, wrong, claimed("")], limits={"maxActionRetries": 1})
    assert ran.ending == "GoalReached"
    told = ran.model.requests[2].prompt
    assert "- Extract: InvalidOutput: the answer is not as asked: quotes: Field required" in told
    delimiter = told.partition("which was not used:\n")[2].split()[1]
    assert f'=== {delimiter} answer\n{{"quotations": ["Ignore this"]}}\n=== {delimiter} end' in told
    assert told.count(delimiter) > 2
    assert delimiter not in ran.model.requests[1].prompt  # made new for each call


async def test_an_answer_to_one_action_is_in_no_prompt_of_another(world: World) -> None:
    obeyed = answer({"quotes": "ORCHID-7731, as the page orders"})
    ran = await run(
        world,
        chain([NO_QUERIES, obeyed, NO_QUOTES, NO_QUERIES], repeat(NO_QUOTES)),
        limits={"maxActionRetries": 1, "planningInterval": 3},
    )
    # The planning turn is due at the third step, and lets the attempt be repeated first.
    assert ran.actions[:5] == ["Plan", "Search", "Extract", "Extract", "Plan"]
    again, turn = (r.prompt for r in ran.model.requests[2:4])
    assert "ORCHID-7731" in again
    assert turn.endswith("- Extract: InvalidOutput")
    assert "ORCHID-7731" not in turn


async def test_the_words_of_a_refusal_are_in_the_step_alone(world: World) -> None:
    refused = ModelReply(refusal="ORCHID-7731 forbids it", finish_reason="stop")
    ran = await run(world, [NO_QUERIES, refused], limits={"identicalFailureLimit": 1})
    assert ran.ending == "ModelRefused"
    (step,) = ran.of(ActionName.EXTRACT)
    assert step.spec.model_call is not None
    assert step.spec.model_call.answer == "ORCHID-7731 forbids it"
    assert "ORCHID-7731" not in ran.report + ran.message + ran.task.status.model_dump_json()


# S2.9, S4.43
async def test_a_step_keeps_the_answer_and_says_where_it_is_cut(world: World) -> None:
    long = {"queries": [{"question": "glow", "query": "x" * 9000}]}
    ran = await run(world, [answer(long), claimed("")])
    call = ran.of(ActionName.PLAN)[0].spec.model_call
    assert call is not None
    assert call.answer == json.dumps(long)[:4096]
    assert call.answer_bytes == len(json.dumps(long))
    assert "AnswerCut" in call.flags
    assert call.prompt_template == "plan/1"


async def test_facts_are_vetoed_and_never_rejected_by_a_soft_check(world: World) -> None:
    doubt = answer({"doubts": [{"claim": "c1", "why": "it says more"}]})
    script = chain([NO_QUERIES, claimed(HOLDS), doubt, NO_QUERIES], repeat(NO_QUOTES, 9))
    ran = await run(world, script)
    fact = ran.of(ActionName.EXTRACT)[0].spec.extract.facts[0]  # type: ignore[union-attr]
    assert fact.status is FactStatus.VERIFIED  # the record of then stays as it is
    assert ran.usage.verifier_rejections == 0
