"""What each kind of endpoint is sent: what it understands, and nothing else."""

from __future__ import annotations

import dataclasses
import json

import pytest

from controller.api.model import Backend, ResearchModelSpec
from controller.loop.exchange import ModelReply, ModelRequest
from controller.models.backends import PROFILES, base_url_of
from controller.models.request_body import request_body
from controller.models.tools_as_json import as_call
from tests.endpoint.clients import PROPOSAL, QUERIES, resource

EVERY = pytest.mark.parametrize("backend", list(Backend))


def sent(backend: Backend, request: ModelRequest = QUERIES, **spec: object) -> dict[str, object]:
    made = resource("http://127.0.0.1:1/v1", backend, **spec).spec
    return request_body(PROFILES[backend], made, request)


# rule 3, rule 4, rule 18, S0.38
@pytest.mark.parametrize(
    ("backend", "names"),
    [
        (Backend.OPENAI, {"max_completion_tokens", "seed", "response_format"}),
        (Backend.OLLAMA, {"max_tokens", "seed", "response_format"}),
        (Backend.LLAMA_CPP, {"max_tokens", "seed", "response_format"}),
        (Backend.VLLM, {"max_tokens", "seed", "response_format"}),
        (Backend.OPENAI_COMPATIBLE, {"max_tokens"}),
    ],
)
def test_each_kind_is_sent_the_names_that_it_knows(backend: Backend, names: set[str]) -> None:
    body = sent(backend)
    assert set(body) == {"model", "messages", "temperature", *names}
    (cap,) = {"max_completion_tokens", "max_tokens"} & set(body)
    assert body[cap] == 512


@EVERY
def test_every_kind_has_a_profile(backend: Backend) -> None:
    assert PROFILES[backend].output_cap


# S0.40
def test_only_the_provider_that_has_one_address_has_a_default() -> None:
    assert base_url_of(Backend.OPENAI, None) == "https://api.openai.com/v1"
    assert base_url_of(Backend.OPENAI, "http://proxy/v1") == "http://proxy/v1"
    assert [b for b in Backend if PROFILES[b].base_url] == [Backend.OPENAI]


# S0.43
def test_window_temperature_and_cap_have_defaults() -> None:
    spec = ResearchModelSpec(backend=Backend.OPENAI, model="x")
    assert (spec.context_window_tokens, spec.max_output_tokens) == (8192, 512)
    assert sent(Backend.OPENAI)["temperature"] == 0.2
    assert sent(Backend.OPENAI, temperature="1")["temperature"] == 1.0


def test_a_schema_is_told_where_the_endpoint_does_not_tell_it() -> None:
    for backend in Backend:
        told = '"queries"' in json.dumps(sent(backend)["messages"]).replace("\\", "")
        assert told is (backend is not Backend.OPENAI)


# rule 16
@EVERY
@pytest.mark.parametrize("request_", [QUERIES, PROPOSAL])
def test_no_history_is_sent(backend: Backend, request_: ModelRequest) -> None:
    messages = sent(backend, request_)["messages"]
    assert isinstance(messages, list)
    assert [m["role"] for m in messages] == ["system", "user"]
    assert all(isinstance(m["content"], str) and m["content"] for m in messages)


# rule 17, E1
@EVERY
def test_what_no_endpoint_takes_is_not_sent(backend: Backend) -> None:
    broken = dataclasses.replace(QUERIES, prompt="a\0b\ud800c", instructions="\udfff")
    text = json.dumps(sent(backend, broken)["messages"], ensure_ascii=False)
    assert "a\ufffdb\ufffdc" in text
    text.encode()


def test_tools_are_sent_where_they_can_be_relied_on() -> None:
    openai = sent(Backend.OPENAI, PROPOSAL)
    assert openai["tool_choice"] == "required"
    assert openai["parallel_tool_calls"] is False
    tools = openai["tools"]
    assert isinstance(tools, list)
    assert [t["function"]["name"] for t in tools] == ["Plan", "Search", "Extract"]
    ollama = sent(Backend.OLLAMA, PROPOSAL)
    assert "tools" in ollama
    assert "tool_choice" not in ollama


@pytest.mark.parametrize("backend", [Backend.LLAMA_CPP, Backend.VLLM])
def test_elsewhere_an_action_is_asked_for_as_json(backend: Backend) -> None:
    body = sent(backend, PROPOSAL)
    assert "tools" not in body
    wanted = body["response_format"]
    assert isinstance(wanted, dict)
    schema = wanted["json_schema"]["schema"]
    assert schema["properties"]["action"]["enum"] == ["Plan", "Search", "Extract"]
    arguments = schema["properties"]["arguments"]["properties"]
    assert arguments["questionId"]["enum"] == ["glow", "frost"]
    assert set(arguments) == {"questionId", "query"}
    assert "Search: Ask a source." in json.dumps(body["messages"])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"action": "Search", "arguments": {"query": "x"}}', [("Search", '{"query":"x"}')]),
        ('{"action": "Plan"}', [("Plan", "{}")]),
        ('{"action": "Plan", "arguments": []}', [("Plan", "[]")]),
        ('{"action": 1}', []),
        ('{"action": "Plan", "action": "Search"}', []),
        ('{"action": "Plan"} and more', []),
        ("I would plan.", []),
        ("[" * 100_000, []),
        (None, []),
    ],
)
def test_a_json_answer_is_the_call_that_it_stands_for(
    text: str | None, calls: list[tuple[str, str]]
) -> None:
    reply = as_call(ModelReply(text=text))
    assert [(c.name, c.arguments) for c in reply.calls] == calls
    assert reply.text == (None if calls else text)


def test_half_characters_in_a_json_answer_are_replaced() -> None:
    reply = as_call(ModelReply(text='{"action": "\\ud800", "arguments": {"query": "\\ud800"}}'))
    assert reply.calls[0].name == "\ufffd"
    assert reply.calls[0].arguments == '{"query":"\ufffd"}'
