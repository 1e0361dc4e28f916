"""What real endpoints answer, as far as it is known of each kind: good answers and errors.

The shapes are those of docs/endpoints.md; the values are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from controller.api.model import Backend
from tests.endpoint.server import Answer

USAGE: Final[Mapping[str, Any]] = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
}

_USAGES: Final[Mapping[Backend, Mapping[str, Any]]] = {
    Backend.OPENAI: {
        **USAGE,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    },
    Backend.OLLAMA: USAGE,
    Backend.LLAMA_CPP: {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}},
    Backend.VLLM: {**USAGE, "prompt_tokens_details": None},
    Backend.OPENAI_COMPATIBLE: USAGE,
}

_OUTER: Final[Mapping[Backend, Mapping[str, Any]]] = {
    Backend.OPENAI: {"system_fingerprint": "fp_44709d6fcb", "service_tier": "default"},
    Backend.OLLAMA: {"system_fingerprint": "fp_ollama"},
    Backend.LLAMA_CPP: {
        "system_fingerprint": "b6500-abc",
        "timings": {"cache_n": 0, "prompt_n": 1000, "predicted_n": 100},
    },
    Backend.VLLM: {"prompt_logprobs": None, "kv_transfer_params": None},
    Backend.OPENAI_COMPATIBLE: {},
}

_INNER: Final[Mapping[Backend, Mapping[str, Any]]] = {
    Backend.OPENAI: {"refusal": None, "annotations": []},
    Backend.OLLAMA: {"reasoning": "Let me think."},
    Backend.LLAMA_CPP: {"reasoning_content": "Let me think."},
    Backend.VLLM: {"reasoning": "Let me think.", "tool_calls": [], "refusal": None},
    Backend.OPENAI_COMPATIBLE: {},
}


def envelope(
    backend: Backend = Backend.OPENAI,
    *,
    message: Mapping[str, Any] | None = None,
    finish_reason: str | None = "stop",
    **outer: Any,  # noqa: ANN401 - any field
) -> dict[str, Any]:
    """Return a completion as JSON; `message` and `outer` replace fields."""
    inner = {"role": "assistant", "content": "{}", **_INNER[backend], **(message or {})}
    choice = {"index": 0, "message": inner, "logprobs": None, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "served-name",
        "choices": [choice],
        "usage": _USAGES[backend],
        **_OUTER[backend],
        **outer,
    }


def good(
    content: object,
    backend: Backend = Backend.OPENAI,
    **outer: Any,  # noqa: ANN401 - any field
) -> Answer:
    """Return an answer with JSON content; a text is sent as it is."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    return answer_of(envelope(backend, message={"content": text}, **outer))


def picked(
    *calls: tuple[str, object],
    backend: Backend = Backend.OPENAI,
    **outer: Any,  # noqa: ANN401
) -> Answer:
    """Return an answer that picks actions; arguments are put in as they are."""
    made = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": given}}
        for at, (name, given) in enumerate(calls)
    ]
    message = {"content": None, "tool_calls": made}
    return answer_of(envelope(backend, message=message, finish_reason="tool_calls", **outer))


def answer_of(document: object, status: int = 200, **headers: str) -> Answer:
    """Return any JSON as an answer; underscores in names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(document).encode(), named)


def with_headers(answer: Answer, **headers: str) -> Answer:
    """Return an answer with further headers."""
    return replace(answer, headers={**answer.headers, **answer_of({}, 200, **headers).headers})


def _openai(status: int, message: str, kind: str, code: str | None) -> Answer:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return answer_of({"error": error}, status)


def _coded(status: int, message: str, kind: str, **more: object) -> Answer:
    """Return an error as llama.cpp and vLLM write it: the code is the status."""
    return answer_of({"error": {"code": status, "message": message, "type": kind, **more}}, status)


HTML: Final = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

_OPENAI_ERRORS: Final[Mapping[str, Answer]] = {
    "Overflow": _openai(
        400, "This model's maximum context length is 8192 tokens.", "invalid_request_error",
        "context_length_exceeded",
    ),
    "Quota": _openai(
        429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"
    ),
    "RateLimited": _openai(429, "Rate limit reached.", "requests", "rate_limit_exceeded"),
    "Credentials": _openai(
        401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"
    ),
    "ModelNotServed": _openai(
        404, "The model `x` does not exist.", "invalid_request_error", "model_not_found"
    ),
    "ContentFiltered": _openai(
        400, "The response was filtered.", "invalid_request_error", "content_filter"
    ),
    "BadRequest": _openai(
        400, "Unsupported parameter: 'max_tokens'.", "invalid_request_error",
        "unsupported_parameter",
    ),
    "ServerError": _openai(500, "The server had an error.", "server_error", None),
}  # fmt: skip

ERRORS: Final[Mapping[Backend, Mapping[str, Answer]]] = {
    Backend.OPENAI: _OPENAI_ERRORS,
    Backend.OLLAMA: {
        "Overflow": _openai(
            400, "the prompt exceeds the context length", "invalid_request_error", None
        ),
        "ModelNotServed": _openai(404, 'model "x" not found', "not_found_error", None),
        "BadRequest": _openai(
            400, "invalid tool call arguments", "invalid_request_error", None
        ),
        "ServerError": _openai(503, "server busy, please try again", "api_error", None),
    },
    Backend.LLAMA_CPP: {
        "Overflow": _coded(
            400, "the request exceeds the available context size", "exceed_context_size_error",
            n_prompt_tokens=9000, n_ctx=8192,
        ),
        "Credentials": _coded(401, "Invalid API Key", "authentication_error"),
        "Loading": _coded(503, "Loading model", "unavailable_error"),
        "BadRequest": _coded(500, "failed to parse grammar", "server_error"),
        "ServerError": _coded(500, "slot unavailable", "server_error"),
        "ModelNotServed": _coded(404, "File Not Found", "not_found_error"),
    },
    Backend.VLLM: {
        "Overflow": _coded(
            400, "This model's maximum context length is 8192 tokens.", "BadRequestError"
        ),
        "Credentials": answer_of({"error": "Unauthorized"}, 401),
        "ModelNotServed": _coded(404, "The model `x` does not exist.", "NotFoundError"),
        "BadRequest": _coded(400, '"auto" tool choice requires a flag', "BadRequestError"),
        "ServerError": _coded(500, "Internal server error", "InternalServerError"),
    },
    Backend.OPENAI_COMPATIBLE: {
        **_OPENAI_ERRORS,
        "Loading": _coded(503, "Loading model", "unavailable_error"),
        "Credentials": answer_of({"detail": "Not authenticated"}, 403),
        "Quota": answer_of({"message": "Payment required"}, 402),
    },
}  # fmt: skip
"""The error of each class on each kind of endpoint that can produce it, by its known shape."""
