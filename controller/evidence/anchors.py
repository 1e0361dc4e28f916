"""Hard tokens: what a claim may not say unless its evidence does (docs/verification.md, P3).

Numbers with their group separators removed (words from zero to twenty as digits), percentages,
units, dates, quoted strings, identifiers and addresses. Versions are numbers with more points.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from controller.evidence.normalisation import normalise
from controller.evidence.terms import bare_name, is_identifier, quoted_strings, written_words
from controller.evidence.tokens import cuts_a_token


class HardKind(StrEnum):
    """The kinds of hard tokens; from `LITERAL` on they are looked for in worded claims only."""

    NUMBER = "number"
    PERCENTAGE = "percentage"
    UNIT = "unit"
    DATE = "date"
    QUOTED = "quoted string"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    LITERAL = "literal"
    ORDINAL = "ordinal"
    MAGNITUDE = "magnitude"
    NAME = "name"


class HardToken(NamedTuple):
    """A hard token in its canonical form: `1,000` is the number 1000, `5 May 2024` 2024-05-05."""

    kind: HardKind
    value: str


UNITS: Final[dict[str, str]] = {
    spelling: unit
    for unit, spellings in {
        "nanosecond": "ns nanosecond nanoseconds",
        "microsecond": "us microsecond microseconds",
        "millisecond": "ms msec millisecond milliseconds",
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "bit": "bit bits",
        "byte": "B byte bytes",
        "kB": "kB KB kilobyte kilobytes",
        "MB": "MB megabyte megabytes",
        "GB": "GB gigabyte gigabytes",
        "TB": "TB terabyte terabytes",
        "KiB": "KiB kibibyte kibibytes",
        "MiB": "MiB mebibyte mebibytes",
        "GiB": "GiB gibibyte gibibytes",
        "TiB": "TiB tebibyte tebibytes",
        "Hz": "Hz hertz",
        "kHz": "kHz kilohertz",
        "MHz": "MHz megahertz",
        "GHz": "GHz gigahertz",
        "millimetre": "mm millimetre millimetres millimeter millimeters",
        "centimetre": "cm centimetre centimetres centimeter centimeters",
        "metre": "m metre metres meter meters",
        "kilometre": "km kilometre kilometres kilometer kilometers",
        "gram": "g gram grams",
        "kilogram": "kg kilogram kilograms",
        "degree": "degree degrees",
        "kelvin": "kelvin kelvins",
        "watt": "watt watts",
        "volt": "volt volts",
        "ampere": "ampere amperes amp amps",
        "milliampere": "milliampere milliamperes",
        "lumen": "lumen lumens",
        "inch": "inch inches",
        "foot": "foot feet",
        "mile": "mile miles",
        "litre": "litre litres liter liters",
        "tonne": "tonne tonnes",
        "pixel": "px pixel pixels",
        "character": "character characters",
        "dollar": "USD dollar dollars",
        "euro": "EUR euro euros",
    }.items()
    for spelling in spellings.split()
}
"""The unit that a spelling stands for; a unit is read only after a number."""

UNITS_IN_LOWER_CASE: Final = {spelling.lower(): unit for spelling, unit in UNITS.items()}

NUMBER_WORDS: Final[dict[str, str]] = {
    word: str(number)
    for number, word in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
            *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
            *("seventeen", "eighteen", "nineteen", "twenty"),
        )
    )
}

_MONTHS: Final[dict[str, str]] = {
    name[:3]: f"{number:02}"
    for number, name in enumerate(
        (
            *("january", "february", "march", "april", "may", "june", "july", "august"),
            *("september", "october", "november", "december"),
        ),
        start=1,
    )
}
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"

_GROUP_SPACE: Final = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_GROUP_SEPARATOR: Final = re.compile(r"[,_']")

_HARD: Final = re.compile(
    rf"""
    (?P<address>https?://[^\s<>"'`]+)
    | (?P<date>
        \b(?P<iso_year>\d{{4}})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)(?!\d)
        | \b(?:(?P<day_first>{_DAY})(?:\ of)?\ )?(?P<month_first>{_MONTH})\.?,?
          \ (?:(?P<day_second>{_DAY}),?\ )?(?P<year>\d{{4}})\b
      )
    | (?<![\w.])(?P<sign>(?<![\w)])-)?v?
      (?P<number>\d{{1,3}}(?:[,_']\d{{3}})+(?:\.\d+)?(?!\w)|\d+(?:\.\d+)*|\.\d+)
      (?:\ ?(?P<percent>%|per\ ?cent\b)
        | \ ?-?(?P<unit>{"|".join(sorted(UNITS, key=len, reverse=True))})(?!\w)
        | (?!\w|\.\d) )
    | \b(?P<word>{"|".join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b
      (?:\ (?P<word_percent>%|per\ ?cent\b))?
      (?:\ (?P<word_unit>{"|".join(sorted(UNITS, key=len, reverse=True))})(?!\w))?
    """,
    re.VERBOSE | re.IGNORECASE,
)


def hard_tokens(text: str) -> tuple[HardToken, ...]:
    """Return the hard tokens of a text, distinct, measures first, then names and quotations."""
    normalised = normalise(_GROUP_SPACE.sub("", text)).text
    return tuple(dict.fromkeys((*_measures(normalised), *_names(normalised))))


def missing_anchors(claim: str, evidence: Iterable[str]) -> tuple[HardToken, ...]:
    """Return the hard tokens of a claim that no piece of its evidence has.

    Names, quoted strings and addresses may also stand unmarked in the evidence, as whole words.
    """
    pieces = tuple(evidence)
    texts = tuple(normalise(piece).text for piece in pieces)
    there = {
        implied for piece in pieces for found in hard_tokens(piece) for implied in _implied(found)
    }
    return tuple(
        token
        for token in hard_tokens(claim)
        if token not in there
        and not (token.kind in _WRITTEN and any(_stands_in(token.value, text) for text in texts))
    )


_WRITTEN: Final = frozenset({HardKind.QUOTED, HardKind.IDENTIFIER, HardKind.ADDRESS})


def _stands_in(value: str, text: str) -> bool:
    at = text.find(value)
    while at >= 0:
        if not cuts_a_token(text, at) and not cuts_a_token(text, at + len(value)):
            return True
        at = text.find(value, at + 1)
    return False


def _implied(token: HardToken) -> Iterator[HardToken]:
    """Yield what evidence with this token also says: a date its month and year, 5 % the 5."""
    yield token
    if token.kind is HardKind.DATE:
        parts = token.value.split("-")
        yield HardToken(HardKind.NUMBER, parts[0])
        yield HardToken(HardKind.DATE, "-".join(parts[:2]))
    elif token.kind is HardKind.PERCENTAGE:
        yield HardToken(HardKind.NUMBER, token.value.removesuffix("%"))


def _measures(text: str) -> Iterator[HardToken]:
    for match in _HARD.finditer(text):
        if match["address"]:
            yield HardToken(HardKind.ADDRESS, match["address"].rstrip(".,;:!?)"))
        elif match["date"]:
            yield HardToken(HardKind.DATE, _date(match))
        else:
            yield from _quantity(match)


def _date(match: re.Match[str]) -> str:
    if match["iso_year"]:
        return f"{match['iso_year']}-{match['iso_month']}-{match['iso_day']}"
    month = _MONTHS[match["month_first"][:3].lower()]
    day = re.sub(r"\D", "", match["day_first"] or match["day_second"] or "")
    return f"{match['year']}-{month}-{int(day):02}" if day else f"{match['year']}-{month}"


def _quantity(match: re.Match[str]) -> Iterator[HardToken]:
    if match["word"]:
        number = NUMBER_WORDS[match["word"].lower()]
    else:
        digits = _GROUP_SEPARATOR.sub("", match["number"])
        number = (match["sign"] or "") + ("0" if digits.startswith(".") else "") + digits
    if match["percent"] or match["word_percent"]:
        yield HardToken(HardKind.PERCENTAGE, f"{number}%")
        return
    yield HardToken(HardKind.NUMBER, number)
    unit = match["unit"] or match["word_unit"]
    if unit:
        yield HardToken(HardKind.UNIT, UNITS.get(unit) or UNITS_IN_LOWER_CASE[unit.lower()])


def _names(text: str) -> Iterator[HardToken]:
    for written in written_words(text):
        if "://" not in written and not _HARD.fullmatch(written) and is_identifier(written):
            yield HardToken(HardKind.IDENTIFIER, bare_name(written))
    for quoted in quoted_strings(text):
        yield HardToken(HardKind.QUOTED, quoted)


def numbers_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where the numbers of a normalised text stand, and each in its canonical form."""
    for match in _HARD.finditer(text):
        if not match["address"] and not match["date"]:
            group = "word" if match["word"] else "number"
            start = match.start("sign") if match["sign"] else match.start(group)
            yield start, match.end(group), next(_quantity(match)).value.removesuffix("%")


def measure_at_start(text: str) -> tuple[tuple[HardToken, ...], int] | None:
    """Return the measure that a normalised text begins with, as `measures_in`, and its end."""
    match = _HARD.match(text)
    if match is None or match["address"]:
        return None
    if match["date"]:
        return (HardToken(HardKind.DATE, _date(match)),), match.end()
    return tuple(_quantity(match)), match.end()


def measures_in(text: str) -> Iterator[tuple[HardToken, ...]]:
    """Yield the numbers, percentages and dates of a normalised text, a number with its unit."""
    for match in _HARD.finditer(text):
        if match["date"]:
            yield (HardToken(HardKind.DATE, _date(match)),)
        elif not match["address"]:
            yield tuple(_quantity(match))
