"""What a model can take: what its terms say, corrected by what its calls have shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from controller.api.model_call import ModelCall, ModelTerms, Reservation
from controller.loop.accounting import BYTES_PER_TOKEN, cost
from controller.loop.exchange import ModelRequest

ASSUMED: Final = Fraction(1, BYTES_PER_TOKEN)
"""Tokens of a byte of prompt, before an endpoint has shown that it counts more."""


@dataclass(frozen=True)
class Shown:
    """What a model's calls have shown: its longest answer, and the most tokens of a byte.

    Neither ever falls. A ratio below the assumed one is no reason to reserve less: the next prompt
    may hold denser text, and a budget would be crossed.
    """

    longest_answer: int = 0
    tokens_per_byte: Fraction = ASSUMED

    def after(self, call: ModelCall) -> Shown:
        """Return what is known after a call whose usage was reported."""
        ratio = Fraction(call.prompt_tokens, call.prompt_bytes) if call.prompt_bytes else ASSUMED
        return replace(
            self,
            longest_answer=max(self.longest_answer, call.completion_tokens),
            tokens_per_byte=max(self.tokens_per_byte, ratio),
        )


@dataclass(frozen=True)
class Capacity:
    """A model in use, as far as the size of a request goes."""

    terms: ModelTerms
    shown: Shown = field(default_factory=Shown)

    def prompt_tokens(self, request: ModelRequest) -> int:
        """Return the tokens that a request's prompt is taken to have."""
        ratio = self.shown.tokens_per_byte
        return -(-request.size * ratio.numerator // ratio.denominator)

    def fits(self, request: ModelRequest) -> bool:
        """Say whether a request and its answer fit the model's window."""
        used = self.prompt_tokens(request) + request.max_output_tokens
        return used <= self.terms.context_window_tokens

    def reservation(self, request: ModelRequest) -> Reservation:
        """Return the worst case of a request.

        An endpoint that has ignored the output cap is taken to ignore it again (E15).
        """
        prompt = self.prompt_tokens(request)
        output = max(request.max_output_tokens, self.shown.longest_answer)
        return Reservation(
            model=self.terms.name,
            generation=self.terms.generation,
            prompt_tokens=prompt,
            output_tokens=output,
            cost_micro_usd=cost(self.terms, prompt, 0, output),
        )
