"""What a user reads of a manifest that is wrong: the field, the rule and the mend."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from controller.api.errors import UserError
from controller.api.model import ResearchModel
from controller.api.source import ResearchSource
from controller.api.step import ResearchStep
from controller.api.task import DesiredState, ResearchTask
from controller.store.manifest import ConfigMap, read_manifest
from tests.store.builders import (
    Manifest,
    config_map_manifest,
    model_manifest,
    source_manifest,
    step,
    task_manifest,
)


def task_with(**spec: Any) -> Manifest:  # noqa: ANN401 - JSON
    return task_manifest("t", "research", **spec)


def without(manifest: Manifest, *path: str) -> Manifest:
    *parents, last = path
    parent = manifest
    for key in parents:
        parent = parent[key]
    del parent[last]
    return manifest


FAULTS: dict[str, tuple[Manifest, list[str]]] = {
    "a misspelt field": (
        task_with(budgets={"maxStep": 3}),
        ["spec.budgets.maxStep: is not a known field; did you mean maxSteps?"],
    ),
    "a misspelt field in a list": (
        task_with(sourceRefs=[{"name": "a"}, {"nane": "b"}]),
        [
            "spec.sourceRefs[1].name: must be set; add it",
            "spec.sourceRefs[1].nane: is not a known field; did you mean name?",
        ],
    ),
    "a field like no other": (
        task_with(xyzzy=1),
        ["spec.xyzzy: is not a known field; remove it or correct its name"],
    ),
    "a field below one that is not known": (
        task_with(goal={"minFacts": {"least": 1}}),
        ["spec.goal.minFacts: must be an integer; write a whole number without quotes"],
    ),
    "a Python name": (
        task_with(quality_threshold=1),
        ["spec.quality_threshold: is not a known field; did you mean qualityThreshold?"],
    ),
    "a missing field": (
        without(task_with(), "spec", "topic"),
        ["spec.topic: must be set; add it"],
    ),
    "no spec": (without(task_with(), "spec"), ["spec: must be set; add it"]),
    "a spec that is no object": (
        {**task_with(), "spec": "all about Django"},
        ["spec: must be an object; write its fields, each with its name"],
    ),
    "money that YAML reads as a number": (
        task_with(budgets={"maxCostUSD": 0.5}),
        ["spec.budgets.maxCostUSD: must be a string; put it in quotes"],
    ),
    "a number in quotes": (
        task_with(qualityThreshold="70"),
        ["spec.qualityThreshold: must be an integer; write a whole number without quotes"],
    ),
    "half a step": (
        task_with(budgets={"maxSteps": 1.5}),
        ["spec.budgets.maxSteps: must be an integer; write a whole number without quotes"],
    ),
    "numbers out of bounds": (
        task_with(budgets={"maxSteps": 0, "maxModelCalls": 2001}),
        [
            "spec.budgets.maxSteps: must be at least 1; raise it",
            "spec.budgets.maxModelCalls: must be at most 2000; lower it",
        ],
    ),
    "an empty topic": (
        task_with(topic=""),
        ["spec.topic: must have at least 1 characters; write more"],
    ),
    "a topic that is too long": (
        task_with(topic="x" * 501),
        ["spec.topic: must have at most 500 characters; shorten it"],
    ),
    "no source": (
        task_with(sourceRefs=[]),
        ["spec.sourceRefs: must have at least 1 items; add to it"],
    ),
    "too many sources": (
        task_with(sourceRefs=[{"name": f"s{i}"} for i in range(9)]),
        ["spec.sourceRefs: must have at most 8 items; remove some"],
    ),
    "a list that is none": (
        task_with(sourceRefs={"name": "a"}),
        ["spec.sourceRefs: must be a list; write its items, each after a dash"],
    ),
    "a word that is none of the choices": (
        task_with(desiredState="running"),
        [
            (
                "spec.desiredState: must be 'Running', 'Suspended' or 'Cancelled'; "
                "write one of these, in capitals as shown"
            )
        ],
    ),
    "a null": (
        task_with(language=None),
        ["spec.language: must be a string; put it in quotes"],
    ),
    "a date that YAML made of an answer": (
        task_with(clarifications=[{"field": "day", "answer": date(2026, 3, 1)}]),
        ["spec.clarifications[0].answer: is read as a date, not a string; put it in quotes"],
    ),
    "a key that YAML made true": (
        task_with(goal={True: 1}),
        ["spec.goal: the key True must be a string; put it in quotes"],
    ),
    "an infinite number": (
        task_with(qualityThreshold=float("inf")),
        ["spec.qualityThreshold: must be a finite number; correct it"],
    ),
    "a field beside spec": (
        {**task_with(), "sepc": {}},
        ["sepc: is not a known field; remove it or correct its name"],
    ),
    "no metadata": (
        without(task_with(), "metadata"),
        ["metadata: must be an object with a name; add it"],
    ),
    "no name": (
        without(task_with(), "metadata", "name"),
        ["metadata.name: must be set; add it"],
    ),
    "a misspelt namespace": (
        {**task_with(), "metadata": {"name": "t", "namespce": "x"}},
        ["metadata.namespce: is not a known field; did you mean namespace?"],
    ),
    "a label that is no string": (
        {**task_with(), "metadata": {"name": "t", "labels": {"a": 1}}},
        ["metadata.labels.a: must be a string; put it in quotes"],
    ),
    "text that is a number": (
        config_map_manifest("c", "research", {"a": 1}),  # type: ignore[dict-item]
        ["data.a: must be a string; put it in quotes"],
    ),
    "several faults, each on its line": (
        task_with(topic="", qualityThreshold=101, modelRef={}),
        [
            "spec.topic: must have at least 1 characters; write more",
            "spec.modelRef.name: must be set; add it",
            "spec.qualityThreshold: must be at most 100; lower it",
        ],
    ),
}


@pytest.mark.parametrize(("manifest", "lines"), FAULTS.values(), ids=FAULTS.keys())
def test_each_fault_is_a_line_with_field_rule_and_mend(
    manifest: Manifest, lines: list[str]
) -> None:
    with pytest.raises(UserError) as error:
        read_manifest(manifest)
    title, *rest = str(error.value).split("\n")
    assert title.endswith("is not valid:")
    assert [line.strip() for line in rest] == lines


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ({}, "kind: must be one of ResearchTask, ResearchStep,"),
        ({**task_with(), "kind": ["x"]}, "kind: must be one of"),
        ({**task_with(), "kind": "Pod"}, "kind: must be one of"),
        (
            {**task_with(), "apiVersion": "v1"},
            "apiVersion: must be research.fixpoint.dev/v1alpha1 for a ResearchTask",
        ),
        (without(task_with(), "apiVersion"), "apiVersion: must be"),
        (
            {**config_map_manifest("c", "n", {}), "apiVersion": "v2"},
            "apiVersion: must be v1 for a ConfigMap",
        ),
    ],
)
def test_what_is_no_object_of_ours_is_said_first(manifest: Manifest, text: str) -> None:
    with pytest.raises(UserError, match=text):
        read_manifest(manifest)


def test_a_pattern_is_shown_and_the_value_is_not() -> None:
    with pytest.raises(UserError) as error:
        read_manifest(task_with(budgets={"maxCostUSD": "my secret"}))
    assert "spec.budgets.maxCostUSD: must match the pattern ^(0|[1-9]" in str(error.value)
    assert "my secret" not in str(error.value)


def test_a_valid_manifest_of_each_kind_is_read_with_its_defaults() -> None:
    task = read_manifest(task_with(desiredState="Suspended"))
    assert isinstance(task, ResearchTask)
    assert task.spec.desired_state is DesiredState.SUSPENDED
    assert task.spec.budgets.max_steps == 60
    assert isinstance(read_manifest(source_manifest("s", "research")), ResearchSource)
    assert isinstance(read_manifest(model_manifest("m", "research")), ResearchModel)
    config_map = read_manifest(config_map_manifest("c", "research", {"a": "b"}))
    assert isinstance(config_map, ConfigMap)
    assert config_map.data == {"a": "b"}
    record = step(task, 0, task_uid="0123-4567")
    read = read_manifest(
        {
            "apiVersion": "research.fixpoint.dev/v1alpha1",
            "kind": "ResearchStep",
            "metadata": {"name": "t-0123-456-00000"},
            "spec": record.spec.to_json(),
        }
    )
    assert isinstance(read, ResearchStep)
    assert read.spec == record.spec


def test_what_a_cluster_adds_to_an_object_may_stay_in_a_manifest() -> None:
    manifest = task_with()
    manifest["metadata"] |= {"managedFields": [{"manager": "kubectl"}], "generation": 4}
    manifest["status"] = {"observedGeneration": 4, "anything": True}
    task = read_manifest(manifest)
    assert isinstance(task, ResearchTask)
    assert task.status.observed_generation == -1
