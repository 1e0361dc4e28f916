"""A whole operator with models, on a real API server: addresses, keys and prices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest

from tests.endpoint.server import Answer, Received, RunningEndpoint, ScriptedEndpoint
from tests.endpoint.shapes import good
from tests.operator.cluster import Cluster
from tests.operator.process import OperatorProcess

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(1200)]

Operator = Callable[..., OperatorProcess]

CANARY = "canary-4f1c9a"
PRICES = {"inputUSDPerMillionTokens": "1", "outputUSDPerMillionTokens": "2"}

_WITHIN_FIVE_SECONDS = 5.0


def answered(request: Received) -> Answer:
    """Answer as a model does that knows the lamp."""
    if "quotes" in request.body.decode():
        quote = "The default value of GLOW_LEVEL is 40 lumens at the lowest position of the dimmer."
        return good({"quotes": [{"passage": "p1", "quote": quote}]})
    return good({"queries": []})


@pytest.fixture
def endpoint() -> Iterator[RunningEndpoint]:
    with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
        yield running


def apply_model(cluster: Cluster, url: str, **spec: Any) -> None:  # noqa: ANN401 - any field
    cluster.apply_model("parrot", baseURL=url, backend="OpenAICompatible", **spec)


def apply_secret(cluster: Cluster, value: str) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "provider"},
        "stringData": {"api-key": value},
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def opened(endpoint: RunningEndpoint) -> str:
    return f"--allow-origin={endpoint.url.removesuffix('/v1')}"


# S0.39, S2.34
def test_a_task_waits_for_its_models_key_and_goes_on_when_it_is_there(
    operator: Operator, cluster: Cluster, endpoint: RunningEndpoint
) -> None:
    with operator(opened(endpoint), "--log-level=debug") as process:
        process.wait_ready()
        cluster.apply_source()
        apply_model(
            cluster, endpoint.url, credentialsSecretRef={"name": "provider", "key": "api-key"}
        )
        cluster.apply_task(modelRef={"name": "parrot"})
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="SecretNotFound")
        assert "the ResearchModel parrot has no key" in accepted["message"]
        cluster.wait_condition("rmodel", "parrot", "Ready", reason="SecretNotFound")
        assert endpoint.endpoint.requests == endpoint.endpoint.listings == []
        apply_secret(cluster, CANARY)
        cluster.wait_condition(
            "rtask", "task", "Accepted", reason="Accepted", seconds=_WITHIN_FIVE_SECONDS
        )
        status = cluster.wait_finished()
        assert status["terminalReason"] == "GoalReached"
        assert status["usage"]["modelCalls"] == len(endpoint.endpoint.requests)
        cluster.wait_condition("rmodel", "parrot", "Ready", reason="Ready")
        sent = {request.headers["authorization"] for request in endpoint.endpoint.requests}
        assert sent == {f"Bearer {CANARY}"}
        kinds = "rtask,rstep,rmodel,rsource,configmap,event"
        assert CANARY not in cluster.kubectl("get", kinds, "--output=json")
        assert CANARY not in process.log
        assert process.stop() == 0
        assert CANARY not in process.log


# T11
def test_a_task_with_a_limit_of_money_waits_for_the_price(
    operator: Operator, cluster: Cluster, endpoint: RunningEndpoint
) -> None:
    with operator(opened(endpoint)) as process:
        process.wait_ready()
        cluster.apply_source()
        apply_model(cluster, endpoint.url)
        cluster.apply_task(modelRef={"name": "parrot"}, budgets={"maxCostUSD": "0.5"})
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="PricingUnknown")
        assert "spec.pricing" in accepted["message"]
        assert endpoint.endpoint.requests == []
        apply_model(cluster, endpoint.url, pricing=PRICES)
        cluster.wait_condition(
            "rtask", "task", "Accepted", reason="Accepted", seconds=_WITHIN_FIVE_SECONDS
        )
        status = cluster.wait_finished()
        assert status["terminalReason"] == "GoalReached"
        assert float(status["usage"]["costUSD"]) > 0


def test_a_model_at_a_closed_address_is_sent_nothing(
    operator: Operator, cluster: Cluster, endpoint: RunningEndpoint
) -> None:
    with operator() as process:
        process.wait_ready()
        cluster.apply_source()
        apply_model(cluster, endpoint.url)
        cluster.apply_task(modelRef={"name": "parrot"})
        ready = cluster.wait_condition("rmodel", "parrot", "Ready", reason="AddressBlocked")
        assert ready["status"] == "False"
        assert opened(endpoint).replace("=", " ") in ready["message"]
        accepted = cluster.wait_condition("rtask", "task", "Accepted", reason="ModelNotReady")
        assert "AddressBlocked" in accepted["message"]
        assert endpoint.endpoint.requests == endpoint.endpoint.listings == []
