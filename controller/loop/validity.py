"""What the schema cannot say of a spec: texts that cannot be asked with the answers in them.

Such a task is refused (`InvalidSpec`) rather than run in part.
"""

from __future__ import annotations

from controller.api.task import ResearchTaskSpec
from controller.loop.clarification import MAX_FIELDS, MAX_QUESTION, filled, placeholders


def fault_of(spec: ResearchTaskSpec) -> str | None:
    """Return field, rule and mend of the first thing in a spec that cannot be run."""
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
