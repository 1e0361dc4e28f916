"""Interfaces for programs: one question, one answer, and what a refusal of it stands for.

A refusal's own words decide between a key and a quota, and are not repeated in messages: they are
somebody else's text, and may hold what was sent.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import SecretStr

from controller.api.errors import ActionError, FixpointError, PermanentError, RetryableError
from controller.sources.remote.base import RemoteSource
from controller.sources.web.failures import FetchFailure, fetch_error, named, status_error
from controller.sources.web.fetcher import Fetched
from controller.sources.web.request import FetchRules, Request

CREDENTIALS_REJECTED: Final = "CredentialsRejected"
CREDENTIALS_CHANGED: Final = "CredentialsChanged"
QUOTA_EXHAUSTED: Final = "QuotaExhausted"
FORMAT_DISABLED: Final = "FormatDisabled"
ENGINES_UNRESPONSIVE: Final = "EnginesUnresponsive"

_QUOTA: Final = re.compile(
    rb"quota|credits?\b|usage limit|plan'?s? (usage )?limit|(exceeds?|exceeded) your plan"
    rb"|monthly limit|insufficient (balance|funds)|billing|payment required",
    re.IGNORECASE,
)
"""What services say where nothing is left to spend."""

_SPENT: Final = frozenset({402, 432, 433})
"""Statuses of accounts that have nothing left: HTTP's own, and the two of Tavily."""


class Interface(RemoteSource):
    """A source that is asked by its interface for programs."""

    least_delay_seconds: float = 0.0
    """The least time between two requests, where the interface asks for more than is usual."""

    @property
    @abstractmethod
    def _address(self) -> str:
        """The address that the spec names."""

    @property
    @abstractmethod
    def _field(self) -> str:
        """The field that names it, such as `spec.brave.baseURL`."""

    def _secret_headers(self, key: SecretStr) -> Mapping[str, SecretStr]:
        """Return the headers that carry a key."""
        return {"authorization": SecretStr(f"Bearer {key.get_secret_value()}")}

    def _refusal(self, fetched: Fetched) -> ActionError | None:
        """Return what an answer stands for that only this interface gives; None: as usual."""
        del fetched
        return None

    @property
    def _rules(self) -> FetchRules:
        return FetchRules(
            own_origins=self._spec_origins,
            seconds=self._spec.timeout_seconds,
            obey_robots=False,
            least_delay_seconds=self.least_delay_seconds,
        )

    async def _ask(self, request: Request) -> Fetched:
        """Put one question; return the answer, whose status is 200, or 304 where that was asked.

        Raises:
            RetryableError: another attempt may succeed.
            PermanentError: no attempt will.
            StoreError: the key cannot be read, and nothing was sent.
        """
        key = await self._network.key.value()
        if key is not None:
            request = replace(request, secret_headers=self._secret_headers(key))
        fetched = await self._network.fetcher.exchange(request, self._rules)
        is_unchanged = request.is_conditional and fetched.status == HTTPStatus.NOT_MODIFIED
        if fetched.status == HTTPStatus.OK or is_unchanged:
            return fetched
        failure = self._refusal(fetched) or self._usual_refusal(fetched, has_key=key is not None)
        raise await self._after_rotation(failure, key)

    async def _asked(self, request: Request) -> dict[str, Any]:
        """Put one question; return the object that the answer is.

        Raises:
            ActionError: as `_ask`; `BadResponse` where the answer is no JSON object.
        """
        fetched = await self._ask(request)
        value = fetched.json()
        if not isinstance(value, dict):
            raise bad_shape(fetched.url)
        return value

    def _usual_refusal(self, fetched: Fetched, *, has_key: bool) -> ActionError:
        """Return what a status stands for where an interface gives it."""
        status, says_quota = fetched.status, _QUOTA.search(fetched.body) is not None
        answered = f"{named(fetched.url)} answered {status}"
        error = status_error(fetched.url, status, fetched.retry_after_seconds)
        is_refused = error.error_class in {FetchFailure.FORBIDDEN, FetchFailure.RATE_LIMITED}
        if status in _SPENT or (is_refused and says_quota):
            message = f"{answered}: the account has nothing left to spend"
            return PermanentError(QUOTA_EXHAUSTED, message)
        if error.error_class == FetchFailure.FORBIDDEN:
            return self._rejected(fetched, has_key=has_key)
        if error.error_class in {FetchFailure.DOCUMENT_MISSING, FetchFailure.GONE}:
            message = f"{answered}: nothing is there; check {self._field}"
            return fetch_error(FetchFailure.BAD_REQUEST, message)
        if error.error_class == FetchFailure.SOFT_FAILURE:
            return fetch_error(FetchFailure.BAD_RESPONSE, f"{answered}, which is no answer")
        return error

    def _rejected(self, fetched: Fetched, *, has_key: bool) -> ActionError:
        mend = (
            "check the key that spec.credentialsSecretRef names"
            if has_key
            else "it may ask for a key, whose Secret spec.credentialsSecretRef must name"
        )
        if has_key and fetched.redirects:
            mend = f"a key is not sent where redirects lead: {self._field} must name the address"
        message = f"{named(fetched.url)} answered {fetched.status}; {mend}"
        return PermanentError(CREDENTIALS_REJECTED, message)

    async def _after_rotation(self, failure: ActionError, key: SecretStr | None) -> ActionError:
        """Return a failure; a key that was rotated meanwhile is tried once more."""
        if failure.error_class != CREDENTIALS_REJECTED or key is None:
            return failure
        try:
            now = await self._network.key.value(fresh=True)
        except FixpointError:  # the request is sent and charged, whatever the store says now
            message = f"{failure}; the key could not be read again"
            return RetryableError(CREDENTIALS_CHANGED, message)
        if now == key:
            return failure
        return RetryableError(
            CREDENTIALS_CHANGED,
            "the key was refused, and the Secret holds another one by now",
            retry_after_seconds=0,
        )


def with_parameters(url: str, parameters: Mapping[str, str | int | None]) -> str:
    """Return a URL with these parameters after those that it has; None: it is left out."""
    parts = urlsplit(url)
    added = urlencode({name: value for name, value in parameters.items() if value is not None})
    query = "&".join(filter(None, (parts.query, added)))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def below(base: str, path: str) -> str:
    """Return the URL of a path below a base URL, with the base's own parameters."""
    parts = urlsplit(base)
    return urlunsplit(
        (parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}/{path}", parts.query, "")
    )


def bad_shape(url: str) -> ActionError:
    """Return the error of an answer that is JSON, and not what the interface answers."""
    message = f"{named(url)} answered with JSON of another shape than its interface has"
    return fetch_error(FetchFailure.BAD_RESPONSE, message)


def objects_in(value: object, url: str) -> list[dict[str, Any]]:
    """Return a list of objects.

    Raises:
        RetryableError: `BadResponse`: it is none.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise bad_shape(url)
    return cast("list[dict[str, Any]]", value)


def text_in(item: Mapping[str, Any], name: str) -> str:
    """Return a text of an object; an empty one where it is missing or something else."""
    value = item.get(name)
    return value if isinstance(value, str) else ""
