"""Typed values: what can be compared by code, and when two of them cannot both be right.

A value is a number with or without a unit, a date, a boolean, a version or one word of a set. Units
are brought to one base in exact fractions. Where a spelling has two readings (a MB of 1000 or of
1024 kB), values that agree under one of them agree: a contradiction that is none is worse than one
that is missed (docs/verification.md, Contradictions).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from controller.evidence.anchors import HardKind, HardToken, measure_at_start
from controller.evidence.listing import listed
from controller.evidence.normalisation import normalise
from controller.evidence.report_disagreements import ValueKind
from controller.evidence.tokens import stem, stop_words


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value as its source writes it, and the readings by which it is compared.

    `dimension` is what a number measures: a base unit, the words after it, or nothing.
    """

    kind: ValueKind
    written: str
    readings: frozenset[Fraction | str]
    dimension: str = ""

    def is_comparable(self, other: TypedValue) -> bool:
        """Say whether two values are of the same kind, and measure the same."""
        return (self.kind, self.dimension) == (other.kind, other.dimension)

    def agrees(self, other: TypedValue) -> bool:
        """Say whether two comparable values can both be right."""
        return any(
            one == another or (self.kind in _REFINED and _refines(one, another, self.kind))
            for one in self.readings
            for another in other.readings
        )


_REFINED: Final = frozenset({ValueKind.DATE, ValueKind.VERSION, ValueKind.WORD})
"""Kinds whose values may be given in less detail: `May 2024`, version `2.1`, `sqlite3`."""

_SECOND, _BYTE, _METRE, _GRAM = "second", "byte", "metre", "gram"

_UNITS: Final[dict[str, tuple[str, tuple[Fraction, ...]]]] = {
    "nanosecond": (_SECOND, (Fraction(1, 10**9),)),
    "microsecond": (_SECOND, (Fraction(1, 10**6),)),
    "millisecond": (_SECOND, (Fraction(1, 1000),)),
    "minute": (_SECOND, (Fraction(60),)),
    "hour": (_SECOND, (Fraction(3600),)),
    "day": (_SECOND, (Fraction(86_400),)),
    "week": (_SECOND, (Fraction(604_800),)),
    "year": ("month", (Fraction(12),)),
    "bit": (_BYTE, (Fraction(1, 8),)),
    **{
        f"{prefix}B": (_BYTE, (Fraction(1000**power), Fraction(1024**power)))
        for power, prefix in enumerate("kMGT", start=1)
    },
    **{
        f"{prefix}iB": (_BYTE, (Fraction(1024**power),))
        for power, prefix in enumerate("KMGT", start=1)
    },
    "kHz": ("Hz", (Fraction(10**3),)),
    "MHz": ("Hz", (Fraction(10**6),)),
    "GHz": ("Hz", (Fraction(10**9),)),
    "millimetre": (_METRE, (Fraction(1, 1000),)),
    "centimetre": (_METRE, (Fraction(1, 100),)),
    "kilometre": (_METRE, (Fraction(1000),)),
    "inch": (_METRE, (Fraction(254, 10_000),)),
    "foot": (_METRE, (Fraction(3048, 10_000),)),
    "mile": (_METRE, (Fraction(1_609_344, 1000),)),
    "kilogram": (_GRAM, (Fraction(1000),)),
    "tonne": (_GRAM, (Fraction(10**6),)),
    "milliampere": ("ampere", (Fraction(1, 1000),)),
}
"""The base unit of a unit, and by what it can be a multiple of it; others are their own base."""

_BOOLEANS: Final = {
    **dict.fromkeys(("true", "yes", "on", "enabled"), "true"),
    **dict.fromkeys(("false", "no", "off", "disabled"), "false"),
}
_NOTHING: Final = frozenset({"none", "null", "nil"})
_EVASIVE: Final = frozenset(
    listed("any default depends empty see unknown undefined unset variable varies various")
)
"""Words that stand where a value would, and are none."""

_WHOLE: Final = re.compile(r"(?P<value>.*?)(?: ?\((?P<note>[^()]*)\))? ?[.;]?", re.DOTALL)
_CONDITION: Final = re.compile(
    r"\b(?:if|when|unless|except|only|depend\w*|otherwise|or|while|until|before|after|on|with"
    r"|without|but|at (?:least|most)|up to|more|less|minimum|maximum)\b",
    re.IGNORECASE,
)
"""Words that make a value hold in some cases alone, or a bound of it."""

