"""`Draft` by a model: sentences from verified facts. A draft that scores lower is not taken.

Each sentence is checked against the quotes of the facts that it names, as any other statement. What
the model left out is said in the facts' own words, so that no verified fact is lost to its style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from controller.api.records import Fact, Statement
from controller.api.step import ActionName
from controller.evidence.draft import (
    MAX_FACTS_PER_STATEMENT,
    MAX_STATEMENTS,
    facts_to_word,
    template_draft,
)
from controller.evidence.findings import Findings
from controller.evidence.predicates import only_repeats
from controller.evidence.score import score
from controller.evidence.support import Support
from controller.loop.answers import Sentence, Sentences
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges.framing import asking, delimited, fact_texts, question_lines
from controller.loop.exchanges.parsing import Answered, parsed, storable
from controller.loop.found import Found
from controller.loop.intents import DraftArguments
from controller.loop.situation import Situation
from controller.prompts import DRAFT

MAX_FACTS: Final = 32
"""How many facts one `Draft` shows a model; the others keep their own words."""

MAX_SENTENCE: Final = 2000


def draft_request(situation: Situation, _: DraftArguments, capacity: Capacity) -> ModelRequest:
    """Ask for the answers in sentences, from as many verified facts as fit."""
    facts = _facts(situation.assessment.findings, situation.task.spec.language)
    request = _request(situation, capacity, facts)
    while len(facts) > 1 and not capacity.fits(request):
        facts = facts[: len(facts) * 3 // 4]
        request = _request(situation, capacity, facts)
    return request


def drafted(situation: Situation, _: DraftArguments, answered: Answered) -> Found:
    """Return the draft: the model's sentences that hold, and what they leave out; or the template.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    findings, spec = situation.assessment.findings, situation.task.spec
    template = template_draft(findings, spec.language)
    proposed = parsed(Sentences, answered.reply).sentences[: len(template) + MAX_FACTS]
    facts = _facts(findings, spec.language)
    held = supported(proposed, facts, findings, spec.language)
    written = _completed(findings, held, template)
    scores = [
        score(replace(findings, statements=draft), spec.goal.target_origins, spec.language).quality
        for draft in (written, template)
    ]
    is_taken = bool(held) and scores[0] >= scores[1]
    kept = f"{len(held)} of {len(proposed)} sentences hold"
    instead = "" if is_taken else "; the facts' own words are taken instead"
    return Found(
        summary=f"{kept}{instead}; {len(written if is_taken else template)} statements",
        statements=written if is_taken else template,
    )


def supported(
    proposed: Iterable[Sentence], facts: tuple[Fact, ...], findings: Findings, language: str
) -> tuple[Statement, ...]:
    """Return the sentences that the facts which they name support, each once.

    Of its facts, those that support it alone are kept where there are such. A sentence that only
    repeats its question says nothing, and is left out.
    """
    names = dict(zip(fact_texts(facts), facts, strict=True))
    asked = {question.id: question.text for question in findings.questions}
    support = Support(findings, language)
    held = (
        support.narrowed(statement)
        for item in proposed
        if (statement := _statement(item, names)) is not None
        and not only_repeats(asked[statement.question_id], statement.text, language)
        and support.is_supported(statement)
    )
    return tuple({(s.question_id, s.text): s for s in held}.values())


def _request(situation: Situation, capacity: Capacity, facts: tuple[Fact, ...]) -> ModelRequest:
    texts = fact_texts(facts)
    values = {
        "questions": question_lines(situation, dict.fromkeys(f.question_id for f in facts)),
        "facts": delimited(situation, texts),
    }
    return asking(
        situation,
        capacity,
        ActionName.DRAFT,
        DRAFT,
        values,
        answer=Sentences,
        names={"facts": tuple(texts)},
    )


def _facts(findings: Findings, language: str) -> tuple[Fact, ...]:
    """Return the facts that a model is shown: of each question the best ones first."""
    return facts_to_word(findings, language)[:MAX_FACTS]


def _statement(item: Sentence, facts: Mapping[str, Fact]) -> Statement | None:
    """Return a sentence as a statement; None: it is none, or names a fact that does not exist."""
    cited = [facts.get(name) for name in dict.fromkeys(item.facts)]
    known = [fact for fact in cited if fact is not None]
    text = storable(item.sentence)
    if not known or len(known) != len(cited) or not text or text.endswith("?"):
        return None
    ids = tuple(fact.id for fact in known[:MAX_FACTS_PER_STATEMENT])
    return Statement(question_id=known[0].question_id, text=text[:MAX_SENTENCE], fact_ids=ids)


def _completed(
    findings: Findings, held: tuple[Statement, ...], template: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    """Return a draft by question: the sentences that hold, then the facts that none names."""
    named = {(s.question_id, i) for s in held for i in s.fact_ids}
    left = [s for s in template if not any((s.question_id, i) in named for i in s.fact_ids)]
    ordered = (s for q in findings.questions for s in _of(q.id, held, left))
    return tuple(ordered)[:MAX_STATEMENTS]


def _of(question_id: str, *groups: Iterable[Statement]) -> Iterator[Statement]:
    for group in groups:
        yield from (s for s in group if s.question_id == question_id)
