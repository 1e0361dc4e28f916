"""What a failed fetch is: its class, whether another attempt may help, and the words. Pure.

The classes are those of docs/fetching.md. Messages name the URL without a user or password, and
never a header or what a server wrote.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import httpx2

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.connections import UnresolvedNameError, causes_of, shown

_WITHOUT_USER: Final = re.compile(r"https?://(\[[^/?#@]*\]|[^/?#@:]*)(:[0-9]*)?([/?#]|$)")
_LONGEST_URL: Final = 200
"""How many characters of a URL a message has."""


class FetchFailure(StrEnum):
    """The error classes of a fetch."""

    RATE_LIMITED = "RateLimited"
    TIMEOUT = "Timeout"
    DNS = "Dns"
    UNREACHABLE = "Unreachable"
    BAD_RESPONSE = "BadResponse"
    TLS = "Tls"
    BLOCKED_ADDRESS = "BlockedAddress"
    BAD_REQUEST = "BadRequest"
    FORBIDDEN = "Forbidden"
    DOCUMENT_MISSING = "DocumentMissing"
    GONE = "Gone"
    TOO_LARGE = "TooLarge"
    ROBOTS_DISALLOWED = "RobotsDisallowed"
    SOFT_FAILURE = "SoftFailure"


RETRYABLE: Final = frozenset(
    {
        FetchFailure.RATE_LIMITED,
        FetchFailure.TIMEOUT,
        FetchFailure.DNS,
        FetchFailure.UNREACHABLE,
        FetchFailure.BAD_RESPONSE,
    }
)
"""The classes for which another attempt may succeed."""

_STATUSES: Final[Mapping[int, FetchFailure]] = {
    HTTPStatus.UNAUTHORIZED: FetchFailure.FORBIDDEN,
    HTTPStatus.PAYMENT_REQUIRED: FetchFailure.FORBIDDEN,
    HTTPStatus.FORBIDDEN: FetchFailure.FORBIDDEN,
    HTTPStatus.NOT_FOUND: FetchFailure.DOCUMENT_MISSING,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: FetchFailure.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT: FetchFailure.TIMEOUT,
    HTTPStatus.GONE: FetchFailure.GONE,
    HTTPStatus.TOO_MANY_REQUESTS: FetchFailure.RATE_LIMITED,
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS: FetchFailure.FORBIDDEN,
}

_CERTIFICATE_MEND: Final = (
    "its certificate must be one that the operator trusts (SSL_CERT_FILE names others)"
)

_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""A handshake that was not finished: it says nothing of certificates, and may succeed later."""


def fetch_error(
    failure: FetchFailure, message: str, retry_after_seconds: float | None = None
) -> ActionError:
    """Return the error of a class: one that is tried again, or one that is not."""
    if failure in RETRYABLE:
        return RetryableError(failure.value, message, retry_after_seconds)
    return PermanentError(failure.value, message)


def status_error(url: str, status: int, retry_after_seconds: float | None) -> ActionError:
    """Return what a final status other than 200 stands for.

    Args:
        url: what was asked for.
        status: the status of the answer.
        retry_after_seconds: when the server wants to be asked again; None: it did not say.
    """
    failure = _class_of_status(status, says_when=retry_after_seconds is not None)
    return fetch_error(failure, f"{named(url)} answered {status}", retry_after_seconds)


def exchange_error(url: str, error: BaseException) -> ActionError:
    """Return what it stands for that no whole answer came back, from the chain of causes."""
    return fetch_error(*_unanswered(named(url), error))


def named(url: str) -> str:
    """Return a URL as messages show it: bounded, on one line, without user and password."""
    text = url if _WITHOUT_USER.match(url) else shown(url)
    whole = text if len(text) <= _LONGEST_URL else text[: _LONGEST_URL - 1] + "…"
    return repr(whole)[1:-1]


def _class_of_status(status: int, *, says_when: bool) -> FetchFailure:
    if (known := _STATUSES.get(status)) is not None:
        return known
    if status == HTTPStatus.SERVICE_UNAVAILABLE and says_when:
        return FetchFailure.RATE_LIMITED
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return FetchFailure.SOFT_FAILURE  # an answer, and no document: 202 is a usual challenge
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return FetchFailure.BAD_REQUEST
    return FetchFailure.BAD_RESPONSE


def _unanswered(url: str, error: BaseException) -> tuple[FetchFailure, str]:
    if isinstance(error, httpx2.TimeoutException):
        part = "no connection" if isinstance(error, httpx2.ConnectTimeout) else "nothing came"
        return FetchFailure.TIMEOUT, f"{url} took too long: {part} in time"
    if isinstance(error, httpx2.ConnectError):
        return _unconnected(url, list(causes_of(error)))
    if isinstance(error, httpx2.NetworkError):
        return FetchFailure.UNREACHABLE, f"the connection for {url} could not be kept"
    if isinstance(error, httpx2.LocalProtocolError):
        # The library's words may repeat a header, and with it a key.
        return FetchFailure.BAD_REQUEST, f"the request for {url} cannot be sent as it is"
    return FetchFailure.BAD_RESPONSE, f"{url} did not answer as HTTP asks"


def _unconnected(url: str, causes: list[BaseException]) -> tuple[FetchFailure, str]:
    if any(isinstance(c, UnresolvedNameError) for c in causes):
        return FetchFailure.DNS, f"the name of {url} has no address"
    tls = next((c for c in causes if isinstance(c, ssl.SSLError)), None)
    if tls is None or isinstance(tls, _BROKEN_OFF):
        return FetchFailure.UNREACHABLE, f"the connection for {url} could not be made"
    why = getattr(tls, "verify_message", "") or tls.reason or type(tls).__name__
    return FetchFailure.TLS, f"no TLS connection for {url}: {why}; {_CERTIFICATE_MEND}"
