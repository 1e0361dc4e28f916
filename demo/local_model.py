"""The demonstration with a real model: the same tasks, and a llama.cpp server on this machine.

The model is small and knows little, which is the point: its quotes are often wrong, and none of the
wrong ones may reach a report. So nothing is expected of how much it finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console

from controller.api.base import API_VERSION
from controller.api.step import ResearchStep
from demo import cluster, expectations
from demo.expectations import Ended, Outcome
from demo.story import RAISED_BUDGET, Script
from tests.llama.server import LlamaServer

_NAME: Final = "local"
_SECONDS: Final = 2 * 3600
"""How long it may take where other work keeps the processors busy."""

_CALL_SECONDS: Final = 900
_OUTPUT_TOKENS: Final = 192
_PRICES: Final = {"inputUSDPerMillionTokens": "0.05", "outputUSDPerMillionTokens": "0.40"}
"""Invented: so that there is a cost to be seen."""

_MOST_CALLS: Final = 12
_STEPS_A_QUESTION: Final = 4
"""So few that the calls are enough for most of the questions."""


@contextmanager
def demonstration(console: Console) -> Iterator[Script]:
    """Start the model's server; yield the demonstration that uses it, and end it afterwards.

    Raises:
        LlamaUnavailableError: its packages are missing, or it did not start.
    """
    console.print("Loading the model: gemma 3, 270 million weights, with llama.cpp ...")
    with LlamaServer() as server:
        console.print(f"It answers at {server.base_url}, in {server.slots} slots")
        yield Script(
            [_secret(server), _model(server), *map(_with_model, cluster.source_and_tasks())],
            lambda ended, before: _expected(server, ended, before),
            seconds=_SECONDS,
            options=(f"--allow-origin={server.origin}",),
            applied="the source and tasks of demo/, each task with modelRef and "
            "onModelFailure: Extractive; a ResearchModel, and a Secret with its key",
        )


def _secret(server: LlamaServer) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _NAME, "namespace": cluster.NAMESPACE},
        "stringData": {"api-key": server.key},
    }


def _model(server: LlamaServer) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ResearchModel",
        "metadata": {"name": _NAME, "namespace": cluster.NAMESPACE},
        "spec": {
            "backend": "LlamaCpp",
            "baseURL": server.base_url,
            "model": server.alias,
            "credentialsSecretRef": {"name": _NAME, "key": "api-key"},
            "contextWindowTokens": server.window,
            "maxOutputTokens": _OUTPUT_TOKENS,
            "maxConcurrentRequests": server.slots,
            "requestTimeoutSeconds": _CALL_SECONDS,
            "pricing": _PRICES,
        },
    }


def _with_model(found: dict[str, Any]) -> dict[str, Any]:
    """Return a task with the model; anything else as it is."""
    if found["kind"] != "ResearchTask":
        return found
    spec = found["spec"]
    budgets = {
        **spec.get("budgets", {}),
        "maxModelCalls": _MOST_CALLS,
        "maxStepsPerQuestion": _STEPS_A_QUESTION,
        "maxCostUSD": "0.01",
        "activeDeadlineSeconds": _SECONDS,
    }
    changed = {
        "modelRef": {"name": _NAME},
        "onModelFailure": "Extractive",
        "budgets": budgets,
        "progressPolicy": {"stepTimeoutSeconds": _CALL_SECONDS},
    }
    return {**found, "spec": {**spec, **changed}}


def _expected(
    server: LlamaServer, ended: dict[str, Ended], before: Sequence[ResearchStep]
) -> Iterator[Outcome]:
    for found in ended.values():
        yield expectations.ended_for_a_reason(found)
        yield expectations.budgets_held(found)
        yield expectations.usage_is_the_journals(found)
    yield expectations.kept(before, ended[RAISED_BUDGET])
    yield expectations.usage_is_the_servers(ended.values(), server.tokens())
