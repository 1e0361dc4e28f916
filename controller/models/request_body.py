"""A request as the JSON that an endpoint is sent, by its profile. Pure.

One turn of conversation: instructions and prompt. No history is replayed, so no call is left
without its output and no malformed argument ever comes back to an endpoint.
"""

from __future__ import annotations

from typing import Any

from controller.api.base import canonical_json
from controller.api.model import ResearchModelSpec
from controller.loop.exchange import ModelRequest
from controller.models.backends import Profile
from controller.models.provider_text import storable
from controller.models.tools_as_json import as_answer


def request_body(
    profile: Profile, spec: ResearchModelSpec, request: ModelRequest
) -> dict[str, Any]:
    """Return the body of one request. Not streamed; the output cap is always in it."""
    is_told = profile.tells_schema
    if is_offered_as_json(profile, request):
        request, is_told = as_answer(request), False  # its instructions have it all
    body: dict[str, Any] = {
        "model": spec.model,
        "messages": [
            {"role": "system", "content": storable(_instructions(request, is_told=is_told))},
            {"role": "user", "content": storable(request.prompt)},
        ],
        "temperature": float(spec.temperature),
        profile.output_cap: request.max_output_tokens,
    }
    if profile.knows_seed:
        body["seed"] = spec.seed
    if request.answer_schema is not None and profile.sends_schema:
        # Not strict: that would ask for every property to be required, and it proves nothing.
        schema = {"name": "answer", "strict": False, "schema": dict(request.answer_schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
        if profile.chooses_tools:
            body |= {"tool_choice": "required", "parallel_tool_calls": False}
    return body


def is_offered_as_json(profile: Profile, request: ModelRequest) -> bool:
    """Say whether the choice of an action is asked for as a JSON answer."""
    return bool(request.tools) and not profile.has_tools


def _instructions(request: ModelRequest, *, is_told: bool) -> str:
    if request.answer_schema is None or not is_told:
        return request.instructions
    schema = canonical_json(dict(request.answer_schema))
    return f"{request.instructions}\nThe JSON schema of the answer: {schema}"
