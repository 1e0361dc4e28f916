"""The key that an endpoint asks for: where it comes from is not the client's business."""

from __future__ import annotations

from typing import Protocol


class Credentials(Protocol):
    """Gives the key of one `ResearchModel`, as it is now."""

    async def key(self, *, fresh: bool = False) -> str | None:
        """Return the key; None: the model has no `credentialsSecretRef`.

        `fresh` asks for what the Secret holds at this moment, past any cache: the endpoint has
        just refused the key, and it may have been rotated.

        Raises:
            NotReadyError: the Secret or its key is not there.
            StoreError: it cannot be read now.
        """
        ...


class NoCredentials:
    """`Credentials` of an endpoint that asks for no key."""

    async def key(self, *, fresh: bool = False) -> str | None:  # noqa: ARG002 - the port's name
        """Return None."""
        return None
