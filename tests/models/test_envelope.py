"""Answers of status 200: read where they can be, refused by class where they cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.model import Backend
from controller.loop.exchange import ModelReply
from controller.models.backends import PROFILES
from controller.models.envelope import LEAST_BYTES, reply_of
from tests.endpoint.clients import CANARY
from tests.endpoint.shapes import HTML, USAGE, answer_of, envelope, good, picked


def read(body: bytes, backend: Backend = Backend.OPENAI, cap: int = 512) -> ModelReply:
    return reply_of(PROFILES[backend], body, max_output_tokens=cap, key=CANARY)


def refused(body: bytes, backend: Backend = Backend.OPENAI) -> ActionError:
    with pytest.raises(ActionError) as caught:
        read(body, backend)
    return caught.value


@pytest.mark.parametrize("backend", list(Backend))
def test_a_good_answer_of_each_kind_is_read(backend: Backend) -> None:
    reply = read(good({"queries": []}, backend).body, backend)
    assert reply.text == '{"queries": []}'
    assert reply.model == "served-name"
    assert reply.finish_reason == "stop"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1000, 100)
    assert not reply.calls
    assert not reply.is_cut


# rule 7, E11
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (answer_of({**envelope(), "choices": None}).body, "no choices"),
        (answer_of({**envelope(), "choices": []}).body, "no choices"),
        (answer_of({**envelope(), "choices": {}}).body, "no choices"),
        (answer_of({**envelope(), "choices": ["x"]}).body, "without a message"),
        (answer_of({**envelope(), "choices": [{"message": None}]}).body, "without a message"),
        (answer_of({}).body, "no choices"),
        (answer_of([]).body, "no object"),
        (answer_of("text").body, "no object"),
        (answer_of({"error": {"message": "over\nloaded"}}).body, "over loaded"),
        (answer_of({"error": "busy"}).body, "busy"),
        (answer_of({"error": {"message": None, "code": 7}, "choices": None}).body, "an error"),
        (HTML, "HTML"),
        (b"  <!DOCTYPE html>", "HTML"),
        (b"", "an empty body"),
        (good({}).body[:-5], "cut off"),
        (good({}).body + b"{}", "no JSON"),
        (b'{"choices": [], "choices": []}', "no JSON"),
        (b"[" * 200_000, "no JSON"),
        (b'{"usage": ' + b"9" * 5000 + b"}", "no JSON"),
        (answer_of(envelope(message={"content": ["x"]})).body, "content that is no text"),
        (answer_of(envelope(message={"refusal": 1})).body, "refusal that is no text"),
        (answer_of(envelope(message={"tool_calls": "x"})).body, "no list"),
        (answer_of(envelope(message={"tool_calls": [{"id": "1"}]})).body, "without a function"),
        (answer_of(envelope(message={"tool_calls": [7]})).body, "without a function"),
    ],
)
def test_what_is_no_answer_is_a_bad_response(body: bytes, words: str) -> None:
    error = refused(body)
    assert isinstance(error, RetryableError)
    assert error.error_class == "BadResponse"
    assert words in str(error)
    assert "\n" not in str(error)


# rule 10
@pytest.mark.parametrize(
    ("code", "error_class"),
    [("insufficient_quota", "Quota"), ("rate_limit_exceeded", "RateLimited")],
)
def test_an_error_with_status_200_is_known_by_its_code(code: str, error_class: str) -> None:
    assert refused(answer_of({"error": {"code": code}}).body).error_class == error_class


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_an_answer_without_text_is_an_answer(content: str | None) -> None:
    assert read(good(content).body).text == content


# T07
def test_reasoning_is_no_text() -> None:
    message = {"content": None, "reasoning": "hm", "reasoning_content": "hm"}
    assert read(answer_of(envelope(message=message)).body).text is None


# rule 7
def test_what_is_unknown_is_ignored() -> None:
    body = answer_of(envelope(message={"x": 1, "function_call": None}, extra={"y": []})).body
    assert read(body).text == "{}"


def test_a_mark_of_byte_order_and_broken_utf_8_are_read() -> None:
    body = b"\xef\xbb\xbf" + good("a b").body.replace(b"a b", b"a\xffb")
    assert read(body).text == "a\ufffdb"


# rule 15
@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ({"a": 1}, '{"a":1}'),
        ("", "{}"),
        ("  ", "{}"),
        (None, "{}"),
        ("{} trailing", "{} trailing"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ([1], "[1]"),
    ],
)
def test_arguments_are_text_in_every_shape(given: object, arguments: str) -> None:
    (call,) = read(picked(("Plan", given)).body).calls
    assert (call.name, call.arguments) == ("Plan", arguments)


# rule 15: twice the same name in an object is refused with the whole envelope
def test_arguments_with_a_name_twice_are_refused() -> None:
    body = picked(("Plan", {"a": 1})).body.replace(b'{"a": 1}', b'{"a": 1, "a": 2}')
    assert refused(body).error_class == "BadResponse"


# T02
def test_every_call_of_an_answer_is_seen() -> None:
    assert len(read(picked(*[("Search", "{}")] * 8).body).calls) == 8


def test_a_call_without_a_name_names_no_action() -> None:
    calls = [{"function": {"arguments": "{}"}}, {"function": {"name": 7}}]
    reply = read(answer_of(envelope(message={"tool_calls": calls})).body)
    assert [call.name for call in reply.calls] == ["", ""]


# rule 6: the reason is passed on; whatever it is, content and calls are there too.
@pytest.mark.parametrize("reason", ["stop", "length", "content_filter", "tool_calls", None, 7])
def test_the_finish_reason_is_a_hint(reason: Any) -> None:  # noqa: ANN401
    message = {"tool_calls": [{"function": {"name": "Plan", "arguments": ""}}]}
    reply = read(answer_of(envelope(message=message, finish_reason=reason)).body)
    assert reply.calls
    assert reply.text == "{}"
    assert reply.finish_reason == (reason if isinstance(reason, str) else None)


# T16
def test_a_refusal_is_kept_apart() -> None:
    reply = read(answer_of(envelope(message={"content": None, "refusal": "I cannot."})).body)
    assert (reply.text, reply.refusal) == (None, "I cannot.")


# rule 7, rule 9: usage is passed on as it was said; it is judged where it is charged.
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "12", "completion_tokens": -3},
        {"prompt_tokens": True, "completion_tokens": 1.5},
        {"prompt_tokens": None},
        {"prompt_tokens": [1]},
    ],
)
def test_usage_is_passed_on_as_it_was_said(usage: Mapping[str, object]) -> None:
    reply = read(answer_of(envelope(usage=usage)).body)
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == usage["prompt_tokens"]
    assert reply.usage.completion_tokens == usage.get("completion_tokens")


@pytest.mark.parametrize("usage", [None, [], "x", 7])
def test_no_usage_is_no_usage(usage: object) -> None:
    assert read(answer_of(envelope(usage=usage)).body).usage is None


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_is_no_number_in_json_is_refused(constant: bytes) -> None:
    body = good({}).body.replace(b'"prompt_tokens": 1000', b'"prompt_tokens": ' + constant)
    assert refused(body).error_class == "BadResponse"


# T09
def test_details_of_usage_are_read() -> None:
    usage = {
        **USAGE,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 80},
    }
    reply = read(answer_of(envelope(usage=usage)).body)
    assert reply.usage is not None
    assert (reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (900, 80)


# rule 17, E1
def test_text_that_no_record_can_hold_is_made_fit() -> None:
    message = {"content": "a\0b\ud83d", "refusal": "\udfff"}
    reply = read(answer_of(envelope(message=message)).body)
    assert (reply.text, reply.refusal) == ("a\ufffdb\ufffd", "\ufffd")


# rule 17, E1, S4.43
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_a_text_far_beyond_its_cap_is_cut_and_says_so(letter: str) -> None:
    reply = read(good(letter * 1_500_000).body)
    assert reply.is_cut
    assert reply.text
    assert LEAST_BYTES < len(reply.text.encode()) <= 64 * 512
    assert set(reply.text) == {letter}
    assert reply.finish_reason == "stop"


def test_a_cut_counts_text_and_calls_together() -> None:
    reply = read(picked(("Plan", "x" * 60_000), ("Search", "{}")).body, cap=16)
    assert reply.is_cut
    assert len(reply.calls[0].arguments) < LEAST_BYTES


# rule 19
def test_an_echoed_key_is_taken_out_of_an_answer() -> None:
    message = {"content": f"your key is {CANARY}", "refusal": CANARY}
    body = envelope(message=message, model=CANARY, system_fingerprint=f"fp {CANARY}")
    reply = read(answer_of(body).body)
    assert CANARY not in repr(reply)
    assert reply.text == "your key is [key]"
    assert CANARY not in repr(read(picked((CANARY, CANARY)).body))
    error = refused(answer_of({"error": {"message": f"bad {CANARY}"}}).body)
    assert "bad [key]" in str(error)


def test_a_permanent_error_with_status_200_is_not_tried_again() -> None:
    error = refused(answer_of({"error": {"code": "context_length_exceeded"}}).body)
    assert isinstance(error, PermanentError)
    assert error.error_class == "Overflow"


def test_a_short_key_is_no_secret_and_spoils_no_text() -> None:
    body = good("lamp").body
    assert reply_of(PROFILES[Backend.OLLAMA], body, max_output_tokens=9, key="lamp").text == "lamp"


def test_the_shapes_are_json() -> None:
    assert json.loads(good({}).body)["usage"]["prompt_tokens"] == 1000
