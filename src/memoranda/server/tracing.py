"""OpenTelemetry spans of memory operations, by the GenAI conventions; nothing happens where it is not installed.

The operations that have a name there get a span: what was asked and what came back is never in it, only how many
and which ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from memoranda.types import Memory

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
