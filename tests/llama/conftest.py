"""A world for each test of the lane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world of one test."""
    made = World(tmp_path)
    yield made
    made.close()
