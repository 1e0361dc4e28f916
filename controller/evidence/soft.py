"""What the hard predicates cannot rule of a worded claim, so that a model should read it again.

A soft check may only take something away (docs/verification.md): where it is needed and not made,
the claim still stands, as far as the predicates bear it out.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.api.records import Evidence, Fact, FactKind


def needs_soft_check(fact: Fact, evidence: Sequence[Evidence], language: str = "en") -> bool:
    """Say whether a fact's claim may say more than its quote in a way that no predicate sees.

    Args:
        fact: a fact that has passed; one of kind `Quote` needs no check.
        evidence: what the run has recorded of its documents.
        language: of the task, an ISO 639-1 code.
    """
    return fact.kind is FactKind.PARAPHRASE
