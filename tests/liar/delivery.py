"""How the liar sends what it has written: whole, broken, something else, or without end."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.api.model import Backend
from controller.models.backends import PROFILES
from tests.endpoint.server import Answer, Delivery
from tests.endpoint.shapes import answer_of, envelope, picked
from tests.liar.lies import Inventor, Lie, LieClass, Part

NO_ACTION: Final = "I need no action."

BEYOND_THE_CAP: Final = 1200
"""What an answer that ignores the cap is said to have, in tokens; the cap is 512."""


@dataclass(frozen=True)
class Sent:
    """An HTTP answer, and the lie that the whole of it is, if it is one."""

    answer: Answer
    lie: Lie | None = None


class Speaker:
    """Sends answers for one kind of endpoint, by a seed.

    `drips` is how many of them may come drop by drop for ever: each takes the whole time that the
    client gives an answer.
    """

    def __init__(self, backend: Backend, seed: int, invent: Inventor, drips: int) -> None:
        self._backend = backend
        self._random = random.Random(f"speaker {seed}")  # noqa: S311 - it is no secret
        self._invent = invent
        self._drips = drips

    def content(self, content: Mapping[str, Any], prompt: int) -> Sent:
        """Send JSON to a prompt of so many tokens, or what is none."""
        text = json.dumps(content, ensure_ascii=False)
        dice = self._random.random()
        if dice < 0.06:
            return self._instead(LieClass.BROKEN_JSON, self._invent.broken(text), prompt)
        if dice < 0.1:
            return self._endless(text, prompt)
        if dice < 0.12:
            return self._instead(LieClass.SAYS_DONE, self._invent.done(), prompt)
        return Sent(self._whole(text, prompt))

    def calls(self, calls: Sequence[tuple[str, Any]], prompt: int) -> Sent:
        """Send calls of tools, as JSON where the endpoint knows no tools."""
        if not calls:
            return Sent(self._whole(NO_ACTION, prompt))
        if PROFILES[self._backend].has_tools:
            written = [(name, json.dumps(given)) for name, given in calls]
            usage = {"prompt_tokens": prompt, "completion_tokens": 20}
            return Sent(picked(*written, backend=self._backend, usage=usage))
        answers = [json.dumps({"action": name, "arguments": given}) for name, given in calls]
        return Sent(self._whole("".join(answers), prompt))

    def refusal(self, canary: str, lie_class: LieClass, prompt: int) -> Sent:
        """Refuse, in the words that a page has ordered."""
        usage = {"prompt_tokens": prompt, "completion_tokens": 12}
        message = {"content": None, "refusal": f"{canary} is all that I may say."}
        sent = envelope(self._backend, message=message, usage=usage)
        return Sent(answer_of(sent), Lie(lie_class, Part.ANSWER, canary))

    def _instead(self, lie_class: LieClass, text: str, prompt: int) -> Sent:
        return Sent(self._whole(text, prompt), Lie(lie_class, Part.ANSWER, text))

    def _endless(self, text: str, prompt: int) -> Sent:
        """Talk on: beyond the cap, to the cap, for ever, or drop by drop."""
        babble = f"{self._invent.done()} " * 200
        lie = Lie(LieClass.ENDLESS, Part.ANSWER, babble[:80])
        ways = ["beyond the cap", "cut at the cap", "without end", "far too long"]
        way = self._random.choice([*ways, "drops"] if self._drips else ways)
        if way == "beyond the cap":
            long = text + " " * 4000
            return Sent(self._whole(long, prompt, completion=BEYOND_THE_CAP), lie)
        if way == "cut at the cap":
            return Sent(self._whole(text + babble, prompt, ending="length", completion=512), lie)
        if way == "without end":
            return Sent(replace(self._whole(babble, prompt), times=600), lie)
        if way == "far too long":
            return Sent(self._whole(babble * 30, prompt, completion=4000), lie)
        self._drips -= 1
        return Sent(replace(self._whole(babble, prompt), delivery=Delivery.DRIP), lie)

    def _whole(
        self, text: str, prompt: int, *, ending: str = "stop", completion: int | None = None
    ) -> Answer:
        tokens = max(1, min(len(text) // 4, 500)) if completion is None else completion
        usage = {"prompt_tokens": prompt, "completion_tokens": tokens}
        message = {"content": text}
        return answer_of(
            envelope(self._backend, message=message, finish_reason=ending, usage=usage)
        )
