"""Maps what the API server answers, or does not answer, to errors by consequence: one table.

The client library raises the same exception for a lost race and a taken name, and a bare one
for "too many requests"; the `Status` object in the body tells them apart.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

import aiohttp
from kubernetes.aio.client.exceptions import ApiException

from controller.api.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    RefusedError,
    StoreError,
    UnavailableError,
)

Answer = TypeVar("Answer")

_TRY_AGAIN = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,  # a token that expired: the file has, or will have, a new one
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.GONE,  # a list that was continued too late: begin it again
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)


async def answer_to(request: str, answer: Awaitable[Answer]) -> Answer:
    """Await an answer of the API server; `request` names what was asked in the error's text.

    Raises:
        StoreError: the kind that `_refusal` says, or `UnavailableError` for no usable answer.
    """
    try:
        return await answer
    except ApiException as exception:
        raise _refusal(request, exception) from exception
    except TimeoutError as exception:
        raise UnavailableError(f"{request}: no answer in time") from exception
    except (aiohttp.ClientError, OSError) as exception:
        raise UnavailableError(f"{request}: no answer: {exception}") from exception
    except (json.JSONDecodeError, UnicodeDecodeError) as exception:
        raise UnavailableError(f"{request}: the answer is not JSON: {exception}") from exception


class _Status(NamedTuple):
    """What is used of the `Status` object in the body of a refusal; empty without one."""

    reason: str = ""
    message: str = ""
    retry_after_seconds: float | None = None
    causes: frozenset[str] = frozenset()


def _refusal(request: str, exception: ApiException) -> StoreError:
    """Return the error for a refusal: the first line that fits its status and reason."""
    status = _status(exception.body)
    text = f"{request}: {status.message or exception.reason} ({exception.status})"
    match exception.status, status.reason:
        case HTTPStatus.CONFLICT, "AlreadyExists":
            return AlreadyExistsError(text)
        case HTTPStatus.CONFLICT, _:
            return ConflictError(text)
        case HTTPStatus.NOT_FOUND, _:
            return NotFoundError(text)
        case HTTPStatus.FORBIDDEN, _ if "NamespaceTerminating" in status.causes:
            return NotFoundError(text)
        case int(code), _ if 400 <= code < 500 and code not in _TRY_AGAIN:  # noqa: PLR2004 - 4xx
            return RefusedError(text)
        case _:
            return UnavailableError(text, _retry_after(exception, status))


def _status(body: str | None) -> _Status:
    try:
        content: Any = json.loads(body or "")
    except json.JSONDecodeError:
        return _Status()  # not from the API server itself: a proxy, or an older path
    if not isinstance(content, dict) or content.get("kind") != "Status":
        return _Status()
    details = content.get("details") or {}
    causes = details.get("causes") or ()
    return _Status(
        reason=content.get("reason", ""),
        message=content.get("message", ""),
        retry_after_seconds=details.get("retryAfterSeconds"),
        causes=frozenset(cause.get("reason", "") for cause in causes),
    )


def _retry_after(exception: ApiException, status: _Status) -> float | None:
    """Return the seconds to wait: the header's, else the body's, else none."""
    header = (exception.headers or {}).get("Retry-After", "")
    if header.isascii() and header.isdecimal():
        return float(header)
    return status.retry_after_seconds
