"""Progress is measured by what is known, never by what was done (requirements S1.22, S1.27).

A fingerprint is a digest over sets that only grow within a round: verified facts, hits, those
that were read, and different complete searches, as far as a certificate of absence needs them;
and over the states of the questions and the goal predicates. It holds no time, no counter and no
free text. Without a new one for `maxStalledSteps` steps a run is stopped (`NoProgress`); if it
comes back to an earlier one, it is stopped as well (`CycleDetected`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from controller.api.base import digest_of
from controller.api.records import ReadRecord, SearchRecord, SearchStatus
from controller.api.step import ActionName, Outcome, ResearchStepSpec

KEPT_FINGERPRINTS: Final = 16
"""How many different fingerprints are kept to find a cycle."""

SEARCHES_FOR_ABSENCE: Final = 3
"""Different complete queries a source that prove an absence; more of them are not progress."""

_CLOSING: Final = frozenset({ActionName.DRAFT, ActionName.SUMMARIZE, ActionName.PUBLISH})

_NEVER_STALLED: Final = frozenset(
    {
        ActionName.PLAN,
        ActionName.REFINE,
        ActionName.ASK,
        ActionName.PROPOSE,
        ActionName.REVERIFY,
    }
)
"""Planning writes queries and proposing picks: what follows tells whether anything came of it. To
read again what is known brings nothing new where nothing holds any more, and is bounded by what is
known."""


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints seen so far, newest last, and for how long the newest has stood."""

    recent: tuple[str, ...] = ()
    stalled_steps: int = 0
    last_progress_step: int = 0
    cycle: bool = False

    @property
    def current(self) -> str | None:
        """The newest fingerprint."""
        return self.recent[-1] if self.recent else None

    def after(self, spec: ResearchStepSpec) -> Fingerprints:
        """Return what is known after a step."""
        if spec.action is ActionName.NOTE:
            return self.restarted() if spec.note and spec.note.kind == "Reopened" else self
        if spec.outcome is not Outcome.COMPLETED or spec.action in _CLOSING:
            return self
        if spec.fingerprint == self.current:
            stalled = self.stalled_steps + (spec.action not in _NEVER_STALLED)
            return replace(self, stalled_steps=stalled)
        return Fingerprints(
            recent=(*self.recent, spec.fingerprint)[-KEPT_FINGERPRINTS:],
            last_progress_step=spec.index,
            cycle=self.cycle or spec.fingerprint in self.recent,
        )

    def restarted(self) -> Fingerprints:
        """Return what a re-opening leaves: nothing has stalled yet."""
        return replace(self, recent=self.recent[-1:], stalled_steps=0, cycle=False)


def fingerprint(
    *,
    facts: Iterable[str],
    question_states: Iterable[tuple[str, str]],
    predicates_met: Iterable[str],
    searches: Iterable[SearchRecord],
    reads: Iterable[ReadRecord] = (),
) -> str:
    """Return the digest of what is known."""
    hits: set[tuple[str, int]] = set()
    complete: dict[tuple[str, str], set[str]] = {}
    for search in searches:
        hits |= {(h.locator, h.span.start if h.span else 0) for h in search.hits}
        if search.status is SearchStatus.COMPLETE:
            complete.setdefault((search.question_id, search.source_name), set()).add(search.query)
    read = sorted({(r.source_name, r.locator, r.question_id) for r in reads})
    return digest_of(
        {
            **({"read": read} if read else {}),
            "facts": sorted(set(facts)),
            "questions": sorted(question_states),
            "predicates": sorted(predicates_met),
            "hits": sorted(hits),
            "searched": sorted(
                (*key, min(len(queries), SEARCHES_FOR_ABSENCE)) for key, queries in complete.items()
            ),
        }
    )
