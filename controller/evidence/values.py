"""The hard tokens that only a worded claim can get wrong: values, measures, order and names (P3).

A quote has them as its source does. A claim may put a value that the quote names beside a word
that it does not belong to, a unit to another number, or a name that nobody has mentioned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from controller.evidence.anchors import (
    NUMBER_WORDS,
    UNITS,
    HardKind,
    HardToken,
    measures_in,
    numbers_in,
)
from controller.evidence.closeness import (
    claim_sentences,
    closest_by_plain_terms,
    evidence_sentences,
    says_more,
)
from controller.evidence.listing import listed
from controller.evidence.normalisation import normalise
from controller.evidence.sentences import sentences
from controller.evidence.tokens import Words, stop_words, tokenise

_LITERAL: Final = re.compile(
    r"(?P<none_of>\b[Nn]one of\b)"
    r"|\b(?P<true>[Tt]rue|TRUE)\b|\b(?P<false>[Ff]alse|FALSE)\b|\b(?P<null>None|[Nn]ull|NULL|nil)\b"
)
_STATE: Final = re.compile(
    r"\b(?P<true>enabled)\b|\b(?P<false>disabled)\b"
    r"|(?:\b(?:is|are|be|set|to|turned|turns|turn|switched|switch|default|defaults)|[:=])"
    r" ?[\"'`]?(?:(?P<on>on|yes)|(?P<off>off|no))\b[\"'`]?"
    r"(?= ?(?:[.,;:!?)]|$)| (?:by default|unless|when|if|for|in|and|or|but)\b)",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(r"(?:\b(?:not|never|cannot|no longer)|n't)(?: \w+){0,2} $")
_EXPLICIT: Final = ("true", "false", "null")

_ORDINALS: Final[dict[str, str]] = {
    word: str(number)
    for number, word in enumerate(
        listed(
            """
            first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
            thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
            """
        ),
        start=1,
    )
}
_MAGNITUDES: Final = {
    spelling: spellings.split()[0]
    for spellings in listed(
        """
        hundred; thousand; million; billion; trillion; dozen; half; thirty; forty; fifty; sixty;
        seventy; eighty; ninety; twice double doubles doubled; thrice triple triples tripled;
        hundreds; thousands; millions; billions
        """,
        ";",
    )
    for spelling in spellings.split()
}
_WORD: Final = re.compile(r"[^\W_]+", re.UNICODE)
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)

_COUNTED: Final = re.compile(r" ?-?([^\W\d_]{2,}|%)", re.UNICODE)
"""What stands after a number and is counted by it."""

MINIMUM_UNIT: Final = 4
"""How long a unit is that is read without a number; shorter ones are other words: `min`, `in`."""

_SHORT_UNITS: Final = frozenset(("kB", "KB", "MB", "GB", "TB", "KiB", "day", "bit"))
_COUNTS_UP: Final = re.compile(r"\b(?:the|its|their|this|that) $", re.IGNORECASE)
"""What stands before a `second` that comes after a first."""

_BARE_UNITS: Final = {
    spelling: unit
    for spelling, unit in UNITS.items()
    if len(spelling) >= MINIMUM_UNIT or spelling in _SHORT_UNITS
}
"""Units that are read as such without a number before them: `in seconds`, `per minute`."""

_NAME: Final = re.compile(r"(?<![\w'@/.-])[^\W\d_]+(?![\w@/-])", re.UNICODE)
_STARTS_ANEW: Final = re.compile(r"(?:[:\"'(\[*\u2022-]) ?$")

OPENERS: Final = frozenset(
    listed(
        """
        solely exclusively accordingly additionally afterwards also alternatively although
        apparently as because besides conversely currently finally first further furthermore
        generally hence however if in initially instead internally later likewise meanwhile
        moreover nevertheless next normally now once otherwise overall previously rather second
        similarly since so sometimes specifically still subsequently then therefore though thus
        together typically unlike usually whereas whether while call calls calling choose
        chooses choosing contain contains control controls controlling define defines defining
        describe describes determine determines give gives giving indicate indicates provide
        provides return returns set sets setting specify specifies specifying take takes taking
        tell tells use uses using anyone everybody everyone people person somebody someone
        something thing things users value values
        """
    )
)
"""What may stand first in an English claim although its evidence has no such word."""


class Value(NamedTuple):
    """A value that a sentence states; `explicit` ones are literals, the others states."""

    name: str
    explicit: bool


def faults_in(
    claim: str, pieces: Sequence[Sequence[str]], language: str = "en"
) -> Iterator[HardToken]:
    """Yield the hard tokens of a worded claim that its evidence does not have so.

    Args:
        claim: the claim.
        pieces: the cited slices, each with the headings above it.
        language: of the task, an ISO 639-1 code.
    """
    texts = [text for piece in pieces for text in piece]
    among = evidence_sentences(pieces, language)
    yield from _unknown_names(claim, texts, language)
    headings = [heading for _, *above in pieces for heading in above]
    for sentence in claim_sentences(claim):
        if among:
            nearest = closest_by_plain_terms(sentence, among, language)
            allowed = [
                nearest.text,
                *headings,
                *(s.text for s in among if says_more(s, nearest, sentence, language)),
            ]
            yield from _misplaced(sentence, nearest.text, allowed, language)
            yield from _unknown_words(sentence, allowed)
            yield from _repeated(sentence, allowed)


def _bare(normal: str, stopped: frozenset[str]) -> Iterator[HardToken]:
    """Yield the numbers that nothing is counted by: the unit of `5 or 6 seconds` is both's."""
    for _, end, number in numbers_in(normal):
        counted = _COUNTED.match(normal, end)
        if counted is None or counted[1].lower() in stopped:
            yield HardToken(HardKind.NUMBER, number)


