"""The guards that stop a run which gets nowhere: it fails, goes in a circle, or is only busy."""

from __future__ import annotations

from controller.api.reasons import TerminalReason
from controller.loop.assessment import searched_in_vain
from controller.loop.breakers import Breaker, is_too_frequent, repeats_itself, run_ending
from controller.loop.closing import close
from controller.loop.run_state import RunState
from controller.loop.situation import Decision, Situation


def sources_unavailable(situation: Situation) -> Decision | None:
    """Every source has failed with its retries spent, and nothing was read."""
    sources = {r.name for r in situation.task.spec.source_refs}
    failed = {e.subject.removeprefix("source/") for e in situation.state.errors.values()}
    if not (sources <= failed and searched_in_vain(situation.assessment)):
        return None
    return close(situation, TerminalReason.SOURCES_UNAVAILABLE, _last_message(situation.state))


def repeated_failure(situation: Situation) -> Decision | None:
    """The same attempt has failed in the same way too often in a row."""
    return _tripped(situation, repeats_itself)


def error_threshold(situation: Situation) -> Decision | None:
    """One class of error has come too often in a row from one subject."""
    return _tripped(situation, is_too_frequent)


def cycle_detected(situation: Situation) -> Decision | None:
    """What is known came back to what it was."""
    if not situation.state.progress.cycle:
        return None
    return close(
        situation, TerminalReason.CYCLE_DETECTED, "an earlier progress fingerprint came back"
    )


def no_progress(situation: Situation) -> Decision | None:
    """The run is only busy."""
    limit = situation.task.spec.progress_policy.max_stalled_steps
    stalled = situation.state.progress.stalled_steps
    if stalled < limit:
        return None
    return close(
        situation,
        TerminalReason.NO_PROGRESS,
        f"{stalled} steps in a row brought nothing new "
        f"(spec.progressPolicy.maxStalledSteps {limit})",
    )


def set_aside_clause(situation: Situation) -> str:
    """Return the end of a message that names the sources that are set aside, if there are any."""
    aside = situation.assessment.findings.set_aside
    return f"; set aside for the round: {', '.join(map(str, aside))}" if aside else ""


def _tripped(situation: Situation, trips: Breaker) -> Decision | None:
    spec = situation.task.spec
    for error in run_ending(spec, situation.state):
        if (reason := trips(spec.progress_policy, error)) is not None:
            message = f"{error.error_class} from {error.subject}, {error.count} in a row"
            return close(
                situation, reason, f"{message}: {error.message}{set_aside_clause(situation)}"
            )
    return None


def _last_message(state: RunState) -> str:
    return "; ".join(f"{e.subject}: {e.error_class}: {e.message}" for e in state.errors.values())
