"""Random histories: whatever happens, no budget is crossed and every run ends for its reason.

Each example is a task, a source that fails now and then, and a list of things that happen to them:
turns, crashes, lost writes, time that passes, changes of the spec and of the corpus, requests. The
promises are checked on what is stored, after each of them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.actions.publish import JSON_FILE
from controller.api.errors import PermanentError, RetryableError, StoreError
from controller.api.model_call import micro_usd
from controller.api.reasons import TerminalReason
from controller.api.step import Outcome, ResearchStepSpec
from controller.api.task import Budgets, ResearchTask, ResearchTaskSpec
from controller.evidence.report_format import Report
from controller.gathering import is_settled
from controller.loop.assessment import assess
from controller.loop.exchange import ModelReply, ModelRequest, ReportedUsage
from controller.loop.journal import kept
from controller.loop.replay import decided_again
from controller.loop.run_state import RunState, initial
from controller.loop.state import fold
from controller.models.scripted import ScriptedModel, Turn, answer, call
from controller.ports import TaskKey
from controller.reconcile import Reconciler
from controller.sources.scripted import ScriptedSource
from tests.faults import FaultyStore, Moment
from tests.model_runs import PRICED, quote
from tests.world import LAMP_MANUAL, World

MODEL_FIELDS = {"modelRef", "fallbackModelRef", "decisionPolicy", "onModelFailure"}

QUESTIONS = (
    {"id": "glow", "text": "What is the default of GLOW_LEVEL?"},
    {"id": "absent", "text": "What is the default of FROST_LEVEL?"},
    {"id": "colour", "text": "What is the default of GLOW_COLOUR?"},
    {"id": "nothing", "text": "Who painted the ceiling of the chapel?"},
)

_LAMP = LAMP_MANUAL["file:lamp.txt"]

CORPORA = {
    "as it was": LAMP_MANUAL,
    "in two files": {
        "file:level.txt": {"GLOW_LEVEL": _LAMP["GLOW_LEVEL"]},
        "file:rest.txt": {k: v for k, v in _LAMP.items() if k != "GLOW_LEVEL"},
    },
    "with a preface": {"file:lamp.txt": {"Preface": "This manual was revised.", **_LAMP}},
    "with another level": {
        "file:lamp.txt": {**_LAMP, "GLOW_LEVEL": "Default: 50 lumens at the lowest position."}
    },
    "without the level": {"file:lamp.txt": {k: v for k, v in _LAMP.items() if k != "GLOW_LEVEL"}},
}

specs = st.fixed_dictionaries(
    {
        "sourceRefs": st.sampled_from([[{"name": "lamp"}], [{"name": "lamp"}, {"name": "wiki"}]]),
        "questions": st.lists(st.sampled_from(QUESTIONS), unique_by=lambda q: q["id"], max_size=3),
        "budgets": st.fixed_dictionaries(
            {
                "maxSteps": st.integers(1, 25),
                "maxStepsPerQuestion": st.integers(1, 12),
                "maxSourceCalls": st.integers(0, 12),
                "activeDeadlineSeconds": st.integers(1, 900),
                "maxModelCalls": st.integers(0, 12),
                "maxTokens": st.sampled_from([0, 2000, 6000, 20_000, 200_000]),
                "maxCostUSD": st.sampled_from(["0", "0.003", "0.01", "1"]),
            }
        ),
        "progressPolicy": st.fixed_dictionaries(
            {
                "maxStalledSteps": st.integers(1, 6),
                "maxActionRetries": st.integers(0, 2),
                "planningInterval": st.sampled_from([0, 2, 10]),
                "degradeAtPercent": st.sampled_from([30, 80]),
            }
        ),
        "desiredState": st.sampled_from(["Running", "Running", "Running", "Suspended"]),
        "qualityThreshold": st.sampled_from([0, 50, 70, 100]),
        "historyLimit": st.integers(1, 2),
        "refreshIntervalSeconds": st.sampled_from([300, 600]),
    }
)

happenings = st.one_of(
    st.tuples(st.just("turns"), st.integers(1, 12)),
    st.tuples(st.just("crash"), st.just(0)),
    st.tuples(st.just("lost write"), st.integers(1, 6)),
    st.tuples(st.just("lost answer"), st.integers(1, 6)),
    st.tuples(st.just("time"), st.integers(1, 400)),
    st.tuples(st.just("spec"), specs),
    st.tuples(st.just("corpus"), st.sampled_from(sorted(CORPORA))),
    st.tuples(st.just("request"), st.sampled_from(["monday", "tuesday", "friday"])),
    st.tuples(st.just("source"), st.sampled_from(["Unreachable", "Tls"])),
)


def _model_part(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what of a spec says which model decides, and how."""
    return {n: v for n, v in spec.items() if n in MODEL_FIELDS}


