"""Rounds on the real control plane: a changed directory is noticed, whoever was away meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess, wait_until

pytestmark = [pytest.mark.controlplane, pytest.mark.xdist_group("operator")]


def rewrite(corpora: Path, lumens: int) -> None:
    """Let the manual of the lamp say another default."""
    manual = corpora / "lamp" / "manual.md"
    text = manual.read_text(encoding="utf-8")
    before = text.split(" lumens")[0].rsplit(" ", 1)[1]
    manual.write_text(text.replace(f"{before} lumens", f"{lumens} lumens"), encoding="utf-8")


def wait_round(cluster: Cluster, number: int) -> dict[str, Any]:
    """Wait for the end of a round; return the report's changes."""

    def is_over() -> bool:
        status = cluster.get("rtask", "task")["status"]
        return (status["round"], status.get("terminalReason")) == (number, "GoalReached")

    wait_until(is_over, f"round {number} is over")
    report = cluster.get("configmap", "task-report")["data"]["report.json"]
    changes: dict[str, Any] = json.loads(report)["changes"]
    return changes


# S1.24, S2.34
def test_a_changed_directory_begins_a_round_also_when_nobody_was_there(
    operator: Callable[..., OperatorProcess], cluster: Cluster, corpora: Path
) -> None:
    cluster.apply_source()
    with operator("--corpus-check-seconds=1") as process:
        process.wait_ready()
        cluster.apply_task(historyLimit=1)
        assert cluster.wait_finished()["round"] == 0
        rewrite(corpora, 50)
        changes = wait_round(cluster, 1)
        assert (changes["factsGone"], changes["factsNew"]) == (1, 1)
        assert "50 lumens" in changes["new"][0]["claim"]
        assert {step["spec"]["round"] for step in cluster.items("rstep")} == {1}
        assert process.stop() == 0
    rewrite(corpora, 60)
    with operator("--corpus-check-seconds=1") as process:
        process.wait_ready()
        assert "60 lumens" in wait_round(cluster, 2)["new"][0]["claim"]
        reasons = [event["reason"] for event in cluster.items("events")]
        assert reasons.count("RoundStarted") == 2
        assert reasons.count("GoalReached") == 3
        assert process.stop() == 0
