"""The decision: ordered guards, the first that applies wins. Read `GUARDS` first.

A guard is a small pure function of one frozen `Situation`; it returns a decision or None. The
order is part of the contract and tested as a whole: the goal stands before the budgets, so that a
goal verified on the last affordable step counts; what is in doubt is settled before anything may
end the run. Those of the budgets and the stop rules are in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from controller.api.reasons import RunningReason, TerminalReason
from controller.api.records import AnswerReason, NoteKind
from controller.api.step import ActionClass
from controller.api.task import DesiredState, PredicateMet
from controller.loop.allowance import over_ceiling
from controller.loop.assessment import assess
from controller.loop.breakers import (
    ending_of,
)
from controller.loop.budgets import (
    deadline,
    deadline_exceeded,
    model_budget,
    source_call_budget,
    step_budget,
)
from controller.loop.closing import close, note, same_ending, wake_up, with_attempt
from controller.loop.degrade import FALLBACK_MODEL, switch_to_fallback
from controller.loop.doubt import foreign_intent, left_until
from controller.loop.failures import ErrorCount, Retry
from controller.loop.hand_off import approval, clarification
from controller.loop.lifetime import kept
from controller.loop.model_policy import chosen, planning_turn
from controller.loop.pace import busy
from controller.loop.rounds import goes_on_without_sources, next_round
from controller.loop.situation import Act, Decision, End, Interrupt, Remove, Situation, Wait
from controller.loop.soft_check import review_due, upcoming
from controller.loop.state import reopened
from controller.loop.stop_rules import (
    cycle_detected,
    error_threshold,
    no_progress,
    repeated_failure,
    set_aside_clause,
    sources_unavailable,
)
from controller.loop.validity import fault_of

Guard = Callable[[Situation], Decision | None]


def decide(situation: Situation) -> Decision:
    """Return the one decision that the situation calls for."""
    decision = next(d for guard in GUARDS if (d := guard(situation)) is not None)
    return kept(situation, decision) if isinstance(decision, End) else decision


def journal_corrupt(situation: Situation) -> Decision | None:
    """A journal that does not fold is not touched again."""
    error = situation.journal_error
    return End(TerminalReason.JOURNAL_CORRUPT, f"{error.error_class}: {error}") if error else None


def round_due(situation: Situation) -> Decision | None:
    """A run that has succeeded gets another round when it is to be looked at again.

    A task that is kept no longer is not refreshed.
    """
    opening = next_round(situation)
    if opening is None or isinstance(kept(situation, _ended(situation)), Remove):
        return None
    return opening


def already_terminal(situation: Situation) -> Decision | None:
    """A run that has ended stays so for its generation and request."""
    closing = situation.state.closing
    if closing is None or not situation.is_current:
        return None
    ending = TerminalReason(closing.decision.reason)
    if situation.state.closed:
        return _ended(situation)
    return close(situation, ending, closing.decision.message)


def reopening(situation: Situation) -> Decision | None:
    """A new generation or request re-opens a run, unless it would end the same again.

    There is nothing to suspend or to cancel in a run that has ended.
    """
    closing = situation.state.closing
    if closing is None:
        return None
    before = _ended(situation)
    if situation.state.closed and situation.task.spec.desired_state is not DesiredState.RUNNING:
        return before
    fresh = reopened(situation.state)
    decision = decide(
        replace(situation, state=fresh, assessment=assess(situation.task.spec, fresh))
    )
    if same_ending(situation, closing.decision, decision):
        return before
    return note(NoteKind.REOPENED, "SpecChanged", "the task was changed or asked for again")


def pending_in_doubt(situation: Situation) -> Decision | None:
    """What another process began is settled first: charged if paid, asked for if an effect."""
    intent = foreign_intent(situation)
    if intent is None:
        return None
    if (until := left_until(situation)) is not None:
        message = f"another process, which may be alive, is at the {intent.action}"
        return Wait(RunningReason.RUNNING, message, until)
    return {
        ActionClass.PURE: None,
        ActionClass.PAID: Interrupt(intent),
        ActionClass.EFFECT: Act(intent),
    }[situation.action_class(intent)]


def cancelled(situation: Situation) -> Decision | None:
    """The user has cancelled the run: absorbing."""
    if situation.task.spec.desired_state is not DesiredState.CANCELLED:
        return None
    return close(situation, TerminalReason.CANCELLED, "cancelled by spec.desiredState")


def spec_invalid(situation: Situation) -> Decision | None:
    """A spec that cannot be run, in whole, is not run in part."""
    fault = fault_of(situation.task.spec)
    return close(situation, TerminalReason.INVALID_SPEC, fault) if fault else None


def suspended(situation: Situation) -> Decision | None:
    """Between two actions a run can be suspended and resumed."""
    if situation.task.spec.desired_state is not DesiredState.SUSPENDED:
        return None
    message = "suspended by spec.desiredState"
    if situation.state.pause is not NoteKind.SUSPENDED:
        return note(NoteKind.SUSPENDED, "SuspendedByUser", message)
    return Wait(RunningReason.SUSPENDED, message)


def goal_reached(situation: Situation) -> Decision | None:
    """Every goal predicate holds on the recorded facts, and the draft is approved if it must be."""
    if not situation.assessment.goal_holds:
        return None
    if situation.assessment.needs_approval and (decision := approval(situation)) is not None:
        return decision
    met = ", ".join(f"{p.name} {p.current}/{p.target}" for p in situation.assessment.predicates)
    return close(situation, TerminalReason.GOAL_REACHED, f"every goal predicate holds: {met}")


def awaiting_clarification(situation: Situation) -> Decision | None:
    """What only the user knows is asked for before any work is done, and never guessed."""
    return clarification(situation)


def references_not_ready(situation: Situation) -> Decision | None:
    """Waiting is not ending: the run goes on when what is missing is there."""
    missing, is_noted = situation.missing, situation.state.pause is NoteKind.WAITING
    if missing is None or goes_on_without_sources(situation):
        return None
    if not is_noted or situation.state.pause_reason != missing.reason:
        return note(NoteKind.WAITING, missing.reason, missing.message)
    return Wait(
        RunningReason.WAITING_FOR_REFERENCE,
        missing.message,
        until=deadline(situation),
        accepted=missing.reason,
    )


def pause_ended(situation: Situation) -> Decision | None:
    """No guard before this one holds the run up any more: it goes on."""
    ended = {
        NoteKind.SUSPENDED: (NoteKind.RESUMED, "ResumedByUser", "resumed"),
        NoteKind.WAITING: (NoteKind.WAITING_ENDED, "ReferencesReady", "every reference is ready"),
        NoteKind.AWAITING_INPUT: (NoteKind.INPUT_TAKEN, "InputTaken", "nothing is asked any more"),
    }
    pause = situation.state.pause
    return note(*ended[pause]) if pause is not None else None


def backing_off(situation: Situation) -> Decision | None:
    """A failed attempt is repeated, not before its time; another ending may come first."""
    retry = situation.state.retry
    if retry is None:
        return None
    wake, limit = wake_up(retry), deadline(situation)
    if situation.now >= wake:
        return None
    if retry.not_before is not None and wake > limit:
        return _asked_too_late(situation, retry, limit)
    return Wait(
        RunningReason.BACKING_OFF,
        f"{retry.action} failed ({retry.error_class}: {retry.message}); attempt "
        f"{retry.attempts + 1} of {_attempts(situation)}; the error counts when they are spent",
        until=min(wake, limit),
    )


def spend_ceiling(situation: Situation) -> Decision | None:
    """What the operator's owner lets all tasks cost together is used up: wait, do not end."""
    intent = upcoming(situation)
    over = over_ceiling(situation, intent) if intent else None
    # Active time begins with the first step: before it there is no deadline to wake up for.
    until = deadline(situation) if situation.state.last else None
    return Wait(RunningReason.QUEUED, over, until=until) if over else None


