"""The four figures of a run that was disturbed: each is a list of what is wrong, empty if it holds.

They are taken from what the home has stored and from what the other side has counted, never from
the operator's own words: the ending, the trajectory (journal, status, and the order in which both
were written), the effects outside, and the place from which the verifier went on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controller.api.errors import JournalError
from controller.api.reasons import ConditionType, TerminalReason
from controller.api.records import Fact
from controller.api.step import Outcome, ResearchStep
from controller.api.task import ResearchTask
from controller.cli.checking import check_report
from controller.loop.assessment import assess
from controller.loop.decide import decide
from controller.loop.run_state import RunState, initial
from controller.loop.situation import Situation
from controller.loop.state import fold
from controller.loop.status import build_status
from controller.ports import StoredReport
from controller.store.names import OPERATION_ANNOTATION

_COUNTERS = ("steps", "sourceCalls", "writes", "resumes", "interrupted", "verifierRejections")


@dataclass(frozen=True)
class Write:
    """One write that the home has accepted."""

    kind: str
    namespace: str
    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Recorded:
    """What is stored of a run, and what was seen of it from outside.

    `trail` is every accepted write of the task, its steps and its report, in the home's order;
    `calls` are the operation ids under which a remote source was called, as the source saw them.
    """

    task: ResearchTask
    steps: tuple[ResearchStep, ...]
    report: StoredReport | None
    trail: tuple[Write, ...]
    calls: tuple[str, ...] = ()

    @property
    def report_writes(self) -> int:
        """How often the report's ConfigMap was created or changed."""
        return sum(write.kind == "ConfigMap" for write in self.trail)

    @property
    def interrupted(self) -> int:
        """How many attempts are recorded as interrupted."""
        return sum(step.spec.outcome is Outcome.INTERRUPTED for step in self.steps)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the journal's steps carry, each as often as it was verified."""
        return tuple(f for s in self.steps if s.spec.extract for f in s.spec.extract.facts)

    @property
    def content(self) -> list[tuple[str, str, str]]:
        """What the completed steps say; their times, holders and numbers apart.

        What opens a round carries over times: its digest is its own.
        """
        return [
            (
                step.spec.action,
                step.spec.arguments,
                "" if step.spec.opening else step.spec.observation.digest,
            )
            for step in self.steps
            if step.spec.outcome is Outcome.COMPLETED
        ]


@dataclass(frozen=True)
class Figures:
    """What is wrong with each of the four."""

    ending: tuple[str, ...]
    trajectory: tuple[str, ...]
    effects: tuple[str, ...]
    verifier: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """All that is wrong."""
        return (*self.ending, *self.trajectory, *self.effects, *self.verifier)


def examine(
    run: Recorded, undisturbed: Recorded, *, reason: TerminalReason = TerminalReason.GOAL_REACHED
) -> Figures:
    """Compare a run with the same one that nobody disturbed, and with itself."""
    return Figures(
        ending=tuple(_ending(run, reason)),
        trajectory=(*_journal(run), *_order(run)),
        effects=(*_report_effects(run), *_calls(run)),
        verifier=tuple(_verifier(run, undisturbed)),
    )


def _ending(run: Recorded, reason: TerminalReason) -> Iterator[str]:
    status = run.task.status
    shown = [status.condition(kind) for kind in (ConditionType.FINISHED, ConditionType.SUCCEEDED)]
    reasons = [status.terminal_reason, *(c.reason if c else None for c in shown)]
    if reasons != [reason] * 3:
        yield f"it ends as {reasons}, not as {reason}"


def _journal(run: Recorded) -> Iterator[str]:
    """The journal folds without a hole, and the status is what it folds to."""
    try:
        state = _folded(run.task, run.steps)
    except JournalError as error:
        yield f"the journal does not fold: {error}"
        return
    situation = Situation(
        task=run.task,
        state=state,
        assessment=assess(run.task.spec, state),
        now=datetime(2100, 1, 1, tzinfo=UTC),
        holder="the examiner",
        pending=run.task.status.pending,
    )
    if build_status(situation, decide(situation), None) != run.task.status:
        yield "the status is not the fold of the journal"


def _folded(task: ResearchTask, steps: Sequence[ResearchStep]) -> RunState:
    state = initial(task.metadata.name, task.metadata.uid, task.spec.topic)
    for step in steps:
        state = fold(state, step)
    return state


def _order(run: Recorded) -> Iterator[str]:
    """No status claims a step that was not created before it; no counter falls within a round."""
    created = number = 0
    before: dict[str, int] = dict.fromkeys(_COUNTERS, 0)
    for write in run.trail:
        if write.kind == "ResearchStep":
            created += 1
        if write.kind != "ResearchTask":
            continue
        status = write.body.get("status") or {}
        claimed = (status.get("journal") or {}).get("steps", 0)
        if claimed > created:
            yield f"a status claims {claimed} steps when {created} were created"
        usage = {name: (status.get("usage") or {}).get(name, 0) for name in _COUNTERS}
        if status.get("round", 0) > number:
            number, before = status["round"], dict.fromkeys(_COUNTERS, 0)
        fallen = [name for name in _COUNTERS if usage[name] < before[name]]
        if fallen:
            yield f"usage fell: {fallen}"
        before = usage
    if created != len(run.steps):
        yield f"{created} steps were created, {len(run.steps)} are there"


def _report_effects(run: Recorded) -> Iterator[str]:
    """Each operation has written the report once at most, and what was recorded was written."""
    written = Counter(
        write.body["metadata"]["annotations"][OPERATION_ANNOTATION]
        for write in run.trail
        if write.kind == "ConfigMap"
    )
    for operation, times in written.items():
        if times > 1:
            yield f"the report was written {times} times by {operation}"
    for step in run.steps:
        if step.spec.publish is not None and not written[step.spec.operation_id]:
            yield f"step {step.spec.index} says that it published, and nothing was written"


def _calls(run: Recorded) -> Iterator[str]:
    """No attempt was sent twice, each that was sent is recorded, and each recorded one charged."""
    recorded = {step.spec.operation_id: step.spec for step in run.steps}
    for operation, times in Counter(run.calls).items():
        if times > 1:
            yield f"one attempt was sent {times} times: {operation}"
        if operation not in recorded:
            yield f"an attempt was sent that no step records: {operation}"
        elif not (recorded[operation].usage.source_calls or recorded[operation].model_call):
            yield f"step {recorded[operation].index} was sent and is not charged"


def _verifier(run: Recorded, undisturbed: Recorded) -> Iterator[str]:
    """No fact is missing, verified twice or taken unverified; the report's audit holds."""
    facts = Counter(fact.id for fact in run.facts)
    for fact_id, times in facts.items():
        if times > 1:
            yield f"{fact_id} was verified {times} times"
    if run.facts != undisturbed.facts:
        yield "the facts and their verdicts are not those of the undisturbed run"
    if run.content != undisturbed.content[: len(run.content)]:
        yield "the completed steps are not those of the undisturbed run"
    is_published = any(step.spec.publish is not None for step in run.steps)
    if is_published and run.report is not None:
        yield from check_report(run.task, run.steps, run.report).lies
