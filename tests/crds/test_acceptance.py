"""The real API server takes the kinds, what is valid and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.base import json_name
from controller.api.crd import KINDS, Kind
from controller.api.source import MEMBERS, SourceType
from tests.controlplane.plane import ControlPlane
from tests.crds.objects import ROOT, Json, custom_object, documents, fullest, schema_of, task

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

_HERE = Path(__file__).parent
_INVALID = sorted((_HERE / "invalid").glob("*.yaml"))
_VALID = sorted((_HERE / "valid").glob("*.yaml"))
_SAMPLES = sorted(p for p in (ROOT / "manifests/samples").glob("*.yaml") if "kustom" not in p.name)

_STRICT = ("apply", "--dry-run=server", "--validate=strict", "--output=json")

_CONSEQUENCE = re.compile(r"<nil>: Invalid value: (null: some validation rules|.*Checked value)")
"""What the server adds to a fault: that it could not go on, or says it a second time."""


def created(plane: ControlPlane, manifest: Json) -> Json:
    """Return an object as the server would store it, which is refused if any field is unknown."""
    answer = plane.kubectl(*_STRICT, "--filename=-", input=json.dumps(manifest))
    stored: Json = json.loads(answer.stdout)
    return stored


def faults(stderr: str) -> list[str]:
    """Return the faults that the server names: one, or a list with a star before each."""
    lines = [line for line in stderr.splitlines() if not _CONSEQUENCE.search(line)]
    return [line for line in lines if line.startswith("* ")] or lines


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_server_has_no_complaint_about_a_kind(plane: ControlPlane, kind: Kind) -> None:
    name = f"{kind.plural}.research.fixpoint.dev"
    answer = plane.kubectl("get", "crd", name, "--output=json")
    conditions = {c["type"]: c["status"] for c in json.loads(answer.stdout)["status"]["conditions"]}
    assert conditions.get("Established") == "True"
    assert conditions.get("NamesAccepted") == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


def test_there_are_enough_invalid_examples() -> None:
    assert len(_INVALID) >= 75


# S0.30, S0.38, S0.42, S2.7
@pytest.mark.parametrize("path", _INVALID, ids=lambda path: path.stem)
def test_an_invalid_object_is_refused_with_its_one_fault(plane: ControlPlane, path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    expected = first.removeprefix("# expect: ")
    assert expected not in {first, ""}
    refused = plane.kubectl(*_STRICT, f"--filename={path}", check=False)
    assert refused.returncode == 1
    (fault,) = faults(refused.stderr)
    assert expected in fault


@pytest.mark.parametrize("path", [*_VALID, *_SAMPLES], ids=lambda path: path.stem)
def test_a_valid_object_is_stored_as_it_was_written(plane: ControlPlane, path: Path) -> None:
    for manifest in documents(path):
        stored = created(plane, manifest)
        assert includes(stored, manifest)


def includes(stored: Any, written: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Say whether a stored value is the written one, with more fields at most."""
    if isinstance(written, dict):
        return all(key in stored and includes(stored[key], written[key]) for key in written)
    if isinstance(written, list):
        return len(stored) == len(written) and all(map(includes, stored, written))
    return bool(stored == written)


def test_every_kind_has_a_valid_example_and_a_sample_but_the_step() -> None:
    def kinds(paths: list[Path]) -> set[str]:
        return {manifest["kind"] for path in paths for manifest in documents(path)}

    every = {kind.name for kind in KINDS}
    assert kinds(_VALID) == every
    assert kinds(_SAMPLES) == every - {"ResearchStep"} | {"ConfigMap"}


def test_empty_budgets_still_have_steps_calls_tokens_and_time(plane: ControlPlane) -> None:
    # S4.29: each dimension alone has a hole.
    stored = created(plane, task("defaults", budgets={}))
    assert stored["spec"]["budgets"] == {
        "maxSteps": 60,
        "maxModelCalls": 30,
        "maxTokens": 200000,
        "maxSourceCalls": 60,
        "activeDeadlineSeconds": 900,
        "maxStepsPerQuestion": 16,
    }


