"""What a predicate says: that it holds, or that it does not, why, and in which detail."""

from __future__ import annotations

from typing import Final

from controller.api.records import Predicate, RejectReason, Verdict

_MAXIMUM_DETAIL: Final = 256


def passed(predicate: Predicate) -> Verdict:
    """Return that a predicate holds."""
    return Verdict(predicate=predicate, passed=True)


def failed(predicate: Predicate, reason: RejectReason, detail: str) -> Verdict:
    """Return that a predicate does not hold; the detail is cut to what a record can have."""
    detail = detail.encode("utf-8", "replace").decode()[:_MAXIMUM_DETAIL]
    return Verdict(predicate=predicate, passed=False, reason=reason, detail=detail)
