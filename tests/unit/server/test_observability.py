from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.server.in_process import open_server


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def test_memory_operations_have_spans_without_content(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with open_server(tmp_path) as server:
        server.send("POST", "/v1/memories", json={"content": "a private sentence"}, headers={"traceparent": parent})
        server.send("POST", "/v1/recall", json={"query": "private"})
        server.send("DELETE", "/v1/memories/99")
        server.send("GET", "/v1/stats")
    created, searched, deleted = spans.get_finished_spans()
    assert created.name == "create_memory"
    assert dict(created.attributes or {}) == {
        "gen_ai.operation.name": "create_memory",
        "gen_ai.memory.store.id": "default",
        "gen_ai.memory.record.id": "1",
        "gen_ai.memory.record.count": 1,
    }
    assert created.context is not None
    assert f"{created.context.trace_id:032x}" == parent.split("-")[1]
    assert (searched.name, (searched.attributes or {})["gen_ai.memory.record.count"]) == ("search_memory", 1)
    assert (deleted.attributes or {})["error.type"] == "NotFound"
    assert "private" not in "".join(span.to_json() for span in (created, searched))
