"""What a request to a model asks for, read from its bytes as a model would read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.endpoint.server import Received

_NAMED: Final = re.compile(
    r"^(=== [0-9a-f]{12}) (?P<name>\w+)\n(?P<text>.*?)(?=^\1 )", re.MULTILINE | re.DOTALL
)
_QUESTION: Final = re.compile(r"^- (?P<id>[\w-]+)(?: \([^)]*\))?: (?P<text>.+)$", re.MULTILINE)
_SCHEMA: Final = "The JSON schema of the answer: "
_ACTIONS: Final = re.compile(r"^- (\w+): .*? Arguments: (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """What a request asks for: the list that its answer has, or actions to pick from."""

    prompt: str
    wanted: str
    actions: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, received: Received) -> Asked:
        """Read a request as a model would."""
        body = received.json
        actions = {
            t["function"]["name"]: t["function"]["parameters"] for t in body.get("tools", ())
        }
        system = body["messages"][0]["content"]
        if not actions:
            actions = {name: json.loads(given) for name, given in _ACTIONS.findall(system)}
        if actions:
            return cls(received.prompt, "action", actions)
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
        else:
            schema = json.loads(system.partition(_SCHEMA)[2])
        return cls(received.prompt, next(iter(schema["properties"])), {})

    @property
    def named(self) -> dict[str, str]:
        """The texts of the prompt that have names."""
        return {m["name"]: m["text"] for m in _NAMED.finditer(self.prompt)}

    @property
    def questions(self) -> dict[str, str]:
        """The questions of the prompt, by id."""
        return {m["id"]: m["text"] for m in _QUESTION.finditer(self.prompt)}
