"""What the operator counts, as Prometheus metrics of one registry: docs/observability.md lists it.

Endings are measured as a web server measures status codes: a rise of exhausted runs says something
about the loop before anybody complains. Labels come from closed sets, so that no user can make
more series: reasons and actions are the API's, job classes are those that the operator's owner
names, and no task, namespace, source or question is ever a label. Every series is there from the
start, so that the first increment is seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Final, Protocol

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from controller.api.model_call import ModelCall, Reservation
from controller.api.reasons import TerminalReason
from controller.api.records import FactStatus, NoteKind, RejectReason
from controller.api.step import ActionName, Outcome, ResearchStepSpec
from controller.api.task import ConsecutiveErrors, DecisionPolicy, ResearchTask
from controller.loop.breakers import MODEL_ERROR_CLASSES
from controller.ports import Collision
from controller.settings import NO_JOB_CLASS, OTHER_JOB_CLASS
from controller.sources.remote.interface import SOURCE_ERROR_CLASSES

_OTHER_CLASS: Final = "other"
"""The label of an error class that is not in the closed set."""

_BREAKER_REASONS: Final = (
    TerminalReason.REPEATED_FAILURE,
    TerminalReason.ERROR_THRESHOLD_REACHED,
    TerminalReason.SOURCES_UNAVAILABLE,
    TerminalReason.MODEL_UNAVAILABLE,
    TerminalReason.MODEL_REFUSED,
    TerminalReason.REQUEST_REJECTED,
    TerminalReason.CONTEXT_OVERFLOW,
    TerminalReason.QUOTA_EXHAUSTED,
    TerminalReason.CREDENTIALS_REJECTED,
    TerminalReason.INTERNAL_ERROR,
)
"""The endings that errors in a row lead to; but for two, they are classes of errors themselves."""

ERROR_CLASSES: Final = frozenset(
    {
        "ReportChanged",
        "ReportNameTaken",
        "ReportRefused",
        "SourceNotFound",
        TerminalReason.AMBIGUOUS_EFFECT.value,
        *(reason.value for reason in _BREAKER_REASONS),
        *MODEL_ERROR_CLASSES,
        *SOURCE_ERROR_CLASSES,
    }
) - {TerminalReason.REPEATED_FAILURE.value, TerminalReason.ERROR_THRESHOLD_REACHED.value}
"""The classes of errors that have a label of their own."""

_STEPS: Final = (1, 2, 5, 10, 20, 40, 60, 100, 200, 500)
_RUN_SECONDS: Final = (1, 5, 15, 60, 300, 900, 1800, 3600, 14_400, 86_400, 604_800)
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_SUCCEEDED: Final = ("true", "false")


class Queue(Protocol):
    """A work queue, as far as it is measured."""

    @property
    def workers(self) -> int:
        """How many keys may be worked on at the same time."""
        ...

    @property
    def ready(self) -> int:
        """How many keys wait for a free worker."""
        ...

    @property
    def busy(self) -> int:
        """How many keys are worked on now."""
        ...


def new_registry() -> CollectorRegistry:
    """Return a registry with the standard metrics of the process: memory, CPU, open files."""
    # One time stamp beside each counter would double the page; a restart is seen without them.
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # not typed there
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


class Metrics:
    """The `LoopObserver` of the operator, and what else it counts."""

    def __init__(self, registry: CollectorRegistry, *, job_classes: Collection[str] = ()) -> None:
        """Make the metrics in a registry that has none of them yet.

        Args:
            registry: where they are registered; nothing global is used.
            job_classes: the values of `spec.jobClass` that have a label of their own.
        """
        self._registry = registry
        self._job_classes = frozenset(job_classes)
        self._make_step_metrics()
        self._make_run_metrics()
        self._make_operator_metrics()

    def _make_step_metrics(self) -> None:
        self._steps = self._counter(
            "fixpoint_steps_total",
            "Steps that this process has recorded.",
            action=ActionName,
            outcome=Outcome,
        )
        self._step_seconds = self._histogram(
            "fixpoint_step_duration_seconds",
            "How long the attempt of a recorded step took.",
            _SECONDS,
            action=ActionName,
        )
        self._interrupted = self._counter(
            "fixpoint_interrupted_attempts_total",
            "Attempts of a process that is gone, recorded as interrupted and charged.",
        )
        self._adopted = self._counter(
            "fixpoint_adopted_steps_total",
            "Steps found recorded that no status had been folded from: an answer was lost, "
            "a process died in between, or another process works on the task.",
        )
        self._source_calls = self._counter(
            "fixpoint_source_calls_total", "Calls to remote sources, as they are charged."
        )
        self._make_model_metrics()
        self._rejections = self._counter(
            "fixpoint_verifier_rejections_total",
            "Quotes that the verifier rejected, by the first predicate that did not hold.",
            reason=RejectReason,
        )
        self._duplicate_effects = self._counter(
            "fixpoint_duplicate_effects_total",
            "Reports that this process published and another process had recorded in its place: "
            "the same report may have been written twice.",
        )

    def _make_model_metrics(self) -> None:
        self._model_calls = self._counter(
            "fixpoint_model_calls_total", "Calls to models, as they are charged."
        )
        self._unknown_usage = self._counter(
            "fixpoint_model_calls_of_unknown_usage_total",
            "Calls to models that were charged what was reserved, for nothing that can be true was "
            "reported.",
        )
        self._tokens = self._counter(
            "fixpoint_model_tokens_total",
            "Tokens of calls to models, as they are charged; cached ones are prompt ones as well.",
            kind=("prompt", "cached", "completion"),
        )
        self._reserved_tokens = self._counter(
            "fixpoint_model_reserved_tokens_total",
            "Tokens that were reserved for calls to models before they were sent.",
        )
        self._micro_usd = self._counter(
            "fixpoint_model_cost_micro_usd_total",
            "What calls to models cost, in millionths of a US dollar, as it is charged.",
        )
        self._reserved_micro_usd = self._counter(
            "fixpoint_model_reserved_cost_micro_usd_total",
            "What was reserved for calls to models, in millionths of a US dollar.",
        )

    def _make_run_metrics(self) -> None:
        self._ended = self._counter(
            "fixpoint_runs_ended_total",
            "Runs that ended; a run that went on and ended again counts again.",
            reason=TerminalReason,
            decision_policy=DecisionPolicy,
            job_class=(*sorted(self._job_classes), OTHER_JOB_CLASS, NO_JOB_CLASS),
        )
        self._run_steps = self._histogram(
            "fixpoint_run_steps",
            "Steps that a run had used when it ended.",
            _STEPS,
            succeeded=_SUCCEEDED,
        )
        self._run_seconds = self._histogram(
            "fixpoint_run_active_seconds",
            "Active time that a run had used when it ended.",
            _RUN_SECONDS,
            succeeded=_SUCCEEDED,
        )
        self._resumes = self._counter(
            "fixpoint_resumes_total", "Runs that went on after they had ended."
        )
        self._breaker_trips = self._counter(
            "fixpoint_breaker_trips_total",
            "Runs that errors in a row ended, by the class that came most often in a row.",
            error_class=(*sorted(ERROR_CLASSES), _OTHER_CLASS),
        )

    def _make_operator_metrics(self) -> None:
        self._conflicts = self._counter(
            "fixpoint_api_conflicts_total",
            "Writes of tasks and steps that were refused because somebody else had written.",
            kind=Collision,
        )
        self._reconcile_seconds = self._histogram(
            "fixpoint_reconcile_duration_seconds", "How long one turn of a task took.", _SECONDS
        )
        self._workers = self._gauge(
            "fixpoint_workers", "How many keys of a queue may be worked on at once."
        )
        self._busy = self._gauge(
            "fixpoint_busy_workers", "How many keys of a queue are worked on now."
        )
        self._depth = self._gauge(
            "fixpoint_queue_depth", "How many keys of a queue wait for a free worker."
        )

    def watch_queue(self, name: str, queue: Queue) -> None:
        """Show a queue's workers and depth as they are whenever somebody asks."""
        self._workers.labels(name).set_function(lambda: queue.workers)
        self._busy.labels(name).set_function(lambda: queue.busy)
        self._depth.labels(name).set_function(lambda: queue.ready)

    def reconciling(self) -> AbstractContextManager[object]:
        """Measure one turn of a task, from entry to exit."""
        return self._reconcile_seconds.time()

    def page(self) -> tuple[bytes, str]:
        """Return the registry in Prometheus' text format, and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4

    def step_recorded(self, step: ResearchStepSpec) -> None:
        """Count a step that this process has recorded."""
        self._steps.labels(step.action, step.outcome).inc()
        self._step_seconds.labels(step.action).observe(step.usage.duration_milliseconds / 1000)
        self._source_calls.inc(step.usage.source_calls)
        if step.outcome is Outcome.INTERRUPTED:
            self._interrupted.inc()
        if step.note is not None and step.note.kind is NoteKind.REOPENED:
            self._resumes.inc()
        if step.model_call is not None and step.reservation is not None:
            self._model_called(step.model_call, step.reservation)
        for reason in _rejections(step):
            self._rejections.labels(reason).inc()

    def _model_called(self, call: ModelCall, reserved: Reservation) -> None:
        self._model_calls.inc()
        self._unknown_usage.inc(call.is_usage_unknown)
        self._tokens.labels("prompt").inc(call.prompt_tokens)
        self._tokens.labels("cached").inc(call.cached_tokens)
        self._tokens.labels("completion").inc(call.completion_tokens)
        self._reserved_tokens.inc(reserved.tokens)
        self._micro_usd.inc(call.cost_micro_usd)
        self._reserved_micro_usd.inc(reserved.cost_micro_usd)

    def step_adopted(self, step: ResearchStepSpec) -> None:  # noqa: ARG002 - of any step alike
        """Count a step that was found recorded."""
        self._adopted.inc()

    def attempt_superseded(self, step: ResearchStepSpec) -> None:
        """Count an effect that two processes may have had."""
        if step.publish is not None:
            self._duplicate_effects.inc()

    def run_ended(self, task: ResearchTask) -> None:
        """Count an ending, what the run had used, and the errors that led to it."""
        spec, status = task.spec, task.status
        reason = status.terminal_reason
        assert reason is not None
        self._ended.labels(reason, spec.decision_policy, self._job_class(spec.job_class)).inc()
        if status.usage is not None:
            succeeded = "true" if reason is TerminalReason.GOAL_REACHED else "false"
            self._run_steps.labels(succeeded).observe(status.usage.steps)
            self._run_seconds.labels(succeeded).observe(status.usage.active_seconds)
        if reason in _BREAKER_REASONS and status.consecutive_errors:
            self._breaker_trips.labels(_tripping_class(status.consecutive_errors)).inc()

    def collided(self, collision: Collision) -> None:
        """Count a write that was refused because somebody else had written."""
        self._conflicts.labels(collision).inc()

    def _job_class(self, name: str | None) -> str:
        if name is None:
            return NO_JOB_CLASS
        return name if name in self._job_classes else OTHER_JOB_CLASS

    def _counter(self, name: str, documentation: str, **labels: Iterable[str]) -> Counter:
        counter = Counter(name, documentation, tuple(labels), registry=self._registry)
        _start(counter.labels, labels)
        return counter

    def _histogram(
        self, name: str, documentation: str, buckets: Iterable[float], **labels: Iterable[str]
    ) -> Histogram:
        histogram = Histogram(
            name, documentation, tuple(labels), buckets=tuple(buckets), registry=self._registry
        )
        _start(histogram.labels, labels)
        return histogram

    def _gauge(self, name: str, documentation: str) -> Gauge:
        return Gauge(name, documentation, ("queue",), registry=self._registry)


def _start(child: Callable[..., object], labels: dict[str, Iterable[str]]) -> None:
    """Begin every series of a metric with labels at 0."""
    if labels:
        for values in itertools.product(*labels.values()):
            child(*values)


def _rejections(step: ResearchStepSpec) -> Iterable[RejectReason]:
    """Yield one reason for each rejected fact: that of the first predicate that did not hold."""
    for fact in step.extract.facts if step.extract else ():
        if fact.status is FactStatus.REJECTED:
            reasons = (v.reason for v in fact.verdicts if not v.passed and v.reason is not None)
            yield from itertools.islice(reasons, 1)


def _tripping_class(errors: Iterable[ConsecutiveErrors]) -> str:
    error_class = max(errors, key=lambda error: error.count).error_class
    return error_class if error_class in ERROR_CLASSES else _OTHER_CLASS
