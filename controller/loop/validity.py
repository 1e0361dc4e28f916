"""What the schema cannot say of a spec: features that this version does not have.

A task that asks for one of them is refused (`InvalidSpec`) rather than run without it. So is one
whose texts cannot be asked as they are.
"""

from __future__ import annotations

from controller.api.task import DecisionPolicy, ResearchTaskSpec
from controller.loop.clarification import MAX_FIELDS, MAX_QUESTION, filled, placeholders


def fault_of(spec: ResearchTaskSpec) -> str | None:
    """Return field, rule and mend of the first thing in a spec that cannot be run."""
    for is_asked_for, field, mend in (
        (
            spec.decision_policy is DecisionPolicy.MODEL_PROPOSED,
            "spec.decisionPolicy ModelProposed",
            "use Directed",
        ),
    ):
        if is_asked_for:
            return f"{field} is not supported by this version: {mend}"
    return _fault_of_texts(spec)


def _fault_of_texts(spec: ResearchTaskSpec) -> str | None:
    """Return what is wrong with the questions once the answers stand in them."""
    if len(placeholders(spec)) > MAX_FIELDS:
        return f"the texts of spec leave more than {MAX_FIELDS} fields open: leave fewer"
    texts = [filled(spec, question.text) for question in spec.questions]
    if any(len(text) > MAX_QUESTION for text in texts):
        return (
            f"a question has more than {MAX_QUESTION} characters with the answers of "
            "spec.clarifications in it: shorten one of them"
        )
    repeated = _repeated(texts)
    return (
        f"spec.questions has the same text twice: {repeated!r}; ask it once" if repeated else None
    )


def _repeated(texts: list[str]) -> str | None:
    return next((text for text in texts if texts.count(text) > 1), None)
