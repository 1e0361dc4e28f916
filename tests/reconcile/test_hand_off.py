"""What waits for a person: answers, approval; and how long a finished task is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.actions.publish import drafted_report
from controller.api.errors import NotFoundError
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import NoteKind
from controller.api.step import ActionName
from controller.api.task import ResearchTaskStatus
from controller.loop.clarification import filled, placeholders, unanswered
from controller.ports import TaskKey
from tests.situations import task as task_of
from tests.world import World

ASKS = [{"id": "glow", "text": "What is the default of {setting}?"}]
ANSWER = [{"field": "setting", "answer": "GLOW_LEVEL"}]


async def status_of(world: World, key: TaskKey) -> ResearchTaskStatus:
    return (await world.task(key)).status


async def run(world: World, **spec: Any) -> ResearchTaskStatus:  # noqa: ANN401
    key = world.apply(**spec)
    await world.run(key)
    return await status_of(world, key)


class TestClarification:
    # S1.28, S3.3, S3.13
    async def test_an_open_field_is_asked_for_before_any_work(self, world: World) -> None:
        status = await run(world, questions=ASKS)
        assert status.awaiting is not None
        assert status.awaiting.fields == ("setting",)
        condition = status.condition(ConditionType.AWAITING_INPUT)
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "ClarificationNeeded")
        assert world.lamp.searches == []

    # S3.13
    async def test_the_answer_stands_in_the_question_and_the_run_goes_on(
        self, world: World
    ) -> None:
        await run(world, questions=ASKS)
        status = await run(world, questions=ASKS, clarifications=ANSWER)
        assert status.terminal_reason is TerminalReason.GOAL_REACHED
        assert status.questions[0].text == "What is the default of GLOW_LEVEL?"
        assert status.awaiting is None
        assert status.condition(ConditionType.AWAITING_INPUT) is None

    # S3.13, E5
    @pytest.mark.parametrize(
        "answers",
        [[{"field": "setting", "answer": "  "}], [{"field": "colour", "answer": "red"}]],
    )
    async def test_a_blank_or_wrong_answer_changes_nothing(
        self, world: World, answers: list[dict[str, str]]
    ) -> None:
        await run(world, questions=ASKS)
        key = world.apply(questions=ASKS, clarifications=answers)
        before = await world.steps(key)
        await world.run(key)
        status = await status_of(world, key)
        assert status.awaiting is not None
        assert status.awaiting.fields == ("setting",)
        assert await world.steps(key) == before

    # S1.31, E5
    async def test_waiting_is_not_active_time_and_expires_by_itself(self, world: World) -> None:
        key = world.apply(
            questions=ASKS,
            clarificationPolicy={"expireAfterSeconds": 5000},
            budgets={"activeDeadlineSeconds": 60},
        )
        operator = world.operator()
        await world.run(key, operator)
        world.clock.advance(4000)
        await world.run(key, operator)
        assert (await status_of(world, key)).terminal_reason is None
        world.clock.advance(1001)
        await world.run(key, operator)
        status = await status_of(world, key)
        assert status.terminal_reason is TerminalReason.CLARIFICATION_EXPIRED
        assert status.usage is not None
        assert status.usage.active_seconds < 5

    async def test_an_expired_one_is_answered_later_and_goes_on(self, world: World) -> None:
        key = world.apply(questions=ASKS)
        await world.run(key)
        world.clock.advance(90_000)
        await world.run(key)
        assert (await status_of(world, key)).terminal_reason == "ClarificationExpired"
        blank = await run(
            world, questions=ASKS, clarifications=[{"field": "setting", "answer": ""}]
        )
        assert blank.terminal_reason is TerminalReason.CLARIFICATION_EXPIRED
        answered = await run(world, questions=ASKS, clarifications=ANSWER)
        assert answered.terminal_reason is TerminalReason.GOAL_REACHED

    # S3.13, E5
    async def test_it_is_asked_only_so_many_times(self, world: World) -> None:
        texts = "{a} {b}"
        policy = {"maxRounds": 1, "expireAfterSeconds": 5000}
        await run(world, guidance=texts, clarificationPolicy=policy)
        status = await run(
            world,
            guidance=texts,
            clarificationPolicy=policy,
            clarifications=[{"field": "a", "answer": "1"}],
        )
        assert status.terminal_reason is TerminalReason.CLARIFICATION_EXPIRED

    def test_placeholders_and_text(self) -> None:
        spec = task_of(
            topic="{product} in {{braces}}",
            guidance="{region} {product} { not } {}",
            clarifications=[{"field": "region", "answer": " EU "}],
        ).spec
        assert placeholders(spec) == ("product", "region")
        assert unanswered(spec) == ("product",)
        assert filled(spec, "{region} {product} {{region}}") == "EU {product} {{region}}"

    async def test_texts_that_cannot_be_asked_are_refused(self, world: World) -> None:
        status = await run(
            world,
            questions=[{"id": "q", "text": "x" * 480 + " {setting}?"}],
            clarifications=[{"field": "setting", "answer": "y" * 100}],
        )
        assert status.terminal_reason is TerminalReason.INVALID_SPEC


def approval(digest: str | None = None, verdict: str = "Approved") -> dict[str, Any]:
    decision = {"decision": {"digest": digest, "verdict": verdict}} if digest else {}
    return {"mode": "Required", "expireAfterSeconds": 5000, **decision}


class TestApproval:
    async def drafted(self, world: World) -> tuple[TaskKey, str]:
        key = world.apply(approval=approval())
        await world.run(key)
        status = await status_of(world, key)
        assert status.awaiting is not None
        assert status.awaiting.approval_digest is not None
        return key, status.awaiting.approval_digest

    # S1.31, S1.39
    async def test_a_goal_that_holds_waits_for_the_verdict_on_its_draft(self, world: World) -> None:
        key, _ = await self.drafted(world)
        task = await world.task(key)
        assert task.status.terminal_reason is None
        condition = task.status.condition(ConditionType.AWAITING_INPUT)
        assert condition is not None
        assert condition.reason == "ApprovalNeeded"
        assert await world.store.get_report(task) is None

    # S1.31, S1.39
    async def test_the_approved_draft_is_published(self, world: World) -> None:
        key, digest = await self.drafted(world)
        world.apply(approval=approval(digest))
        await world.run(key)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
        report = await world.store.get_report(task)
        assert report is not None
        assert report.digest == digest
        assert "40 lumens" in report.files["report.md"]
        actions = [s.spec.action for s in await world.steps(key)]
        assert actions.count(ActionName.DRAFT) == 1

    # S1.39, E6
    async def test_a_denied_draft_is_withheld(self, world: World) -> None:
        key, digest = await self.drafted(world)
        world.apply(approval=approval(digest, "Denied"))
        await world.run(key)
        await self.is_withheld(world, key, TerminalReason.APPROVAL_DENIED, digest)

    # E6
    async def test_no_decision_in_time_withholds_it(self, world: World) -> None:
        key, digest = await self.drafted(world)
        world.clock.advance(5001)
        await world.run(key)
        await self.is_withheld(world, key, TerminalReason.APPROVAL_EXPIRED, digest)

    async def is_withheld(
        self, world: World, key: TaskKey, reason: TerminalReason, digest: str
    ) -> None:
        task = await world.task(key)
        assert task.status.terminal_reason is reason
        report = await world.store.get_report(task)
        assert report is not None
        assert "40 lumens" not in "".join(report.files.values())
        content = json.loads(report.files["report.json"])
        assert content["withheld"]["draftDigest"] == digest
        assert digest in report.files["report.md"]

    # S1.31, E6
    async def test_a_verdict_on_another_draft_is_none(self, world: World) -> None:
        key, digest = await self.drafted(world)
        other = "sha256:" + "0" * 64
        world.apply(approval=approval(other))
        steps = await world.steps(key)
        await world.run(key)
        status = await status_of(world, key)
        assert status.terminal_reason is None
        condition = status.condition(ConditionType.AWAITING_INPUT)
        assert condition is not None
        assert other in condition.message
        assert await world.steps(key) == steps
        world.apply(approval=approval(digest))
        await world.run(key)
        assert (await status_of(world, key)).terminal_reason is TerminalReason.GOAL_REACHED

    async def test_an_approval_is_used_for_its_own_draft_alone(self, world: World) -> None:
        key, digest = await self.drafted(world)
        colour = {"id": "colour", "text": "What is the default of GLOW_COLOUR?"}
        glow = {"id": "glow", "text": "What is the default of GLOW_LEVEL?"}
        world.apply(approval=approval(digest), questions=[glow, colour])
        await world.run(key)
        status = await status_of(world, key)
        assert status.terminal_reason is None
        assert status.awaiting is not None
        assert status.awaiting.approval_digest not in {None, digest}

    async def test_another_ending_says_nothing_that_was_not_approved(self, world: World) -> None:
        key, digest = await self.drafted(world)
        world.apply(approval=approval(), desiredState="Cancelled")
        await world.run(key)
        await self.is_withheld(world, key, TerminalReason.CANCELLED, digest)

    async def test_drafting_for_approval_is_no_step_of_the_budget(self, world: World) -> None:
        key, _ = await self.drafted(world)
        status = await status_of(world, key)
        assert status.usage is not None
        assert status.usage.steps == 4

    async def test_waiting_is_recorded_once(self, world: World) -> None:
        key, digest = await self.drafted(world)
        notes = [s.spec.note for s in await world.steps(key) if s.spec.note]
        assert [(n.kind, n.draft_digest) for n in notes] == [(NoteKind.AWAITING_INPUT, digest)]


class TestLifetime:
    async def test_a_finished_task_goes_when_its_time_is_over(self, world: World) -> None:
        key = world.apply(ttlSecondsAfterFinished=600)
        operator = world.operator()
        await world.run(key, operator)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.GOAL_REACHED
        assert task.status.next_wake_up_time is not None
        operator.observe(key, "")
        requeue = await operator.reconcile(key)
        assert requeue.after is not None
        assert 590 < requeue.after <= 600
        assert (await world.task(key)).metadata.resource_version == task.metadata.resource_version
        world.clock.advance(601)
        await operator.reconcile(key)
        with pytest.raises(NotFoundError):
            await world.task(key)
        assert await world.store.list_steps(task, 0) == ()
        assert await world.store.get_report(task) is None

    async def test_a_process_that_starts_later_keeps_to_the_same_time(self, world: World) -> None:
        key = world.apply(ttlSecondsAfterFinished=600)
        await world.run(key)
        world.clock.advance(601)
        await world.operator().reconcile(key)
        with pytest.raises(NotFoundError):
            await world.task(key)

    async def test_no_time_means_for_ever(self, world: World) -> None:
        key = world.apply()
        await world.run(key)
        world.clock.advance(10**9)
        assert (await world.operator().reconcile(key)).after is None
        await world.task(key)

    async def test_a_longer_time_set_later_counts(self, world: World) -> None:
        key = world.apply(ttlSecondsAfterFinished=600)
        operator = world.operator()
        await world.run(key, operator)
        world.apply(ttlSecondsAfterFinished=6000)
        world.clock.advance(700)
        await world.run(key, operator)
        task = await world.task(key)
        assert task.status.terminal_reason is TerminalReason.GOAL_REACHED


async def test_the_draft_can_be_read_before_it_is_approved(world: World) -> None:
    key = world.apply(approval=approval())
    await world.run(key)
    task = await world.task(key)
    assert task.status.awaiting is not None
    drafted = drafted_report(task, await world.steps(key))
    assert drafted is not None
    assert drafted.digest == task.status.awaiting.approval_digest
    assert "40 lumens" in drafted.files["report.md"]
    assert "not published" in drafted.files["report.md"]


async def test_without_a_draft_there_is_none_to_read(world: World) -> None:
    key = world.apply(questions=ASKS)
    await world.run(key)
    assert drafted_report(await world.task(key), await world.steps(key)) is None
