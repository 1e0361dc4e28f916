"""`ResearchModel`: a model endpoint, as a user describes it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from controller.api.base import ApiModel, Money
from controller.api.meta import Condition, ObjectMeta, SecretReference
from controller.api.schema import Rule, listed, rules


class Backend(StrEnum):
    """The dialect of an endpoint."""

    OPENAI = "OpenAI"
    OLLAMA = "Ollama"
    LLAMA_CPP = "LlamaCpp"
    VLLM = "VLLM"
    OPENAI_COMPATIBLE = "OpenAICompatible"


class RateLimit(ApiModel):
    """How much the endpoint may be asked in a minute."""

    requests_per_minute: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    tokens_per_minute: Annotated[int | None, Field(ge=1, le=1_000_000_000)] = None


class Pricing(ApiModel):
    """Prices in US dollars for a million tokens; "0" is a price, absent is unknown."""

    input_usd_per_million_tokens: Money
    cached_input_usd_per_million_tokens: Money | None = None
    output_usd_per_million_tokens: Money


class ResearchModelSpec(ApiModel):
    """How to reach a model, what it can take, and what it costs."""

    model_config = rules(
        Rule(
            "self.backend == 'OpenAI' || has(self.baseURL)",
            "baseURL must be set unless backend is OpenAI",
        ),
        # A rule of the whole spec: a refusal of the field alone would repeat the password.
        Rule(
            "!has(self.baseURL) || !self.baseURL.contains('@')",
            "baseURL may name no user and no password; a key belongs in the Secret of "
            "credentialsSecretRef",
        ),
        Rule(
            "self.maxOutputTokens < self.contextWindowTokens",
            "maxOutputTokens must be below contextWindowTokens",
        ),
    )

    backend: Backend
    base_url: Annotated[
        str | None,
        Field(min_length=1, max_length=2048, pattern=r"^https?://\S+$"),
    ] = None
    model: Annotated[str, Field(min_length=1, max_length=256)]
    credentials_secret_ref: SecretReference | None = None
    context_window_tokens: Annotated[int, Field(ge=1024, le=10_000_000)] = 8192
    max_output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 512
    temperature: Annotated[str, Field(max_length=8, pattern=r"^(2(\.0+)?|[01](\.[0-9]+)?)$")] = (
        "0.2"
    )
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    request_timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120
    max_concurrent_requests: Annotated[int, Field(ge=1, le=1000)] = 4
    rate_limit: RateLimit | None = None
    pricing: Pricing | None = None


class ResearchModelStatus(ApiModel):
    """What the operator has seen of the model."""

    observed_generation: Annotated[int, Field(ge=-1, le=2**53 - 1)] = -1
    conditions: Annotated[tuple[Condition, ...], Field(max_length=8), listed("type")] = ()


class ResearchModel(ApiModel):
    """A model, as stored."""

    metadata: ObjectMeta
    spec: ResearchModelSpec
    status: ResearchModelStatus = ResearchModelStatus()
