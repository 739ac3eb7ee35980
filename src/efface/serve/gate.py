"""How much is let in: so many at work, so many waiting, so many bytes, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from efface.serve.limits import Limits
from efface.serve.problem import overloaded


class Gate:
    """Lets ``concurrency`` requests in, has ``queue`` wait, and turns the others away at once."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.at_work = 0
        self.waiting = 0
        self._free = asyncio.Semaphore(limits.concurrency)

    def check(self) -> None:
        """Refuse what would be refused later anyway, before its body is read."""
        if self._free.locked() and self.waiting >= self.limits.queue:
            raise overloaded(f"{self.at_work} requests are at work and {self.waiting} wait")

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[bool]:
        """Within: one of the threads is free for this request. Yields whether it had to wait."""
        self.check()
        waited = self._free.locked()
        if waited:
            await self._take()
        else:
            await self._free.acquire()  # comes back at once
        self.at_work += 1
        try:
            yield waited
        finally:
            self.at_work -= 1
            self._free.release()

    async def _take(self) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.timeout):
                await self._free.acquire()
        except TimeoutError:
            raise overloaded(f"no thread was free for {self.limits.timeout:g} s") from None
        finally:
            self.waiting -= 1


class Budget:
    """Bytes of bodies in memory, over all requests."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    def take(self, size: int) -> None:
        if self.held + size > self.limit:
            raise overloaded("too many bytes of other requests are in memory")
        self.held += size

    def give(self, size: int) -> None:
        self.held -= size
