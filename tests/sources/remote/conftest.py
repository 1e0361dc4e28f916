"""No adapter may connect to anything but this machine."""

from __future__ import annotations

from tests.sources.web.conftest import sockets

__all__ = ["sockets"]
