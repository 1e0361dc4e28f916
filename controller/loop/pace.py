"""How fast a model may be asked, as it stands now: the limits of its object, over all tasks.

The shell counts; here it is only asked when the next call may be sent (S1.25).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Pace:
    """What the limits of one `ResearchModel` leave now.

    Attributes:
        name: the name of the model.
        max_concurrent: so many requests may be under way at once.
        under_way: so many are.
        requests_limit: so many may be sent in a minute; None: no limit.
        requests_until: from when on one more may be; None: now.
        tokens_limit: so many tokens may be used in a minute; None: no limit.
        tokens_spent: what was used in the last minute, oldest first, and when it counts no more.
        behind: how long after its turn a task may go, because others wait as well.
    """

    name: str
    max_concurrent: int
    under_way: int = 0
    requests_limit: int | None = None
    requests_until: datetime | None = None
    tokens_limit: int | None = None
    tokens_spent: tuple[tuple[datetime, int], ...] = ()
    behind: timedelta = timedelta(0)

    @property
    def is_full(self) -> bool:
        """Whether all requests that may be under way at once are."""
        return self.under_way >= self.max_concurrent

    def tokens_until(self, tokens: int) -> datetime | None:
        """Return from when on a request of so many tokens may be sent; None: now.

        One that is larger than the limit is sent when nothing else was for a minute.
        """
        if self.tokens_limit is None:
            return None
        left = sum(spent for _, spent in self.tokens_spent)
        until = None
        for expiry, spent in self.tokens_spent:
            if left + tokens <= self.tokens_limit:
                break
            left, until = left - spent, expiry
        return until


@dataclass(frozen=True)
class Busy:
    """Why a model cannot be asked now, and from when on it can be; None: when a call has ended."""

    message: str
    until: datetime | None


def busy(pace: Pace, tokens: int) -> Busy | None:
    """Return what keeps a request of so many tokens back; None: it may be sent."""
    model = f"the ResearchModel {pace.name}"
    if pace.is_full:
        return Busy(
            f"{model} is asked by other tasks: spec.maxConcurrentRequests is "
            f"{pace.max_concurrent}, and so many are under way",
            None,
        )
    by_requests, by_tokens = pace.requests_until, pace.tokens_until(tokens)
    if by_requests is not None and (by_tokens is None or by_requests >= by_tokens):
        return Busy(
            f"{model} has been asked spec.rateLimit.requestsPerMinute {pace.requests_limit} times "
            "in the last minute",
            by_requests + pace.behind,
        )
    if by_tokens is not None:
        return Busy(
            f"{model} has used what spec.rateLimit.tokensPerMinute {pace.tokens_limit} leaves no "
            "room beside for the next call",
            by_tokens + pace.behind,
        )
    return None
