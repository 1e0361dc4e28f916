"""What is known of each kind of endpoint, as data: one profile a `Backend`.

Nothing here is found out by trying: a parameter that an endpoint does not know costs a request, and
one that it silently ignores costs more. Only what every server of a kind understands is sent.
docs/endpoints.md has the same as a table for people, with what is known not to work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from controller.api.model import Backend


@dataclass(frozen=True)
class Sign:
    """What an error of one class is known by: its code, its type, or words of its message.

    Codes and types are compared whole, messages by the lower-case words that they contain.
    """

    error_class: str
    codes: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """What one kind of endpoint understands.

    `output_cap` is the name of the parameter that bounds an answer. `sends_schema`: the answer's
    schema goes as `response_format`. `tells_schema`: it stands in the instructions as well, since
    the endpoint shows it to the model by no other way. `has_tools`: actions are offered as tools,
    else as JSON. `chooses_tools`: `tool_choice` and `parallel_tool_calls` are understood.
    `knows_seed`: a seed is sent. `checks_name`: another model's name is refused, so the list of
    models says something. `base_url` is used where the spec has none.
    """

    output_cap: str
    sends_schema: bool
    tells_schema: bool
    has_tools: bool
    chooses_tools: bool
    knows_seed: bool
    checks_name: bool
    signs: tuple[Sign, ...]
    base_url: str | None = None


_OPENAI_SIGNS: Final = (
    Sign("Overflow", codes=frozenset({"context_length_exceeded"})),
    Sign(
        "Quota",
        codes=frozenset(
            {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"},
        ),
        types=frozenset({"insufficient_quota"}),
    ),
    Sign("RateLimited", codes=frozenset({"rate_limit_exceeded"})),
    Sign("Credentials", codes=frozenset({"invalid_api_key"})),
    Sign("ModelNotServed", codes=frozenset({"model_not_found"})),
    Sign(
        "ContentFiltered",
        codes=frozenset({"content_filter", "content_policy_violation"}),
    ),
    Sign("BadRequest", codes=frozenset({"unsupported_parameter", "unsupported_value"})),
)

_OLLAMA_SIGNS: Final = (
    Sign("ModelNotServed", types=frozenset({"not_found_error"})),
    Sign("Overflow", messages=("context length", "context size")),
)

_LLAMA_CPP_SIGNS: Final = (
    Sign("Overflow", types=frozenset({"exceed_context_size_error"})),
    Sign("Loading", types=frozenset({"unavailable_error"})),
    Sign("Credentials", types=frozenset({"authentication_error"})),
    Sign("ModelNotServed", types=frozenset({"not_found_error"})),
    Sign(  # 500 for what was wrong in the request
        "BadRequest",
        types=frozenset({"invalid_request_error", "not_supported_error"}),
        messages=("grammar", "json_schema"),
    ),
)

_VLLM_SIGNS: Final = (
    Sign("ModelNotServed", types=frozenset({"NotFoundError"})),
    Sign("Overflow", messages=("maximum context length", "maximum model length")),
)

PROFILES: Final[Mapping[Backend, Profile]] = {
    Backend.OPENAI: Profile(
        output_cap="max_completion_tokens",
        sends_schema=True,
        tells_schema=False,
        has_tools=True,
        chooses_tools=True,
        knows_seed=True,
        checks_name=True,
        signs=_OPENAI_SIGNS,
        base_url="https://api.openai.com/v1",
    ),
    Backend.OLLAMA: Profile(
        output_cap="max_tokens",
        sends_schema=True,
        tells_schema=True,
        has_tools=True,
        chooses_tools=False,
        knows_seed=True,
        checks_name=True,
        signs=_OLLAMA_SIGNS,
    ),
    Backend.LLAMA_CPP: Profile(
        output_cap="max_tokens",
        sends_schema=True,
        tells_schema=True,
        has_tools=False,
        chooses_tools=False,
        knows_seed=True,
        checks_name=False,
        signs=_LLAMA_CPP_SIGNS,
    ),
    Backend.VLLM: Profile(
        output_cap="max_tokens",
        sends_schema=True,
        tells_schema=True,
        has_tools=False,
        chooses_tools=False,
        knows_seed=True,
        checks_name=True,
        signs=_VLLM_SIGNS,
    ),
    Backend.OPENAI_COMPATIBLE: Profile(
        output_cap="max_tokens",
        sends_schema=False,
        tells_schema=True,
        has_tools=False,
        chooses_tools=False,
        knows_seed=False,
        checks_name=True,
        signs=(*_OPENAI_SIGNS, *_LLAMA_CPP_SIGNS, *_VLLM_SIGNS, *_OLLAMA_SIGNS),
    ),
}
"""The profiles. `OpenAICompatible` stands for a server of which nothing is known: it is sent what
every server understands, and the schema stands in the instructions."""


def base_url_of(backend: Backend, given: str | None) -> str:
    """Return the address of an endpoint: the spec's, or that of the one provider that has one."""
    url = given or PROFILES[backend].base_url
    assert url is not None, "the API server refuses a model without baseURL unless it is OpenAI's"
    return url
