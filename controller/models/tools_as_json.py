"""Actions offered as JSON, for endpoints whose tools cannot be relied on.

Some servers ignore tools with status 200, some refuse them unless a flag was set at their start.
All of them can answer with JSON, so the choice of an action is asked for as one object, and read
back as the call that it stands for. What cannot be read stays a text: it names no action.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from controller.api.base import canonical_json
from controller.loop.exchange import ModelReply, ModelRequest, ToolCall
from controller.models.provider_text import storable


def as_answer(request: ModelRequest) -> ModelRequest:
    """Return a request for a call of a tool as one for a JSON answer."""
    offered = "\n".join(
        f"- {t.name}: {t.description} Arguments: {canonical_json(dict(t.parameters))}"
        for t in request.tools
    )
    told = (
        f'{request.instructions}\nAnswer with {{"action": NAME, "arguments": {{...}}}}. '
        f"The actions are:\n{offered}"
    )
    return replace(request, instructions=told, answer_schema=_schema(request), tools=())


def as_call(reply: ModelReply) -> ModelReply:
    """Return a JSON answer as the call that it stands for; any other stays as it is."""
    try:
        answer = json.loads(reply.text or "", object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return reply
    if not isinstance(answer, dict) or not isinstance(answer.get("action"), str):
        return reply
    arguments = answer.get("arguments")
    written = "{}" if arguments is None else storable(canonical_json(arguments))
    call = ToolCall(storable(answer["action"]), written)
    return replace(reply, text=None, calls=(*reply.calls, call))


def _schema(request: ModelRequest) -> dict[str, Any]:
    """Return types and enumerations alone: all else is checked where the proposal is judged."""
    properties: dict[str, Any] = {}
    for tool in request.tools:
        for name, schema in tool.parameters.get("properties", {}).items():
            properties[name] = _either(properties[name], schema) if name in properties else schema
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": [tool.name for tool in request.tools]},
            "arguments": {"type": "object", "properties": properties},
        },
        "required": ["action", "arguments"],
    }


def _either(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return a schema for what one of two allows: two actions may have arguments of one name."""
    if "enum" not in first or "enum" not in second:
        return first
    return {**first, "enum": list(dict.fromkeys((*first["enum"], *second["enum"])))}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)
