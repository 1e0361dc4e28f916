"""What is asked of a model and what it answers, as data: the same for every endpoint.

A request is made by the pure core from a situation, so that its size is known before a budget is
asked, and a replay makes it again byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.api.base import canonical_json, digest_of


@dataclass(frozen=True)
class Tool:
    """An action that a model may pick: its name, what it is for, and a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """One request: exactly one of `answer_schema` and `tools` says how it is to be answered.

    `max_output_tokens` is always sent: an answer without a cap may have no end. `template` is the
    name and version of the prompt's words, `shown` how many passages, facts or claims are in it.
    """

    instructions: str
    prompt: str
    max_output_tokens: int
    answer_schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    template: str = ""
    shown: int = 0

    @property
    def _content(self) -> list[Any]:
        tools = [[t.name, t.description, dict(t.parameters)] for t in self.tools]
        return [self.instructions, self.prompt, dict(self.answer_schema or {}), tools]

    @property
    def size(self) -> int:
        """All that an endpoint may count as prompt, in bytes of UTF-8."""
        return len(canonical_json(self._content).encode())

    @property
    def digest(self) -> str:
        """The digest of all that is asked."""
        return digest_of([*self._content, self.max_output_tokens])


@dataclass(frozen=True)
class ToolCall:
    """One action that a model picked: arguments are JSON, as it wrote them."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ReportedUsage:
    """What an endpoint says that a call used, in tokens, as it said it: nothing is checked yet.

    `cached_tokens` are a part of `prompt_tokens`, `reasoning_tokens` of `completion_tokens`.
    """

    prompt_tokens: object = None
    completion_tokens: object = None
    cached_tokens: object = None
    reasoning_tokens: object = None


@dataclass(frozen=True)
class ModelReply:
    """What a model answered. `finish_reason` is a hint; only `length` is believed.

    `model` and `fingerprint` are what the endpoint calls itself. `is_cut`: the answer was far
    longer than its cap can be, and only its beginning is here.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    usage: ReportedUsage | None = None
    model: str | None = None
    fingerprint: str | None = None
    is_cut: bool = False

    @property
    def said(self) -> str:
        """All that the model said, as one text: its words, its calls as JSON, its refusal."""
        calls = [[call.name, call.arguments] for call in self.calls]
        parts = (self.text, canonical_json(calls) if calls else None, self.refusal)
        return "\n".join(part for part in parts if part)
