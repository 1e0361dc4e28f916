"""MinHash: how alike two texts are, from 512 bytes of each.

A text is the set of its runs of five words. Each of 128 fixed permutations of that set has a least
element, and the share of permutations under which two texts have the same one estimates the share
of their runs that both have (Jaccard). The permutations are fixed for ever: a signature is recorded
with its document, so that near-duplicates are found from the journal alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import struct
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from controller.evidence.tokens import UNSPACED

PERMUTATIONS: Final = 128
"""How many permutations a signature has a least element of, 32 bits each."""

SHINGLE_WORDS: Final = 5
"""How many words that follow each other make one element of the set."""

_BITS: Final = 32
_PACKED: Final = struct.Struct(f">{PERMUTATIONS}I")
_MASKS: Final = tuple(
    int.from_bytes(hashlib.sha256(f"minhash {n}".encode()).digest()[:4], "big")
    for n in range(PERMUTATIONS)
)
"""A permutation of the 32-bit hashes is the exclusive or with one of these."""

_WORD: Final = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
"""A word; in a script without spaces each character is one."""


def minhash(text: str) -> str | None:
    """Return a text's signature in base64, 684 characters; None: it has fewer than five words.

    Case, punctuation and white space make no difference.
    """
    words = _WORD.findall(text.casefold())
    runs = {" ".join(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - 4)}
    if not runs:
        return None
    hashes = sorted({_hash(run) for run in runs})
    return base64.b64encode(_PACKED.pack(*(_least(hashes, mask) for mask in _MASKS))).decode()


def similarity(one: str, other: str) -> Fraction:
    """Return the share of permutations under which two signatures have the same least element."""
    pairs = zip(least_elements(one), least_elements(other), strict=True)
    return Fraction(sum(a == b for a, b in pairs), PERMUTATIONS)


@lru_cache(maxsize=4096)
def least_elements(signature: str) -> tuple[int, ...]:
    """Return the 128 least elements that a signature holds.

    Raises:
        ValueError: it is no signature.
    """
    try:
        return _PACKED.unpack(base64.b64decode(signature, validate=True))
    except (binascii.Error, struct.error) as error:
        raise ValueError(f"{signature[:16]!r} ... is no MinHash signature") from error


def _hash(run: str) -> int:
    return int.from_bytes(hashlib.blake2b(run.encode(), digest_size=4).digest(), "big")


def _least(hashes: Sequence[int], mask: int) -> int:
    """Return the least `hash ^ mask` of sorted hashes: bit by bit, the half that begins with 0."""
    low, high, bit = 0, len(hashes), _BITS
    while high - low > 1:
        bit -= 1
        ones = bisect_left(hashes, ((hashes[low] >> bit) | 1) << bit, low, high)
        if mask >> bit & 1 and ones < high:
            low = ones
        elif not mask >> bit & 1 and ones > low:
            high = ones
    return hashes[low] ^ mask
