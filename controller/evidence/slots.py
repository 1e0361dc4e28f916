"""Slots: which value a quote gives to which attribute of which subject.

Only what a pattern reads without doubt fills a slot: a labelled field under the name that it is
about, or a whole sentence of a few forms that names its subject. What is said under a condition, a
bound or a range fills none. Slots are read from the source's own characters, never from a claim
about them (docs/verification.md, Contradictions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from controller.api.records import BlockKind, Document
from controller.evidence.normalisation import normalise
from controller.evidence.predicates import Passage
from controller.evidence.sentences import sentences
from controller.evidence.terms import bare_name, is_identifier, key_terms, written_words
from controller.evidence.tokens import is_in_capitals, stem, stop_words, tokenise
from controller.evidence.typed_values import TypedValue, typed_value

_PROSE: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.NOTE})

_FIELD: Final = re.compile(r"(?P<attribute>[^:\n]{1,60}):(?P<value>[^\n]+)")

_KINDS: Final = "(?:environment variable|setting|option|parameter|variable|argument|field)"
_NAME: Final = rf"(?:the )?(?:{_KINDS} )?[\"'`]?(?P<name>[^\s\"'`]+?)[\"'`]?(?: {_KINDS})?"
_ATTRIBUTE: Final = r"(?P<attribute>[a-z]+(?: [a-z]+){0,2}?)"
_IS: Final = r"(?:is set to|is|are|equals|=)"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:the |its )?{_ATTRIBUTE} (?:of|for) {_NAME} {_IS} (?P<value>.+)",
        rf"{_NAME}(?:'s)? {_ATTRIBUTE} {_IS} (?P<value>.+)",
        rf"{_NAME} (?P<attribute>default)s to (?P<value>.+)",
        rf"by (?P<attribute>default),? {_NAME} {_IS} (?P<value>.+)",
        rf"{_NAME} {_IS} (?P<value>.+?) by (?P<attribute>default)[.;]?",
    )
)
"""The forms of a whole sentence, in English, that name a subject, an attribute and a value."""

_GENERIC: Final = frozenset({"value", "setting", "option", "parameter", "variable"})
"""Words of an attribute that say nothing of it: the default value is the default."""

_AS_OF: Final = re.compile(
    r"(?:in|since|as of|from|until|before) (?:[a-z]+ ){0,2}v?(?P<as_of>\d[\w.-]*),? (?=\D)",
    re.IGNORECASE,
)
_POINT_IN_TIME: Final = re.compile(
    r"\b(?:version|release|v)\.? ?(\d+(?:\.\d+)*)"
    r"|(?<![\w.])(\d+(?:\.\d+)+)(?!\w)"
    r"|(?<!\d)((?:19|20)\d\d(?:-\d\d){0,2})(?!\d)",
    re.IGNORECASE,
)
"""A version, a year or a date."""

_ADDRESS: Final = re.compile(r"^[a-z]+://[^/]*")


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of an attribute of a subject.

    `subject` are the names in the headings, outermost first, and the name itself. `qualifiers` are
    the versions and dates that the quote, its headings or its document hold it true for.
    """

    subject: tuple[str, ...]
    attribute: str
    value: TypedValue
    qualifiers: frozenset[str]


@lru_cache(maxsize=4096)
def slots_of(
    passage: Passage, document: Document, question: str, language: str = "en"
) -> tuple[Slot, ...]:
    """Return the slots that a cited passage fills, of the subjects and attributes of a question.

    Args:
        passage: the quote and the blocks that it touches.
        document: which they are from.
        question: what the quote answers: a slot is asked for by name, or it is of no interest.
        language: of the question, an ISO 639-1 code.
    """
    return tuple(_slots(passage, document, _Asked(question, language), language))


def _slots(passage: Passage, document: Document, asked: _Asked, language: str) -> Iterator[Slot]:
    for found in (*_of_fields(passage), *_of_sentences(passage)):
        path, name, attribute, written, as_of = found
        label = asked.attribute(attribute)
        if label is None or not asked.names(name):
            continue
        is_version = label.startswith(("version", "releas"))
        value = typed_value(written, is_version=is_version, language=language)
        if value is not None:
            points = _points_in_time(*path, *_frame(document))
            yield Slot((*_names_in(path), name), label, value, points | ({as_of} - {""}))


_Reading = tuple[Sequence[str], str, str, str, str]
"""Headings above, the name, the attribute and the value as written, and as of when."""


def _of_fields(passage: Passage) -> Iterator[_Reading]:
    """Yield what labelled fields say that a quote has whole; they are about their last heading."""
    for block in passage.blocks:
        match = _FIELD.fullmatch(normalise(block.text).text)
        is_field = block.kind is BlockKind.FIELD and block.text in passage.quote
        if is_field and match and block.heading_path:
            *above, last = block.heading_path
            name = bare_name(normalise(last).text.partition("(")[0].strip())
            if is_identifier(name):
                yield above, name, match["attribute"], match["value"].strip(), ""


def _of_sentences(passage: Passage) -> Iterator[_Reading]:
    """Yield what whole sentences of a quote say, where all of it is prose in one place."""
    paths = {block.heading_path for block in passage.blocks}
    if len(paths) != 1 or not all(block.kind in _PROSE for block in passage.blocks):
        return
    (path,) = paths
    for start, end in sentences(passage.quote):
        sentence = normalise(passage.quote[start:end]).text
        prefix = _AS_OF.match(sentence)
        body = sentence[prefix.end() :] if prefix else sentence
        for form in _FORMS:
            match = form.fullmatch(body)
            name = bare_name(match["name"]) if match else ""
            if match and is_identifier(match["name"]):
                above = [heading for heading in path if name not in _names_in([heading])]
                as_of = prefix["as_of"] if prefix else ""
                yield above, name, match["attribute"], match["value"], as_of
                break


class _Asked:
    """What a question asks for: names, and words that an attribute can be named by."""

    def __init__(self, question: str, language: str) -> None:
        self._language = language
        self._key_terms = key_terms(question, language)
        self._stems = {stem(token, language) for token in tokenise(normalise(question).text)}

    def names(self, name: str) -> bool:
        """Say whether the question names a subject."""
        parts = {name, name.rpartition(".")[2]}
        folded = {part.casefold() for part in parts}
        return any(
            term in parts if is_in_capitals(term) else term.casefold() in folded
            for term in self._key_terms
        )

    def attribute(self, written: str) -> str | None:
        """Return an attribute as it is compared, None where the question does not ask for it."""
        told = [
            stem(token, self._language)
            for token in tokenise(normalise(written).text)
            if token not in _GENERIC and token not in stop_words(self._language)
        ]
        return " ".join(told) if told and self._stems.issuperset(told) else None


def _names_in(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        bare_name(word)
        for heading in path
        for word in written_words(normalise(heading).text)
        if is_identifier(word)
    )


def _frame(document: Document) -> tuple[str, ...]:
    """Return what of a document says for when its text holds; an address of a host does not."""
    return (document.title, document.source_name, _ADDRESS.sub("", document.locator))


def _points_in_time(*texts: str) -> frozenset[str]:
    return frozenset(
        "".join(match.groups(default=""))
        for text in texts
        for match in _POINT_IN_TIME.finditer(text)
    )