def _misplaced(
    sentence: str, nearest: str, allowed: Sequence[str], language: str
) -> Iterator[HardToken]:
    """Yield the values and measures that stand elsewhere than where the claim has them from."""
    stopped = stop_words(language)
    measured = [measure for text in allowed for measure in measures_in(normalise(text).text)]
    loose = {token for measure in measured for token in measure} | {
        HardToken(HardKind.NUMBER, token.value.removesuffix("%"))
        for measure in measured
        for token in measure
        if token.kind is HardKind.PERCENTAGE
    }
    years = {token.value.split("-")[0] for token in loose if token.kind is HardKind.DATE}
    dates = {"-".join(t.value.split("-")[:2]) for t in loose if t.kind is HardKind.DATE}
    bare = {token for text in allowed for token in _bare(normalise(text).text, stopped)}
    for measure in measures_in(normalise(sentence).text):
        number = measure[0]
        known = number in loose or number.value in years or number.value in dates
        if not known:
            yield number
        elif len(measure) > 1 and measure not in measured and number not in bare:
            yield measure[1]
    yield from _wrong_values(sentence, nearest, allowed)


def _wrong_values(sentence: str, nearest: str, allowed: Sequence[str]) -> Iterator[HardToken]:
    """Yield the literals that are not there, and the states that a value there contradicts."""
    near, said = set(values_in(nearest)), {v for text in allowed for v in values_in(text)}
    for value in values_in(sentence):
        names = {v.name for v in said}
        if value.name in names:
            continue
        stated = near if value.explicit else {v for v in near if v.explicit or v.name != "null"}
        if value.explicit or stated:
            yield HardToken(HardKind.LITERAL, value.name)


def values_in(text: str) -> Iterator[Value]:
    """Yield the values that a text states, in order: literals, and states like `disabled`."""
    normal = normalise(text).text
    for match in _LITERAL.finditer(normal):
        for name in _EXPLICIT:
            if match[name]:
                yield Value(name, explicit=True)
    for match in _STATE.finditer(normal):
        # What a negator turns is for P5, which knows which side it is on then.
        if not _DENIED.search(normal[: match.start()]):
            yield Value("true" if match["true"] or match["on"] else "false", explicit=False)


def _unknown_words(claim: str, texts: Iterable[str]) -> Iterator[HardToken]:
    """Yield the ordinals, magnitudes and units of a claim that are nowhere in its evidence."""
    known = {token for text in texts for token in _words_that_count(text)}
    for token in _words_that_count(claim):
        if token not in known:
            yield token


def _words_that_count(text: str) -> Iterator[HardToken]:
    normal = normalise(text).text
    for match in _ORDINAL.finditer(normal):
        yield HardToken(HardKind.ORDINAL, match[1])
    for match in _WORD.finditer(normal):
        word = match[0].lower()
        unit = _BARE_UNITS.get(match[0]) or _BARE_UNITS.get(word)
        if unit and not (word == "second" and _COUNTS_UP.search(normal[: match.start()])):
            yield HardToken(HardKind.UNIT, unit)
        elif word in _ORDINALS:
            yield HardToken(HardKind.ORDINAL, _ORDINALS[word])
        elif word in _MAGNITUDES:
            yield HardToken(HardKind.MAGNITUDE, _MAGNITUDES[word])
    for measure in measures_in(normal):
        yield from (token for token in measure if token.kind is HardKind.UNIT)


def _repeated(sentence: str, allowed: Iterable[str]) -> Iterator[HardToken]:
    """Yield what a sentence of a claim says more often than what it has it from.

    Where a sentence says `5` of one thing and `6` of another, saying `5` of both is a lie.
    """
    known = Counter(token for text in allowed for token in _countable(text))
    for token, count in Counter(_countable(sentence)).items():
        if 1 < count > known[token]:
            yield token


def _countable(text: str) -> Iterator[HardToken]:
    normal = normalise(text).text
    yield from (HardToken(HardKind.NUMBER, number) for _, _, number in numbers_in(normal))
    yield from (HardToken(HardKind.LITERAL, v.name) for v in values_in(text) if v.explicit)
    yield from (token for token in _words_that_count(text) if token.kind is HardKind.ORDINAL)


def _unknown_names(claim: str, texts: Sequence[str], language: str) -> Iterator[HardToken]:
    """Yield the names of a claim that no piece of its evidence has, in whatever case.

    A name is a word with a capital inside a sentence. In English the first word of a sentence may
    be one too: it is, unless it is a word that any sentence may begin with. German writes every
    noun so, and no name can be told by it.
    """
    code = language.partition("-")[0].lower()
    if code == "de":
        return
    known = Words(texts, language)
    common = stop_words("en") | stop_words(language)
    normal = normalise(claim).text
    for begin, end in sentences(normal):
        sentence = normal[begin:end]
        for at, match in enumerate(_NAME.finditer(sentence)):
            word = match[0]
            folded = word.casefold()
            opens = not _WORD.search(sentence[: match.start()]) or bool(
                _STARTS_ANEW.search(sentence[: match.start()])
            )
            if not word[0].isupper() or folded in common or not tokenise(word):
                continue
            if opens and (code != "en" or folded in OPENERS or at > 0):
                continue
            if folded in NUMBER_WORDS or folded in known.tokens or known.has(folded):
                continue
            yield HardToken(HardKind.NAME, word)
