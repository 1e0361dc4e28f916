"""What `kubectl get` shows fits a terminal, with the names that people give."""

from __future__ import annotations

import json
from typing import Final

import pytest
import yaml

from controller.api.crd import KINDS, Kind
from tests.controlplane.plane import ControlPlane
from tests.crds.objects import ROOT, Json, custom_object, task

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

_WIDTH: Final = 120


def condition(kind: str, status: str, reason: str, message: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-02T09:15:04Z",
    }


_STATUSES: Final[dict[str, Json]] = {
    "django-transactions-weekly-report": {
        "observedGeneration": 1,
        "terminalReason": "SourceCallBudgetExhausted",
        "conditions": [
            condition("Succeeded", "False", "SourceCallBudgetExhausted", "7 of 9 are answered."),
            condition("Finished", "True", "SourceCallBudgetExhausted", ""),
        ],
        "quality": {
            "score": 100,
            "coverage": 100,
            "citationRecall": 100,
            "citationPrecision": 100,
        },
        "usage": {"steps": 500},
    },
    "postgresql-isolation-levels": {
        "observedGeneration": 1,
        "conditions": [
            condition("Succeeded", "Unknown", "WaitingForReference", "no ResearchSource x"),
            condition("Finished", "False", "NotFinished", ""),
        ],
    },
}


@pytest.fixture(scope="module")
def filled(plane: ControlPlane, namespace: str) -> str:
    """A namespace with a few objects of each kind."""
    source = custom_object(
        "ResearchSource",
        "django-documentation-stable",
        {"type": "Corpus", "corpus": {"directory": "django"}},
    )
    model = custom_object(
        "ResearchModel",
        "local-ministral-3b-instruct",
        {"backend": "OpenAICompatible", "baseURL": "http://m/v1", "model": "ministral-3b-2512"},
    )
    step = yaml.safe_load((ROOT / "tests/crds/valid/researchstep.yaml").read_text("utf-8"))
    step["metadata"]["name"] = "django-transactions-weekly-report-0c5b4a1e-00003"
    step["spec"] |= {
        "taskName": "django-transactions-weekly-report",
        "questionId": "atomic-requests-default",
        "outcome": "RetryScheduled",
    }
    for manifest in (*map(task, _STATUSES), source, model, step):
        plane.kubectl(
            "create", f"--namespace={namespace}", "--filename=-", input=json.dumps(manifest)
        )
    ready = {"conditions": [condition("Ready", "False", "DirectoryNotReadable", "x")]}
    statuses = {f"rtask/{name}": status for name, status in _STATUSES.items()} | {
        f"rsource/{source['metadata']['name']}": ready | {"documents": 12345},
        f"rmodel/{model['metadata']['name']}": ready,
    }
    for name, status in statuses.items():
        patch = f"--patch={json.dumps({'status': status})}"
        plane.kubectl(
            "patch", name, f"--namespace={namespace}", "--subresource=status", "--type=merge", patch
        )
    return namespace


def table(plane: ControlPlane, namespace: str, resource: str, *options: str) -> list[str]:
    answer = plane.kubectl("get", resource, f"--namespace={namespace}", *options)
    return [line.rstrip() for line in answer.stdout.splitlines()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.short_name)
def test_a_line_fits_a_terminal(plane: ControlPlane, filled: str, kind: Kind) -> None:
    lines = table(plane, filled, kind.short_name)
    assert len(lines) >= 2
    assert max(map(len, lines)) <= _WIDTH, "\n".join(lines)


# S0.54, S1.36
def test_a_line_says_how_a_task_ended_and_what_it_waits_for(
    plane: ControlPlane, filled: str
) -> None:
    header, *lines = (line.split() for line in table(plane, filled, "rtask"))
    assert header == ["NAME", "SUCCEEDED", "REASON", "QUALITY", "STEPS", "AGE"]
    assert [line[:-1] for line in lines] == [
        ["django-transactions-weekly-report", "False", "SourceCallBudgetExhausted", "100", "500"],
        ["postgresql-isolation-levels", "Unknown", "WaitingForReference"],
    ]


def test_a_line_says_what_a_step_did(plane: ControlPlane, filled: str) -> None:
    header, step = (line.split() for line in table(plane, filled, "rstep"))
    assert header == ["NAME", "INDEX", "ACTION", "QUESTION", "OUTCOME", "AGE"]
    assert step[1:-1] == ["3", "Conclude", "atomic-requests-default", "RetryScheduled"]


def test_wide_lines_add_the_message(plane: ControlPlane, filled: str) -> None:
    header, first, _ = table(plane, filled, "rtask", "--output=wide")
    assert header.split()[-4:] == ["MODEL", "STALLED", "MESSAGE", "AGE"]
    assert "7 of 9 are answered." in first


def test_everything_is_in_the_category_research(plane: ControlPlane, filled: str) -> None:
    names = table(plane, filled, "research", "--output=name")
    assert {name.split(".")[0] for name in names} == {kind.name.lower() for kind in KINDS}
