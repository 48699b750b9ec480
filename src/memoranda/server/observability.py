"""Logs, metrics and traces, without secrets and without the content of requests and responses."""

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

from memoranda.security.redaction import DEFAULT_PATTERNS, Redactor
from memoranda.types import JSON, Memory

try:
    from opentelemetry import context as _context
    from opentelemetry import propagate as _propagate
    from opentelemetry import trace as _trace
except ModuleNotFoundError:
    _has_opentelemetry = False
else:
    _has_opentelemetry = True

LOGGER: Final = logging.getLogger("memoranda.server")
METRICS_CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_API_KEYS: Final = r"(?P<keep>\bmmr\.[0-9a-f]{1,32}\.)[A-Za-z0-9_-]{8,}"
_DURATION_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LAG_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
_LAG_INTERVAL: Final = 0.05
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

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
"""The routes that are traced, and their operation names in OpenTelemetry's GenAI conventions."""
# The published package of attribute names does not contain these yet.
_OPERATION: Final = "gen_ai.operation.name"
_STORE: Final = "gen_ai.memory.store.id"
_RECORD: Final = "gen_ai.memory.record.id"
_COUNT: Final = "gen_ai.memory.record.count"
_ERROR: Final = "error.type"


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON, without secrets."""

    def __init__(self) -> None:
        super().__init__()
        self._redactor = Redactor([*DEFAULT_PATTERNS, _API_KEYS])

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


def configure_logging(level: str = "info") -> None:
    """Write the server's and uvicorn's log as JSON lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name in ("memoranda.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True


def log_request(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    """Log one finished request: who called which route, and how it ended.

    Args:
        scope: The ASGI scope, with the principal once it is known.
        request_id: The id that the response carries as well.
        status: The HTTP status of the response.
        seconds: How long the request took.
    """
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


def log_failure(request_id: str, error: BaseException) -> None:
    """Log an unexpected exception with its traceback."""
    LOGGER.error("unexpected error", exc_info=error, extra={"fields": {"request_id": request_id}})


class Metrics:
    """The Prometheus metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "memoranda_requests", "Requests answered", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "memoranda_request_seconds", "Time to answer", ["route"], buckets=_DURATION_BUCKETS, registry=self._registry
        )
        self._in_flight = Gauge("memoranda_requests_in_flight", "Requests in progress", registry=self._registry)
        self._lag = Histogram(
            "memoranda_event_loop_lag_seconds",
            "How late the event loop wakes up",
            buckets=_LAG_BUCKETS,
            registry=self._registry,
        )

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request as in progress."""
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()

    def record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a finished request."""
        # The route's pattern, never the path: an id in a label would create a new series for each memory. And of the
        # method, which can be any word, only those that exist.
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if route != "none" and scope["method"] in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    async def measure_loop_lag(self) -> None:
        """Measure how late the event loop wakes up, until cancelled."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_LAG_INTERVAL)
            self._lag.observe(max(0.0, time.perf_counter() - before - _LAG_INTERVAL))

    def to_text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class OperationSpan:
    """An OpenTelemetry span of a memory operation; does nothing without one."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def record_result(self, result: object) -> None:
        """Record how many memories the operation touched, and the id of a single one."""
        if self._span is None:
            return
        if isinstance(result, Memory):
            self._span.set_attribute(_RECORD, str(result.id))
        self._span.set_attribute(_COUNT, _count(result))


@contextmanager
def trace_operation(name: str | None, store: str) -> Iterator[OperationSpan]:
    """Run a memory operation inside a span; without a name or OpenTelemetry, without one."""
    if name is None or not _has_opentelemetry:
        yield OperationSpan()
        return
    tracer = _trace.get_tracer("memoranda")
    attributes = {_OPERATION: name, _STORE: store}
    with tracer.start_as_current_span(name, attributes=attributes) as span:
        try:
            yield OperationSpan(span)
        except Exception as error:
            span.set_attribute(_ERROR, type(error).__qualname__)
            raise


@contextmanager
def continue_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Make spans part of the trace that the request's headers name."""
    if not _has_opentelemetry or "traceparent" not in headers:
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
