"""One model server for all tests of the lane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llama.server import LlamaServer


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaServer]:
    """A real server with a small model: two slots, and a key that it asks for."""
    with LlamaServer() as server:
        yield server
