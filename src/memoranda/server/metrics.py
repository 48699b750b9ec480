"""What Prometheus reads: requests, how long they take, and whether the event loop is held up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import Scope

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LAG_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
_LAG_EVERY: Final = 0.05


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "memoranda_requests", "Requests answered", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "memoranda_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self._in_flight = Gauge("memoranda_requests_in_flight", "Requests under way", registry=self.registry)
        self._lag = Histogram(
            "memoranda_event_loop_lag_seconds",
            "How late the event loop wakes up",
            buckets=_LAG_SECONDS,
            registry=self.registry,
        )

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, never the path: an id in a label would make a new series of each memory.
        route = getattr(scope.get("route"), "path", "none")
        self._requests.labels(scope["method"] if route != "none" else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    async def watch_loop(self) -> None:
        """Measures, until it is cancelled, how much later than asked the loop comes back."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_LAG_EVERY)
            self._lag.observe(max(0.0, time.perf_counter() - before - _LAG_EVERY))

    def text(self) -> bytes:
        return generate_latest(self.registry)
