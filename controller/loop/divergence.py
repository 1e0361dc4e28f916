"""The first difference between what is recorded and what comes out when it is computed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from controller.api.base import canonical_json

_SHOWN: Final = 300
"""How many characters of a value are shown."""


@dataclass(frozen=True)
class ReplayDivergence:
    """Something that does not come out as it is recorded.

    `index` is the step's, or that of the step that would come next; None: the status differs.
    """

    index: int | None
    what: str
    recorded: str
    again: str

    def __str__(self) -> str:
        where = "the status" if self.index is None else f"step {self.index}"
        return f"{where}: {self.what}: recorded {_cut(self.recorded)}, again {_cut(self.again)}"


def divergence(
    index: int | None,
    what: str,
    recorded: Any,  # noqa: ANN401 - any JSON value
    again: Any,  # noqa: ANN401 - any JSON value
) -> ReplayDivergence | None:
    """Return the first difference of two JSON values, with its path; None: there is none."""
    if isinstance(recorded, dict) and isinstance(again, dict):
        pairs = [(f".{k}", recorded.get(k), again.get(k)) for k in sorted({*recorded, *again})]
    elif isinstance(recorded, list) and isinstance(again, list) and len(recorded) == len(again):
        pairs = [(f"[{i}]", r, a) for i, (r, a) in enumerate(zip(recorded, again, strict=True))]
    elif recorded == again and type(recorded) is type(again):
        return None
    else:
        return ReplayDivergence(index, what, canonical_json(recorded), canonical_json(again))
    found = (divergence(index, what + path, r, a) for path, r, a in pairs)
    return next((difference for difference in found if difference is not None), None)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
