"""What a decision may depend on, and what it may be: frozen data, no behaviour of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, TypeVar

from controller.api.errors import JournalError
from controller.api.model_call import ModelTerms, micro_usd
from controller.api.reasons import AcceptedReason, RunningReason, TerminalReason
from controller.api.step import ActionClass, ActionName
from controller.api.task import Awaiting, Pending, ResearchTask
from controller.loop.assessment import Assessment
from controller.loop.intents import Intent, called_source
from controller.loop.pace import Pace
from controller.loop.run_state import RunState


@dataclass(frozen=True)
class MissingReference:
    """What a task refers to and cannot use now: nothing is sent until it is mended."""

    reason: AcceptedReason
    message: str


@dataclass(frozen=True)
class Spend:
    """What all tasks of an operator have cost, and what its owner lets them, in micro-USD (E12)."""

    limit: int
    spent: int


@dataclass(frozen=True)
class Situation:
    """Everything that a decision may depend on.

    `models` has the task's model and, where that is ready, its fallback; `spend` is None where the
    operator has no ceiling. `paces` has what the limits of a model leave, by its name.
    `holder_may_live` says of the process that stored `pending`, if it is another one, that it is
    not known to be gone.
    `source_digests` says what the sources hold now, by name; one that is not there is not known.
    """

    task: ResearchTask
    state: RunState
    assessment: Assessment
    now: datetime
    holder: str
    pending: Pending | None = None
    holder_may_live: bool = False
    missing: MissingReference | None = None
    remote_sources: frozenset[str] = frozenset()
    models: tuple[ModelTerms, ...] = ()
    spend: Spend | None = None
    paces: Mapping[str, Pace] = field(default_factory=dict)
    journal_error: JournalError | None = None
    source_digests: Mapping[str, str] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def active_milliseconds(self) -> int:
        """Active time up to now; a clock that went back counts as 0."""
        used, last = self.state.usage.active_milliseconds, self.state.last_time
        if last is None or not self.state.counts_time:
            return used
        return used + max(0, int((self.now - last) / timedelta(milliseconds=1)))

    @property
    def cost_limit(self) -> int | None:
        """What the task may cost, in micro-USD; None: no limit."""
        limit = self.task.spec.budgets.max_cost_usd
        return None if limit is None else micro_usd(limit)

    @property
    def is_current(self) -> bool:
        """Whether the closing steps were decided on this generation and request."""
        closing = self.state.closing
        return closing is not None and (
            (closing.generation, closing.request)
            == (self.task.metadata.generation, self.task.request)
        )

    def action_class(self, intent: Intent) -> ActionClass:
        """Return what a crash during the action would mean."""
        if intent.action is ActionName.PUBLISH:
            return ActionClass.EFFECT
        if intent.reservation is not None:
            return ActionClass.PAID
        remote = called_source(intent.arguments) in self.remote_sources
        return ActionClass.PAID if remote else ActionClass.PURE


Result = TypeVar("Result")


def remembered(function: Callable[[Situation], Result]) -> Callable[[Situation], Result]:
    """Compute a pure function once for each situation: several guards ask the same."""

    @wraps(function)
    def once(situation: Situation) -> Result:
        name = function.__qualname__
        if name not in situation.memo:
            situation.memo[name] = function(situation)
        result: Result = situation.memo[name]
        return result

    return once


@dataclass(frozen=True)
class Act:
    """Do one bounded action."""

    intent: Intent


@dataclass(frozen=True)
class Interrupt:
    """Record an attempt of another process as interrupted, and charge it."""

    intent: Intent


@dataclass(frozen=True)
class Wait:
    """Do nothing now. `until` is when to look again by the clock, None: when something changes."""

    reason: RunningReason
    message: str
    until: datetime | None = None
    accepted: AcceptedReason = AcceptedReason.ACCEPTED
    awaiting: Awaiting | None = None


@dataclass(frozen=True)
class End:
    """The run has ended; nothing is left to do but to say so, and to look again `until`."""

    reason: TerminalReason
    message: str
    until: datetime | None = None
    wake_up_reason: str = "Expired"


@dataclass(frozen=True)
class Remove:
    """The task has been finished for as long as it was to be kept: delete it."""


Decision = Act | Interrupt | Wait | End | Remove
