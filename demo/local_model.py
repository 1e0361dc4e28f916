"""The demonstration with a real model: the same tasks, and a llama.cpp server on this machine.

The model is small and knows little, which is the point: its quotes are often wrong, and none of the
wrong ones may reach a report. So nothing is expected of how much it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console

from controller.api.base import API_VERSION
from controller.api.meta import ConditionStatus
from controller.api.model_call import usd
from controller.api.reasons import ConditionType
from controller.api.step import ResearchStep
from demo import cluster
from demo.expectations import Ended, Outcome, kept
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
        yield _ended_for_a_reason(found)
        yield _budgets_held(found)
        yield _usage_is_the_journals(found)
    yield kept(before, ended[RAISED_BUDGET])
    yield _usage_is_the_servers(server, ended.values())


def _ended_for_a_reason(ended: Ended) -> Outcome:
    status = ended.task.status
    finished = status.condition(ConditionType.FINISHED)
    return Outcome(
        f"{ended.name}: ends for a reason with a name, and with a report",
        status.terminal_reason is not None
        and finished is not None
        and finished.status is ConditionStatus.TRUE
        and ended.report is not None,
        f"{status.terminal_reason}",
    )


def _budgets_held(ended: Ended) -> Outcome:
    used, budgets = ended.usage, ended.task.spec.budgets
    tokens = used.prompt_tokens + used.completion_tokens
    is_within = (
        used.steps <= budgets.max_steps
        and used.model_calls <= budgets.max_model_calls
        and tokens <= budgets.max_tokens
        and float(used.cost_usd) <= float(budgets.max_cost_usd or 0)
    )
    found = f"{used.steps} steps, {used.model_calls} calls, {tokens} tokens, ${used.cost_usd}"
    return Outcome(
        f"{ended.name}: no budget is passed (steps, model calls, tokens, money)", is_within, found
    )


def _usage_is_the_journals(ended: Ended) -> Outcome:
    used = ended.usage
    calls = [step.spec.model_call for step in ended.steps if step.spec.model_call is not None]
    journal = (
        len(calls),
        sum(call.prompt_tokens for call in calls),
        sum(call.completion_tokens for call in calls),
        usd(sum(call.cost_micro_usd for call in calls)),
    )
    shown = (used.model_calls, used.prompt_tokens, used.completion_tokens, used.cost_usd)
    return Outcome(
        f"{ended.name}: its usage is the sum of its steps: {journal[0]} calls, "
        f"{journal[1]:,} + {journal[2]:,} tokens, ${journal[3]}",
        shown == journal,
        str(shown),
    )


def _usage_is_the_servers(server: LlamaServer, tasks: Iterable[Ended]) -> Outcome:
    used = [ended.usage for ended in tasks]
    charged = sum(u.prompt_tokens + u.completion_tokens for u in used)
    return Outcome(
        f"the {charged:,} tokens that the tasks were charged are those that the server counted",
        charged == server.tokens() and not any(u.unknown_usage_calls for u in used),
        f"{server.tokens():,}",
    )
