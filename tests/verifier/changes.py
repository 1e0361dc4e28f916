"""What becomes of a sentence: noise that a copy may have, and changes that make it a lie."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

Change = Callable[[str, random.Random], str | None]
"""Returns a text with one thing changed; None: there is nothing of the kind in it."""


def _replaced(text: str, match: re.Match[str], other: str) -> str:
    return text[: match.start()] + other + text[match.end() :]


def _one(pattern: re.Pattern[str], text: str, dice: random.Random) -> re.Match[str] | None:
    matches = list(pattern.finditer(text))
    return dice.choice(matches) if matches else None


_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?![\w])")
_NEGATOR: Final = re.compile(r"\b(?:not|never|no|without|cannot|can't|don't|doesn't|isn't)\b")
_AUXILIARY: Final = re.compile(
    r"\b(?:is|are|was|were|can|may|must|should|will|has|have|does|do)\b(?! not\b|n't)"
)
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]{3,}\b|\b\w+_\w+\b")


def number(text: str, dice: random.Random) -> str | None:
    """Change a number."""
    match = _one(_NUMBER, text, dice)
    if match is None:
        return None
    digits = match[0]
    others = (f"{digits}0", f"1{digits}", str(int(digits) + 1), digits[::-1], "37")
    return _replaced(text, match, dice.choice([o for o in others if o != digits]))


def negation(text: str, dice: random.Random) -> str | None:
    """Drop a denial, or add one."""
    match = _one(_NEGATOR, text, dice)
    if match is not None and dice.random() < 0.7:
        positive = {"cannot": "can", "can't": "can", "don't": "do", "doesn't": "does",
                    "isn't": "is", "without": "with", "no": "a"}  # fmt: skip
        return " ".join(_replaced(text, match, positive.get(match[0], "")).split(" "))
    match = _one(_AUXILIARY, text, dice)
    return _replaced(text, match, f"{match[0]} {dice.choice(['not', 'never'])}") if match else None


def name_of(names: Sequence[str]) -> Change:
    """Return what changes a name into another one of a corpus."""

    def name(text: str, dice: random.Random) -> str | None:
        match = _one(_NAME, text, dice)
        if match is None:
            return None
        return _replaced(text, match, dice.choice([n for n in names if n != match[0]]))

    return name


def names_in(texts: Sequence[str]) -> list[str]:
    """Return the names that occur in some texts."""
    return sorted({match[0] for text in texts for match in _NAME.finditer(text)})


def shuffled(text: str, dice: random.Random) -> str | None:
    """Put the words of a text in another order."""
    words = text.split()
    other = dice.sample(words, len(words))
    return " ".join(other) if other != words else None


def _curly(text: str, _: random.Random) -> str | None:
    other = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", text).replace("'", "\u2019")
    return other if other != text else None


def _dashes(text: str, dice: random.Random) -> str | None:
    return text.replace("-", dice.choice("\u2010\u2011\u2013\u2212")) if "-" in text else None


def _wrapped(text: str, dice: random.Random) -> str | None:
    return "".join(
        dice.choice(["\n", "  ", "\n    ", "\t"]) if c == " " and dice.random() < 0.2 else c
        for c in text
    )


def _odd_spaces(text: str, dice: random.Random) -> str | None:
    return text.replace(" ", dice.choice("\u00a0\u2009\u202f"))


def _invisible(text: str, dice: random.Random) -> str | None:
    return "".join(
        c + dice.choice(["\u200b", "\u00ad", "\ufeff"]) * (dice.random() < 0.05) for c in text
    )


def _ligatures(text: str, _: random.Random) -> str | None:
    other = text.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ")
    return other if other != text else None


def _ellipsis(text: str, _: random.Random) -> str | None:
    return text.replace("...", "…") if "..." in text else None


def _decomposed(text: str, _: random.Random) -> str | None:
    other = unicodedata.normalize("NFD", text)
    return other if other != text else None


def _fullwidth_digits(text: str, _: random.Random) -> str | None:
    other = re.sub(r"\d", lambda m: chr(ord(m[0]) - 0x30 + 0xFF10), text)
    return other if other != text else None


def _as_it_is(text: str, _: random.Random) -> str | None:
    return text


NOISE: Final[dict[str, Change]] = {
    "as it is": _as_it_is,
    "curly quotation marks": _curly,
    "other dashes": _dashes,
    "other line ends": _wrapped,
    "other spaces": _odd_spaces,
    "invisible characters": _invisible,
    "ligatures": _ligatures,
    "an ellipsis": _ellipsis,
    "decomposed letters": _decomposed,
    "fullwidth digits": _fullwidth_digits,
}
"""What a copy of a text may differ in and still be an honest quote."""

LINE_END_HYPHEN: Final = "\ufffe"


def damaged(text: str, dice: random.Random) -> str:
    """Return a text as a page may give it: spaces lost or doubled, words broken at line ends."""
    pieces = []
    for character in text:
        chance = dice.random()
        if character == " " and chance < 0.05:
            continue
        if character.isalpha() and chance < 0.01:
            pieces.append(dice.choice(["-\n", f"{LINE_END_HYPHEN}\n", " "]))
        pieces.append(character * (2 if character == " " and chance > 0.95 else 1))
    return "".join(pieces)
