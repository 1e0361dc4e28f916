"""What a call to a model may cost before it is sent, and what it is charged afterwards.

Integers only. What an endpoint reports is believed where it can be true; otherwise, and where
nothing came back, the reservation is charged: a budget must end a run whatever an endpoint says
(requirements S2.9, S4.10, S4.11).
"""

from __future__ import annotations

from typing import Final

from controller.api.base import digest_of
from controller.api.model_call import (
    MAX_ANSWER,
    MICRO,
    CallFlag,
    ModelCall,
    ModelTerms,
    Reservation,
)
from controller.loop.exchange import ModelReply, ModelRequest, ReportedUsage

BYTES_PER_TOKEN: Final = 3
"""A prompt is taken to have one token for every 3 bytes: more than English text has."""

ABSURD: Final = 2**40
"""No call uses so many tokens; a count from here on is not believed."""

TRUNCATED_BELOW: Final = 2
"""A server that counted less than 1/2 of the estimate may have cut the prompt (E7)."""


def estimated_tokens(size: int) -> int:
    """Return the tokens that a prompt of so many bytes is taken to have."""
    return -(-size // BYTES_PER_TOKEN)


def cost(terms: ModelTerms, prompt: int, cached: int, completion: int) -> int:
    """Return what tokens cost in micro-USD, rounded up once; without a price it is 0.

    `cached` is a part of `prompt`, at the input price where it has none of its own.
    """
    input_price, output_price = terms.input_price or 0, terms.output_price or 0
    cached_price = input_price if terms.cached_input_price is None else terms.cached_input_price
    total = (prompt - cached) * input_price + cached * cached_price + completion * output_price
    return -(-total // MICRO)


def unanswered(reserved: Reservation) -> ModelCall:
    """Return the charge of a call of which nothing is known: all that was reserved."""
    return ModelCall(
        prompt_tokens=reserved.prompt_tokens,
        completion_tokens=reserved.output_tokens,
        cost_micro_usd=reserved.cost_micro_usd,
        flags=(CallFlag.USAGE_UNKNOWN,),
    )


def settled(
    sent: ModelCall,
    terms: ModelTerms,
    reserved: Reservation,
    request: ModelRequest,
    reply: ModelReply,
) -> ModelCall:
    """Return the charge of a call that was answered, from the one that it was sent under."""
    flags: list[CallFlag] = []
    used = _believed(reply.usage, has_answer=_has_answer(reply), flags=flags)
    call = sent.model_copy(
        update={
            "returned_model": _short(reply.model),
            "fingerprint": _short(reply.fingerprint),
            "finish_reason": _short(reply.finish_reason, 64),
            **_answered(reply, flags),
            "flags": tuple(flags),
        }
    )
    if used is None:
        return call
    prompt, cached, completion = used
    if completion > request.max_output_tokens:
        flags.append(CallFlag.CAP_IGNORED)
    if prompt > reserved.prompt_tokens:
        flags.append(CallFlag.PROMPT_UNDERESTIMATED)
    if prompt * TRUNCATED_BELOW < estimated_tokens(request.size):
        flags.append(CallFlag.SUSPECTED_TRUNCATION)
    return call.model_copy(
        update={
            "flags": tuple(flags),
            "prompt_tokens": prompt,
            "cached_tokens": cached,
            "completion_tokens": completion,
            "cost_micro_usd": cost(terms, prompt, cached, completion),
        }
    )


def _answered(reply: ModelReply, flags: list[CallFlag]) -> dict[str, object]:
    """Return what is kept of an answer: a bounded part, and size and digest of the whole (E1)."""
    said = reply.said
    if not said:
        return {}
    if reply.is_cut or len(said) > MAX_ANSWER:
        flags.append(CallFlag.ANSWER_CUT)
    whole = said.encode("utf-8", "replace")
    return {
        "answer": _short(said, MAX_ANSWER),
        "answer_bytes": len(whole),
        "answer_digest": digest_of(whole.decode()),
    }


def _believed(
    usage: ReportedUsage | None, *, has_answer: bool, flags: list[CallFlag]
) -> tuple[int, int, int] | None:
    """Return prompt, cached and completion tokens; None, and why, where they cannot be true."""
    if usage is None:
        flags.append(CallFlag.USAGE_UNKNOWN)
        return None
    counts = [_count(c) for c in (usage.prompt_tokens, usage.completion_tokens)]
    parts = [_count(0 if c is None else c) for c in (usage.cached_tokens, usage.reasoning_tokens)]
    (prompt, completion), (cached, reasoning) = counts, parts
    if prompt is None or completion is None or (has_answer and not (prompt and completion)):
        flags.append(CallFlag.USAGE_UNKNOWN)
        return None
    if cached is None or reasoning is None or cached > prompt or reasoning > completion:
        flags.append(CallFlag.USAGE_INVALID)
        return None
    return prompt, cached, completion


def _count(reported: object) -> int | None:
    """Return a count of tokens; None: it is none. Numbers in strings are counts (T10)."""
    if isinstance(reported, str) and reported.isascii() and reported.isdecimal():
        reported = int(reported[:20])
    if isinstance(reported, bool) or not isinstance(reported, int):
        return None
    return reported if 0 <= reported < ABSURD else None


def _has_answer(reply: ModelReply) -> bool:
    return bool(reply.text or reply.calls or reply.refusal)


def _short(text: str | None, length: int = 256) -> str | None:
    """Return a text that a record can hold: an endpoint's own words have no bounds."""
    if text is None:
        return None
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")[:length]
