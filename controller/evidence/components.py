"""Connected components: what belongs together over a chain of pairs that do."""

from __future__ import annotations


class Components:
    """The numbers from 0 on, each a component of its own until it is joined with another."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def root(self, at: int) -> int:
        """Return the least number of a number's component."""
        while self._parents[at] != at:
            self._parents[at] = at = self._parents[self._parents[at]]
        return at

    def join(self, one: int, other: int) -> None:
        """Make the components of two numbers one."""
        low, high = sorted((self.root(one), self.root(other)))
        self._parents[high] = low
