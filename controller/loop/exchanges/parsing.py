"""Reading an answer: whole, of the right type, and storable; or the class of its mistake."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ValidationError

from controller.api.errors import ActionError, ModelMistakeError, PermanentError
from controller.api.model_call import ModelCall
from controller.loop.answers import Answer
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelReply, ModelRequest

Content = TypeVar("Content", bound=Answer)

_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://|\bwww\.", re.IGNORECASE)


@dataclass(frozen=True)
class Answered:
    """A reply with what it was asked, what it is charged, and the model that gave it."""

    reply: ModelReply
    request: ModelRequest
    call: ModelCall
    capacity: Capacity


def check_complete(answered: Answered) -> None:
    """Check that a reply is a whole answer of the model's own.

    What was cut off, by the endpoint or by us, is not used, even if it happens to parse (S2.13).

    Raises:
        PermanentError: the model or a filter refused, which is never asked again verbatim; or
            its window was full before the output cap.
        ModelMistakeError: it is cut off or empty.
    """
    reply = answered.reply
    if reply.refusal:
        # Its words are not in the message, which a report shows: they may be a page's order.
        raise PermanentError("Refused", "the model refused; the step's modelCall.answer says how")
    if reply.finish_reason == "content_filter":
        raise PermanentError("ContentFiltered", "a content filter stopped the answer")
    if reply.finish_reason == "length" or reply.is_cut:
        raise _cut_off(answered)
    if not reply.calls and not (reply.text or "").strip():
        raise ModelMistakeError("EmptyResponse", "the answer was empty")


def parsed(content: type[Content], reply: ModelReply) -> Content:
    """Return an answer as what was asked for; a schema that was sent proves nothing (E9).

    Raises:
        ModelMistakeError: it is something else.
    """
    try:
        return content.model_validate(json.loads(reply.text or ""))
    except (ValidationError, ValueError, RecursionError) as error:
        detail = _first_fault(error)
        raise ModelMistakeError("InvalidOutput", f"the answer is not as asked: {detail}") from error


def storable(text: str) -> str:
    """Return a model's text as a record can hold it: no half characters, no zero bytes (E1)."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd").strip()


def names_address(text: str) -> bool:
    """Say whether a text has an address in it: a model writes none, not even to search for it."""
    return _ADDRESS.search(text) is not None


def one_line(text: str) -> str:
    """Return a text of somebody else's as a part of a message."""
    return " ".join(storable(text).split())[:300]


def _cut_off(answered: Answered) -> ActionError:
    """Tell an answer that met the output cap from one that met the end of the window."""
    call, window = answered.call, answered.capacity.terms.context_window_tokens
    is_below_cap = call.completion_tokens < answered.request.max_output_tokens
    is_full = call.prompt_tokens + call.completion_tokens >= window
    if is_below_cap and is_full and not call.is_usage_unknown:
        return PermanentError(
            "Overflow",
            f"the window of {window} tokens was full after {call.completion_tokens} of the answer",
        )
    return ModelMistakeError(
        "OutputTruncated", "the answer was cut off at the output cap; answer shorter"
    )


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'answer'}: {first['msg']}"
    return f"no JSON: {error}"
