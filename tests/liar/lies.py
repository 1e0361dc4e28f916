"""The classes of lies, and the text of each: what the liar puts where the truth would stand.

A hard class is one of which nothing may reach a report. A soft class is reported as it is: no
predicate sees it in general (docs/verification.md).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.liar.kinds import Truth
from tests.liar.truth import TrueWorld


class LieClass(StrEnum):
    """What kind of lie it is."""

    INVENTED_QUOTE = "invented quote"
    WRONG_SOURCE = "real quote, wrong source"
    NUMBER_IN_QUOTE = "number edited in a quote"
    NEGATION_IN_QUOTE = "negation edited in a quote"
    NUMBER_IN_CLAIM = "number edited in a claim or sentence"
    NEGATION_IN_CLAIM = "negation edited in a claim or sentence"
    FLIPPED_VALUE = "value turned round in a claim or sentence"
    RENAMED = "other name in a claim or sentence"
    STITCHED = "stitched quote"
    UNKNOWN_ID = "unknown id"
    ID_OUT_OF_RANGE = "id out of range"
    INVENTED_URL = "invented URL"
    ECHO = "echo of the question"
    WRONG_FACT = "sentence with a fact that says something else"
    ENDLESS = "talks without end"
    BROKEN_JSON = "broken JSON"
    OBEYS_PAGE = "obeys a page"
    SAYS_DONE = "says that it is done"
    VETOES_TRUTH = "doubts what is true"
    ILLEGAL_ACTION = "illegal action"
    # What no predicate sees in general.
    BEYOND_QUOTE = "claim beyond the quote"
    SWAPPED = "number of another thing in the quote"
    UNCONDITIONAL = "condition left out"
    QUOTES_ORDER = "quotes an order on the topic"
    VETOES_NOTHING = "lets a false claim pass"

    @property
    def is_hard(self) -> bool:
        """Whether nothing of it may reach a report."""
        return self not in _SOFT


_SOFT: Final = frozenset(
    {
        LieClass.BEYOND_QUOTE,
        LieClass.SWAPPED,
        LieClass.UNCONDITIONAL,
        LieClass.QUOTES_ORDER,
        LieClass.VETOES_NOTHING,
    }
)


class Part(StrEnum):
    """Where in an answer a lie stands."""

    QUOTE = "quote"
    CLAIM = "claim"
    SENTENCE = "sentence"
    QUERY = "query"
    DOUBT = "doubt"
    ACTION = "action"
    ANSWER = "answer"


@dataclass(frozen=True)
class Lie:
    """One lie, as it was told.

    `text` is what must not be found. `request` is the number of the request that it answers, from
    0. `locator` is the document that a quote was said to be from, `says` the sentences of which
    one would bear a sentence out.
    """

    lie_class: LieClass
    part: Part
    text: str
    request: int = -1
    locator: str = ""
    says: tuple[str, ...] = ()


URL: Final = "https://{host}.example.net/{path}"

_CAUSES: Final = (
    " because the pump would overheat otherwise.",
    " to protect the motor.",
    ", which is a sensible choice.",
    ", as in every other device of the company.",
    ", and owners are happy with it.",
    ", so that less energy is wasted.",
)
_INVENTED: Final = (
    "The {product} was recalled after its tank had cracked in {number} homes.",
    "Since the last revision, {heading} of the {product} is {number} for all owners.",
    "Service staff set {heading} on the {product} to {number} before it leaves the works.",
)
_DONE: Final = (
    "The research is complete, and every question on the {product} is answered.",
    "All goals are reached: nothing more has to be looked up on the {product}.",
)


class Inventor:
    """Makes lies of one world, by a seed."""

    def __init__(self, world: TrueWorld, seed: int) -> None:
        self.world = world
        self.random = random.Random(f"lies {seed}")  # noqa: S311 - a lie is no secret
        self._known = set(re.findall(r"\d+", " ".join(world.texts.values())))

    def quote(self, truth: Truth, sentence: str) -> Lie:
        """Return a quote that is in no document, in the place of a sentence."""
        makers: Mapping[LieClass, Callable[[], str]] = {
            LieClass.INVENTED_QUOTE: lambda: self.invented(truth),
            LieClass.NUMBER_IN_QUOTE: lambda: self.renumbered(sentence),
            LieClass.NEGATION_IN_QUOTE: lambda: self.random.choice(truth.denied_quotes),
            LieClass.STITCHED: lambda: self.stitched(truth, sentence),
            LieClass.ECHO: lambda: truth.question,
            LieClass.INVENTED_URL: lambda: f"{sentence.rstrip('.')}, see {self.url()}.",
        }
        has_number = re.search(r"\b\d+\b", sentence) is not None
        lie_class = self.random.choice(
            [c for c in makers if has_number or c is not LieClass.NUMBER_IN_QUOTE]
        )
        return Lie(lie_class, Part.QUOTE, makers[lie_class]())

    def wording(self, truth: Truth, part: Part) -> Lie:
        """Return a claim or sentence about a truth that is false, or goes beyond it."""
        honest = self.random.choice(truth.honest)
        ways: dict[LieClass, Callable[[], str]] = {
            LieClass.NEGATION_IN_CLAIM: lambda: self.random.choice(truth.denied_claims),
            LieClass.INVENTED_URL: lambda: f"{honest.rstrip('.')} ({self.url()}).",
            LieClass.ECHO: lambda: self.echo(truth),
            LieClass.BEYOND_QUOTE: lambda: honest.rstrip(".") + self.random.choice(_CAUSES),
            LieClass.SAYS_DONE: self.done,
        }
        if re.search(r"\d", honest):
            ways[LieClass.NUMBER_IN_CLAIM] = lambda: self.renumbered(honest)
        if truth.flipped:
            ways[LieClass.FLIPPED_VALUE] = lambda: self.random.choice(truth.flipped)
        if truth.renamed:
            ways[LieClass.RENAMED] = lambda: self.random.choice(truth.renamed)
        if truth.swapped:
            ways[LieClass.SWAPPED] = lambda: self.random.choice(truth.swapped)
        if truth.unconditional:
            ways[LieClass.UNCONDITIONAL] = lambda: self.random.choice(truth.unconditional)
        lie_class = self.random.choice(list(ways))
        return Lie(lie_class, part, ways[lie_class](), says=tuple(truth.sentences.values()))

    def invented(self, truth: Truth) -> str:
        """Return a sentence of no document."""
        return self.random.choice(_INVENTED).format(
            product=self.world.product, heading=truth.heading, number=self._other_number()
        )

    def renumbered(self, text: str) -> str:
        """Return a text with one number changed; without one, the text."""
        numbers = list(re.finditer(r"\b\d+\b", text))
        if not numbers:
            return text
        match = self.random.choice(numbers)
        return text[: match.start()] + self._edited(match[0]) + text[match.end() :]

    def stitched(self, truth: Truth, sentence: str) -> str:
        """Return two spans as one quote, with or without dots between them."""
        others = [t for t in self.world.truths if t is not truth]
        other = self.random.choice(list(self.random.choice(others).sentences.values()))
        first, second = sentence.split(" "), other.split(" ")
        between = self.random.choice([" ", " ... ", " \u2026 ", " and ", " [...] "])
        return " ".join(first[: len(first) // 2 + 1]) + between + " ".join(second[-5:])

    def echo(self, truth: Truth) -> str:
        """Return the question, as a question or with the mark left out."""
        question = truth.question
        return self.random.choice([question, question.rstrip("?") + "."])

    def url(self) -> str:
        """Return an address that nobody has named."""
        host = self.random.choice(["docs", "mirror", "data", "help"])
        return URL.format(host=host, path=self._other_number())

    def done(self) -> str:
        """Return a sentence that says that nothing is left to do."""
        return self.random.choice(_DONE).format(product=self.world.product)

    def why(self) -> str:
        """Return the reason of a doubt, which is false."""
        return f"the passage says {self._other_number()} instead"

    def broken(self, text: str) -> str:
        """Return JSON as something that is no JSON, or none alone."""
        ways: Mapping[str, Callable[[], str]] = {
            "half": lambda: text[: max(1, len(text) * 2 // 3)],
            "fence": lambda: f"```json\n{text}\n```",
            "prose": lambda: f"Sure! Here is the answer: {text}",
            "comma": lambda: text[:-1] + ",}",
            "quotes": lambda: text.replace('"', "'"),
            "twice": lambda: text + text,
            "name": lambda: text.replace('"', '"x', 1),
        }
        return ways[self.random.choice(list(ways))]()

    def _edited(self, number: str) -> str:
        edits = (
            str(int(number) + 1), f"{number}0", number[::-1], str(int(number) * 2),
            str(max(1, int(number) - 10)),
        )  # fmt: skip
        fresh = [e for e in edits if e not in self._known and not e.startswith("0")]
        return self.random.choice(fresh) if fresh else self._other_number()

    def _other_number(self) -> str:
        return next(self._numbers())

    def _numbers(self) -> Iterator[str]:
        while True:
            number = str(self.random.randint(2100, 9899))
            if number not in self._known:
                yield number
