"""When a model may be asked again, from what its limits leave."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controller.loop.pace import Pace, busy
from tests.situations import NOW

IN_10 = NOW + timedelta(seconds=10)
IN_20 = NOW + timedelta(seconds=20)
SPENT = ((IN_10, 300), (IN_20, 500))


def test_a_free_model_may_be_asked() -> None:
    assert busy(Pace("large", max_concurrent=2, under_way=1), 100) is None


def test_a_full_model_is_free_when_a_call_has_ended() -> None:
    held = busy(Pace("large", max_concurrent=2, under_way=2), 100)
    assert held is not None
    assert held.until is None
    assert "spec.maxConcurrentRequests is 2" in held.message


@pytest.mark.parametrize(
    ("limit", "tokens", "until"),
    [(None, 10**9, None), (1000, 200, None), (1000, 201, IN_10), (1000, 501, IN_20)],
)
def test_tokens_are_free_when_enough_of_them_count_no_more(
    limit: int | None, tokens: int, until: object
) -> None:
    pace = Pace("large", 9, tokens_limit=limit, tokens_spent=SPENT)
    assert pace.tokens_until(tokens) == until


def test_a_request_above_the_limit_is_sent_when_nothing_else_was() -> None:
    assert Pace("large", 9, tokens_limit=10).tokens_until(99) is None
    assert Pace("large", 9, tokens_limit=10, tokens_spent=SPENT).tokens_until(99) == IN_20


def test_the_later_of_two_limits_is_waited_for_and_named() -> None:
    both = Pace("large", 9, requests_limit=3, requests_until=IN_10, tokens_limit=800,
                tokens_spent=SPENT, behind=timedelta(seconds=1))  # fmt: skip
    by_tokens, by_requests = busy(both, 400), busy(both, 100)
    assert by_tokens is not None
    assert by_requests is not None
    assert by_tokens.until == IN_20 + timedelta(seconds=1)
    assert "spec.rateLimit.tokensPerMinute 800" in by_tokens.message
    assert by_requests.until == IN_10 + timedelta(seconds=1)
    assert "spec.rateLimit.requestsPerMinute 3" in by_requests.message
