"""One model server for all tests of the lane, and a world for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llama.server import LlamaServer
from tests.world import World


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """A real server with a small model: two slots, and a key that it asks for."""
    with LlamaServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world of one test."""
    made = World(tmp_path)
    yield made
    made.close()
