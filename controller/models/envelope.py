"""The answer of an endpoint, read from its bytes by code of our own. Pure.

The SDK would pass on whatever stands there: a page of HTML as a text, an error as an answer
without choices. Here an envelope is either read or refused as `BadResponse`, which is charged and
tried again; what is in it is judged later. Usage is passed on as it is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from controller.api.base import canonical_json
from controller.api.errors import PermanentError, RetryableError
from controller.loop.exchange import ModelReply, ReportedUsage, ToolCall
from controller.models.backends import Profile
from controller.models.failures import RETRYABLE, error_in, sign_of
from controller.models.provider_text import LONGEST, one_line, safe

BYTES_A_TOKEN: Final = 64
"""More bytes than tokens of text have: a longer answer has ignored its cap."""

LEAST_BYTES: Final = 16_384
"""An answer up to this size is kept whatever its cap was."""


def reply_of(
    profile: Profile, body: bytes, *, max_output_tokens: int, key: str | None = None
) -> ModelReply:
    """Return the reply that a body of status 200 holds.

    Its text is cut where it is far longer than `max_output_tokens` can be, and says so.

    Raises:
        RetryableError: it holds none (class `BadResponse`), or an error that passes.
        PermanentError: it holds an error that does not.
    """
    document = _document(body)
    if document.get("error"):
        _raise_error(profile, document, key)
    message, choice = _message(document)
    room = _Room(max(LEAST_BYTES, BYTES_A_TOKEN * max_output_tokens), lambda t: safe(t, key))
    text = room.kept(_optional(message, "content"))
    calls = tuple(
        ToolCall(room.kept(name) or "", room.kept(arguments) or "{}")
        for name, arguments in _calls(message)
    )
    return ModelReply(
        text=text,
        calls=calls,
        refusal=room.kept(_optional(message, "refusal")),
        finish_reason=_word(choice.get("finish_reason"), key),
        usage=_usage(document.get("usage")),
        model=_word(document.get("model"), key),
        fingerprint=_word(document.get("system_fingerprint"), key),
        is_cut=room.is_full,
    )


class _Room:
    """The bytes that all text of one reply may have together."""

    def __init__(self, size: int, made_safe: Callable[[str], str]) -> None:
        self._left = size
        self._made_safe = made_safe
        self.is_full = False

    def kept(self, text: str | None) -> str | None:
        """Return what there is room for."""
        if text is None:
            return None
        whole = self._made_safe(text).encode()
        part = whole[: self._left]
        self.is_full |= len(part) < len(whole)
        self._left -= len(part)
        return part.decode("utf-8", "ignore")


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            body.decode("utf-8-sig", "replace"),
            object_pairs_hook=_distinct,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError):
        raise _bad(_what_it_is(body)) from None
    if not isinstance(document, dict):
        raise _bad("a JSON value that is no object")
    return document


def _what_it_is(body: bytes) -> str:
    start = body[:64].lstrip().lower()
    if not start:
        return "an empty body"
    if start.startswith(b"<"):
        return "a page of HTML, as a proxy may send; check spec.baseURL"
    return "what is no JSON, or is cut off"


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _message(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the first choice's message, and the choice."""
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise _bad("no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise _bad("a choice without a message")
    return message, choice


def _calls(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return name and arguments of each call; arguments that came as an object become JSON."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise _bad("tool calls that are no list")
    functions = [call.get("function") if isinstance(call, dict) else None for call in calls]
    if not all(isinstance(function, dict) for function in functions):
        raise _bad("a tool call without a function")
    return [(_word(f.get("name")) or "", _arguments(f.get("arguments"))) for f in functions if f]


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return given.strip() or "{}"
    return "{}" if given is None else canonical_json(given)


def _usage(said: object) -> ReportedUsage | None:
    if not isinstance(said, dict):
        return None
    return ReportedUsage(
        prompt_tokens=said.get("prompt_tokens"),
        completion_tokens=said.get("completion_tokens"),
        cached_tokens=_detail(said.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_detail(said.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _detail(details: object, name: str) -> object:
    return details.get(name) if isinstance(details, dict) else None


def _optional(message: Mapping[str, Any], name: str) -> str | None:
    value = message.get(name)
    if value is not None and not isinstance(value, str):
        raise _bad(f"{name} that is no text")
    return value


def _word(value: object, key: str | None = None) -> str | None:
    return safe(value, key)[:LONGEST] if isinstance(value, str) else None


def _raise_error(profile: Profile, document: Mapping[str, Any], key: str | None) -> NoReturn:
    """Raise the error that came with status 200, under the class that its words stand for."""
    said = error_in(document)
    error_class = sign_of(profile, said) or "BadResponse"
    words = one_line(said.message, key) if said else ""
    message = "the endpoint answered 200 with an error" + (f": {words}" if words else "")
    if error_class in RETRYABLE:
        raise RetryableError(error_class, message)
    raise PermanentError(error_class, message)


def _bad(what: str) -> RetryableError:
    return RetryableError("BadResponse", f"the endpoint answered 200 with {what}")
