"""Builders of steps: each says only what matters to its test."""

from __future__ import annotations

from typing import Any

from controller.api.step import (
    ActionName,
    Observation,
    Outcome,
    ResearchStepSpec,
    StepDecision,
    StepUsage,
    Verdict,
)
from controller.loop.journal import UNSEALED
from tests.situations import NOW, UID


def step(
    index: int = 0,
    action: ActionName = ActionName.SEARCH,
    outcome: Outcome = Outcome.COMPLETED,
    fingerprint: str = UNSEALED,
    ending: str | None = None,
    **changes: Any,  # noqa: ANN401
) -> ResearchStepSpec:
    """Return an unsealed step; `fingerprint` may be any text."""
    made = ResearchStepSpec(
        format_version=1,
        task_name="lamp",
        task_uid=UID,
        generation=1,
        round=0,
        index=index,
        attempt=1,
        holder="operator-1",
        start_time=NOW,
        end_time=NOW,
        active_milliseconds=0,
        action=action,
        operation_id=UNSEALED,
        arguments="{}",
        outcome=outcome,
        usage=StepUsage(steps=1),
        decision=StepDecision(
            verdict=Verdict.FAIL if ending else Verdict.CONTINUE, reason=ending or "Test"
        ),
        observation=Observation(digest=UNSEALED, summary=""),
        fingerprint=UNSEALED,
        previous_digest=UNSEALED,
        digest=UNSEALED,
    )
    return made.model_copy(update={"fingerprint": fingerprint, **changes})
