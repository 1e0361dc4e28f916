"""The samples end as their comments say, on this machine and without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.reasons import ExitCode
from controller.api.source import ResearchSource, SourceType
from controller.cli.documents import read_task_file
from tests.manifests.conftest import MANIFESTS, ROOT


def run(sample: str, folder: Path) -> dict[str, Any]:
    """Run a sample with the command line; return its report."""
    command(sample, folder).check_returncode()
    report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return report


def command(sample: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [
            sys.executable, "-m", "controller.cli.main", "run",
            "--file", str(MANIFESTS / "samples" / sample),
            "--store", str(folder / "store.db"),
            "--output", str(folder),
            "--verbosity", "0",
        ],
        check=False,
        cwd=ROOT,
        timeout=120,
    )  # fmt: skip


def answers(report: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    return {
        question["id"]: (
            question["state"],
            [statement["text"] for statement in question.get("statements", ())],
        )
        for question in report["questions"]
    }


def test_the_smallest_task_has_one_cited_answer(tmp_path: Path) -> None:
    # S1.1
    report = run("minimal.yaml", tmp_path)
    assert report["ending"]["reason"] == "GoalReached"
    assert answers(report) == {
        "retention-default": ("Answered", ["The default value of retention_days is 14."])
    }
    assert len(report["references"]) == 1
    (steps,) = (budget for budget in report["budgets"] if budget["name"] == "maxSteps")
    assert steps["used"] < steps["limit"] == 12


def test_a_question_without_an_answer_is_certified_and_costs_no_success(tmp_path: Path) -> None:
    # S2.25
    report = run("manual.yaml", tmp_path)
    assert report["ending"]["reason"] == "GoalReached"
    found = answers(report)
    assert {name: state for name, (state, _) in found.items()} == {
        "max-connections": "Answered",
        "ack-timeout": "Answered",
        "compression": "NotFound",
    }
    assert found["max-connections"][1] == ["The default value of max_connections is 256."]
    assert found["ack-timeout"][1][0] == "The default value of ack_timeout is 30 seconds."
    assert found["compression"][1] == []


def test_four_phases_are_three_questions_and_a_report(tmp_path: Path) -> None:
    # S0.47
    report = run("four-phases.yaml", tmp_path)
    assert report["ending"]["reason"] == "GoalReached"
    found = answers(report)
    assert {name: state for name, (state, _) in found.items()} == dict.fromkeys(
        ("overview", "key-facts", "applications"), "Answered"
    )
    assert "Weather stations" in found["applications"][1][0]


def test_a_draft_waits_for_its_approval_and_nothing_is_published(tmp_path: Path) -> None:
    # S1.39
    assert command("approval.yaml", tmp_path).returncode == ExitCode.HAND_OFF
    assert not (tmp_path / "report.json").exists()


def tasks() -> Iterator[dict[str, Any]]:
    for path in sorted((MANIFESTS / "samples").glob("*.yaml")):
        for found in yaml.safe_load_all(path.read_text("utf-8")):
            if found.get("kind") == "ResearchTask":
                yield found["spec"]


def test_each_kind_of_work_has_a_sample_with_a_class_and_ceilings_of_its_own() -> None:
    # S3.12
    specs = list(tasks())
    classes = [spec["jobClass"] for spec in specs]
    assert sorted(set(classes)) == sorted(classes)
    assert len(classes) >= 5
    assert all("maxSteps" in spec["budgets"] for spec in specs)


def test_the_weekly_report_has_several_ways_to_stop_and_a_week_between_its_rounds() -> None:
    # S4.44
    (spec,) = (spec for spec in tasks() if spec["jobClass"] == "weekly-report")
    assert spec["refreshIntervalSeconds"] == 7 * 24 * 3600
    assert spec["budgets"]["maxSteps"] <= 20
    assert spec["progressPolicy"]["maxStalledSteps"] == 2
    assert spec["budgets"]["activeDeadlineSeconds"] == 300


@pytest.mark.parametrize("sample", ["minimal.yaml", "manual.yaml", "four-phases.yaml"])
def test_a_sample_gives_the_same_report_twice(tmp_path: Path, sample: str) -> None:
    digests = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        digests.append(run(sample, tmp_path / name)["digest"])
    assert digests[0] == digests[1]


# S4.44
def test_a_weekly_report_says_the_next_week_what_has_changed(tmp_path: Path) -> None:
    report = run("weekly-report.yaml", tmp_path)
    assert report["ending"]["reason"] == "GoalReached"
    assert {state for state, _ in answers(report).values()} == {"Answered"}
    text = (MANIFESTS / "samples" / "weekly-report.yaml").read_text("utf-8")
    (tmp_path / "weekly.yaml").write_text(
        text.replace("retention_days` is 14", "retention_days` is 30"), "utf-8"
    )
    changes = run(str(tmp_path / "weekly.yaml"), tmp_path)["changes"]
    assert (changes["factsHold"], changes["factsGone"], changes["factsNew"]) == (1, 1, 1)
    assert "is 30" in changes["new"][0]["claim"]


def test_the_sample_that_needs_the_network_is_valid_and_created_by_itself_alone() -> None:
    file = read_task_file(MANIFESTS / "samples" / "remote.yaml")
    kinds = {found.spec.type for _, found in file.others if isinstance(found, ResearchSource)}
    assert kinds == {SourceType.MEDIA_WIKI, SourceType.ARXIV}
    folder = yaml.safe_load((MANIFESTS / "samples" / "kustomization.yaml").read_text("utf-8"))
    assert "remote.yaml" not in folder["resources"]
