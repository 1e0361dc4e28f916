"""What waits for a person: answers to open fields, and a verdict on a draft.

Both waits are outside active time and expire by themselves. An approval is bound to the digest of
the draft: it cannot be used for another one.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from controller.api.reasons import RunningReason, TerminalReason
from controller.api.records import NoteKind
from controller.api.step import ActionName, StepDecision, Verdict
from controller.api.task import ApprovalVerdict, Awaiting
from controller.loop.clarification import unanswered
from controller.loop.closing import (
    close,
    closing_failure,
    draft_intent,
    has_draft,
    note,
    with_attempt,
)
from controller.loop.intents import AskArguments, Intent
from controller.loop.situation import Act, Decision, Situation, Wait

APPROVAL_NEEDED = "ApprovalNeeded"


def clarification(situation: Situation) -> Decision | None:
    """Ask for open fields, wait for the answers, and end when none came in time (S3.13)."""
    fields = unanswered(situation.task.spec, situation.state.model.named_fields)
    if not fields:
        return None
    state, policy = situation.state, situation.task.spec.clarification_policy
    names = ", ".join(fields)
    if state.pause is NoteKind.AWAITING_INPUT and state.asked == fields:
        until = _expiry(state.paused_at or situation.now, policy.expire_after_seconds)
        if situation.now < until:
            return Wait(
                RunningReason.AWAITING_INPUT,
                f"answer in spec.clarifications: {names}",
                until,
                awaiting=Awaiting(fields=fields, deadline=until),
            )
        return _expired(situation, f"no answer to {names} by {until:%Y-%m-%d %H:%M:%S} UTC")
    if state.ask_rounds >= policy.max_rounds:
        return _expired(situation, f"asked {state.ask_rounds} times; still no answer to {names}")
    decision = StepDecision(verdict=Verdict.CONTINUE, reason="FieldsMissing")
    intent = Intent(ActionName.ASK, AskArguments(fields=fields), decision)
    return Act(with_attempt(situation, intent))


def approval(situation: Situation) -> Decision | None:
    """Draft, wait for the verdict on that draft, and obey it; None: it is approved."""
    if closing_failure(situation) is not None:
        return None  # closing says how it ends
    if not has_draft(situation):
        decision = StepDecision(verdict=Verdict.CONTINUE, reason=APPROVAL_NEEDED)
        return Act(with_attempt(situation, draft_intent(situation, decision)))
    digest, wanted = situation.assessment.draft_digest, situation.task.spec.approval.decision
    if wanted is not None and wanted.digest == digest:
        if wanted.verdict is ApprovalVerdict.APPROVED:
            return None
        return close(situation, TerminalReason.APPROVAL_DENIED, f"the draft {digest} was denied")
    return _undecided(situation, digest, wanted.digest if wanted else None)


def _undecided(situation: Situation, digest: str, other: str | None) -> Decision:
    """Wait for a verdict on the draft; one on another draft is no verdict."""
    state, policy = situation.state, situation.task.spec.approval
    message = f"approve or deny the draft {digest} in spec.approval.decision"
    if other is not None:
        message += f"; the decision there is on another draft, {other}"
    if state.pause is not NoteKind.AWAITING_INPUT or state.pause_digest != digest:
        return note(NoteKind.AWAITING_INPUT, APPROVAL_NEEDED, message, digest)
    until = _expiry(state.paused_at or situation.now, policy.expire_after_seconds)
    if situation.now < until:
        awaiting = Awaiting(approval_digest=digest, deadline=until)
        return Wait(RunningReason.AWAITING_INPUT, message, until, awaiting=awaiting)
    return close(
        situation,
        TerminalReason.APPROVAL_EXPIRED,
        f"no decision on the draft {digest} by {until:%Y-%m-%d %H:%M:%S} UTC",
    )


def _expired(situation: Situation, message: str) -> Decision:
    return close(situation, TerminalReason.CLARIFICATION_EXPIRED, message)


def _expiry(since: datetime, seconds: int) -> datetime:
    return since + timedelta(seconds=seconds)
