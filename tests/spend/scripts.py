"""Random scripts of what an endpoint does over HTTP: answers, errors, odd usage, silence."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.api.model import Backend
from controller.models.backends import PROFILES
from tests.endpoint.server import Answer, Delivery, Received, Turn
from tests.endpoint.shapes import ERRORS, HTML, answer_of, envelope, picked, with_headers
from tests.liar.asked import Asked
from tests.world import LAMP_MANUAL

REQUEST_TIMEOUT_SECONDS: Final = 5
SKIPPED_SECONDS: Final = 7
"""How far the loop's clock is moved while an endpoint is silent: past the client's patience."""

QUOTES: Final = tuple(LAMP_MANUAL["file:lamp.txt"].values())

RETRY_AFTER: Final = ("7", "1.5", "0", "-1", "abc", "999999", "Wed, 21 Oct 2099 07:28:00 GMT")

STATUSES: Final = (302, 307, 400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529)

USAGES: Final[tuple[object, ...]] = (
    None,
    {},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": -5, "completion_tokens": 10},
    {"prompt_tokens": "700", "completion_tokens": "20"},
    {"prompt_tokens": True, "completion_tokens": 10},
    {"prompt_tokens": 700.5, "completion_tokens": 10},
    {"prompt_tokens": 2**50, "completion_tokens": 10},
    {"prompt_tokens": 700},
    {"prompt_tokens": 700, "completion_tokens": None},
    {"prompt_tokens": 12, "completion_tokens": 10},
    {
        "prompt_tokens": 700,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 9000},
    },
    {
        "prompt_tokens": 700,
        "completion_tokens": 20,
        "completion_tokens_details": {"reasoning_tokens": 15},
    },
)

OVER_THE_TOP: Final[tuple[object, ...]] = (
    {"prompt_tokens": 700, "completion_tokens": 5000},  # the cap is ignored
    {"prompt_tokens": 9000, "completion_tokens": 20},  # the prompt was underestimated
)


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be moved: nobody waits for what will not come."""

    _skipped = 0.0

    def time(self) -> float:
        """Return the loop's time."""
        return super().time() + self._skipped

    def skip(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._skipped += seconds


@dataclass
class Script:
    """What an endpoint does, by a seed: `turn` answers one request."""

    backend: Backend
    dice: random.Random

    def turn(self, received: Received) -> Answer:
        """Do the next thing."""
        return self.dice.choices(self._ways(), self._weights())[0](received)

    def _ways(self) -> list[Callable[[Received], Answer]]:
        return [
            self._good, self._odd_usage, self._over_the_top, self._useless, self._error,
            self._status, self._broken_off, self._silent,
        ]  # fmt: skip

    @staticmethod
    def _weights() -> list[int]:
        return [10, 4, 1, 4, 2, 2, 2, 1]

    def _good(self, received: Received) -> Answer:
        return self._answered(received, self._honest(received))

    def _odd_usage(self, received: Received) -> Answer:
        return self._answered(received, self.dice.choice(USAGES))

    def _over_the_top(self, received: Received) -> Answer:
        return self._answered(received, self.dice.choice(OVER_THE_TOP))

    def _useless(self, received: Received) -> Answer:
        """Send an envelope with nothing in it that could be taken."""
        messages: list[Mapping[str, Any]] = [
            {"content": None}, {"content": ""}, {"content": "{"}, {"content": "I will."},
            {"content": None, "refusal": "no"},
        ]  # fmt: skip
        ending = self.dice.choice(["stop", "length", "content_filter", None, "tool_calls"])
        envelopes = [
            self._envelope(received, self.dice.choice(messages), ending),
            {**self._envelope(received, {}, ending), "choices": []},
            {**self._envelope(received, {}, ending), "choices": None},
            {"error": {"message": "no", "code": None}},
            [],
        ]
        return answer_of(self.dice.choice(envelopes))

    def _error(self, _: Received) -> Answer:
        """Send an error in a shape that this kind of endpoint is known for."""
        answer = self.dice.choice(list(ERRORS[self.backend].values()))
        return self._patient(answer)

    def _status(self, _: Received) -> Answer:
        body = self.dice.choice([b"", HTML, b'{"error": "no"}', b'{"detail": "no"}'])
        answer = Answer(self.dice.choice(STATUSES), body, {"location": "http://127.0.0.1:9/v1"})
        return self._patient(answer)

    def _patient(self, answer: Answer) -> Answer:
        if self.dice.random() < 0.5:
            return answer
        return with_headers(answer, retry_after=self.dice.choice(RETRY_AFTER))

    def _broken_off(self, received: Received) -> Answer:
        ways = (Delivery.CUT, Delivery.RESET_BEFORE, Delivery.RESET_DURING, Delivery.RESET_AFTER)
        return replace(self._good(received), delivery=self.dice.choice(ways))

    def _silent(self, received: Received) -> Answer:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        loop.skip(SKIPPED_SECONDS)
        ways = (Delivery.SILENCE, Delivery.HEADERS_THEN_SILENCE, Delivery.HALF_THEN_SILENCE)
        return replace(self._good(received), delivery=self.dice.choice(ways))

    def _answered(self, received: Received, usage: object) -> Answer:
        """Answer what was asked, with some usage."""
        asked = Asked.of(received)
        if asked.wanted == "action":
            return self._picked(asked, usage)
        content = json.dumps(self._content(asked))
        return answer_of(envelope(self.backend, message={"content": content}, usage=usage))

    def _picked(self, asked: Asked, usage: object) -> Answer:
        name, schema = self.dice.choice(list(asked.actions.items()))
        fields = schema.get("properties", {})
        given = {n: self.dice.choice(f["enum"]) for n, f in fields.items() if "enum" in f}
        given |= {"query": f"lamp {self.dice.randint(1, 3)}"} if "query" in fields else {}
        given |= {"fields": ["voltage"]} if "fields" in fields else {}
        if PROFILES[self.backend].has_tools:
            return picked((name, json.dumps(given)), backend=self.backend, usage=usage)
        content = json.dumps({"action": name, "arguments": given})
        return answer_of(envelope(self.backend, message={"content": content}, usage=usage))

    def _content(self, asked: Asked) -> dict[str, Any]:
        quote = self.dice.choice(["", *QUOTES])
        named = next(iter(asked.named), "")
        by_kind: Mapping[str, list[Any]] = {
            "quotes": [{"passage": "p1", "quote": quote, "claim": self.dice.choice(["", quote])}],
            "sentences": [{"sentence": quote, "facts": [named]}],
            "doubts": [{"claim": "c1", "why": "no"}] if self.dice.random() < 0.3 else [],
            "queries": [{"question": i, "query": "lamp"} for i in asked.questions],
            "questions": [{"question": "What is GLOW_LEVEL?", "queries": ["lamp"]}],
        }
        return {asked.wanted: by_kind[asked.wanted]}

    def _honest(self, received: Received) -> dict[str, int]:
        return {"prompt_tokens": max(1, len(received.body) // 4), "completion_tokens": 30}

    def _envelope(
        self, received: Received, message: Mapping[str, Any], ending: str | None
    ) -> dict[str, Any]:
        usage = self._honest(received)
        return envelope(self.backend, message=message, finish_reason=ending, usage=usage)


def script_of(seed: int, backend: Backend) -> Turn:
    """Return what an endpoint does at each request, by a seed."""
    return Script(backend, random.Random(f"script {seed}")).turn  # noqa: S311 - no secret
