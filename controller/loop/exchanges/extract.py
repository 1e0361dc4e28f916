"""`Extract` by a model: quotes from the passages that it is shown, and claims about them.

Nothing that it says is believed: each quote goes through the verifier, and so does each claim. A
claim that does not hold leaves its quote to stand for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from controller.api.model_call import CallFlag
from controller.api.records import BlockKind, ExtractRecord, Fact, FactStatus, Question
from controller.api.step import ActionName
from controller.evidence.predicates import only_repeats
from controller.evidence.support import question_weights
from controller.evidence.verification import Candidate, verify_fact
from controller.evidence.windows import Ranked
from controller.loop.answers import MAX_ITEMS, Quote, Quotes
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges.framing import asking, delimited, question_lines, rejection_lines
from controller.loop.exchanges.parsing import Answered, parsed, storable
from controller.loop.found import Found
from controller.loop.intents import QuestionArguments
from controller.loop.passages import place_of, ranked_passages
from controller.loop.situation import Situation
from controller.prompts import EXTRACT

MAX_PASSAGES: Final = 8
"""How many passages one `Extract` shows a model."""


def extract_request(
    situation: Situation, arguments: QuestionArguments, capacity: Capacity
) -> ModelRequest:
    """Ask for quotes from the passages that the model was not shown yet."""
    shown = portion(situation, arguments.question_id, capacity)
    return _request(situation, arguments.question_id, capacity, shown)


def portion(situation: Situation, question_id: str, capacity: Capacity) -> tuple[Ranked, ...]:
    """Return the passages that the next `Extract` of a question shows: as many as fit.

    Where all have been shown, they are shown again: a model may propose to read twice. A passage
    that does not fit alone is shown alone all the same; the request is then not sent. After an
    endpoint found the prompt too large, half as many are shown (E10).
    """
    passages = tuple(ranked_passages(situation.assessment.findings, question_id))
    known = situation.state.model.shown.get(question_id, frozenset())
    fresh = tuple(p for p in passages if place_of(p) not in known) or passages
    chosen: tuple[Ranked, ...] = ()
    for passage in fresh[:MAX_PASSAGES]:
        wanted = (*chosen, passage)
        if chosen and not capacity.fits(_request(situation, question_id, capacity, wanted)):
            break
        chosen = wanted
    return chosen[: max(1, len(chosen) // 2)] if _was_too_large(situation) else chosen


def extracted(situation: Situation, arguments: QuestionArguments, answered: Answered) -> Found:
    """Offer the quotes and claims of an answer to the verifier; keep its verdicts.

    Where the endpoint may have cut the prompt, nothing of the answer is accepted (E7).

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    proposed = parsed(Quotes, answered.reply).quotes[:MAX_ITEMS]
    question = next(
        v.question for v in situation.assessment.questions if v.question.id == arguments.question_id
    )
    shown = portion(situation, question.id, answered.capacity)
    is_cut = CallFlag.SUSPECTED_TRUNCATION in answered.call.flags
    facts = () if is_cut else _facts(situation, question, proposed, _named(shown))
    verified = sum(fact.status is FactStatus.VERIFIED for fact in facts)
    cut = "; the endpoint counted far fewer tokens than were sent" if is_cut else ""
    return Found(
        summary=f"{_quotes(len(proposed))} proposed, {verified} of {len(facts)} verified{cut}",
        extract=ExtractRecord(
            question_id=question.id,
            facts=facts,
            document_ids=tuple(dict.fromkeys(p.document_id for p in shown)),
            passages=tuple(place_of(p) for p in shown),
            remaining=_unshown(situation, question.id, shown),
        ),
    )


def can_shrink(situation: Situation, arguments: QuestionArguments, capacity: Capacity) -> bool:
    """Say whether there is a smaller prompt to try, and none was tried yet (E10)."""
    is_first = not _was_too_large(situation)
    return is_first and len(portion(situation, arguments.question_id, capacity)) > 1


def _request(
    situation: Situation, question_id: str, capacity: Capacity, shown: tuple[Ranked, ...]
) -> ModelRequest:
    passages = {name: _text(passage) for name, passage in _named(shown).items()}
    values = {
        "questions": question_lines(situation, (question_id,)),
        "passages": delimited(situation, passages) + rejection_lines(situation, question_id),
    }
    return asking(
        situation,
        capacity,
        ActionName.EXTRACT,
        EXTRACT,
        values,
        answer=Quotes,
        names={"passage": tuple(passages)},
    )


def _was_too_large(situation: Situation) -> bool:
    retry = situation.state.retry
    return retry is not None and retry.error_class == "Overflow"


def _unshown(situation: Situation, question_id: str, shown: tuple[Ranked, ...]) -> int:
    """Return how many passages of a question are left once these have been shown too."""
    known = situation.state.model.shown.get(question_id, frozenset()) | {place_of(p) for p in shown}
    passages = ranked_passages(situation.assessment.findings, question_id)
    return sum(place_of(p) not in known for p in passages)


def _named(passages: tuple[Ranked, ...]) -> dict[str, Ranked]:
    """Return passages by the names that they have in a request."""
    return {f"p{at}": passage for at, passage in enumerate(passages, start=1)}


def _text(passage: Ranked) -> str:
    """Return a passage as a model reads it: no text that a reader of the page cannot see."""
    path = passage.blocks[0].heading_path
    heading = [" > ".join(path)] if path else []
    seen = (block.text for block in passage.blocks if block.kind is not BlockKind.HIDDEN)
    return "\n".join([*heading, *seen])


def _facts(
    situation: Situation,
    question: Question,
    proposed: Iterable[Quote],
    passages: Mapping[str, Ranked],
) -> tuple[Fact, ...]:
    """Return the verifier's facts: a claim's own, and its quote's where the claim does not hold."""
    findings, language = situation.assessment.findings, situation.task.spec.language
    weights = question_weights(findings, question.id)
    facts: dict[str, Fact] = {}
    for candidates in (_candidates(item, passages, question, language) for item in proposed):
        for candidate in candidates:
            fact = verify_fact(question, candidate, findings.evidence, weights, language)
            facts[fact.id] = fact
            if fact.status is FactStatus.VERIFIED:
                break
    return tuple(facts.values())


def _candidates(
    item: Quote, passages: Mapping[str, Ranked], question: Question, language: str
) -> Iterator[Candidate]:
    """Yield what an item proposes: the claim about its quote, then the quote alone.

    A claim that only repeats the question is none.
    """
    passage = passages.get(item.passage)
    # A name that was never given is no document of the run: the verifier says so.
    document_id = item.passage if passage is None else passage.document_id
    start = None if passage is None else passage.blocks[0].start
    wording, claim = storable(item.quote), storable(item.claim)
    if claim and not only_repeats(question.text, claim, language):
        yield Candidate(document_id, wording, start, claim)
    yield Candidate(document_id, wording, start)


def _quotes(number: int) -> str:
    return "1 quote" if number == 1 else f"{number} quotes"
