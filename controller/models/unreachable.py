"""Why no whole answer came back: what went wrong beneath HTTP, in words that name the mend."""

from __future__ import annotations

import socket
import ssl

from controller.api.errors import ActionError, BlockedAddressError, PermanentError, RetryableError
from controller.connections import causes_of


def connection_failure(error: BaseException, url: str) -> ActionError:
    """Return the error that a failed exchange with `url` stands for, from its chain of causes.

    An address that the guard refuses stays refused; all else may pass.
    """
    causes = list(causes_of(error))
    blocked = next((c for c in causes if isinstance(c, BlockedAddressError)), None)
    if blocked is not None:
        return PermanentError("BadRequest", str(blocked))
    return RetryableError("Unreachable", _what(causes, _host(url)))


def _what(causes: list[BaseException], host: str) -> str:
    tls = next((c for c in causes if isinstance(c, ssl.SSLError)), None)
    if tls is not None:
        why = getattr(tls, "verify_message", "") or tls.reason or type(tls).__name__
        return (
            f"no TLS connection to {host}: {why}; its certificate must be one that the operator "
            "trusts, and spec.baseURL must begin with the scheme that it speaks"
        )
    if any(isinstance(c, socket.gaierror) for c in causes):
        return f"the name of {host} cannot be resolved; check spec.baseURL"
    if any(isinstance(c, ConnectionRefusedError) for c in causes):
        return f"nothing answers at {host}: connection refused; is the server started?"
    if any(isinstance(c, OSError) for c in causes):
        return f"no connection to {host}"
    return f"the connection to {host} was broken before the answer was whole"


def _host(url: str) -> str:
    """Return host and port of an address, and nothing else of it."""
    authority = url.partition("://")[2]
    for end in "/?#":
        authority = authority.partition(end)[0]
    return authority.rpartition("@")[2]
