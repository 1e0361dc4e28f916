"""Where a model's key comes from, as its client sees it."""

from __future__ import annotations

from typing import Protocol


class Credentials(Protocol):
    """Gives the key of an endpoint."""

    async def key(self, *, fresh: bool = False) -> str | None:
        """Return the key, None where the endpoint needs none; `fresh`: read it now.

        Raises:
            StoreError: it cannot be read now; nothing is sent.
        """
        ...
