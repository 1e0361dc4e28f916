"""What a round has used: integers only, summed from its steps; no counter falls."""

from __future__ import annotations

from dataclasses import dataclass

from controller.api.records import FactStatus, NoteKind
from controller.api.step import ActionName, ResearchStepSpec


@dataclass(frozen=True)
class Usage:
    """Counters of a round. Tokens and cost are what calls were charged, settled or reserved."""

    steps: int = 0
    model_calls: int = 0
    source_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    unknown_usage_calls: int = 0
    cost_micro_usd: int = 0
    active_milliseconds: int = 0
    writes: int = 0
    resumes: int = 0
    interrupted: int = 0
    grace_calls: int = 0
    verifier_rejections: int = 0

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers together: what `maxTokens` limits."""
        return self.prompt_tokens + self.completion_tokens

    def charged(self, spec: ResearchStepSpec) -> Usage:
        """Return the usage with what one step used; an interrupted one has its reservation."""
        used, call = spec.usage, spec.model_call
        is_resumption = spec.note is not None and spec.note.kind is NoteKind.REOPENED
        is_grace = call is not None and spec.action is ActionName.SUMMARIZE
        return Usage(
            steps=self.steps + used.steps,
            model_calls=self.model_calls + (call is not None),
            source_calls=self.source_calls + used.source_calls,
            prompt_tokens=self.prompt_tokens + (call.prompt_tokens if call else 0),
            cached_tokens=self.cached_tokens + (call.cached_tokens if call else 0),
            completion_tokens=self.completion_tokens + (call.completion_tokens if call else 0),
            unknown_usage_calls=self.unknown_usage_calls
            + (call is not None and call.is_usage_unknown),
            cost_micro_usd=self.cost_micro_usd + (call.cost_micro_usd if call else 0),
            active_milliseconds=self.active_milliseconds + spec.active_milliseconds,
            writes=self.writes + (spec.publish is not None),
            resumes=self.resumes + is_resumption,
            interrupted=self.interrupted + (spec.outcome == "Interrupted"),
            grace_calls=self.grace_calls + is_grace,
            verifier_rejections=self.verifier_rejections + _rejected(spec),
        )


def _rejected(spec: ResearchStepSpec) -> int:
    if spec.extract is None:
        return 0
    return sum(fact.status is FactStatus.REJECTED for fact in spec.extract.facts)
