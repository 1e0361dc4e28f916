"""A model that plays a script: deterministic, for tests of tasks without an endpoint.

A script is any iterable of turns, an endless one for a model that never changes its mind. A turn is
a reply, an error, a pause that never ends, or a function of the request. `docs/testing.md` shows
whole tasks that run on it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.api.errors import ActionError, PermanentError
from controller.api.model import ResearchModel
from controller.api.model_call import ModelTerms, terms_of
from controller.loop.accounting import estimated_tokens
from controller.loop.exchange import ModelReply, ModelRequest, ReportedUsage, ToolCall
from controller.ports import Sampling


@dataclass(frozen=True)
class NoAnswer:
    """A turn in which the endpoint takes the request and never answers."""


Answering = Callable[[ModelRequest], ModelReply | Awaitable[ModelReply]]
"""A turn of one's own: a function, or a coroutine, of the request."""

Turn = ModelReply | ActionError | NoAnswer | Answering
"""What a scripted model does with one request."""

LOCAL_TERMS: Final = ModelTerms(
    name="scripted",
    generation=1,
    context_window_tokens=8192,
    max_output_tokens=512,
    input_price=0,
    output_price=0,
)
"""The terms of a model of one's own: a usual window, and no price."""


class ScriptedModel:
    """Plays a script, one turn a request. It implements `ports.Model`.

    `requests` has what was asked, in order.
    """

    def __init__(self, script: Iterable[Turn], terms: ModelTerms = LOCAL_TERMS) -> None:
        self.terms = terms
        self.sampling = Sampling(requested_model="scripted", temperature="0", seed=0)
        self.requests: list[ModelRequest] = []
        self._script: Iterator[Turn] = iter(script)

    async def probe(self) -> str | None:
        """Return that nothing is odd."""
        return None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Play the next turn.

        Raises:
            ActionError: the turn says so.
            PermanentError: the script has no turn left (class `ScriptEnded`).
        """
        self.requests.append(request)
        turn = next(self._script, None)
        if turn is None:
            raise PermanentError("ScriptEnded", f"the script has {len(self.requests) - 1} turns")
        if isinstance(turn, ActionError):
            raise turn
        return _with_usage(await _played(turn, request), request)


async def _played(turn: ModelReply | NoAnswer | Answering, request: ModelRequest) -> ModelReply:
    if isinstance(turn, ModelReply):
        return turn
    if isinstance(turn, NoAnswer):
        never: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
        return await never
    reply = turn(request)
    return reply if isinstance(reply, ModelReply) else await reply


def silent_model(resource: ResearchModel) -> ScriptedModel:
    """Return a model without a turn, for homes of tasks that ask none."""
    return ScriptedModel((), terms_of(resource))


def answer(content: object, **changes: Any) -> ModelReply:  # noqa: ANN401 - fields of a reply
    """Return a reply with JSON content; a text is sent as it is."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return ModelReply(text=text, finish_reason="stop", **changes)


def call(name: str, arguments: Mapping[str, object] | str = "") -> ModelReply:
    """Return a reply that picks one action; arguments may be a text, as broken as it likes."""
    return calls((name, arguments))


def calls(*picked: tuple[str, Mapping[str, object] | str]) -> ModelReply:
    """Return a reply that picks several actions at once."""
    return ModelReply(
        calls=tuple(
            ToolCall(name, a if isinstance(a, str) else json.dumps(a)) for name, a in picked
        ),
        finish_reason="tool_calls",
    )


def _with_usage(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Return a reply with the usage that an honest endpoint would report, if it has none."""
    if reply.usage is not None:
        return reply
    said = (reply.text or "") + "".join(c.name + c.arguments for c in reply.calls)
    usage = ReportedUsage(
        prompt_tokens=estimated_tokens(request.size),
        completion_tokens=estimated_tokens(len(said.encode())),
    )
    return ModelReply(
        reply.text, reply.calls, reply.refusal, reply.finish_reason, usage,
        reply.model or "scripted", reply.fingerprint,
    )  # fmt: skip
