"""Error answers: each class on each kind of endpoint that can produce it, and when to come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from controller.api.errors import ActionError, PermanentError, RetryableError
from controller.api.model import Backend
from controller.api.waits import LONGEST_WAIT, retry_after
from controller.loop.breakers import MODEL_ERROR_CLASSES
from controller.models.backends import PROFILES
from controller.models.failures import RETRYABLE, HttpAnswer, failure_of
from tests.endpoint.clients import CANARY
from tests.endpoint.server import Answer
from tests.endpoint.shapes import ERRORS, HTML, answer_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def failed(answer: Answer, backend: Backend = Backend.OPENAI) -> ActionError:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    made = HttpAnswer(answer.status, headers, answer.body)
    return failure_of(PROFILES[backend], made, NOW, CANARY)


# rule 10: each row of the table of classes, on each kind of endpoint that can produce it
@pytest.mark.parametrize(
    ("backend", "error_class"),
    [(backend, name) for backend, errors in ERRORS.items() for name in errors],
)
def test_each_class_is_known_on_each_kind_of_endpoint(backend: Backend, error_class: str) -> None:
    error = failed(ERRORS[backend][error_class], backend)
    assert error.error_class == error_class
    assert isinstance(error, RetryableError if error_class in RETRYABLE else PermanentError)
    assert error_class in MODEL_ERROR_CLASSES


# rule 11
@pytest.mark.parametrize("backend", list(Backend))
@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (301, "BadRequest"),
        (307, "BadRequest"),
        (400, "BadRequest"),
        (401, "Credentials"),
        (402, "Quota"),
        (403, "Credentials"),
        (404, "ModelNotServed"),
        (405, "BadRequest"),
        (408, "ServerError"),
        (409, "ServerError"),
        (413, "BadRequest"),
        (422, "BadRequest"),
        (429, "RateLimited"),
        (500, "ServerError"),
        (502, "ServerError"),
        (503, "ServerError"),
        (529, "ServerError"),
        (599, "ServerError"),
        (204, "BadResponse"),
    ],
)
def test_without_words_the_status_decides(backend: Backend, status: int, error_class: str) -> None:
    for body in (b"", HTML, b"{", b"[]", b'"text"', b'{"error": 7}', b"[" * 99_999):
        assert failed(Answer(status, body), backend).error_class == error_class


# rule 10
@pytest.mark.parametrize("code", ["insufficient_quota", "billing_hard_limit_reached"])
def test_no_quota_is_no_rate_limit(code: str) -> None:
    answer = answer_of({"error": {"code": code}}, 429, retry_after="7")
    assert failed(answer).error_class == "Quota"


@pytest.mark.parametrize("code", [400, "400", None, True, 1.5, [], {}])
def test_a_code_may_have_any_type(code: object) -> None:
    answer = answer_of({"error": {"message": "no", "type": None, "code": code}}, 400)
    assert failed(answer).error_class == "BadRequest"


# S0.43
def test_a_message_names_the_mend_where_there_is_one() -> None:
    overflow = str(failed(ERRORS[Backend.OPENAI]["Overflow"]))
    assert "spec.contextWindowTokens must be the window of the server" in overflow
    assert "spec.credentialsSecretRef" in str(failed(Answer(401)))
    assert "spec.model" in str(failed(Answer(404)))
    assert "spec.baseURL must be the address itself" in str(failed(Answer(307)))
    assert "(unsupported_parameter)" in str(failed(ERRORS[Backend.OPENAI]["BadRequest"]))


# rule 19
def test_words_of_an_endpoint_are_bounded_on_one_line_and_without_the_key() -> None:
    words = f"first\n\u202esecond {'x' * 250} {CANARY} {'y' * 100_000}"
    error = failed(answer_of({"error": {"message": words, "code": CANARY * 9}}, 500))
    assert len(str(error)) < 700
    assert "\n" not in str(error)
    assert "\u202e" not in str(error)
    assert "sk-canary" not in str(error)


# rule 12, T15
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 7 "}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=7), usegmt=True)}, 7),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:07 -0000"}, 7),
        ({"retry-after": "Thu, 01 Jan 2026 02:00:07 +0200"}, 7),
        ({"retry-after": "999999"}, 999_999),
        ({"retry-after": "9" * 400}, LONGEST_WAIT),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "abc"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "\u0667"}, None),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=7), usegmt=True)}, None),
        ({"retry-after": "Thu, 99 Jan 2026 00:00:07 GMT"}, None),
        ({}, None),
    ],
)
def test_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_wait_that_is_asked_for_is_passed_on(status: int) -> None:
    error = failed(Answer(status, headers={"Retry-After": "7"}))
    assert isinstance(error, RetryableError)
    assert error.retry_after_seconds == 7
