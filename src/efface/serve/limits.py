"""What the service takes on at most, all in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from efface.errors import PlanError
from efface.threads import cores

HELD_BODIES = 8
"""Largest bodies that may be in memory at once, over all requests."""


@dataclass(frozen=True)
class Limits:
    """Beyond each of these a request is refused at once, with the reason."""

    max_batch: int = 4096
    """Vectors in one request."""
    max_body: int = 64 << 20
    """Bytes of one body."""
    concurrency: int = field(default_factory=cores)
    """Requests that are computed at one time, a thread each."""
    queue: int = 64
    """Requests that wait for one of these threads."""
    timeout: float = 30.0
    """Seconds for a body to arrive, for a thread to be free, and for an answer to be taken."""
    connections: int = 1000
    """Open connections, idle ones included."""
    small: int = 1 << 20
    """Bytes of a body times rank up to which it is computed where it stands: less than a fifth of
    a millisecond, about what it costs to hand it to a thread and back."""

    def __post_init__(self) -> None:
        for name in ("max_batch", "max_body", "concurrency", "connections"):
            if getattr(self, name) < 1:
                raise PlanError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.queue < 0 or not 0 < self.timeout < float("inf"):
            raise PlanError(
                f"queue must be at least 0 and timeout above 0, got {self.queue} and {self.timeout}"
            )

    @property
    def held(self) -> int:
        """Bytes of all bodies that may be in memory at once."""
        return HELD_BODIES * self.max_body
