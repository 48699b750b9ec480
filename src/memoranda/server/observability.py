"""One JSON line a request, without secrets and without what was asked or answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import Scope

from memoranda.redaction import DEFAULT_PATTERNS, Redactor
from memoranda.types import JSON, Memory

LOGGER: Final = logging.getLogger("memoranda.server")
_OWN_KEYS: Final = r"(?P<keep>\bmmr\.[0-9a-f]{1,32}\.)[A-Za-z0-9_-]{8,}"


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON, redacted."""

    def __init__(self) -> None:
        super().__init__()
        self._redactor = Redactor([*DEFAULT_PATTERNS, _OWN_KEYS])

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, JSON] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["error"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(self._redactor.object(line))


class RequestLog:
    """Notes requests and failures."""

    def request(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        if not LOGGER.isEnabledFor(logging.INFO):
            return
        principal = scope.get("state", {}).get("principal")
        fields: dict[str, JSON] = {
            "request_id": request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "ms": round(seconds * 1000, 2),
            "key_id": principal.key_id if principal else None,
            "tenant": principal.tenant if principal else None,
        }
        LOGGER.info("request", extra={"fields": fields})

    def failure(self, request_id: str, error: BaseException) -> None:
        LOGGER.error("unexpected error", exc_info=error, extra={"fields": {"request_id": request_id}})


def configure(level: str = "info") -> None:
    """JSON lines on standard error, for our own lines and uvicorn's."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name in ("memoranda.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True


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


try:
    from opentelemetry import context as _context
    from opentelemetry import propagate as _propagate
    from opentelemetry import trace as _trace
except ModuleNotFoundError:
    installed = False
else:
    installed = True

OPERATIONS: Final = {
    ("POST", "/v1/remember"): "upsert_memory",
    ("POST", "/v1/memories"): "create_memory",
    ("POST", "/v1/memories/batch"): "create_memory",
    ("PATCH", "/v1/memories/{memory_id}"): "update_memory",
    ("DELETE", "/v1/memories/{memory_id}"): "delete_memory",
    ("POST", "/v1/memories/delete"): "delete_memory",
    ("POST", "/v1/recall"): "search_memory",
    ("POST", "/v1/context"): "search_memory",
    ("POST", "/v1/search"): "search_memory",
    ("POST", "/v1/search/similar"): "search_memory",
}
# The published package of names does not have these yet.
_OPERATION: Final = "gen_ai.operation.name"
_STORE: Final = "gen_ai.memory.store.id"
_RECORD: Final = "gen_ai.memory.record.id"
_COUNT: Final = "gen_ai.memory.record.count"
_ERROR: Final = "error.type"


class Span:
    """A span that is open; does nothing when there is none."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def found(self, result: object) -> None:
        """Notes how many records the operation touched, and the id when it was one."""
        if self._span is None:
            return
        if isinstance(result, Memory):
            self._span.set_attribute(_RECORD, str(result.id))
        self._span.set_attribute(_COUNT, _count(result))


@contextmanager
def operation(name: str | None, store: str) -> Iterator[Span]:
    """A span around one memory operation."""
    if name is None or not installed:
        yield Span()
        return
    tracer = _trace.get_tracer("memoranda")
    attributes = {_OPERATION: name, _STORE: store}
    with tracer.start_as_current_span(name, attributes=attributes) as span:
        try:
            yield Span(span)
        except Exception as error:
            span.set_attribute(_ERROR, type(error).__qualname__)
            raise


@contextmanager
def continued(headers: Mapping[str, str]) -> Iterator[None]:
    """Spans inside belong to the trace that the caller's headers name."""
    if not installed or "traceparent" not in headers:
        yield
        return
    token = _context.attach(_propagate.extract(headers))
    try:
        yield
    finally:
        _context.detach(token)


def _count(result: object) -> int:
    if isinstance(result, Sequence) and not isinstance(result, str):
        return len(result)
    for name in ("count", "hits"):
        value = getattr(result, name, None)
        if isinstance(value, int):
            return value
        if isinstance(value, Sequence):
            return len(value)
    return 1
