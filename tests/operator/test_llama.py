"""A whole operator with a real small model, on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.llama.real_model import model_manifest
from tests.llama.server import LlamaServer
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess

pytestmark = [pytest.mark.llama, pytest.mark.controlplane, pytest.mark.timeout(3600)]

_SECONDS = 3000


# S0.39, S2.15, S2.34
def test_a_task_runs_on_a_real_model_with_its_key_from_a_secret(
    operator: Callable[..., OperatorProcess], cluster: Cluster, llama: LlamaServer
) -> None:
    before = llama.tokens()
    with operator(f"--allow-origin={llama.origin}", "--log-level=debug") as process:
        process.wait_ready()
        cluster.apply_source()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "llama"},
            "stringData": {"key": llama.key},
        }
        cluster.kubectl("apply", "-f", "-", input=json.dumps(secret))
        spec = model_manifest(llama)["spec"]
        cluster.apply_model("tiny", **spec, credentialsSecretRef={"name": "llama", "key": "key"})
        cluster.wait_condition("rmodel", "tiny", "Ready", reason="Ready")
        cluster.apply_task(
            modelRef={"name": "tiny"},
            onModelFailure="Extractive",
            budgets={"activeDeadlineSeconds": _SECONDS, "maxModelCalls": 6},
            progressPolicy={"stepTimeoutSeconds": _SECONDS},
        )
        status = cluster.wait_finished(seconds=_SECONDS)
        log = process.log
    usage = status["usage"]
    calls = [s["spec"]["modelCall"] for s in cluster.items("rstep") if "modelCall" in s["spec"]]
    assert status["terminalReason"]
    assert 1 <= usage["modelCalls"] == len(calls) <= 6
    assert usage["promptTokens"] == sum(call["promptTokens"] for call in calls)
    assert usage["completionTokens"] == sum(call["completionTokens"] for call in calls)
    assert usage["promptTokens"] + usage["completionTokens"] == llama.tokens() - before
    assert {call["returnedModel"] for call in calls} == {llama.alias}
    assert not keeps(cluster, log, llama.key)
    verified = fixpoint(cluster, "verify", "task")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def keeps(cluster: Cluster, log: str, key: str) -> list[str]:
    """Return where the key is seen, but for its Secret."""
    kinds = ("rtask", "rstep", "rmodel", "rsource", "event", "configmap")
    shown: dict[str, Any] = {kind: json.dumps(cluster.items(kind)) for kind in kinds}
    return [where for where, text in {**shown, "log": log}.items() if key in text]


def fixpoint(cluster: Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on the test's namespace."""
    return subprocess.run(
        [sys.executable, "-m", "controller.cli.main", *arguments, "-n", cluster.namespace],
        env=cluster.plane.kubectl_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
