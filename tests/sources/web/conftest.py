"""A recorder beneath everything: where this process opens sockets to while a test runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Sockets:
    """The addresses that sockets were connected to, or sent something to, in order."""

    connected: list[Any] = field(default_factory=list)


class _Recorder:
    """An audit hook; those of Python cannot be taken out again, so that it is made once."""

    def __init__(self) -> None:
        self.sockets: Sockets | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_connection = event in {"socket.connect", "socket.sendto"}
        if self.sockets is not None and is_connection:
            self.sockets.connected.append(arguments[1])


_recorder = _Recorder()
sys.addaudithook(_recorder)


@pytest.fixture(autouse=True)
def sockets() -> Iterator[Sockets]:
    """Record every connection; whatever a test is about, none may leave this machine."""
    recorded = Sockets()
    _recorder.sockets = recorded
    yield recorded
    _recorder.sockets = None
    assert {address[0] for address in recorded.connected} <= {"127.0.0.1"}
