"""Whole runs over a source that only names documents: each hit is read by a step of its own."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

from controller.api.errors import PermanentError, RetryableError
from controller.api.reasons import TerminalReason
from controller.api.records import QuestionState
from controller.api.step import ActionName, Outcome, ResearchStep
from controller.api.task import ResearchTask
from controller.cli.checking import check_report
from controller.loop.replay import decided_again, reduced
from controller.models.scripted import call
from controller.sources.scripted import ScriptedSource
from tests.model_runs import NO_QUERIES, quote, run
from tests.world import World

GLOW = "Default: 40 lumens at the lowest dimmer position of the lamp."
DOCUMENTS = {
    "https://lamp.example/glow": {
        "GLOW_LEVEL": GLOW,
        "Care": "Wipe the glass with a dry cloth.",
    },
    "https://lamp.example/colour": {"GLOW_COLOUR": "The default of the colour is warm white."},
    "https://lamp.example/safety": {"Safety": "The default is that it switches itself off."},
    "https://lamp.example/history": {"History": "The default was another one for years."},
}
ABSENT = [{"id": "absent", "text": "What is the default of FROST_LEVEL?"}]


def named(world: World, documents: Any = DOCUMENTS, **options: Any) -> ScriptedSource:  # noqa: ANN401
    """Let the task's source be one that only names documents."""
    source = ScriptedSource("lamp", documents, has_hits=True, **options)
    world.references.sources["lamp"] = source
    return source


async def ended(world: World, **spec: Any) -> tuple[ResearchTask, tuple[ResearchStep, ...]]:  # noqa: ANN401
    """Take a task to its end over every back-off; its journal replays, its report holds."""
    key = world.apply(**spec)
    operator = world.operator()
    for _ in range(30):
        await world.run(key, operator)
        if (await world.task(key)).status.terminal_reason is not None:
            break
        world.clock.advance(61)
    task, steps = await world.task(key), await world.steps(key)
    assert task.status.terminal_reason is not None
    specs = {task.metadata.generation: task.spec}
    assert reduced(task, steps, specs) is None
    assert decided_again(task, steps, specs).divergence is None
    stored = await world.store.get_report(task)
    assert stored is not None
    assert check_report(task, steps, stored).lies == ()
    return task, steps


def actions(steps: tuple[ResearchStep, ...]) -> list[str]:
    return [step.spec.action for step in steps]


def reads(steps: tuple[ResearchStep, ...]) -> list[ResearchStep]:
    return [step for step in steps if step.spec.action is ActionName.READ]


async def test_the_best_hits_are_read_one_by_one_and_then_quoted(world: World) -> None:
    source = named(world)
    task, steps = await ended(world)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert actions(steps) == [
        "Plan", "Search", "Read", "Read", "Read", "Extract", "Conclude", "Draft", "Publish",
    ]  # fmt: skip
    assert source.reads[0] == "https://lamp.example/glow"
    assert task.status.usage is not None
    assert task.status.usage.source_calls == 4
    (fact, *_) = [s.spec.extract for s in steps if s.spec.extract][0].facts  # noqa: RUF015
    assert fact.citations[0].quote == GLOW


async def test_a_search_records_no_evidence_and_a_read_only_what_has_the_words(
    world: World,
) -> None:
    named(world)
    _, steps = await ended(world)
    (search,) = [s.spec for s in steps if s.spec.search]
    assert search.evidence == ()
    read = reads(steps)[0].spec
    assert read.read is not None
    assert [b.text for b in read.evidence[0].blocks] == [GLOW]
    assert read.read.blocks_dropped == 1
    assert read.read.absent_terms == ()


async def test_a_hit_that_is_gone_is_closed_and_the_others_are_read(world: World) -> None:
    source = named(world, failures=[None, PermanentError("DocumentMissing", "404")])
    task, steps = await ended(world)
    first = reads(steps)[0].spec
    assert first.outcome is Outcome.COMPLETED
    assert first.read is not None
    assert (first.read.closed_by, first.read.bars_absence) == ("DocumentMissing", False)
    assert source.reads.count("https://lamp.example/glow") == 1
    assert task.status.questions[0].state is not QuestionState.ANSWERED


async def test_a_read_that_fails_is_tried_again_and_then_closed(world: World) -> None:
    slow = RetryableError("Timeout", "it took longer than 20 s")
    source = named(world, failures=[None, slow, slow, slow])
    _, steps = await ended(world, questions=ABSENT)
    first = reads(steps)[:3]
    assert [s.spec.outcome for s in first] == ["RetryScheduled", "RetryScheduled", "Failed"]
    assert len(set(source.reads[:3])) == 1
    assert source.reads[0] not in source.reads[3:]
    read = first[-1].spec.read
    assert read is not None
    assert (read.closed_by, read.bars_absence) == ("Timeout", True)


