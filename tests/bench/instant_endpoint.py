"""An endpoint that answers at once, as a process: `python -m tests.bench.instant_endpoint`.

It quotes the default of what the question names, with a claim in words of its own, and doubts
nothing, so that a task reaches its goal and each question takes two calls.
Its base URL is the first line that it prints; it ends when its standard input does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import repeat

from tests.endpoint.server import Answer, Received, RunningEndpoint, ScriptedEndpoint

_NAMED = re.compile(r"^- [\w-]+: What is the default of (\w+)\?$", re.MULTILINE)
_PASSAGE = re.compile(
    r"^=== \w+ (p\d+)\n((?:(?!===).*\n)*?)(Default: (\d+) lumens .*)$", re.MULTILINE
)


def answered(received: Received) -> Answer:
    """Return what is asked for, with the usage that an honest endpoint reports."""
    prompt = received.prompt
    content = json.dumps(_content(prompt))
    document = {
        "id": "instant",
        "object": "chat.completion",
        "model": "instant",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(content) // 4 + 1},
    }
    return Answer(body=json.dumps(document).encode())


def _content(prompt: str) -> dict[str, object]:
    if "Copy from the passages" in prompt:
        return {"quotes": list(_quotes(prompt))}
    if "Each claim below" in prompt:
        return {"doubts": []}
    if "The research is done" in prompt:
        return {"sentences": []}
    return {"queries": []}


def _quotes(prompt: str) -> Iterator[dict[str, str]]:
    for name in _NAMED.findall(prompt):
        for passage, headings, quote, number in _PASSAGE.findall(prompt):
            if name in headings:
                claim = f"By default {name} is {number} lumens at the lowest dimmer position."
                yield {"passage": passage, "quote": quote, "claim": claim}
                break


def main() -> None:
    """Serve until standard input ends."""
    with RunningEndpoint(ScriptedEndpoint(repeat(answered), models=("instant",))) as endpoint:
        print(endpoint.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