# S0.28, S0.29, S0.31, S0.32, S3.7, S4.9
def test_a_task_is_stored_with_its_limits_and_looks_unseen(plane: ControlPlane) -> None:
    written = task("defaults")
    stored = created(plane, written)
    assert stored["status"] == {"observedGeneration": -1}
    assert stored["spec"] == written["spec"] | {
        "language": "en",
        "decisionPolicy": "Directed",
        "onModelFailure": "Fail",
        "qualityThreshold": 70,
        "goal": {
            "minFacts": 1,
            "minOrigins": 1,
            "targetOrigins": 1,
            "requireEveryQuestion": "All",
        },
        "budgets": {
            "maxSteps": 60,
            "maxModelCalls": 30,
            "maxTokens": 200000,
            "maxSourceCalls": 60,
            "activeDeadlineSeconds": 900,
            "maxStepsPerQuestion": 16,
        },
        "progressPolicy": {
            "maxStalledSteps": 4,
            "errorThreshold": 3,
            "identicalFailureLimit": 2,
            "maxActionRetries": 2,
            "stepTimeoutSeconds": 120,
            "planningInterval": 10,
            "degradeAtPercent": 80,
        },
        "clarificationPolicy": {"expireAfterSeconds": 86400, "maxRounds": 3},
        "approval": {"mode": "None", "expireAfterSeconds": 86400},
        "desiredState": "Running",
        "historyLimit": 2,
    }


# S0.43
def test_a_model_and_a_source_are_stored_with_their_defaults(plane: ControlPlane) -> None:
    model = custom_object(
        "ResearchModel",
        "defaults",
        {"backend": "Ollama", "baseURL": "http://ollama:11434/v1", "model": "llama3.2"},
    )
    stored = created(plane, model)
    assert stored["status"] == {"observedGeneration": -1}
    assert stored["spec"] == model["spec"] | {
        "contextWindowTokens": 8192,
        "maxOutputTokens": 512,
        "temperature": "0.2",
        "seed": 0,
        "requestTimeoutSeconds": 120,
        "maxConcurrentRequests": 4,
    }
    source = custom_object(
        "ResearchSource", "defaults", {"type": "Corpus", "corpus": {"directory": "moorhen"}}
    )
    stored = created(plane, source)
    assert stored["status"] == {"observedGeneration": -1}
    assert stored["spec"] == source["spec"] | {
        "priority": 50,
        "maxResults": 10,
        "timeoutSeconds": 20,
        "robots": "Respect",
    }


def test_names_of_48_characters_are_accepted(plane: ControlPlane) -> None:
    assert created(plane, task("a" * 48))["metadata"]["name"] == "a" * 48


@pytest.mark.parametrize("money", ["0", "0.000001", "0.50", "999999999.999999"])
def test_money_is_a_decimal_string(plane: ControlPlane, money: str) -> None:
    stored = created(plane, task("money", budgets={"maxCostUSD": money}))
    assert stored["spec"]["budgets"]["maxCostUSD"] == money


@pytest.mark.parametrize("kind", ["ResearchTask", "ResearchModel"])
def test_a_spec_with_every_field_at_its_limit_is_accepted(plane: ControlPlane, kind: str) -> None:
    spec = fullest(schema_of(kind, "spec"))
    assert created(plane, custom_object(kind, "full", spec))["spec"] == spec


@pytest.mark.parametrize("kind", SourceType)
def test_a_source_of_each_type_with_every_field_at_its_limit_is_accepted(
    plane: ControlPlane, kind: SourceType
) -> None:
    spec = fullest(schema_of("ResearchSource", "spec"))
    del spec["corpus"]["directory"]  # either this or the ConfigMaps
    others = {json_name(member) for of, member in MEMBERS.items() if of is not kind}
    spec = {name: value for name, value in spec.items() if name not in others} | {"type": kind}
    assert created(plane, custom_object("ResearchSource", "full", spec))["spec"] == spec


def test_unknown_fields_are_pruned_where_validation_is_not_strict(plane: ControlPlane) -> None:
    manifest = task("pruned", phase="Running")
    answer = plane.kubectl(
        "apply", "--dry-run=server", "--validate=false", "--output=yaml", "--filename=-",
        input=json.dumps(manifest),
    )  # fmt: skip
    assert "phase" not in yaml.safe_load(answer.stdout)["spec"]