@dataclass
class History:
    """One world, and what must hold of it."""

    world: World
    key: TaskKey
    specs: dict[int, ResearchTaskSpec] = field(default_factory=dict)
    operator: Reconciler | None = None
    seen: ResearchTask | None = None
    spec: dict[str, Any] = field(default_factory=dict)

    async def happen(self, kind: str, detail: Any) -> None:  # noqa: ANN401 - by kind
        """Let one thing happen, and look whether the promises hold."""
        if kind == "turns":
            await self._turns(self.operator or self.world.operator(), detail)
        elif kind == "crash":
            self.operator = self.world.operator()
        elif kind in {"lost write", "lost answer"}:
            moment = Moment.BEFORE if kind == "lost write" else Moment.AFTER
            await self._turns(self._unlucky(detail, moment), 8)
            self.operator = self.world.operator()
        elif kind == "time":
            self.world.clock.advance(detail)
        elif kind == "spec":
            self.spec = {**_model_part(self.spec), **detail}
            self.world.apply(**self.spec)
        elif kind == "corpus":
            self.world.now_holds(CORPORA[detail])
        elif kind == "request":
            self.world.apply(requested_at=detail, **self.spec)
        else:
            failure = RetryableError if detail == "Unreachable" else PermanentError
            self.world.lamp.failures.append(failure(detail, "as the test wants it"))
        await self.check()

    async def settle(self) -> None:
        """Let the run come to rest: it must, within a bound, once nothing else happens."""
        self.spec = {**_model_part(self.spec), "questions": list(QUESTIONS[:2])}
        self.world.apply(**self.spec)
        operator = self.operator = self.world.operator()
        for _ in range(60):
            await self.world.run(self.key, operator)
            await self.check()
            if is_settled(await self.world.task(self.key)):
                return
            self.world.clock.advance(61)  # past any back-off
        raise AssertionError("the run came to no end")

    async def check(self) -> None:
        """Check what is stored: counters, budgets, the fold, and what an ending claims."""
        task = await self.world.task(self.key)
        self.specs[task.metadata.generation] = task.spec
        self._never_falls(task)
        state = await self._within_budgets(task)
        status = task.status
        is_folded = status.journal is not None and status.journal.steps == state.next_index
        if status.journal is not None and is_folded:
            assert status.journal.digest == state.digest
        if status.terminal_reason is TerminalReason.GOAL_REACHED and is_settled(task):
            # A crash may have left the journal one step ahead: the opening of the next round.
            assert not is_folded or assess(task.spec, state).goal_holds
            assert await self.world.store.get_report(task) is not None
        self.seen = task

    def _never_falls(self, task: ResearchTask) -> None:
        before = self.seen.status.usage if self.seen else None
        number = task.status.round or 0
        number_before = (self.seen.status.round or 0) if self.seen else 0
        assert number >= number_before
        if number > number_before:
            return
        if before is not None:
            assert task.status.usage is not None
            for name, value in before:
                assert Decimal(getattr(task.status.usage, name)) >= Decimal(value), name

    async def _within_budgets(self, task: ResearchTask) -> RunState:
        """Fold the journal; each step must have fitted the budgets of its own generation."""
        state = initial(task.metadata.name, task.metadata.uid, task.spec.topic)
        operations: set[str] = set()
        active_milliseconds = 0
        for step in kept(await self.world.steps(self.key)):
            if step.spec.opening is not None:
                active_milliseconds = 0
            spec, before = step.spec, state
            state = fold(state, step)
            budgets = self._budgets_of(spec)
            if spec.usage.steps:
                assert before.usage.steps + 1 <= budgets.max_steps
                assert active_milliseconds < budgets.active_deadline_seconds * 1000
                if spec.question_id is not None:
                    used = before.question_steps.get(spec.question_id, 0)
                    assert used + 1 <= budgets.max_steps_per_question
            if spec.model_call is not None:
                _fitted(spec, before, budgets)
            if spec.usage.source_calls:
                assert before.usage.source_calls + 1 <= budgets.max_source_calls
            active_milliseconds += spec.active_milliseconds
            assert spec.operation_id not in operations
            operations.add(spec.operation_id)
        return state

    def _budgets_of(self, step: ResearchStepSpec) -> Budgets:
        """Return the budgets that a step was decided under.

        An attempt in doubt is charged under the newest generation, and was decided under an
        earlier one: it must have fitted one of them.
        """
        if step.outcome is not Outcome.INTERRUPTED:
            return self.specs[step.generation].budgets
        earlier = [s.budgets for g, s in self.specs.items() if g <= step.generation]
        return Budgets(
            max_steps=max(b.max_steps for b in earlier),
            max_steps_per_question=max(b.max_steps_per_question for b in earlier),
            max_source_calls=max(b.max_source_calls for b in earlier),
            active_deadline_seconds=max(b.active_deadline_seconds for b in earlier),
            max_model_calls=max(b.max_model_calls for b in earlier),
            max_tokens=max(b.max_tokens for b in earlier),
        )

    def _unlucky(self, at: int, moment: Moment) -> Reconciler:
        return Reconciler(
            store=FaultyStore(self.world.store, at, moment).port,
            references=self.world.references,
            clock=self.world.clock,
            holder=f"unlucky-{at}-{self.world.clock.time:%H%M%S%f}",
        )

    async def _turns(self, operator: Reconciler, count: int) -> None:
        for _ in range(count):
            operator.observe(self.key, "999999999")
            try:
                await operator.reconcile(self.key)
            except StoreError:
                return


