"""What a sentence denies, restricts and compares, and whether another one does the same (P5).

A sentence is read as a bag: how many negators it has, on which side of which antonyms it stands,
whether it says "only" or "except", and which of its numbers are bounds. Two sentences agree if
their bags do. What a word refers to is not read: docs/verification.md says what that leaves open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from controller.evidence.anchors import numbers_in
from controller.evidence.normalisation import normalise
from controller.evidence.polar_words import Side, sides_for, words_for
from controller.evidence.tokens import stem

NEGATION_REACH: Final = 3
"""How many words before an antonym a negator may stand to turn it: `not be fully enabled`."""

MINIMUM_BASE: Final = 3
"""The least length of a word that `un` or `non` before it turns round: `used`, not `it`."""

_NO_ANTONYMS: Final = frozenset({"less"})
"""What `un` before it does not turn round."""

_ABSENCES: Final = frozenset({"without", "ohne", "sans", "sin", "senza"})

_WORD: Final = re.compile(r"[^\W_]+(?:['\-_.][^\W_]+)*", re.UNICODE)

_PHRASES: Final = tuple(
    (re.compile(rf"\b(?:{phrase})\b"), word)
    for phrase, word in {
        # Not a denial, although it has a negator.
        r"(?:not|n't|more than) (?:only|just|merely|simply)": " notonly ",
        r"no matter|no doubt|or not": " ",
        r"(?:nothing|none|no one|nobody) (?:but|except|other than)": " only ",
        r"not (?:until|before)": " notuntil ",
        # Bounds.
        r"(?:no|not) (?:less|fewer|lower) than": " atleast ",
        r"(?:no|not) (?:more|greater|higher) than": " atmost ",
        r"(?:(?:must|may|can|should|will|shall|do|does|is|are|to)? ?(?:not|never) (?:to )?"
        r"|cannot |\w+n't )(?:exceed|surpass)(?:s|ing)?": " atmost ",
        r"at (?:the )?least": " atleast ",
        r"at (?:the )?most": " atmost ",
        # Two words that are one.
        r"(?:turn|switch)(?:ed|e?s|ing)? ((?:\w+ ){0,3})on": r" enabled \1 ",
        r"(?:turn|switch)(?:ed|e?s|ing)? ((?:\w+ ){0,3})off": r" disabled \1 ",
        r"(?:roll|rolls|rolled|rolling) back": " rollback ",
        r"(?:apart|aside) from|other than|with the exception of|but for|except for": " except ",
    }.items()
)


def _after(words: str, bound: str) -> str:
    """Return what may stand after a number that is a bound: `5 or more`, `5 seconds at least`."""
    return rf" ?(?:\w+ )?(?:(?:or|and) (?:{'|'.join(words.split())})|{bound})\b"


_NEVER: Final = r"(?!)"
_BOUNDS: Final = tuple(
    (re.compile(before), re.compile(after), bound)
    for bound, before, after in (
        (
            "at least",
            r"(?:atleast|minimum(?: \w+){0,3}?(?: of| is|:)?|min(?: of| is|:)?) (?:an? )?$",
            _after("more greater higher above later newer older longer up over", "atleast"),
        ),
        (
            "at most",
            r"(?:atmost|up to|maximum(?: \w+){0,3}?(?: of| is|:)?|max(?: of| is|:)?) (?:an? )?$",
            _after("less fewer lower below earlier smaller shorter under", "atmost"),
        ),
        ("more than", r"(?:(?:more|greater|higher|larger|longer|later) than|over|above) $", _NEVER),
        ("more than", r"(?:exceed(?:s|ing)? |> ?)$", _NEVER),
        (
            "less than",
            r"(?:(?:less|fewer|lower|smaller|shorter|earlier) than|under|below) $",
            _NEVER,
        ),
        ("less than", r"< ?$", _NEVER),
        ("at least", r"(?:>=|\u2265) ?$", _NEVER),
        ("at most", r"(?:<=|\u2264) ?$", _NEVER),
    )
)
_BEFORE: Final = 48


@dataclass(frozen=True)
class Reading:
    """A sentence as P5 reads it: its words in order, small, with phrases made one word."""

    text: str
    language: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence, those that a hyphen or an apostrophe joins as one."""
        return tuple(match[0] for match in _WORD.finditer(self.text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of the words."""
        return frozenset(stem(word, self.language) for word in self.words)

    @cached_property
    def negators(self) -> tuple[int, ...]:
        """Where the negators stand; `nor` after `neither` is part of it."""
        places = [at for at, word in enumerate(self.words) if self._negates(word)]
        has_neither = "neither" in self.words or "weder" in self.words
        return tuple(at for at in places if not (has_neither and self.words[at] == "nor"))

    def _negates(self, word: str) -> bool:
        return (
            word in words_for(self.language).negators
            or word.endswith("n't")
            or word.startswith("non-")
            or (word.startswith("n'") and self.language.startswith("fr"))
            or word == "notuntil"
        )

    @cached_property
    def absences(self) -> int:
        """How many of the negators deny the noun after them and nothing else."""
        return sum(self.words[at] in _ABSENCES for at in self.negators)

    @cached_property
    def sides(self) -> tuple[tuple[int, Side], ...]:
        """The sides that words are on, with the place of each word."""
        table = sides_for(self.language)
        found: list[tuple[int, Side]] = []
        for at, word in enumerate(self.words):
            keys = dict.fromkeys((stem(word, "en"), stem(word, self.language)))
            distinct = dict.fromkeys(side for key in keys for side in table.get(key, ()))
            found.extend((at, side) for side in distinct)
        return tuple(found)

    @cached_property
    def pairs(self) -> frozenset[str]:
        """The pairs of antonyms that the sentence has a word of."""
        return frozenset(side.pair for _, side in self.sides)

    @cached_property
    def scopes(self) -> dict[str, int]:
        """How often the sentence says `only`, `except` and the like, in whatever words."""
        words = words_for(self.language)
        # A bound of a number is judged with the number.
        bound = Counter(bound for _, bound in self._bounded)
        return {
            "only": sum(word in words.exclusive for word in self.words),
            "except": sum(word in words.exceptions for word in self.words),
            "not only": self.words.count("notonly"),
            "at least": max(0, self.words.count("atleast") - bound["at least"]),
            "at most": max(0, self.words.count("atmost") - bound["at most"]),
        }

    @cached_property
    def hedges(self) -> Counter[str]:
        """How often each word is there that makes the sentence less, or more, than a plain one."""
        hedges = words_for(self.language).hedges
        return Counter(word for word in self.words if word in hedges)

    @cached_property
    def bounds(self) -> Mapping[str, frozenset[str | None]]:
        """The bounds that each number is given; None: it is the number itself."""
        found: dict[str, set[str | None]] = {}
        for number, bound in self._bounded:
            found.setdefault(number, set()).add(bound)
        return {number: frozenset(bounds) for number, bounds in found.items()}

    @cached_property
    def _bounded(self) -> tuple[tuple[str, str | None], ...]:
        found = []
        for start, end, number in numbers_in(self.text):
            before, after = self.text[max(0, start - _BEFORE) : start], self.text[end:]
            bounds = (b for pre, post, b in _BOUNDS if pre.search(before) or post.match(after))
            found.append((number, next(bounds, None)))
        return tuple(found)

    def governing(self, at: int) -> int | None:
        """Return the place of the negator that turns the word at a place, None if none does."""
        near = [n for n in self.negators if 0 < at - n <= NEGATION_REACH]
        return near[-1] if near else None

    def turned(self, pairs: Iterable[str]) -> tuple[Counter[tuple[str, bool]], int]:
        """Return how often each side of some pairs is taken, and how many negators are left.

        A negator before an antonym turns it, and is used up: `not enabled` is `disabled`.
        """
        wanted, used = frozenset(pairs), set()
        taken: Counter[tuple[str, bool]] = Counter()
        for at, side in self.sides:
            if side.pair not in wanted:
                continue
            negator = self.governing(at) if side.complementary else None
            if negator is not None:
                used.add(negator)
            taken[side.pair, side.is_second is (negator is None)] += 1
        return taken, len(self.negators) - len(used)


@lru_cache(maxsize=4096)
def read(sentence: str, language: str = "en") -> Reading:
    """Return a sentence as P5 reads it."""
    text = normalise(sentence).text.casefold()
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    return Reading(re.sub(r" {2,}", " ", text), language)


def mismatch(
    claim: Reading, clauses: Reading, sentence: Reading, evidence: Sequence[Reading] = ()
) -> str | None:
    """Return in what a claim's sentence and its closest sentence differ, None if in nothing.

    Args:
        claim: a sentence of the claim.
        clauses: what it takes from the closest sentence.
        sentence: the closest sentence; exceptions anywhere in it count.
        evidence: all sentences: where the closest one has neither side of a pair of antonyms, the
            claim stands on a side that is there.
    """
    faults = (
        *_sides(claim, clauses, [sentence, *evidence]),
        *_negations(claim, clauses),
        *_lost_or_gained(claim.scopes, clauses.scopes | {"except": sentence.scopes["except"]}),
        *_bounds(claim, sentence),
    )
    return next(iter(faults), None)


def _negations(claim: Reading, sentence: Reading) -> Iterator[str]:
    """Yield that the one denies where the other does not."""
    shared = frozenset(
        side.pair for _, side in claim.sides if side.complementary and side.pair in sentence.pairs
    )
    _, claimed = claim.turned(shared)
    _, said = sentence.turned(shared)
    # "without water" denies the water alone: it is no "not" of anything else.
    for here, there in (
        (claimed - claim.absences, said - sentence.absences),
        (claim.absences, sentence.absences),
    ):
        if here % 2 != there % 2 or (here == 0) is not (there == 0):
            yield f"{here} negations, its closest sentence has {there}"


def _sides(claim: Reading, sentence: Reading, rest: Iterable[Reading]) -> Iterator[str]:
    """Yield the antonyms of the claim of which the evidence has only the other side."""
    for pair in sorted(claim.pairs):
        claimed, _ = claim.turned([pair])
        said, _ = sentence.turned([pair])
        for other in rest:
            if not said:
                said, _ = other.turned([pair])
        both = len(said) == 2  # noqa: PLR2004 - a pair
        for side, count in claimed.items():
            if said and (side not in said or (both and count > said[side])):
                yield f"it is on the other side of {_shown(pair)}"
    yield from _prefixes(claim, sentence)


def _prefixes(claim: Reading, sentence: Reading) -> Iterator[str]:
    """Yield the words that the one has with `un` or `non` before it, and the other without."""
    claimed, said = _denied(claim), _denied(sentence)
    for word in sorted(claimed.keys() & said.keys()):
        if not claimed[word] <= said[word]:
            yield f"it is on the other side of {word}"


def _denied(reading: Reading) -> dict[str, set[bool]]:
    """Return each word without `un` or `non`, and whether it stands denied."""
    found: dict[str, set[bool]] = {}
    for word in reading.words:
        base = re.sub(r"^(?:un|non-?)", "", word)
        prefixed = base != word and len(base) >= MINIMUM_BASE and base not in _NO_ANTONYMS
        key = stem(base if prefixed else word, reading.language)
        found.setdefault(key, set()).add(prefixed)
    return found


def _lost_or_gained(claimed: Mapping[str, int], said: Mapping[str, int]) -> Iterator[str]:
    """Yield the scopes that the one has more often than the other."""
    for scope, count in said.items():
        if count > claimed[scope]:
            yield f"{scope!r} of its closest sentence is lost"
        elif count < claimed[scope]:
            yield f"{scope!r} is not in its closest sentence"


def _bounds(claim: Reading, sentence: Reading) -> Iterator[str]:
    """Yield the numbers that are a bound in the one and another bound, or none, in the other."""
    for number, bounds in claim.bounds.items():
        said = sentence.bounds.get(number)
        if said is not None and not bounds <= said:
            here = " or ".join(bound or "exactly" for bound in sorted(bounds - said, key=str))
            there = " or ".join(bound or "exactly" for bound in sorted(said, key=str))
            yield f"{here} {number}, its closest sentence has {there} {number}"


def _shown(pair: str) -> str:
    return "/".join(side.split()[0] for side in pair.split("|"))
