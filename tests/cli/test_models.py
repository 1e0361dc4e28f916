"""`fixpoint run` with a model: its address, its key, and where the key may not be found."""

from __future__ import annotations

from base64 import b64encode
from itertools import repeat
from typing import Any

import pytest
import yaml

from controller.api.base import API_VERSION
from controller.api.meta import ObjectReference
from controller.api.model_call import usd
from controller.cli.documents import read_task_file
from controller.cli.given_model import GivenModel, with_model
from tests.cli.desk import Desk
from tests.endpoint.server import Answer, Received, RunningEndpoint, ScriptedEndpoint
from tests.endpoint.shapes import good

CANARY = "canary-4f1c9a"
SECRET = {"name": "provider", "key": "api-key"}


def answered(request: Received) -> Answer:
    """Answer as a model does that knows the lamp."""
    if "quotes" in request.body.decode():
        quote = "Default: 40 lumens at the lowest dimmer position of the lamp."
        return good({"quotes": [{"passage": "p1", "quote": quote}]})
    return good({"queries": []})


def write(desk: Desk, url: str, *documents: dict[str, Any], **spec: object) -> None:
    """Write a task file with one question, a model at an address, and other documents."""
    questions = [{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}]
    desk.write_task(questions=questions, modelRef={"name": "parrot"})
    model = {
        "apiVersion": API_VERSION,
        "kind": "ResearchModel",
        "metadata": {"name": "parrot"},
        "spec": {"backend": "OpenAICompatible", "baseURL": url, "model": "scripted", **spec},
    }
    parts = [desk.task.read_text("utf-8"), *map(yaml.safe_dump, (model, *documents))]
    desk.task.write_text("---\n".join(parts), encoding="utf-8")


def secret(**fields: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "provider"}, **fields}


def everything(desk: Desk) -> bytes:
    """Return all that a run has left on disk, without the task file that the user wrote."""
    files = [f for f in desk.folder.rglob("*") if f.is_file() and f != desk.task]
    return b"".join(file.read_bytes() for file in files)


def test_the_address_in_a_users_own_file_is_open(desk: Desk) -> None:
    with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
        write(desk, running.url)
        said = desk.run()
        assert said.code == 0, said.err
        assert running.endpoint.requests


# S0.48, S0.67
def test_what_a_model_has_used_is_told_with_each_call_and_at_the_end(desk: Desk) -> None:
    prices = {"inputUSDPerMillionTokens": "1", "outputUSDPerMillionTokens": "2"}
    with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
        write(desk, running.url, pricing=prices)
        told = desk.run().out
        calls = len(running.endpoint.requests)
    assert "model:      parrot, Directed; at most 30 calls, 200,000 tokens" in told
    assert told.count(", 1,000 + 100 tokens") == calls
    micro = calls * (1000 + 2 * 100)
    used = f"{calls} of 30 calls, {calls * 1000:,} + {calls * 100} tokens, ${usd(micro)}"
    assert f"model:      {used}, 0 proposals rejected" in told


# S0.39, S2.34
@pytest.mark.parametrize("verbosity", ["1", "3"])
@pytest.mark.parametrize("where", ["data", "stringData", "variable"])
def test_a_key_is_sent_to_the_endpoint_and_found_nowhere_else(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, where: str, verbosity: str
) -> None:
    encoded = b64encode(f"{CANARY}\n".encode()).decode()
    documents = {
        "data": [secret(data={"api-key": encoded})],
        "stringData": [secret(stringData={"api-key": CANARY})],
        "variable": [],
    }[where]
    monkeypatch.setenv("PROVIDER_KEY", CANARY)
    options = ["--secret", "provider/api-key=PROVIDER_KEY"] if where == "variable" else []
    with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
        write(desk, running.url, *documents, credentialsSecretRef=SECRET)
        log = desk.folder / "run.jsonl"
        said = desk.run("--verbosity", verbosity, "--log", log, *options)
        assert said.code == 0, said.err
        sent = {request.headers["authorization"] for request in running.endpoint.requests}
    assert sent == {f"Bearer {CANARY}"}
    assert CANARY not in said.out + said.err
    left = everything(desk)
    assert CANARY.encode() not in left
    assert encoded.rstrip("=")[:-2].encode() not in left


