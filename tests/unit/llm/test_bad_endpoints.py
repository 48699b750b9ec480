"""A real HTTP server that fails in every way; the messages must be stored and queued, and the key must not show."""

from __future__ import annotations

import json
import logging
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TypeAlias

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

from memoranda import ExtractionFailed, MemoryManager, Message
from memoranda.llm.anthropic import AnthropicLLM
from memoranda.llm.base import Retries
from memoranda.llm.openai import OpenAILLM
from memoranda.testing.fakes import HashEmbedder
from tests.unit.llm.endpoint import Endpoint, run_endpoint

KEY = "my-very-own-fake-key-7781"
TEXT = "I moved to Lisbon last month."
Remote: TypeAlias = OpenAILLM | AnthropicLLM
Misbehave: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with run_endpoint() as server:
        yield server


@pytest.fixture(params=["openai", "anthropic"])
def llm(request: pytest.FixtureRequest, endpoint: Endpoint) -> Iterator[Remote]:
    opened = open_remote(request.param, endpoint.url)
    yield opened
    opened.close()


def open_remote(provider: str, url: str) -> Remote:
    retries = Retries(1, sleep=lambda _: None)
    if provider == "openai":
        return OpenAILLM("some-model", base_url=f"{url}/v1", api_key=KEY, timeout=0.5, retries=retries)
    return AnthropicLLM("some-model", base_url=url, api_key=KEY, timeout=0.5, retries=retries)


def respond(status: int, body: str | bytes, kind: str = "application/json", length: int | None = None) -> Misbehave:
    content = body.encode() if isinstance(body, str) else body

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = True

    return send


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send one byte at a time, each within the time limit of a client for one piece."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def half_close(handler: BaseHTTPRequestHandler) -> None:
    """Promise a body, send a part of it, and close the sending side only."""
    respond(200, '{"choices": [', length=5_000)(handler)
    handler.connection.shutdown(socket.SHUT_WR)


def sleep(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(1.5)


ERROR = json.dumps({"type": "error", "error": {"type": "x", "message": f"Incorrect API key provided: {KEY}"}})
HTML = "<html><body>Log in to the network</body></html>"
WRONG_ANSWERS = [
    "null", "[]", "{}", "3", '"text"', "[1, 2]", "not json", '{"choices": "x"}', '{"choices": [{}]}',
    '{"choices": [3]}',
    '{"choices": [{"message": {"content": 5}}]}', '{"choices": [{"message": {"content": null}}]}',
    '{"content": 5, "usage": {"input_tokens": 1, "output_tokens": 1}}', '{"content": [{"type": "text"}]}',
    '{"content": [{"type": "text", "text": null}], "usage": {}}',
]  # fmt: skip
FAILURES = {
    **{f"status {status}": respond(status, ERROR) for status in (400, 401, 403, 404, 408, 409, 422, 429)},
    **{f"status {status}": respond(status, ERROR) for status in (500, 502, 503, 529)},
    **{f"HTML {status}": respond(status, HTML, "text/html") for status in (200, 401, 404, 500, 503)},
    **{f"answer {n}": respond(200, body) for n, body in enumerate(WRONG_ANSWERS)},
    "empty": respond(200, b""),
    "not text": respond(200, b"\xff\xfe\x00\x80"),
    "cut off": respond(200, '{"choices": [{"message": {"con'),
    "deep": respond(200, "[" * 200_000),
    "half closed": half_close,
    "hangs up": hang_up,
    "silent": sleep,
    "slow": drip,
}  # fmt: skip


def check_failure(llm: Remote, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with MemoryManager(f"sqlite:///{folder}/m.db", embedder=HashEmbedder(16), llm=llm) as manager:
        started = time.monotonic()
        outcomes = manager.remember(Message("user", TEXT, "m1", name="Ana"), user="ana")
        assert time.monotonic() - started < 20
        assert [(outcome.status, outcome.message_id) for outcome in outcomes] == [("stored", "m1")]
        assert outcomes.failure
        assert outcomes[0].queued == outcomes.failure
        assert [memory.content for memory in manager.list_memories(user="ana")] == [TEXT]
        health = manager.health()
        assert (health.unread_messages, health.last_model_failure) == (1, outcomes.failure)
        with pytest.raises(ExtractionFailed) as strict:
            manager.remember(Message("user", "I keep bees.", "m2", name="Ana"), user="ana", strict=True)
        assert manager.health().unread_messages == 2
    shown = [outcomes.failure, str(health), caplog.text, *traceback.format_exception(strict.value)]
    assert not [text for text in shown if KEY in text]
    assert len([record for record in caplog.records if record.name == "memoranda"]) == 1


@pytest.mark.parametrize("failure", FAILURES)
def test_failing_endpoint_leaves_the_messages_stored_and_queued(
    llm: Remote, endpoint: Endpoint, failure: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.misbehave = FAILURES[failure]
    check_failure(llm, tmp_path, caplog)


def test_page_of_html_is_named_in_the_failure(llm: Remote, endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.misbehave = FAILURES["HTML 200"]
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(16), llm=llm) as manager:
        outcomes = manager.remember(Message("user", TEXT, "m1", name="Ana"), user="ana")
    assert "answered a page of HTML, not JSON" in str(outcomes.failure)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://nowhere.invalid", "http://[::1]:9"])
def test_endpoint_that_is_not_there_leaves_the_messages_stored_and_queued(
    provider: str, url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llm = open_remote(provider, url)
    check_failure(llm, tmp_path, caplog)
    llm.close()


def test_messages_are_read_when_the_endpoint_works_again(llm: Remote, endpoint: Endpoint, tmp_path: Path) -> None:
    item = {"quote": "I moved to Lisbon last month", "text": "Ana moved to Lisbon last month"}
    endpoint.text = json.dumps({"items": [item]})
    endpoint.misbehave = FAILURES["status 401"]
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(16), llm=llm) as manager:
        assert manager.remember(Message("user", TEXT, "m1", name="Ana"), user="ana").failure
        endpoint.misbehave = None
        report = manager.upkeep(policies=["extract"])
        assert [decision.content for decision in report.decisions] == ["Ana moved to Lisbon last month"]
        assert manager.health().unread_messages == 0
        fact = manager.list_memories(user="ana")[1]
        assert (fact.trust, fact.message_id) == ("model", "m1")


def test_endpoint_is_asked_with_a_schema_and_without_one_if_it_refuses(endpoint: Endpoint) -> None:
    llm = open_remote("openai", endpoint.url)
    schema = {"type": "object"}
    assert llm.generate_json("?", schema=schema, max_tokens=5).text == "fine"
    assert "json_schema" in str(endpoint.requests[-1]["response_format"])
    endpoint.failures = [(400, {})]
    answer = llm.generate_json("?", schema=schema, max_tokens=5)
    assert (answer.text, answer.attempts) == ("fine", 2)
    llm.generate_json("?", schema=schema, max_tokens=5)
    assert "response_format" not in endpoint.requests[-1]
    llm.close()


def test_anthropic_answers_through_a_tool_that_has_the_schema(endpoint: Endpoint) -> None:
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "t", "name": "answer", "input": {"items": []}}],
            "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    endpoint.misbehave = respond(200, json.dumps(body))
    llm = open_remote("anthropic", endpoint.url)
    assert llm.generate_json("?", schema={"type": "object"}, max_tokens=5).text == '{"items": []}'
    assert endpoint.requests[-1]["tool_choice"] == {"type": "tool", "name": "answer"}
    llm.close()
