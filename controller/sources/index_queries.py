"""Full-text expressions: from the words of a query to what SQLite FTS5 matches.

Words match up to inflection, identifiers and phrases as phrases. Text that is written without
spaces (Chinese, Japanese, Thai, ...) is matched by its trigrams, in a table of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""A run of characters of scripts that put no spaces between words."""

TRIGRAM: Final = 3

MAX_QUERY_TERMS: Final = 64
"""Further terms of a query are not searched for; the outcome says so."""

_PHRASE_OR_WORD: Final = re.compile(r'"([^"]+)"|(\S+)')
_TOKEN: Final = re.compile(r"\w")
_KEY_TERM: Final = re.compile(r"\w[./-]+\w|_|\s")


@dataclass(frozen=True, slots=True)
class Query:
    """What a query asks of each table; an empty tuple asks nothing.

    `words` are words and phrases, `unspaced` runs of text without spaces.
    """

    words: tuple[str, ...]
    unspaced: tuple[str, ...]
    is_cut: bool


def parse_query(text: str) -> Query:
    """Return the distinct terms of a query: words, `"phrases"`, runs of text without spaces."""
    words: dict[str, None] = {}
    unspaced: dict[str, None] = {}
    for phrase, word in _PHRASE_OR_WORD.findall(text):
        term = phrase or word
        unspaced.update(dict.fromkeys(UNSPACED.findall(term)))
        rest = UNSPACED.sub(" ", term)
        spaced = [rest] if rest == term else rest.split()
        words.update({part.strip(): None for part in spaced if has_token(part)})
    count = len(words) + len(unspaced)
    return Query(
        tuple(words)[:MAX_QUERY_TERMS], tuple(unspaced)[:MAX_QUERY_TERMS], count > MAX_QUERY_TERMS
    )


def has_token(term: str) -> bool:
    """Say whether the tokenizer finds anything in a term; in `++` or an emoji it does not."""
    return _TOKEN.search(UNSPACED.sub("", term)) is not None


def is_key_term(term: str) -> bool:
    """Say whether a term counts only as it is written: an identifier, or more than one word."""
    return _KEY_TERM.search(term.strip()) is not None


def quoted(term: str) -> str:
    """Return a term as an FTS5 string: whatever it holds, it is text and no operator."""
    return '"' + term.replace('"', '""').replace("\x00", " ") + '"'


def any_of(terms: tuple[str, ...] | list[str]) -> str:
    """Return the expression that matches where any term does."""
    return " OR ".join(map(quoted, terms))


def trigrams(run: str) -> list[str]:
    """Return the overlapping trigrams of a run, in order."""
    return [run[i : i + TRIGRAM] for i in range(len(run) - TRIGRAM + 1)]
