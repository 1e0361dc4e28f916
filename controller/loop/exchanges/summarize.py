"""`Summarize`: the closing summary of an exhausted run. It never changes the reason."""

from __future__ import annotations

from typing import Final

from controller.api.records import Fact
from controller.evidence.draft import facts_to_word
from controller.loop.answers import Sentences, schema_of
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges.draft import supported
from controller.loop.exchanges.framing import delimited, fact_texts
from controller.loop.exchanges.parsing import Answered, parsed
from controller.loop.found import Found
from controller.loop.intents import SummarizeArguments
from controller.loop.situation import Situation
from controller.prompts import INSTRUCTIONS, SUMMARIZE

GRACE_PROMPT_TOKENS: Final = 1024
"""The largest prompt of the closing summary: it is kept free before its text is known."""

GRACE_OUTPUT_TOKENS: Final = 512
"""The output cap of the closing summary."""

MAX_SENTENCES: Final = 16


def summary_request(
    situation: Situation, _: SummarizeArguments, capacity: Capacity
) -> ModelRequest:
    """Ask for a summary of the verified facts, as many as the reserve has room for."""
    facts = facts_to_word(situation.assessment.findings, situation.task.spec.language)
    request = _request(situation, facts)
    while facts and capacity.prompt_tokens(request) > _room(capacity):
        facts = facts[:-1]
        request = _request(situation, facts)
    return request


def summarised(situation: Situation, _: SummarizeArguments, answered: Answered) -> Found:
    """Return the sentences of a closing summary that their facts support; the rest is dropped.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    proposed = parsed(Sentences, answered.reply).sentences[:MAX_SENTENCES]
    findings, language = situation.assessment.findings, situation.task.spec.language
    kept = supported(proposed, facts_to_word(findings, language), findings, language)
    return Found(summary=f"{len(kept)} of {len(proposed)} sentences hold", closing_summary=kept)


def _room(capacity: Capacity) -> int:
    return min(GRACE_PROMPT_TOKENS, capacity.terms.context_window_tokens - GRACE_OUTPUT_TOKENS)


def _request(situation: Situation, facts: tuple[Fact, ...]) -> ModelRequest:
    texts = fact_texts(facts)
    return ModelRequest(
        instructions=INSTRUCTIONS.text,
        prompt=SUMMARIZE.filled(facts=delimited(situation, texts)),
        max_output_tokens=GRACE_OUTPUT_TOKENS,
        answer_schema=schema_of(
            Sentences, output_tokens=GRACE_OUTPUT_TOKENS, names={"facts": tuple(texts)}
        ),
        template=str(SUMMARIZE),
        shown=len(texts),
    )
