"""What an error answer of an endpoint means: its class, and when to come back. Pure.

Code, type and message are asked before the status, in the table of the profile: the same status
stands for what passes, for what never will, and for what costs money (docs/models.md has what
each class leads to). Messages are one line, bounded, and never hold the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.waits import retry_after
from controller.models.backends import Profile, Sign
from controller.models.provider_text import one_line

RETRYABLE: Final = frozenset(
    {"RateLimited", "Loading", "ServerError", "Unreachable", "Timeout", "BadResponse"}
)
"""The classes for which another attempt may succeed."""

_STATUSES: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "Credentials",
    HTTPStatus.PAYMENT_REQUIRED: "Quota",
    HTTPStatus.FORBIDDEN: "Credentials",
    HTTPStatus.NOT_FOUND: "ModelNotServed",
    HTTPStatus.REQUEST_TIMEOUT: "ServerError",
    HTTPStatus.CONFLICT: "ServerError",
    HTTPStatus.TOO_MANY_REQUESTS: "RateLimited",
}

_MENDS: Final[Mapping[str, str]] = {
    "Credentials": "check the key that spec.credentialsSecretRef names",
    "Quota": "the account has nothing left to spend",
    "ModelNotServed": "check spec.model, and that spec.baseURL ends as the endpoint's own does",
    "Overflow": "spec.contextWindowTokens must be the window of the server",
}


@dataclass(frozen=True)
class HttpAnswer:
    """What came back over HTTP; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ProviderError:
    """What an endpoint says about an error; a code may come as a number or a text."""

    message: str
    code: str = ""
    type: str = ""


def failure_of(
    profile: Profile, answer: HttpAnswer, now: datetime, key: str | None = None
) -> ActionError:
    """Return the error that an answer stands for whose status is not 200."""
    said = error_in(_parsed(answer.body))
    error_class = sign_of(profile, said) or _class_of_status(answer, said)
    message = (
        f"the endpoint answered {answer.status}{_words(said, key)}{_mend(answer, error_class)}"
    )
    if error_class not in RETRYABLE:
        return PermanentError(error_class, message)
    return RetryableError(error_class, message, retry_after(answer.headers, now))


def sign_of(profile: Profile, said: ProviderError | None) -> str | None:
    """Return the class that an error's own words stand for, by code, then type, then message."""
    if said is None:
        return None
    message = said.message.lower()

    def matching() -> Iterator[Sign]:
        yield from (sign for sign in profile.signs if said.code in sign.codes)
        yield from (sign for sign in profile.signs if said.type in sign.types)
        yield from (s for s in profile.signs if any(words in message for words in s.messages))

    return next((sign.error_class for sign in matching()), None)


def error_in(document: object) -> ProviderError | None:
    """Return the error that a JSON document holds, in any of the shapes that servers use."""
    if not isinstance(document, dict):
        return None
    error = document.get("error") or document.get("detail") or document.get("message")
    if isinstance(error, str):
        return ProviderError(error)
    if not isinstance(error, dict):
        return None
    return ProviderError(
        message=_text(error.get("message")), code=_text(error.get("code")),
        type=_text(error.get("type")),
    )  # fmt: skip


def _class_of_status(answer: HttpAnswer, said: ProviderError | None) -> str:
    status = answer.status
    if status == HTTPStatus.SERVICE_UNAVAILABLE and said and "loading" in said.message.lower():
        return "Loading"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "ServerError"
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return "BadResponse"
    return _STATUSES.get(status, "BadRequest")


def _words(said: ProviderError | None, key: str | None) -> str:
    words = one_line(said.message, key) if said else ""
    code = one_line(said.code, key) if said else ""
    named = f" ({code})" if code and not code.isdecimal() else ""
    return named + (f": {words}" if words else "")


def _mend(answer: HttpAnswer, error_class: str) -> str:
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        return "; redirects are not followed: spec.baseURL must be the address itself"
    mend = _MENDS.get(error_class)
    return f"; {mend}" if mend else ""


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
