"""Terms: what a question is about, which names in it must be met, and how rare each is.

A *term* is a content word in lower case, or an identifier as it is written. A *key term* is one
that an answer has to name: an identifier (`ATOMIC_REQUESTS`, `get()`, `--noinput`, `PostgreSQL`)
or a quoted string.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from controller.evidence.normalisation import normalise
from controller.evidence.tokens import LETTER, UNSPACED, stem, stop_words, tokenise

MAX_WEIGHED_TERMS: Final = 128
"""How many terms a search records weights for."""

MAX_TERM_LENGTH: Final = 256
"""How long a term may be whose weight is recorded."""

MINIMUM_CAPITALS: Final = 4
"""A word in capitals is taken for a name (`CACHES`) from this length on, not for an acronym."""

_LETTER: Final = rf"(?:(?![{UNSPACED}]){LETTER})"
_CANDIDATE: Final = re.compile(
    rf"""
    https?://[^\s<>"'`]+
    | [{UNSPACED}]+
    | (?:(?<!{LETTER})|(?<=[{UNSPACED}]))
      (?:--?|\.{{0,2}}/|[.@$])?               # --option, /path, .suffix, @decorator
      {_LETTER}+(?:(?:[./-]|::){_LETTER}+)*   # words, joined ones too
      (?:\(\))?                               # a call
    """,
    re.VERBOSE,
)
"""What may be an identifier, and every word that is none."""

_QUOTED: Final = re.compile(
    r"""
    "([^"]*)" | (?<!\w)'([^']*)'(?!\w) | `+([^`]+)`+ | \u300c([^\u300d]*)\u300d
    """,
    re.VERBOSE,
)
_SIGIL: Final = re.compile(r"^(?:--?|[.@$])(?=\w)|\(\)$")
_JOINT: Final = re.compile(r"[./-]|::")
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)+")
_ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_ACRONYM: Final = re.compile(r"[A-Z]{2,}s?")
_CASE_CHANGE: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")


def parts_of(term: str) -> tuple[str, ...]:
    """Return the words that an identifier is made of: `ATOMIC_REQUESTS` as atomic, requests."""
    spread = re.sub(r"([a-z0-9])([A-Z])|_", r"\1 \2", term)
    return tuple(dict.fromkeys(tokenise(spread)))


def is_identifier(written: str, language: str = "en") -> bool:
    """Say whether a written word is a name by its form.

    It is a call, an option, or a path; it has `_`, or letters joined by `.`, `/`, `-` or `::`;
    it mixes letters with digits, or cases inside; or it is in capitals and not an acronym.
    Ordinals, abbreviations (`e.g`) and joined stop words (`and/or`) are none.
    """
    if not any(c.isalpha() for c in written) or _ORDINAL.fullmatch(written):
        return False
    if "_" in written or written.endswith("()"):
        return True
    bare = bare_name(written)
    joined = _JOINT.split(bare)
    if len(joined) > 1:
        return any(len(part) > 1 and part.lower() not in stop_words(language) for part in joined)
    if bare != written or any(c.isdigit() for c in bare):
        return True
    if _ACRONYM.fullmatch(bare):
        return bare.isupper() and len(bare) >= MINIMUM_CAPITALS
    return _CASE_CHANGE.search(bare) is not None or (
        bare.isupper() and len(bare) >= MINIMUM_CAPITALS
    )


def bare_name(written: str) -> str:
    """Return an identifier without the marks around it: `--noinput` and `get()` as their names."""
    return _SIGIL.sub("", _SIGIL.sub("", written))


def written_words(text: str) -> Iterator[str]:
    """Yield the words of a normalised text as they are written, names with what joins them."""
    for match in _CANDIDATE.finditer(text):
        yield match[0].rstrip(".,;:!?)") if "://" in match[0] else match[0]


def _identifiers(text: str, language: str) -> tuple[str, ...]:
    return tuple(word for word in written_words(text) if is_identifier(word, language))


def _comparable(text: str) -> str:
    """Return a text in normal form; where everything is in capitals, they say nothing."""
    normalised = normalise(text).text
    return normalised.lower() if normalised.isupper() and " " in normalised else normalised


def content_terms(text: str, language: str = "en") -> tuple[str, ...]:
    """Return the terms of a text in order, distinct up to inflection, stop words left out.

    Where nothing else is there, the stop words are kept: a text with a word has a term.
    """
    normalised = _comparable(text)
    found = _terms(normalised, language, stop_words(language))
    return found or _terms(normalised, language, frozenset())


def _terms(text: str, language: str, stopped: frozenset[str]) -> tuple[str, ...]:
    identifiers = set(_identifiers(text, language))
    terms: dict[str, str] = {}
    for written in written_words(text):
        if written in identifiers:
            name = bare_name(written)
            terms.setdefault(name.casefold(), name)
            continue
        if _DECIMAL.fullmatch(written):
            terms.setdefault(written, written)
            continue
        for token in tokenise(written):
            if token not in stopped:
                terms.setdefault(stem(token, language), token)
    return tuple(terms.values())


def key_terms(question: str, language: str = "en") -> tuple[str, ...]:
    """Return what an answer must name: the identifiers and the quoted strings of a question."""
    text = _comparable(question)
    names = [bare_name(written) for written in _identifiers(text, language)]
    distinct = {term.casefold(): term for term in (*names, *quoted_strings(text)) if tokenise(term)}
    return tuple(distinct.values())


def quoted_strings(text: str) -> Iterator[str]:
    """Yield what stands between quotation marks or backquotes in a normalised text."""
    for match in _QUOTED.finditer(text):
        yield from filter(None, match.groups())


def weighed_terms(question: str, language: str = "en") -> tuple[str, ...]:
    """Return the terms of a question whose weights a search records: content and key terms."""
    terms = {
        term.casefold(): term
        for term in (*content_terms(question, language), *key_terms(question, language))
        if len(term) <= MAX_TERM_LENGTH
    }
    return tuple(terms.values())[:MAX_WEIGHED_TERMS]


def term_weight(document_frequency: int, passages: int) -> int:
    """Return `round(1000 * idf)` of a term that occurs in so many of a source's passages.

    idf = ln(1 + (N - n + 1/2) / (n + 1/2)) for n of N passages, as in BM25: it is above 0 even
    for a term of every passage, and greatest for one of none.
    """
    frequency = min(max(document_frequency, 0), passages)
    return round(1000 * math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5)))


def weight_of(term: str, weights: Mapping[str, int]) -> int:
    """Return a term's recorded weight; one that has none counts as the heaviest recorded.

    Where no weight is recorded (a source that counts no passages) all terms weigh the same.
    """
    recorded = weights.get(term)
    return recorded if recorded is not None else max(weights.values(), default=1000)