# S0.39
def test_a_missing_secret_is_named_with_both_ways_to_give_it(desk: Desk) -> None:
    with RunningEndpoint(ScriptedEndpoint(())) as running:
        write(desk, running.url, credentialsSecretRef=SECRET)
        said = desk.run()
        assert said.code == 5
        assert "the Secret default/provider does not exist" in said.err
        assert "--secret NAME/KEY=VARIABLE" in said.err
        assert running.endpoint.requests == running.endpoint.listings == []


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("provider/api-key=NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
        ("provider/api-key", "NAME/KEY=VARIABLE"),
        ("provider=PROVIDER_KEY", "NAME/KEY=VARIABLE"),
        ("Provider/api-key=PROVIDER_KEY", "NAME/KEY=VARIABLE"),
        (f"provider/api-key={CANARY}", "NAME/KEY=VARIABLE"),
    ],
)
def test_a_wrong_secret_option_is_refused_with_the_rule(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, option: str, rule: str
) -> None:
    monkeypatch.setenv("PROVIDER_KEY", CANARY)
    said = desk.run("--secret", option)
    assert said.code == 5
    assert rule in said.err
    assert CANARY not in said.err


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"data": {"api-key": f"{CANARY}!"}}, "data.api-key: must be base64"),
        ({"stringData": {"api-key": 7}}, "stringData.api-key: must be a string"),
        ({"stringData": CANARY}, "stringData: must be an object"),
        ({"spec": {"api-key": CANARY}}, "spec: is not a known field"),
    ],
)
def test_a_broken_secret_is_refused_without_its_value(
    desk: Desk, fields: dict[str, object], rule: str
) -> None:
    write(desk, "http://127.0.0.1:9/v1", secret(**fields))
    said = desk.run()
    assert said.code == 5
    assert rule in said.err
    assert CANARY not in said.err


# S2.19
def test_each_answer_is_shown_with_its_check(desk: Desk) -> None:
    wrong = good("Here you are: " + "x" * 300)
    with RunningEndpoint(ScriptedEndpoint([good({"queries": []}), wrong, *[answered] * 9])) as at:
        write(desk, at.url)
        said = desk.run("--verbosity", "3")
    assert said.code == 0, said.err
    lines = [line.strip() for line in said.out.splitlines()]
    shown = [line for line in lines if line.startswith(("reply:", "check:", "- "))]
    assert shown[:2] == ['reply: {"queries": []}', "check: PASS"]
    assert shown[2] == f"reply: Here you are: {'x' * 186}…"
    assert shown[3] == "check: FAIL"
    assert shown[4].startswith("- InvalidOutput: the answer is not as asked: no JSON")
    assert "flags: PromptUnderestimated" in lines
    assert "1,000 + 100 tokens" in said.out


class TestOnTheCommandLine:
    # S2.17, S0.38
    @pytest.mark.parametrize("backend", ["llamacpp", "LlamaCpp", "VLLM", "openaicompatible"])
    def test_a_model_needs_no_file(self, desk: Desk, backend: str) -> None:
        desk.write_task(questions=[{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}])
        with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
            said = desk.run("--backend", backend, "--base-url", running.url, "--model", "parrot",
                            "--max-steps", "20")  # fmt: skip
            assert said.code == 0, said.err
            assert running.endpoint.requests[0].json["model"] == "parrot"

    # S2.17
    def test_an_address_alone_is_a_compatible_endpoint(self, desk: Desk) -> None:
        desk.write_task(questions=[{"id": "glow", "text": "What is the default of GLOW_LEVEL?"}])
        with RunningEndpoint(ScriptedEndpoint(repeat(answered))) as running:
            assert desk.run("--base-url", running.url, "--model", "parrot").code == 0
            assert "seed" not in running.endpoint.requests[0].json

    # S0.40, S0.41, S0.42
    @pytest.mark.parametrize(
        ("backend", "name", "address"),
        [
            ("OpenAI", "gpt-4o-mini", None),
            ("Ollama", "llama3.2", "http://localhost:11434/v1"),
            ("LlamaCpp", "ministral-3b", "http://127.0.0.1:8080/v1"),
        ],
    )
    def test_what_is_not_said_is_usual(
        self, desk: Desk, backend: str, name: str, address: str | None
    ) -> None:
        desk.write_task()
        made = with_model(
            read_task_file(desk.task), GivenModel(backend), {"OPENAI_API_KEY": CANARY}
        )
        spec = made.models[0].spec
        assert (spec.model, spec.base_url) == (name, address)
        assert made.task.spec.model_ref == ObjectReference(name=made.models[0].metadata.name)
        assert CANARY not in repr(made)

    @pytest.mark.parametrize(
        ("options", "rule"),
        [
            (["--backend", "Gemini"], "--backend 'Gemini' is unknown; it must be one of OpenAI"),
            (["--backend", "VLLM"], "--model must name the model that the VLLM endpoint serves"),
            (["--model", "m"], "--base-url must be the address of the OpenAICompatible endpoint"),
            (["--backend", "openai"], "OPENAI_API_KEY is not set; --backend OpenAI takes its key"),
            (["--base-url", "http://u:canary@h/v1", "--model", "m"], "baseURL"),
        ],
    )
    def test_what_is_missing_or_wrong_is_named(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, options: list[str], rule: str
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        desk.write_task()
        said = desk.run(*options)
        assert said.code == 5
        assert rule in said.err
        assert "canary" not in said.err