_VERSION: Final = re.compile(
    r"(?P<named>version |v\.? ?)?(?P<version>\d+(?:\.\d+)*)", re.IGNORECASE
)
_COUNTED: Final = re.compile(r"(?: [a-z]+(?:-[a-z]+)*){1,3}", re.IGNORECASE)
_WORD: Final = re.compile(r"(?P<mark>['\"`])(?P<quoted>[\w./:@+-]+)(?P=mark)|(?P<bare>[\w./:@+-]+)")
_PART: Final = re.compile(r"[^\W_]+")


def typed_value(text: str, *, is_version: bool = False, language: str = "en") -> TypedValue | None:
    """Return the value that a text is, in whole; None: it is none, or holds in some cases alone.

    A note in parentheses after it is left out: `600 (10 minutes)`.

    Args:
        text: what stands in the place of a value.
        is_version: that place is for a version, so that 3.10 is no number.
        language: of the text, an ISO 639-1 code.
    """
    whole = _WHOLE.fullmatch(normalise(text).text)
    if whole is None or _CONDITION.search(whole["note"] or ""):
        return None
    value = whole["value"]
    if value.lower() in _BOOLEANS:
        return _text(ValueKind.BOOLEAN, value, _BOOLEANS[value.lower()])
    version = _VERSION.fullmatch(value)
    if version and (is_version or version["named"] or version["version"].count(".") > 1):
        return _text(ValueKind.VERSION, value, version["version"])
    return _measure(value, language) or _word(value, language)


def _text(kind: ValueKind, written: str, reading: str) -> TypedValue:
    return TypedValue(kind, written, frozenset({reading}))


def _measure(value: str, language: str) -> TypedValue | None:
    """Return a value as a date or a number, the latter with its unit or up to three words."""
    found = measure_at_start(value)
    if found is None:
        return None
    (token, *units), end = found
    rest = value[end:]
    if token.kind is HardKind.DATE:
        return None if rest else _text(ValueKind.DATE, value, token.value)
    if rest and (units or not _is_counted(rest, language)):
        return None
    if token.kind is HardKind.PERCENTAGE:
        ratio = Fraction(token.value.removesuffix("%")) / 100
        return TypedValue(ValueKind.NUMBER, value, frozenset({ratio}), "ratio")
    return _number(value, Fraction(token.value), units, rest, language)


def _number(
    value: str, number: Fraction, units: Sequence[HardToken], counted: str, language: str
) -> TypedValue:
    unit = units[0].value if units else ""
    base, multiples = _UNITS.get(unit, (unit, (Fraction(1),)))
    words = " ".join(stem(word, language) for word in counted.lower().split())
    readings = frozenset(number * multiple for multiple in multiples)
    return TypedValue(ValueKind.NUMBER, value, readings, base or words)


def _is_counted(rest: str, language: str) -> bool:
    """Say whether words after a number are what it counts: `5 open connections`."""
    words = rest.lower().split()
    return (
        _COUNTED.fullmatch(rest) is not None
        and not _CONDITION.search(rest)
        and not stop_words(language).intersection(words)
    )


def _word(value: str, language: str) -> TypedValue | None:
    match = _WORD.fullmatch(value)
    if match is None:
        return None
    word = (match["quoted"] or match["bare"]).casefold()
    if not any(character.isalpha() for character in word):
        return None
    is_no_value = word in _EVASIVE or word in stop_words(language)
    if match["bare"] and is_no_value:
        return None
    return _text(ValueKind.WORD, value, "none" if match["bare"] and word in _NOTHING else word)


def _refines(one: Fraction | str, other: Fraction | str, kind: ValueKind) -> bool:
    """Say whether one of two texts only says more: a day of a month, a patch of a version."""
    parts, others = (tuple(_PART.findall(str(reading))) for reading in (one, other))
    short, long = sorted((parts, others), key=len)
    if kind is ValueKind.WORD:
        is_end = long[len(long) - len(short) :] == short
        return is_end or long[: len(short)] == short or "".join(parts) == "".join(others)
    return long[: len(short)] == short
