"""Distinct sources: one origin is one voice, and so are copies of one text, wherever they are."""

from __future__ import annotations

import base64
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.records import Document, Evidence
from controller.evidence.clusters import NEAR_DUPLICATE, _bands, clusters_of, work_of
from controller.evidence.minhash import _PACKED, least_elements, minhash, similarity
from tests.evidence.recorded import cases, document


def voice(number: int, text: str = "", **update: object) -> Evidence:
    """Return a document of an origin and a text of its own, unless something else is said."""
    known: dict[str, object] = {
        "id": f"d-{number:012}",
        "origin_key": f"origin-{number}",
        "locator": f"file:{number}.txt",
    }
    made = document(text or f"text {number}").model_copy(update={**known, **update})
    return Evidence(document=Document.model_validate(made.to_json()), blocks=())


def groups(*evidence: Evidence) -> list[list[int]]:
    """Return the clusters of documents, each by the numbers of its documents."""
    found: dict[int, list[int]] = {}
    for document_id, cluster in clusters_of(evidence).items():
        found.setdefault(cluster, []).append(int(document_id.removeprefix("d-")))
    return list(found.values())


def test_documents_with_nothing_in_common_are_distinct() -> None:
    assert groups(voice(0), voice(1), voice(2)) == [[0], [1], [2]]
    assert clusters_of([]) == {}


def test_one_origin_is_one_voice() -> None:
    assert groups(voice(0), voice(1), voice(2, origin_key="origin-0")) == [[0, 2], [1]]


def test_the_same_text_is_one_voice() -> None:
    assert groups(voice(0, "the same"), voice(1), voice(2, "the same")) == [[0, 2], [1]]


def test_clusters_grow_together_over_what_joins_them() -> None:
    joining = voice(2, "text 1", origin_key="origin-0")
    assert groups(voice(0), voice(1), joining) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("one", "other"),
    cases(
        {
            "a DOI and its resolver's old name": (
                "https://doi.org/10.1145/3442188.3445922",
                "http://dx.doi.org/10.1145/3442188.3445922",
            ),
            "a DOI at its publisher": (
                "https://doi.org/10.1145/3442188.3445922",
                "https://dl.acm.org/doi/pdf/10.1145/3442188.3445922",
            ),
            "versions of a paper": (
                "https://arxiv.org/abs/2401.12345v1",
                "https://arxiv.org/pdf/2401.12345v3",
            ),
            "a paper and its DOI": (
                "http://arxiv.org/abs/2401.12345",
                "https://doi.org/10.48550/arXiv.2401.12345",
            ),
            "an old paper": ("arxiv:hep-th/9901001", "https://arxiv.org/abs/hep-th/9901001v2"),
        }
    ),
)
def test_one_work_is_one_voice(one: str, other: str) -> None:
    assert work_of(one) is not None
    assert groups(voice(0, locator=one), voice(1, locator=other)) == [[0, 1]]


@pytest.mark.parametrize(
    "locator",
    [
        "file:docs/ref/settings.txt",
        "https://example.org/10.1145/3442188.3445922",
        "https://arxiv.org/list/cs.CL/recent",
        "configmap:default/notes#a",
    ],
)
def test_what_names_no_work(locator: str) -> None:
    assert work_of(locator) is None


def test_two_works_are_two_voices() -> None:
    one, other = "https://doi.org/10.1145/1", "https://doi.org/10.1145/12"
    assert groups(voice(0, locator=one), voice(1, locator=other)) == [[0], [1]]


WORDS = [f"word{n}" for n in range(400)]


def copy_with(changed: int) -> str:
    """Return the text of all words with some of them changed, far from each other."""
    words = list(WORDS)
    for at in range(changed):
        words[at * 10] = f"other{at}"
    return " ".join(words)


@pytest.mark.parametrize(("changed", "is_one_voice"), [(0, True), (3, True), (40, False)])
def test_near_duplicates_are_one_voice(changed: int, is_one_voice: bool) -> None:  # noqa: FBT001 - a table's column
    one, other = copy_with(0), copy_with(changed)
    signed = [voice(n, f"{n} {text}", minhash=minhash(text)) for n, text in enumerate((one, other))]
    assert (groups(*signed) == [[0, 1]]) is is_one_voice


def test_a_document_without_a_signature_is_nobodys_copy() -> None:
    assert groups(
        voice(0, copy_with(0)), voice(1, copy_with(1), minhash=minhash(copy_with(0)))
    ) == [
        [0],
        [1],
    ]


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_no_pair_of_near_duplicates_is_overlooked(seed: int, differing: int) -> None:
    randomly = random.Random(seed)  # noqa: S311 - drawn by Hypothesis
    one = [randomly.getrandbits(32) for _ in range(128)]
    other = list(one)
    for at in randomly.sample(range(128), differing):
        other[at] ^= 1
    packed = [base64.b64encode(_PACKED.pack(*e)).decode() for e in (one, other)]
    is_near = similarity(*packed) >= NEAR_DUPLICATE
    shared = set(_bands(packed[0])) & set(_bands(packed[1]))
    assert shared or not is_near
    signed = [voice(n, minhash=p) for n, p in enumerate(packed)]
    assert (groups(*signed) == [[0, 1]]) is is_near is (differing <= 25)


def test_bands_cover_every_element_once() -> None:
    signed = minhash(copy_with(0))
    assert signed is not None
    assert tuple(e for _, band in _bands(signed) for e in band) == least_elements(signed)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=7), st.randoms())
def test_clusters_are_the_connected_components_whatever_the_order(
    drawn: list[tuple[int, int]], randomly: random.Random
) -> None:
    evidence = [
        voice(n, f"text {text}", origin_key=f"o{origin}") for n, (origin, text) in enumerate(drawn)
    ]
    randomly.shuffle(evidence)
    clusters = clusters_of(evidence)
    linked = {frozenset({n}) for n in range(len(drawn))}
    for one, other in combinations(range(len(drawn)), 2):
        if drawn[one][0] == drawn[other][0] or drawn[one][1] == drawn[other][1]:
            merged = frozenset().union(*(g for g in linked if g & {one, other}))
            linked = {g for g in linked if not g & merged} | {merged}
    assert {frozenset(g) for g in groups(*evidence)} == linked
    assert list(dict.fromkeys(clusters.values())) == list(range(len(linked)))
