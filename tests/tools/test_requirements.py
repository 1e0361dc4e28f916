"""The table of requirements: complete, true to the tests, and read from them as it should be."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.requirements import (
    ROOT,
    Citation,
    citations,
    cited,
    faults,
    requirements,
    requirements_page,
)

ROW = "# Section\nS9.1\tSomething must hold.\t"
TESTS = {"S9.1": [Citation("tests/loop/test_x.py", "test_y")]}


def test_every_number_has_a_proof_or_a_reason() -> None:
    assert faults(requirements(), citations()) == []


def test_no_number_is_lost() -> None:
    found = Counter(row.number.partition(".")[0] for row in requirements())
    assert found == {"S0": 67, "S1": 43, "S2": 35, "S3": 20, "S4": 46}


def test_the_page_is_the_generated_one() -> None:
    page = ROOT / "docs" / "requirements.md"
    assert page.read_text("utf-8") == requirements_page(), "run `make docs`"


SOURCE = '''\
"""A module (S1.1)."""

# S1.2: above a function that is no test
def helper():
    pass


# S1.3 is shown here,
# and S1.4 too.
@mark("S8.1")
def test_one():
    """It says S1.5."""
    value = "S8.2"  # S1.6
    assert f(
        "S8.3",
    )


class TestGroup:
    """All of S1.7."""

    # S1.8
    async def test_two(self):
        assert True

    # S1.9, apart

    def test_three(self):
        assert True


TABLE = 1
"""What S1.10 asks."""
'''

CITED = {
    "S1.1": "",
    "S1.2": "",
    "S1.3": "test_one",
    "S1.4": "test_one",
    "S1.5": "test_one",
    "S1.6": "test_one",
    "S1.7": "TestGroup",
    "S1.8": "TestGroup::test_two",
    "S1.9": "TestGroup",
    "S1.10": "",
}


def test_comments_and_docstrings_are_citations_and_strings_are_none() -> None:
    assert dict(cited(SOURCE)) == CITED


FAULTS = {
    "no proof and no reason": (ROW, "S9.1 is cited by no test, and no reason is given"),
    "a number twice": (f"{ROW}open: Not yet.\n{ROW}open: Not yet.", "S9.1 stands 2 times"),
    "a page that is not there": (f"{ROW}documentation: docs/no.md", "there is no documentation"),
    "a heading that is not there": (f"{ROW}documentation: docs/loop.md#no", "docs/loop.md#no"),
    "a sample that is not there": (f"{ROW}sample: manifests/samples/no.yaml", "there is no sample"),
    "a contract that is not there": (f"{ROW}import contract: No", "there is no import contract"),
    "a target that is not there": (f"{ROW}make: no", "there is no make 'no'"),
    "waiting for something else": (f"{ROW}waits: rain", "there is no waits 'rain'"),
    "a reason that is no sentence": (f"{ROW}open: later", "there is no open 'later'"),
}


@pytest.mark.parametrize(("text", "fault"), FAULTS.values(), ids=FAULTS.keys())
def test_a_row_without_what_it_names_is_found(text: str, fault: str) -> None:
    assert any(fault in found for found in faults(requirements(text), {}))


def test_an_unknown_number_is_found_with_its_place() -> None:
    found = faults(requirements(f"{ROW}open: Not yet."), {"S9.2": TESTS["S9.1"]})
    assert found == ["S9.2 is cited by tests/loop/test_x.py::test_y, and is no requirement"]


def test_what_does_not_apply_is_cited_by_no_test() -> None:
    found = faults(requirements(f"{ROW}does not apply: No such thing."), TESTS)
    assert found == ["S9.1 does not apply, and is cited by a test"]


@pytest.mark.parametrize(
    ("state", "proven"),
    [
        ("", True),
        ("make: bench", True),
        ("open: Not yet.", False),
        ("waits: models", False),
        ("does not apply: No such thing.", False),
    ],
)
def test_only_what_leaves_nothing_to_do_is_proven(state: str, proven: bool) -> None:  # noqa: FBT001 - a table's column
    (row,) = requirements(ROW + state)
    assert faults([row], {} if state.startswith("does") else TESTS) == []
    assert row.is_proven(TESTS["S9.1"]) is proven


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="perhaps"):
        requirements(f"{ROW}perhaps: so")
