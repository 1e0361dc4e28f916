"""What the runs of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a world of its own for each test."""
    made = World(tmp_path)
    yield made
    made.close()
