"""Tokens: the words that texts are compared by, and where a text may not be cut.

A token is a word of a text, case folded, with `_` as a letter, so that the name of a setting is
one word: with plain words, an invented name made of common ones looks as if it were known.
Scripts that write no spaces give overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Final

import snowballstemmer

from controller.evidence.normalisation import normalise

STEMMERS: Final[dict[str, str]] = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""The Snowball algorithm of a language, by its ISO 639-1 code; other languages are not stemmed."""

_ENGLISH: Final = (
    "a about above again all also am an and any are as at be because been being below both but by "
    "can could d did do does doing done each either else etc ever every few for from further give "
    "had happen happened happens has have having he her here hers him his how i if in inside into "
    "is it its just know ll made make makes making many may me mean means might more most much "
    "must my neither no nor not of off on once only or other our ours out over own please re s "
    "same say shall she should show since so some such t tell than that the their theirs them "
    "then there these they this those through thus to too under up upon us use used uses using ve "
    "very was we were what whatever when where whether which while who whom whose why will with "
    "within would yes yet you your yours"
)
STOP_WORDS: Final[dict[str, frozenset[str]]] = {"en": frozenset(_ENGLISH.split())}
"""Words that say nothing of a subject, question words among them; `d`, `ll`, `re`, `s`, `t` and
`ve` are what apostrophes leave. In a language without a list, weights alone tell."""

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese: scripts that put no spaces between words."""


def _marks() -> str:
    """Return the combining marks of the basic plane as ranges of a character class."""
    marks = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in {"Mn", "Mc"}]
    ranges: list[list[int]] = []
    for mark in marks:
        if ranges and ranges[-1][1] == mark - 1:
            ranges[-1][1] = mark
        else:
            ranges.append([mark, mark])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


LETTER: Final = rf"[\w{_marks()}]"
"""A character of a word. Vowel signs are marks, so that `\\w` alone would cut Hindi words."""

_WORD: Final = re.compile(rf"{LETTER}+")
_RUN: Final = re.compile(rf"([{UNSPACED}]+)")
_ONE_LETTER: Final = re.compile(LETTER)
_ONE_UNSPACED: Final = re.compile(rf"[{UNSPACED}]")
_ONE_DENSE: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]"
)
_HYPHENS: Final = frozenset("-\u2010\u2011\u2212")
_NUMBER_JOINTS: Final = frozenset(".,:/'\u2019\u2013\u00a0\u2009\u202f")
_NUMBER_SUFFIXES: Final = frozenset("%\u2030\u00b0")


def tokenise(text: str) -> tuple[str, ...]:
    """Return the tokens of a normalised text, in order."""
    tokens: list[str] = []
    for word in words_of(text):
        if len(word) > 1 and is_unspaced(word[0]):
            tokens.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            tokens.append(word.casefold())
    return tuple(tokens)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a normalised text as they are written, and its runs without spaces."""
    for word in _WORD.findall(text):
        if word.isascii():
            yield word
        else:
            yield from filter(None, _RUN.split(word))


def is_unspaced(character: str) -> bool:
    """Say whether a character belongs to a script that puts no spaces between words."""
    return _ONE_UNSPACED.match(character) is not None


def is_dense(character: str) -> bool:
    """Say whether a character is a word or a syllable by itself: Chinese, Japanese, Korean."""
    return _ONE_DENSE.match(character) is not None


def algorithm_for(language: str) -> str | None:
    """Return the Snowball algorithm of a language tag (`de-AT` as `de`), None if there is none."""
    return STEMMERS.get(language.partition("-")[0].lower())


def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that say nothing of a subject; none for most languages."""
    return STOP_WORDS.get(language.partition("-")[0].lower(), frozenset())


@lru_cache(maxsize=131_072)
def stem(token: str, language: str = "en") -> str:
    """Return a token's stem; names with `_`, and words with digits, are their own."""
    algorithm = algorithm_for(language)
    if algorithm is None or keeps_its_form(token):
        return token
    # A stemmer keeps its word in itself, so each call has its own: callers may be threads.
    stemmed: str = snowballstemmer.stemmer(algorithm).stemWord(token)
    return stemmed


def keeps_its_form(term: str) -> bool:
    """Say whether a term is a name that is only itself: `CACHES` is not `CACHE`."""
    return is_in_capitals(term) or any(c == "_" or c.isdigit() for c in term)


def is_in_capitals(term: str) -> bool:
    """Say whether a term is in capitals, which count then: `CACHE_KEY` is not `cache_key`."""
    return len(term) > 1 and term.isupper()


class Words:
    """The words of some texts, ready to be asked which terms occur in them."""

    def __init__(self, texts: Iterable[str], language: str = "en") -> None:
        self._language = language
        self._texts = tuple(normalise(text).text for text in texts)
        self._tokens = tuple(map(tokenise, self._texts))

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The distinct tokens."""
        return frozenset(token for tokens in self._tokens for token in tokens)

    @cached_property
    def written(self) -> frozenset[str]:
        """The distinct words in the case that they are written in."""
        return frozenset(word for text in self._texts for word in words_of(text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems."""
        return frozenset(stem(token, self._language) for token in self.tokens)

    def has(self, term: str) -> bool:
        """Say whether a term occurs: a word in any inflection, a name or a phrase as it is.

        Case counts for a single name in capitals only.
        A term of several tokens (`django.db`, a quoted string) occurs where they follow each
        other; a term without any token occurs nowhere.
        """
        tokens = tokenise(term)
        if len(tokens) == 1:
            if is_in_capitals(term):
                return self.written.issuperset(words_of(term))
            if keeps_its_form(term):
                return tokens[0] in self.tokens
            return stem(tokens[0], self._language) in self.stems
        if not tokens or not self.tokens.issuperset(tokens):
            return False
        length = len(tokens)
        return any(
            tokens == those[at : at + length]
            for those in self._tokens
            for at in range(len(those) - length + 1)
        )


def cuts_a_token(text: str, at: int) -> bool:
    """Say whether an edge at `at` cuts a word or a number of a text.

    A quote that ends inside `6000` would be verbatim and say `600`; one that begins inside
    `non-atomic` would say the opposite. So an edge may not part letters, what a hyphen joins, the
    groups and decimals of a number, or a number from its sign or its percent sign.
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M"):
        return True
    if _is_letter(before) and _is_letter(after):
        return not (is_unspaced(before) or is_unspaced(after))
    if before in _HYPHENS and after.isdigit() and (at == 1 or not _is_letter(text[at - 2])):
        return True
    if before.isdigit() and after in _NUMBER_SUFFIXES:
        return True
    return _joins(text, at - 1) or _joins(text, at)


def _is_letter(character: str) -> bool:
    return _ONE_LETTER.match(character) is not None


def _joins(text: str, at: int) -> bool:
    """Say whether the character at `at` joins its neighbours to one word or number."""
    if not 0 < at < len(text) - 1:
        return False
    left, character, right = text[at - 1], text[at], text[at + 1]
    if character in _HYPHENS:
        return _is_letter(left) and _is_letter(right)
    return character in _NUMBER_JOINTS and left.isdigit() and right.isdigit()