def model_busy(situation: Situation) -> Decision | None:
    """Other tasks ask the model as often as its limits allow: wait, and keep no worker."""
    intent = upcoming(situation)
    reserved = intent.reservation if intent else None
    pace = situation.paces.get(reserved.model) if reserved else None
    held = busy(pace, reserved.tokens) if reserved and pace else None
    if held is None:
        return None
    # Active time begins with the first step: before it there is no deadline to wake up for.
    times = [held.until, deadline(situation) if situation.state.last else None]
    return Wait(RunningReason.QUEUED, held.message, min(filter(None, times), default=None))


def degrade(situation: Situation) -> Decision | None:
    """So much of a budget is used that the fallback model takes over, once a round."""
    switch = switch_to_fallback(situation)
    return note(NoteKind.DEGRADED, FALLBACK_MODEL, switch) if switch else None


def planning_interval(situation: Situation) -> Decision | None:
    """It is time to look at the plan as a whole, and to do nothing else."""
    intent = planning_turn(situation)
    return Act(with_attempt(situation, intent)) if intent else None


def soft_check(situation: Situation) -> Decision | None:
    """What a model has worded is looked at once more before it counts as an answer."""
    intent = review_due(situation)
    return Act(with_attempt(situation, intent)) if intent else None


def next_action(situation: Situation) -> Decision | None:
    """Do what the policy says, or what the model proposed."""
    intent = chosen(situation)
    return Act(with_attempt(situation, intent)) if intent else None