async def test_what_no_hit_contains_is_not_found_with_a_certificate(world: World) -> None:
    named(world)
    task, steps = await ended(world, questions=ABSENT)
    (question,) = task.status.questions
    assert question.state is QuestionState.NOT_FOUND
    (certificate,) = [s.spec.answer.certificate for s in steps if s.spec.answer]
    assert certificate is not None
    assert [t.term for t in certificate.absent_terms] == ["FROST_LEVEL"]
    assert len({query.text for query in certificate.queries}) >= 3


async def test_a_source_without_a_hit_proves_an_absence_as_well(world: World) -> None:
    named(world, {"https://lamp.example/other": {"Other": "Nothing of the kind."}})
    task, steps = await ended(world, questions=ABSENT)
    assert reads(steps) == []
    assert task.status.questions[0].state is QuestionState.NOT_FOUND


async def test_a_document_that_was_not_read_whole_bars_an_absence(world: World) -> None:
    source = named(world)
    source.partial = {"https://lamp.example/glow": "2 of 9 pages have no text"}
    task, _ = await ended(world, questions=ABSENT)
    (question,) = task.status.questions
    assert (question.state, question.reason) == (QuestionState.UNRESOLVED, "SourcePartial")


async def test_a_hit_that_may_not_be_read_bars_an_absence(world: World) -> None:
    robots = PermanentError("RobotsDisallowed", "the site's robots file forbids it")
    named(world, failures=[None, robots])
    task, _ = await ended(world, questions=ABSENT)
    (question,) = task.status.questions
    assert (question.state, question.reason) == (QuestionState.UNRESOLVED, "SourcePartial")


# S4.21
async def test_reads_count_as_source_calls_and_never_cross_their_budget(world: World) -> None:
    source = named(world)
    task, _ = await ended(world, questions=ABSENT, budgets={"maxSourceCalls": 3})
    assert task.status.terminal_reason is TerminalReason.SOURCE_CALL_BUDGET_EXHAUSTED
    assert len(source.searches) + len(source.reads) == 3


async def test_a_read_in_doubt_is_charged_and_not_sent_again_as_the_same(world: World) -> None:
    source = named(world)
    key = world.apply()
    operator = world.operator()
    while (await world.task(key)).status.pending is None or (
        await world.task(key)
    ).status.pending.action is not ActionName.READ:  # type: ignore[union-attr]  # it is there
        operator.observe(key, "")
        await operator.reconcile(key)
    another = world.operator()  # it finds the intent of a process that may live, and waits for it
    for _ in range(5):
        await world.run(key, another)
        world.clock.advance(121)
    task, steps = await world.task(key), await world.steps(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert [s.spec.outcome for s in reads(steps)][:2] == ["Interrupted", "Completed"]
    assert task.status.usage is not None
    assert task.status.usage.source_calls == len(source.searches) + len(source.reads) + 1


async def test_a_later_round_reads_the_cited_documents_again(world: World) -> None:
    source = named(world)
    key = world.apply(refreshIntervalSeconds=3600)
    await world.run(key)
    before = len(source.reads)
    world.clock.advance(3601)
    await world.run(key)
    task, steps = await world.task(key), await world.steps(key)
    assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
    assert task.status.round == 1
    again = [s for s in steps if s.spec.reverify is not None]
    assert [s.spec.usage.source_calls for s in again] == [1] * len(again)
    assert source.reads[before:] == ["https://lamp.example/glow"]


# S3.4
async def test_a_model_may_pick_a_read_and_names_no_address(world: World) -> None:
    source = named(world)
    elsewhere = {"questionId": "glow", "locator": "https://evil.example/"}
    search = {"questionId": "glow", "sourceName": "lamp", "query": "default GLOW_LEVEL"}
    ran = await run(
        world,
        chain(
            [
                call("Plan"),
                NO_QUERIES,
                call("Search", search),
                call("Read", elsewhere),
                call("Extract", {"questionId": "glow"}),
                quote(GLOW),
            ],
            repeat(call("Conclude", {"questionId": "glow"})),
        ),
        decisionPolicy="ModelProposed",
    )
    assert [s.spec.error for s in ran.steps if s.spec.error] == []
    assert ran.ending == "GoalReached"
    assert source.reads == ["https://lamp.example/glow"]
    proposal = ran.of(ActionName.PROPOSE)[2].spec.proposal
    assert proposal is not None
    assert proposal.stripped == ("locator",)


async def test_two_questions_read_a_hit_each_for_its_own_words(world: World) -> None:
    source = named(world)
    both = [
        {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
        {"id": "care", "text": "What is the glass wiped with?"},
    ]
    task, _ = await ended(world, questions=both)
    assert {q.state for q in task.status.questions} == {QuestionState.ANSWERED}
    assert source.reads.count("https://lamp.example/glow") == 2


async def test_a_hit_that_is_gone_is_gone_for_every_question(world: World) -> None:
    gone = PermanentError("Gone", "410")
    source = named(world, failures=[None, gone])
    both = [
        {"id": "a", "text": "What is the default of GLOW_LEVEL?"},
        {"id": "b", "text": "Which default has GLOW_LEVEL?"},
    ]
    await ended(world, questions=both)
    assert source.reads.count("https://lamp.example/glow") == 1
