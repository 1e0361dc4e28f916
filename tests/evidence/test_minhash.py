"""MinHash signatures: fixed for ever, and an estimate of what two texts have in common."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import Document
from controller.evidence.minhash import (
    _MASKS,
    PERMUTATIONS,
    _least,
    least_elements,
    minhash,
    similarity,
)
from tests.evidence.recorded import document

TEXT = "A savepoint is a marker within a transaction that enables you to roll back part of it."


def signature(text: str) -> str:
    signed = minhash(text)
    assert signed is not None
    return signed


def test_signatures_are_what_they_have_always_been() -> None:
    assert signature(TEXT)[:32] == "Eu5t3Anrh04eWJpcCm1pFhem9C4S+Nj4"
    assert len(set(_MASKS)) == PERMUTATIONS


def test_a_signature_has_room_in_a_document() -> None:
    signed = signature(TEXT)
    whole = document(TEXT).model_copy(update={"minhash": signed})
    assert Document.model_validate(whole.to_json()).minhash == signed


@pytest.mark.parametrize("text", ["", "Default: 6", "one two three four", "... --- !!! ??? ;;;"])
def test_fewer_than_five_words_have_no_signature(text: str) -> None:
    assert minhash(text) is None


@pytest.mark.parametrize(
    "other",
    [TEXT.upper(), TEXT.replace(" ", "\n  "), f"“{TEXT[:-1]}”!", TEXT.replace(" is", ", is")],
)
def test_case_punctuation_and_line_ends_make_no_difference(other: str) -> None:
    assert signature(other) == signature(TEXT)


def test_chinese_is_compared_by_its_characters() -> None:
    text = "默认隔离级别是读已提交。" * 2
    assert similarity(signature(text), signature(text.replace("默认", "缺省"))) > 0


def test_what_is_no_signature_is_refused() -> None:
    for wrong in ("", "AAAA", "?" * 684):
        with pytest.raises(ValueError, match="no MinHash signature"):
            least_elements(wrong)


@given(st.sets(st.integers(0, 2**32 - 1), min_size=1, max_size=50), st.integers(0, 2**32 - 1))
def test_the_least_element_is_found_without_looking_at_all(hashes: set[int], mask: int) -> None:
    assert _least(sorted(hashes), mask) == min(h ^ mask for h in hashes)


def text_of(words: list[int]) -> str:
    return " ".join(f"w{word}" for word in words)


def common_share(one: list[int], other: list[int]) -> Fraction:
    """Return the Jaccard similarity of the runs of five words of two texts."""
    runs, others = ({tuple(w[at : at + 5]) for at in range(len(w) - 4)} for w in (one, other))
    return Fraction(len(runs & others), len(runs | others))


@pytest.mark.parametrize("changed", [0, 4, 8, 16, 40, 120])
def test_the_estimate_is_near_the_share_of_common_runs(changed: int) -> None:
    randomly = random.Random(changed)  # noqa: S311 - the same texts each time
    errors = []
    for _ in range(40):
        one = [randomly.randrange(10**6) for _ in range(300)]
        other = list(one)
        for _ in range(changed):
            other[randomly.randrange(len(other))] = randomly.randrange(10**6)
        estimate = similarity(signature(text_of(one)), signature(text_of(other)))
        errors.append(float(estimate - common_share(one, other)))
    # The standard error of one estimate is at most sqrt(1/4 / 128) = 0.044.
    assert max(map(abs, errors)) < 5 * 0.045
    assert abs(sum(errors) / len(errors)) < 0.03
