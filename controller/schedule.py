"""Decides which key is worked on next: the rules of the work queue, without time or tasks.

A key is a name, never an event: however often something changes, a key waits once. One worker at
a time has a key; a change meanwhile means once more. The clock is an argument, so that every rule
can be tested at the moment it is about.
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar


class Namespaced(Protocol):
    """A key: hashable, and in a namespace, which is what fairness is about."""

    @property
    def namespace(self) -> str:
        """The namespace that shares the workers fairly with the others."""
        ...

    def __hash__(self) -> int: ...


Key = TypeVar("Key", bound=Namespaced)


@dataclass(frozen=True)
class BackOff:
    """How long a key waits after failures in a row: doubled each time, up to a maximum.

    Full delays lie between half and all of the doubled value, so that keys that failed together
    do not come back together.
    """

    initial_seconds: float = 0.5
    maximum_seconds: float = 30.0

    def seconds(self, failures: int, jitter: float) -> float:
        """Return the delay after so many failures in a row (from 1); `jitter` is in 0..1."""
        doublings = min(failures - 1, 32)
        delay = min(self.maximum_seconds, self.initial_seconds * 2.0**doublings)
        return delay * (0.5 + jitter / 2)


DEFAULT_BACK_OFF: Final = BackOff()


@dataclass
class _Failures:
    """Failures of a key in a row, and the moment before which the server wants to hear nothing."""

    count: int = 0
    not_before: float = 0.0


class _Due(NamedTuple):
    """When a delay ends; the number makes each one different."""

    time: float
    number: int


class Schedule(Generic[Key]):
    """Keys that are ready, delayed, or busy; `now` is a monotonic time in seconds.

    A key is in one of these states or in none. Namespaces take turns.
    """

    def __init__(self, jitter: Callable[[], float], back_off: BackOff = DEFAULT_BACK_OFF) -> None:
        """Make an empty schedule; `jitter` returns numbers in 0..1."""
        self._jitter = jitter
        self._back_off = back_off
        self._ready: OrderedDict[str, deque[Key]] = OrderedDict()
        self._queued: set[Key] = set()
        self._busy: set[Key] = set()
        self._dirty: set[Key] = set()
        self._dropped: set[Key] = set()
        self._due: dict[Key, _Due] = {}
        self._heap: list[tuple[_Due, Key]] = []
        self._numbers = itertools.count()
        self._failures: dict[Key, _Failures] = {}

    def __len__(self) -> int:
        """Return how many keys are ready, delayed or busy."""
        return len(self._queued) + len(self._due) + len(self._busy)

    @property
    def ready(self) -> int:
        """How many keys could be worked on now."""
        return len(self._queued)

    def is_busy(self, key: Key) -> bool:
        """Say whether a worker has the key."""
        return key in self._busy

    def add(self, key: Key, now: float) -> None:
        """Look at a key as soon as possible: something changed.

        A change ends a delay and a back-off, for it may be the mend; it does not end a wait that
        the server asked for.
        """
        if key in self._busy:
            self._dirty.add(key)
            self._dropped.discard(key)
            return
        failures = self._failures.get(key)
        if failures is not None and failures.not_before > now:
            self._delay(key, failures.not_before)
            return
        self._due.pop(key, None)
        self._enqueue(key)

    def add_after(self, key: Key, seconds: float, now: float) -> None:
        """Look at a key after some seconds, unless it is looked at before."""
        if key in self._busy or key in self._queued:
            return
        known = self._due.get(key)
        if known is None or now + seconds < known.time:
            self._delay(key, now + seconds)

    def take(self, now: float) -> Key | None:
        """Hand out the next key, which is busy from now on; None: none is ready."""
        self._wake(now)
        if not self._ready:
            return None
        namespace, keys = next(iter(self._ready.items()))
        key = keys.popleft()
        if keys:
            self._ready.move_to_end(namespace)
        else:
            del self._ready[namespace]
        self._queued.remove(key)
        self._busy.add(key)
        return key

    def done(self, key: Key, after: float | None, now: float) -> None:
        """Take a key back that was looked at; `after` is when to look again, None: on change."""
        self._failures.pop(key, None)
        if self._release(key):
            self.add(key, now)
        elif after is not None and key not in self._dropped:
            if after > 0:
                self._delay(key, now + after)
            else:
                self._enqueue(key)
        self._dropped.discard(key)

    def failed(self, key: Key, now: float, retry_after: float | None = None) -> float | None:
        """Take a key back that could not be looked at; return the seconds until it is again.

        Args:
            key: the key.
            now: the time.
            retry_after: the seconds that the server asked to be left alone, if it did.

        Returns:
            None for a key that was forgotten meanwhile.
        """
        self._release(key)
        if key in self._dropped:
            self._dropped.discard(key)
            return None
        failures = self._failures.setdefault(key, _Failures())
        failures.count += 1
        delay = self._back_off.seconds(failures.count, self._jitter())
        if retry_after is not None:
            failures.not_before = now + retry_after
            delay = max(delay, retry_after)
        self._delay(key, now + delay)
        return delay

    def forget(self, key: Key) -> None:
        """Drop a key; what a worker that has it says afterwards does not count."""
        self._dirty.discard(key)
        self._failures.pop(key, None)
        self._due.pop(key, None)
        if key in self._busy:
            self._dropped.add(key)
        if key in self._queued:
            self._queued.remove(key)
            keys = self._ready[key.namespace]
            keys.remove(key)
            if not keys:
                del self._ready[key.namespace]

    def next_due(self) -> float | None:
        """Return when the next delayed key becomes ready, None without one."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0].time if self._heap else None

    def drop_delayed(self) -> None:
        """Forget every delay: only what is ready or busy is of interest any more."""
        self._due.clear()

    def _wake(self, now: float) -> None:
        while (due := self.next_due()) is not None and due <= now:
            _, key = heapq.heappop(self._heap)
            del self._due[key]
            self._enqueue(key)

    def _enqueue(self, key: Key) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._ready.setdefault(key.namespace, deque()).append(key)

    def _delay(self, key: Key, time: float) -> None:
        self._due[key] = due = _Due(time, next(self._numbers))
        heapq.heappush(self._heap, (due, key))

    def _release(self, key: Key) -> bool:
        """Let a worker's key go; say whether something changed while the worker had it."""
        self._busy.remove(key)
        is_dirty = key in self._dirty
        self._dirty.discard(key)
        return is_dirty