def _fitted(spec: ResearchStepSpec, before: RunState, budgets: Budgets) -> None:
    """Check that a call's worst case fitted what was left when it was sent (S4.4)."""
    reserved = spec.reservation
    assert reserved is not None
    assert before.usage.model_calls + 1 <= budgets.max_model_calls
    assert before.usage.tokens + reserved.tokens <= budgets.max_tokens
    if budgets.max_cost_usd is not None:
        limit = micro_usd(budgets.max_cost_usd)
        assert before.usage.cost_micro_usd + reserved.cost_micro_usd <= limit


async def live(
    spec: dict[str, Any],
    events: Iterable[tuple[str, Any]],
    *,
    remote: bool,
    turns: Sequence[Turn] = (),
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.lamp = ScriptedSource("lamp", LAMP_MANUAL)
        world.lamp.is_remote = remote
        world.references.sources["lamp"] = world.lamp
        world.references.sources["wiki"] = ScriptedSource("wiki", LAMP_MANUAL)
        model = ScriptedModel(cycle(turns), PRICED)
        fallback = PRICED.model_copy(update={"name": "fallback", "input_price": 200_000})
        world.references.models |= {
            "scripted": model, "fallback": ScriptedModel(cycle(turns), fallback)
        }  # fmt: skip
        history = History(world, world.apply(**spec), spec=spec)
        for kind, detail in events:
            await history.happen(kind, detail)
        await history.settle()
        await absorbs(history)
        await is_true(history)
        task = await world.task(history.key)
        replayed = decided_again(task, await world.steps(history.key), history.specs)
        assert replayed.divergence is None
        world.close()


async def absorbs(history: History) -> None:
    """A run that has ended stays as it is, whoever looks and however late."""
    world, key = history.world, history.key
    version = (await world.task(key)).metadata.resource_version
    steps = await world.steps(key)
    for _ in range(3):
        world.clock.advance(1000)
        await world.run(key, world.operator())
    assert (await world.task(key)).metadata.resource_version == version
    assert await world.steps(key) == steps
    status = (await world.task(key)).status
    published = [s.spec.round for s in steps if s.spec.publish is not None]
    assert status.usage is not None
    assert status.totals is not None
    assert status.usage.writes == published.count(status.round or 0)
    assert status.totals.writes >= len(published)


async def is_true(history: History) -> None:
    """What a run that succeeded has published is in its corpus now, unless it says otherwise."""
    task = await history.world.task(history.key)
    report = await history.world.store.get_report(task)
    if task.status.terminal_reason is not TerminalReason.GOAL_REACHED or report is None:
        return
    published = Report.model_validate_json(report.files[JSON_FILE])
    unchecked = published.changes.facts_unchecked if published.changes else 0
    if history.world.lamp.is_remote or unchecked:
        return
    says = history.world.lamp.texts
    for reference in published.references:
        (span,) = reference.spans
        assert says[reference.locator][span.start : span.end] == reference.quote


# S0.3, S0.21, S0.59, S1.10, S1.17, S1.23, S1.41, S2.26, S4.12
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(specs, st.lists(happenings, max_size=10), st.booleans())
def test_whatever_happens_the_promises_hold(
    spec: dict[str, Any],
    events: list[tuple[str, Any]],
    remote: bool,  # noqa: FBT001 - Hypothesis passes by position
) -> None:
    asyncio.run(live(spec, events, remote=remote))


model_specs = st.fixed_dictionaries(
    {
        "modelRef": st.just({"name": "scripted"}),
        "decisionPolicy": st.sampled_from(["Directed", "ModelProposed"]),
        "onModelFailure": st.sampled_from(["Fail", "Extractive"]),
    },
    optional={"fallbackModelRef": st.just({"name": "fallback"})},
)


def sensible(request: ModelRequest, pick: int) -> ModelReply:
    """Answer a request as a model would that means well and knows nothing."""
    if request.tools:
        tool = request.tools[pick % len(request.tools)]
        questions = tool.parameters["properties"].get("questionId", {}).get("enum", [""])
        asked = {"questionId": questions[pick % len(questions)], "sourceName": "lamp"}
        return call(tool.name, {**asked, "query": f"lamp {pick % 3}"})
    assert request.answer_schema is not None
    if "quotes" in request.answer_schema["properties"]:
        return quote(["Default: 40 lumens", "warm white", "It is 12 metres."][pick % 3], "p1")
    if "sentences" in request.answer_schema["properties"]:
        return answer({"sentences": [{"sentence": "Default: 40 lumens", "facts": ["f1"]}]})
    return answer({"queries": [], "questions": [{"question": "What glows?", "queries": []}]})


def meaning_well(pick: int) -> Turn:
    return lambda request: sensible(request, pick)


model_turns = st.one_of(
    st.integers(0, 9).map(meaning_well),
    st.integers(0, 9).map(meaning_well),
    st.sampled_from(
        [
            answer(""),
            answer("{"),
            ModelReply(text="x", refusal="no"),
            ModelReply(text="{}", finish_reason="length"),
            call("Publish"),
            answer({"queries": []}, usage=ReportedUsage()),
            answer({"quotes": []}, usage=ReportedUsage(10, 5000)),
            RetryableError("ServerError", "503"),
            RetryableError("RateLimited", "429", 5),
            PermanentError("BadRequest", "400"),
        ]
    ),
)


# S1.9, S1.26, S4.4, S4.10, S4.11
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(specs, model_specs, st.lists(happenings, max_size=8), st.lists(model_turns, min_size=1))
def test_whatever_a_model_does_the_promises_hold(
    spec: dict[str, Any],
    with_model: dict[str, Any],
    events: list[tuple[str, Any]],
    turns: list[Turn],
) -> None:
    asyncio.run(live({**spec, **with_model}, events, remote=True, turns=turns))
