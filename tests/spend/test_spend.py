"""A part of the random fault scripts: `make bench-spend` runs a thousand of them."""

from __future__ import annotations

import pytest

from tests.spend.runs import run_script


# S2.9, S2.15, S4.4, S4.10, S4.11
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_no_script_of_an_endpoint_makes_a_run_spend_more_than_it_may(first: int) -> None:
    for seed in range(first, first + 10):
        spent = run_script(seed)
        assert spent.calls <= 12