def nothing_left(situation: Situation) -> Decision:
    """Nothing legal is left, and the goal does not hold."""
    limited = [
        view.question.id
        for view in situation.assessment.questions
        if view.reason is AnswerReason.STEP_LIMIT
    ]
    if limited:
        return close(
            situation,
            TerminalReason.STEP_BUDGET_EXHAUSTED,
            f"spec.budgets.maxStepsPerQuestion is used up for {', '.join(limited)}",
        )
    unmet = ", ".join(
        f"{p.name} {p.current}/{p.target}"
        for p in situation.assessment.predicates
        if p.met is PredicateMet.FALSE
    )
    return close(
        situation,
        TerminalReason.SOURCES_EXHAUSTED,
        f"nothing unread and no new query is left; not met: {unmet}{set_aside_clause(situation)}",
    )


GUARDS: Final[tuple[Guard, ...]] = (
    journal_corrupt,  # what cannot be trusted is not acted on
    round_due,  # a run that succeeded is kept true
    already_terminal,  # an ended run stays ended, a closing one closes
    reopening,  # a new generation or request may start it again
    pending_in_doubt,  # charged before anything else may end the run
    cancelled,  # the user's word
    spec_invalid,  # nothing is run in part
    suspended,  # the user's word
    goal_reached,  # before budgets: the last affordable step may reach it
    awaiting_clarification,  # has an expiry of its own, so it stands before the deadline
    deadline_exceeded,  # waiting counts, so this stands before it
    references_not_ready,  # wait, do not end
    pause_ended,  # the record that a wait is over, before anything is done
    step_budget,  # checked, then spent
    source_call_budget,
    model_budget,  # the worst case of a call, before it is sent
    sources_unavailable,  # has a name of its own
    repeated_failure,
    error_threshold,
    cycle_detected,
    no_progress,
    backing_off,  # only a run that goes on waits for its next attempt
    degrade,  # before the next call, so that it is the fallback's
    spend_ceiling,  # only what would be sent waits for the others
    model_busy,  # last of the waits: it ends soonest
    planning_interval,  # a turn of its own
    soft_check,  # before the question is concluded
    next_action,
    nothing_left,
)


def _ended(situation: Situation) -> End:
    """Return the ending that the closing steps were taken under."""
    closing = situation.state.closing
    assert closing is not None
    return End(TerminalReason(closing.decision.reason), closing.decision.message)


def _asked_too_late(situation: Situation, retry: Retry, limit: datetime) -> Decision:
    """End at once what may be tried again only when its time is over (S1.29)."""
    error = ErrorCount(
        retry.subject, retry.error_class, retry.attempts, "", retry.attempts, retry.message
    )
    return close(
        situation,
        ending_of(error, TerminalReason.SOURCES_UNAVAILABLE),
        f"{retry.action} failed ({retry.error_class}: {retry.message}); it may be tried again at "
        f"{retry.not_before:%Y-%m-%d %H:%M:%S} UTC, and the deadline is "
        f"{limit:%Y-%m-%d %H:%M:%S} UTC",
    )


def _attempts(situation: Situation) -> int:
    return situation.task.spec.progress_policy.max_action_retries + 1
