"""An endpoint that answers at once, as a process: `python -m tests.bench.instant_endpoint`.

It quotes the line that the first passage begins its default with, so that a task reaches its goal.
Its base URL is the first line that it prints; it ends when its standard input does.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import repeat

from tests.endpoint.server import Answer, Received, RunningEndpoint, ScriptedEndpoint

_DEFAULT = re.compile(r"^=== \w+ (p\d+)\n(?:.*\n)*?(Default: .*)$", re.MULTILINE)


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
        found = _DEFAULT.search(prompt)
        quotes = [{"passage": found[1], "quote": found[2], "claim": ""}] if found else []
        return {"quotes": quotes}
    if "The research is done" in prompt:
        return {"sentences": []}
    return {"queries": []}


def main() -> None:
    """Serve until standard input ends."""
    with RunningEndpoint(ScriptedEndpoint(repeat(answered), models=("instant",))) as endpoint:
        print(endpoint.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
