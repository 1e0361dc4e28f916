"""What may follow on what: the rules that look at the old object, on the real API server."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.controlplane.plane import ControlPlane, KubectlError
from tests.crds.objects import Json, task

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

_STEP: Final = Path(__file__).parent / "valid" / "researchstep.yaml"


class Object:
    """One stored object, and the two ways to change it."""

    def __init__(self, plane: ControlPlane, namespace: str, manifest: Json) -> None:
        self._plane = plane
        self._in_namespace = f"--namespace={namespace}"
        self._name = f"{manifest['kind']}/{manifest['metadata']['name']}".lower()
        plane.kubectl("create", self._in_namespace, "--filename=-", input=json.dumps(manifest))

    def patch(self, change: Json, *, subresource: str | None = None) -> Json:
        answer = self._plane.kubectl(
            "patch", self._in_namespace, self._name, "--type=merge", "--output=json",
            f"--patch={json.dumps(change)}",
            *([f"--subresource={subresource}"] if subresource else []),
        )  # fmt: skip
        changed: Json = json.loads(answer.stdout)
        return changed

    def patch_spec(self, **fields: Any) -> Json:  # noqa: ANN401 - fields as JSON
        return self.patch({"spec": fields})

    def patch_status(self, **fields: Any) -> Json:  # noqa: ANN401 - fields as JSON
        return self.patch({"status": fields}, subresource="status")


def condition(kind: str, status: str, reason: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-02T09:15:04Z",
    }


def finished(reason: str) -> Json:
    """Return the part of a status that says that a run has ended."""
    return {"terminalReason": reason, "conditions": [condition("Finished", "True", reason)]}


_USAGE: Final = {
    "steps": 5,
    "sourceCalls": 5,
    "activeSeconds": 5,
    "interrupted": 5,
    "verifierRejections": 5,
}
"""The counters that may not fall."""

_MAY_NOT_END_AGAIN: Final = (
    "terminalReason may only go or change with a new generation, request or round"
)
_MUST_BE_FINISHED: Final = "terminalReason must equal the reason of the condition Finished=True"
_MAY_NOT_FALL: Final = "no counter of usage may fall within a round"


@pytest.fixture
def run(plane: ControlPlane, namespace: str) -> Object:
    """A task of which nobody has seen anything yet."""
    return Object(plane, namespace, task(f"run-{secrets.token_hex(4)}"))


def refused(message: str) -> Any:  # noqa: ANN401 - a private type of pytest
    return pytest.raises(KubectlError, match=re.escape(message))


def test_the_topic_may_not_be_changed(run: Object) -> None:
    with refused("topic may not be changed; create another task"):
        run.patch_spec(topic="Locks of another database")


def test_everything_else_may_be_changed_and_is_a_new_generation(run: Object) -> None:
    changed = run.patch_spec(
        questions=[{"id": "lock", "text": "What is a lock?"}],
        sourceRefs=[{"name": "other"}],
        budgets={"maxSteps": 100},
        language="de",
        modelRef={"name": "local"},
        qualityThreshold=90,
    )
    assert changed["metadata"]["generation"] == 2


def test_a_cancelled_task_stays_cancelled(run: Object) -> None:
    run.patch_spec(desiredState="Suspended")
    run.patch_spec(desiredState="Running")
    run.patch_spec(desiredState="Cancelled")
    message = "a cancelled task may not be started again; create another task"
    for state in ("Running", "Suspended"):
        with refused(message):
            run.patch_spec(desiredState=state)
    # The absorbing state holds nothing else up.
    run.patch_spec(qualityThreshold=10)


WITHOUT_FINISHED = {
    "without conditions": [],
    "with another condition only": [condition("Stalled", "True", "NoProgress")],
    "with a run that is not finished": [condition("Finished", "False", "NoProgress")],
    "with another reason": [condition("Finished", "True", "Cancelled")],
}


@pytest.mark.parametrize("conditions", WITHOUT_FINISHED.values(), ids=WITHOUT_FINISHED.keys())
def test_a_terminal_reason_needs_finished_with_the_same_reason(
    run: Object, conditions: list[Json]
) -> None:
    with refused(_MUST_BE_FINISHED):
        run.patch_status(terminalReason="NoProgress", conditions=conditions)


def test_a_terminal_reason_stands_with_finished(run: Object) -> None:
    changed = run.patch_status(observedGeneration=1, **finished("NoProgress"))
    assert changed["status"]["terminalReason"] == "NoProgress"
    # Writing the same again is no change.
    run.patch_status(observedGeneration=1, **finished("NoProgress"))


def test_an_unknown_terminal_reason_is_refused(run: Object) -> None:
    with refused('status.terminalReason: Unsupported value: "Bored"'):
        run.patch_status(**finished("Bored"))


# S1.4
def test_an_ending_may_not_become_another_one(run: Object) -> None:
    run.patch_status(observedGeneration=1, **finished("NoProgress"))
    with refused(_MAY_NOT_END_AGAIN):
        run.patch_status(**finished("GoalReached"))


# S1.4
def test_an_ending_may_not_be_taken_back(run: Object) -> None:
    run.patch_status(observedGeneration=1, **finished("NoProgress"))
    with refused(_MAY_NOT_END_AGAIN):
        run.patch_status(terminalReason=None)
    with refused(_MAY_NOT_END_AGAIN):
        run.patch({"status": None}, subresource="status")


REOPENINGS = {
    "by a new generation": {"observedGeneration": 2},
    "by a request": {"lastHandledRequestedAt": "again"},
    "by a new round": {"round": 2},
}


@pytest.mark.parametrize("reopening", REOPENINGS.values(), ids=REOPENINGS.keys())
@pytest.mark.parametrize("after", ["running", "ended otherwise"])
def test_an_ending_gives_way(run: Object, reopening: Json, after: str) -> None:
    run.patch_status(observedGeneration=1, round=1, **finished("NoProgress"))
    ending = finished("GoalReached") if after == "ended otherwise" else {"terminalReason": None}
    changed = run.patch_status(**ending, **reopening)
    assert changed["status"].get("terminalReason") == ending["terminalReason"]


def test_an_earlier_request_or_round_reopens_nothing(run: Object) -> None:
    run.patch_status(
        observedGeneration=3, round=3, lastHandledRequestedAt="now", **finished("NoProgress")
    )
    for same in ({"round": 3}, {"lastHandledRequestedAt": "now"}, {"observedGeneration": 2}):
        with refused(_MAY_NOT_END_AGAIN):
            run.patch_status(terminalReason=None, **same)
    with refused(_MAY_NOT_END_AGAIN):
        run.patch_status(terminalReason=None, round=2)
    with refused(_MAY_NOT_END_AGAIN):
        run.patch_status(terminalReason=None, lastHandledRequestedAt=None)


# S0.21, S1.4
@pytest.mark.parametrize("counter", _USAGE)
def test_no_counter_falls_within_a_round(run: Object, counter: str) -> None:
    run.patch_status(round=1, usage=_USAGE)
    with refused(_MAY_NOT_FALL):
        run.patch_status(usage={counter: 4})
    changed = run.patch_status(usage={counter: 6})
    assert changed["status"]["usage"][counter] == 6
    changed = run.patch_status(round=2, usage=dict.fromkeys(_USAGE, 0))
    assert changed["status"]["usage"][counter] == 0


def test_usage_may_not_be_wiped(run: Object) -> None:
    run.patch_status(round=1, usage=_USAGE)
    with refused(_MAY_NOT_FALL):
        run.patch_status(usage=None)
    with refused(_MAY_NOT_FALL):
        run.patch({"status": None}, subresource="status")


def test_a_task_has_not_succeeded_and_stalled(run: Object) -> None:
    both = [
        condition("Succeeded", "True", "GoalReached"),
        condition("Stalled", "True", "GoalReached"),
    ]
    with refused("Succeeded and Stalled may not both be True"):
        run.patch_status(conditions=both)
    both[1]["status"] = "False"
    run.patch_status(conditions=both)


def test_a_condition_type_stands_once(run: Object) -> None:
    twice = [condition("Finished", "False", "NotFinished")] * 2
    with refused('status.conditions[1]: Duplicate value: {"type":"Finished"}'):
        run.patch_status(conditions=twice)


def test_a_write_of_the_status_leaves_the_spec_alone(run: Object) -> None:
    change = {"spec": {"qualityThreshold": 5}, "status": {"observedGeneration": 1}}
    changed = run.patch(change, subresource="status")
    assert changed["spec"]["qualityThreshold"] == 70
    assert changed["metadata"]["generation"] == 1


def step(**fields: Any) -> Json:  # noqa: ANN401 - fields of a spec, as JSON
    manifest: Json = yaml.safe_load(_STEP.read_text("utf-8"))
    manifest["metadata"]["name"] = f"step-{secrets.token_hex(4)}"
    manifest["spec"] |= fields
    return manifest


CHANGES = {
    "a field": {"spec": {"outcome": "Failed"}},
    "a field that goes": {"spec": {"questionId": None}},
    "a field that comes": {"spec": {"request": "again"}},
    "a list": {"spec": {"evidence": []}},
}


# S0.17
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_step_may_not_be_changed(plane: ControlPlane, namespace: str, change: Json) -> None:
    record = Object(plane, namespace, step())
    with refused("spec: Invalid value: a ResearchStep is a record and may not be changed"):
        record.patch(change)


def test_steps_are_selected_by_their_fields(plane: ControlPlane, namespace: str) -> None:
    marker = f"task-{secrets.token_hex(4)}"
    wanted = step(taskName=marker, action="Search", outcome="Failed")
    for manifest in (
        wanted,
        step(taskName=marker, action="Search"),
        step(taskName=marker, outcome="Failed"),
        step(action="Search", outcome="Failed"),
    ):
        Object(plane, namespace, manifest)
    fields = {
        "spec.taskName": marker,
        "spec.taskUID": wanted["spec"]["taskUID"],
        "spec.action": "Search",
        "spec.outcome": "Failed",
    }
    selector = ",".join(f"{field}={value}" for field, value in fields.items())
    answer = plane.kubectl(
        "get", "rstep", f"--namespace={namespace}", f"--field-selector={selector}", "--output=name"
    )
    assert answer.stdout.split() == [
        f"researchstep.research.fixpoint.dev/{wanted['metadata']['name']}"
    ]
