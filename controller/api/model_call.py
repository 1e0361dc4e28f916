"""The records of a call to a model: what it was decided under, reserved, and what it used.

Integers only: tokens, and micro-USD (millionths of a US dollar). A price is kept in micro-USD for
a million tokens, which a decimal price of at most 6 decimals is exactly.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from controller.api.base import ApiModel, Count, Digest, Money, Name
from controller.api.model import ResearchModel

MAX_ANSWER: Final = 4096
"""How much of an answer a step keeps, in characters."""

MICRO: Final = 1_000_000
"""Micro-USD in a dollar, and tokens in the unit of prices."""

ServedName = Annotated[str, Field(max_length=256)]
"""A model's name as an endpoint knows it."""


def micro_usd(amount: Money) -> int:
    """Return an amount of dollars in micro-USD; amounts have at most 6 decimals, so it is exact."""
    return int(Decimal(amount) * MICRO)


def usd(amount: int) -> Money:
    """Return micro-USD as dollars, in the fewest digits."""
    whole, rest = divmod(amount, MICRO)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


class ModelTerms(ApiModel):
    """What a model can take and what it costs, as it was known when a step was decided.

    A price that is absent is unknown, 0 is a price; prices are in micro-USD for a million tokens.
    """

    name: Name
    generation: Count
    context_window_tokens: Count
    max_output_tokens: Count
    input_price: Count | None = None
    cached_input_price: Count | None = None
    output_price: Count | None = None

    @property
    def is_priced(self) -> bool:
        """Whether the cost of a call is known."""
        return self.input_price is not None and self.output_price is not None


class Reservation(ApiModel):
    """What one call to a model may use at most: kept from the budgets before it is sent (S4.11)."""

    model: Name
    generation: Count
    prompt_tokens: Count
    output_tokens: Count
    cost_micro_usd: Count

    @property
    def tokens(self) -> int:
        """The tokens of prompt and answer together."""
        return self.prompt_tokens + self.output_tokens


class CallFlag(StrEnum):
    """What is odd about a call's usage or size; none of them is an error of its own."""

    USAGE_UNKNOWN = "UsageUnknown"
    USAGE_INVALID = "UsageInvalid"
    CAP_IGNORED = "CapIgnored"
    SUSPECTED_TRUNCATION = "SuspectedTruncation"
    PROMPT_UNDERESTIMATED = "PromptUnderestimated"
    ANSWER_CUT = "AnswerCut"


class ModelCall(ApiModel):
    """One request to a model, as it is charged (S2.15), and what was answered (S2.9).

    What it used is what the endpoint reported; or the step's reservation, where the endpoint
    reported nothing that can be true, did not answer, or the process died. `prompt_template` is
    the name and version of the prompt's words, `prompt_bytes` its size, `shown` how many passages,
    facts or claims it held. `answer` is what the model said, cut to its bound (`AnswerCut`);
    `answer_bytes` and `answer_digest` are of the whole.
    """

    prompt_tokens: Count
    cached_tokens: Count = 0
    completion_tokens: Count
    cost_micro_usd: Count
    flags: Annotated[tuple[CallFlag, ...], Field(max_length=8)] = ()
    requested_model: ServedName | None = None
    returned_model: ServedName | None = None
    fingerprint: ServedName | None = None
    temperature: Annotated[str, Field(max_length=8)] | None = None
    seed: Count | None = None
    finish_reason: Annotated[str, Field(max_length=64)] | None = None
    prompt_digest: Digest | None = None
    prompt_template: ServedName | None = None
    prompt_bytes: Count | None = None
    shown: Count | None = None
    answer: Annotated[str, Field(max_length=MAX_ANSWER)] | None = None
    answer_bytes: Count | None = None
    answer_digest: Digest | None = None

    @property
    def is_usage_unknown(self) -> bool:
        """Whether the reservation was charged, because what was used is not known."""
        return bool({CallFlag.USAGE_UNKNOWN, CallFlag.USAGE_INVALID} & set(self.flags))


def terms_of(model: ResearchModel) -> ModelTerms:
    """Return what a model can take and what it costs, from its object."""
    spec, pricing = model.spec, model.spec.pricing
    cached = pricing.cached_input_usd_per_million_tokens if pricing else None
    return ModelTerms(
        name=model.metadata.name,
        generation=model.metadata.generation,
        context_window_tokens=spec.context_window_tokens,
        max_output_tokens=spec.max_output_tokens,
        input_price=micro_usd(pricing.input_usd_per_million_tokens) if pricing else None,
        cached_input_price=None if cached is None else micro_usd(cached),
        output_price=micro_usd(pricing.output_usd_per_million_tokens) if pricing else None,
    )
