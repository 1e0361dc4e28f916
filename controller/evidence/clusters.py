"""Which documents are one voice: those of one origin, and copies of one text.

A cluster is a connected component over "the same origin or a near-duplicate". Near-duplicates have
the same text, are the same work by its identifier (DOI, arXiv), or share at least 4 of 5 runs of
five words, as their MinHash signatures estimate it. Documents that say the same in other words are
not found out (docs/verification.md, What a verified statement does not prove).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

from controller.api.records import Document, Evidence
from controller.evidence.components import Components
from controller.evidence.minhash import PERMUTATIONS, least_elements, similarity

NEAR_DUPLICATE: Final = Fraction(4, 5)
"""The least similarity of MinHash signatures at which two texts are copies of one."""

_BANDS: Final = PERMUTATIONS - ceil(NEAR_DUPLICATE * PERMUTATIONS) + 1
"""Signatures so alike differ in fewer places than this, so that one of as many bands is equal."""

_EDGES: Final = tuple(PERMUTATIONS * n // _BANDS for n in range(_BANDS + 1))

_DOI: Final = re.compile(r"(?:\bdoi\.org/|\bdoi:|/doi/(?:[a-z]+/)?)(10\.\d{4,9}/[^\s?#]+)")
_ARXIV: Final = re.compile(
    r"(?:\barxiv\.org/(?:abs|pdf|html)/|\barxiv:|\b10\.48550/arxiv\.)"
    r"([a-z-]+(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})"
)


class _Voice(NamedTuple):
    """What a document is told apart by."""

    document_id: str
    keys: tuple[str, ...]
    minhash: str | None


def clusters_of(evidence: Iterable[Evidence]) -> dict[str, int]:
    """Return the cluster of each document, by its id; clusters are numbered in order."""
    return dict(_clusters(tuple(_voice(e.document) for e in evidence)))


def work_of(locator: str) -> str | None:
    """Return which published work a locator names: `doi:` or `arxiv:` and its identifier, or None.

    The version of an arXiv paper makes no difference.
    """
    folded = locator.casefold()
    if arxiv := _ARXIV.search(folded):
        return f"arxiv:{arxiv[1]}"
    doi = _DOI.search(folded)
    return f"doi:{doi[1].rstrip('/.').removesuffix('.pdf')}" if doi else None


def _voice(document: Document) -> _Voice:
    work = work_of(document.locator)
    keys = (f"origin {document.origin_key}", document.text_digest, *([work] if work else ()))
    return _Voice(document.id, keys, document.minhash)


@lru_cache(maxsize=64)
def _clusters(voices: tuple[_Voice, ...]) -> tuple[tuple[str, int], ...]:
    """Return the clusters of documents; the same ones are asked for at every step of a run."""
    components = Components(len(voices))
    holders: dict[object, list[int]] = {}
    for at, voice in enumerate(voices):
        for key in voice.keys:
            holders.setdefault(key, []).append(at)
    for alike in holders.values():
        for one, other in pairwise(alike):
            components.join(one, other)
    signatures = {at: voice.minhash for at, voice in enumerate(voices) if voice.minhash}
    for one, other in _sharing_a_band(signatures):
        is_apart = components.root(one) != components.root(other)
        if is_apart and similarity(signatures[one], signatures[other]) >= NEAR_DUPLICATE:
            components.join(one, other)
    numbers: dict[int, int] = {}
    return tuple(
        (voice.document_id, numbers.setdefault(components.root(at), len(numbers)))
        for at, voice in enumerate(voices)
    )


def _sharing_a_band(signatures: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of numbers whose signatures share a band: those that may be near-duplicates.

    A pair may come more than once.
    """
    holders: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for at, signature in signatures.items():
        for band in _bands(signature):
            known = holders.setdefault(band, [])
            yield from ((other, at) for other in known)
            known.append(at)


def _bands(signature: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    elements = least_elements(signature)
    for start, end in pairwise(_EDGES):
        yield start, elements[start:end]
