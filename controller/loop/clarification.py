"""Placeholders: what a task's texts leave open, and the user's answers (requirement S3.13).

`{region}` in the topic, a question or the guidance stands for something that only the user knows.
It is asked for before any work is done, and never guessed; `{{region}}` is text. The answers are in
`spec.clarifications`; a blank one answers nothing.
"""

from __future__ import annotations

import re
from typing import Final

from controller.api.records import Question
from controller.api.task import ResearchTaskSpec

_PLACEHOLDER: Final = re.compile(r"(?<!\{)\{([A-Za-z][A-Za-z0-9_-]{0,62})\}(?!\})")

MAX_FIELDS: Final = 10
"""How many fields a task may leave open: as many as it may answer."""

MAX_QUESTION: Final = 500
"""The longest question, as in the schema, with the answers in it."""


def placeholders(spec: ResearchTaskSpec) -> tuple[str, ...]:
    """Return the names of a task's placeholders, each once, in the order of its texts."""
    texts = (spec.topic, *(q.text for q in spec.questions), spec.guidance or "")
    return tuple(dict.fromkeys(name for text in texts for name in _PLACEHOLDER.findall(text)))


def unanswered(spec: ResearchTaskSpec, named: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the placeholders, and what a model has named beside them, that have no answer."""
    answers = _answers(spec)
    fields = dict.fromkeys((*placeholders(spec), *named))
    return tuple(name for name in fields if name not in answers)


def filled(spec: ResearchTaskSpec, text: str) -> str:
    """Return a text with its placeholders replaced by their answers, as far as there are any."""
    answers = _answers(spec)
    return _PLACEHOLDER.sub(lambda match: answers.get(match[1], match[0]), text)


def asked_questions(spec: ResearchTaskSpec) -> tuple[Question, ...]:
    """Return the task's questions as they are asked: with the answers in their texts.

    A text that the answers would make too long stays as it is; such a spec is not run.
    """
    texts = [(question, filled(spec, question.text)) for question in spec.questions]
    return tuple(
        question.model_copy(update={"text": text}) if len(text) <= MAX_QUESTION else question
        for question, text in texts
    )


def answers_beside(spec: ResearchTaskSpec) -> dict[str, str]:
    """Return the answers that stand in no text of the task: what a model has asked for."""
    in_texts = set(placeholders(spec))
    return {name: text for name, text in _answers(spec).items() if name not in in_texts}


def _answers(spec: ResearchTaskSpec) -> dict[str, str]:
    return {c.field: c.answer.strip() for c in spec.clarifications if c.answer.strip()}
