"""What Prometheus may know: counts and times, nothing of any vector."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from efface._version import __version__
from efface.serve.gate import Budget, Gate

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The service's own registry, so that two services in one process do not mix.

    ``served`` says what kind of thing is served, ``name`` which one.
    """

    def __init__(self, gate: Gate, budget: Budget, served: str, name: str) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter(
            "efface_requests", "Answered requests, by status", ["status"], registry=own
        )
        self.rejected = Counter(
            "efface_rejected", "Refused requests, by reason", ["reason"], registry=own
        )
        self.vectors = Counter("efface_vectors", "Vectors taken in and answered", registry=own)
        self.seconds = Histogram(
            "efface_request_seconds", "Time from the head of a request to its answer",
            buckets=_SECONDS, registry=own,
        )  # fmt: skip
        self.in_flight = Gauge("efface_in_flight", "Requests being read or worked on", registry=own)
        at_work = Gauge("efface_at_work", "Requests that have a thread", registry=own)
        at_work.set_function(lambda: gate.at_work)
        waiting = Gauge("efface_waiting", "Requests that wait for a thread", registry=own)
        waiting.set_function(lambda: gate.waiting)
        held = Gauge("efface_held_bytes", "Bytes of bodies in memory", registry=own)
        held.set_function(lambda: budget.held)
        self.requests.labels("200")  # there from the start
        info = Gauge("efface_info", "What is served", ["version", served], registry=own)
        info.labels(__version__, name).set(1)

    def text(self) -> bytes:
        found: bytes = generate_latest(self.registry)
        return found
