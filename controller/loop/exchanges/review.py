"""`Review`: a soft check of claims that a model worded. It can demote a fact and nothing else.

The verifier knows numbers, names, negations and words; it does not know whether a claim says a
little more than its quote. A model is asked, and what it doubts counts no more (`Vetoed`). It can
make nothing true: a claim that it does not doubt is as verified as it was before.
"""

from __future__ import annotations

from typing import Final

from controller.api.records import Fact, FactKind, ReviewRecord, Veto
from controller.api.step import ActionName
from controller.evidence.findings import Findings
from controller.loop.answers import Doubts
from controller.loop.capacity import Capacity
from controller.loop.exchange import ModelRequest
from controller.loop.exchanges.framing import asking, delimited, question_lines
from controller.loop.exchanges.parsing import Answered, one_line, parsed
from controller.loop.found import Found
from controller.loop.intents import QuestionArguments
from controller.loop.situation import Situation
from controller.prompts import REVIEW

MAX_CLAIMS: Final = 8
"""How many claims one `Review` looks at."""


def claims_to_review(situation: Situation, question_id: str) -> tuple[Fact, ...]:
    """Return a question's verified facts in a model's words that were not reviewed yet."""
    findings: Findings = situation.assessment.findings
    reviewed = situation.state.model.reviewed
    worded = (f for f in findings.verified(question_id) if f.kind is FactKind.PARAPHRASE)
    return tuple(fact for fact in worded if fact.id not in reviewed)[:MAX_CLAIMS]


def review_request(
    situation: Situation, arguments: QuestionArguments, capacity: Capacity
) -> ModelRequest:
    """Ask which claims say more than the quote that they were taken from."""
    claims = _named(claims_to_review(situation, arguments.question_id))
    texts = {name: _text(fact) for name, fact in claims.items()}
    values = {
        "questions": question_lines(situation, (arguments.question_id,)),
        "claims": delimited(situation, texts),
    }
    return asking(
        situation,
        capacity,
        ActionName.REVIEW,
        REVIEW,
        values,
        answer=Doubts,
        names={"claim": tuple(texts)},
    )


def reviewed(situation: Situation, arguments: QuestionArguments, answered: Answered) -> Found:
    """Return what the model doubts; a doubt about a claim that it was not shown is none.

    Raises:
        ModelMistakeError: the answer is not what was asked for.
    """
    claims = _named(claims_to_review(situation, arguments.question_id))
    doubts = {d.claim: d.why for d in parsed(Doubts, answered.reply).doubts if d.claim in claims}
    vetoes = tuple(
        Veto(fact_id=claims[name].id, reason=one_line(why)[:200]) for name, why in doubts.items()
    )
    return Found(
        summary=f"{len(vetoes)} of {len(claims)} claims vetoed",
        review=ReviewRecord(
            question_id=arguments.question_id,
            fact_ids=tuple(fact.id for fact in claims.values()),
            vetoes=vetoes,
        ),
    )


def _named(facts: tuple[Fact, ...]) -> dict[str, Fact]:
    return {f"c{at}": fact for at, fact in enumerate(facts, start=1)}


def _text(fact: Fact) -> str:
    quotes = "\n".join(citation.quote for citation in fact.citations)
    return f"claim: {fact.claim}\nquote: {quotes}"
