"""Which item of a run may start next."""

from __future__ import annotations

import heapq


class Window:
    """Items are handed out in order: few at a time, and none far ahead of the oldest open one.

    Results are often needed in order (sums of floats, parts of a store). Without the second rule
    one slow item would let all results after it pile up.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._next = 0
        self._open: set[int] = set()
        self._again: list[int] = []

    @property
    def finished(self) -> bool:
        return self._next == self.total and not self._open and not self._again

    @property
    def waiting(self) -> int:
        """Items that have not started, or have to start again."""
        return self.total - self._next + len(self._again)

    def start(self, workers: int) -> int | None:
        """The item to start now with so many workers; None if one has to end first."""
        if len(self._open) >= 2 * workers:
            return None
        index = self._again[0] if self._again else self._next
        oldest = min(self._open, default=index)
        if index >= self.total or index >= oldest + 4 * workers:
            return None
        if self._again:
            heapq.heappop(self._again)
        else:
            self._next += 1
        self._open.add(index)
        return index

    def done(self, index: int) -> None:
        self._open.remove(index)

    def lost(self, index: int) -> None:
        """Its worker died: it comes first when the next one starts."""
        self._open.remove(index)
        heapq.heappush(self._again, index)
