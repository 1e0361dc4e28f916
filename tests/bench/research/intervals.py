"""How far a share of few cases may be trusted."""

from __future__ import annotations

import math

NORMAL_95 = 1.959963984540054
"""The quantile of the normal distribution for a two-sided interval of 95 %."""


def wilson(successes: int, cases: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; of no cases nothing is known, so all of [0, 1].

    Raises:
        ValueError: there are more successes than cases, or a count is negative.
    """
    if not 0 <= successes <= cases:
        raise ValueError(f"{successes} successes of {cases} cases: no share")
    if cases == 0:
        return 0.0, 1.0
    share, squared = successes / cases, NORMAL_95**2
    middle = share + squared / (2 * cases)
    spread = NORMAL_95 * math.sqrt(share * (1 - share) / cases + squared / (4 * cases**2))
    scale = 1 + squared / cases
    # at the ends rounding would leave the interval by a few units of the last place
    low = 0.0 if successes == 0 else max(0.0, (middle - spread) / scale)
    high = 1.0 if successes == cases else min(1.0, (middle + spread) / scale)
    return low, high
