from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.types import Message, Receive

from memoranda.aio.threads import FairPool
from memoranda.errors import InvalidInput
from memoranda.server import requests
from memoranda.server.bodies import (
    check_declared_length,
    check_json_size,
    check_numbers,
    parse_json,
    read_body,
)
from memoranda.server.config import ServerConfig
from memoranda.server.responses import RequestRejected
from memoranda.types import JSON

SMALL = ServerConfig(max_body=100, max_depth=3, max_values=5, body_timeout=0.05)


def receive_chunks(*bodies: bytes) -> Receive:
    def messages() -> Iterator[Message]:
        for number, body in enumerate(bodies):
            yield {"type": "http.request", "body": body, "more_body": number < len(bodies) - 1}

    remaining = messages()

    async def receive() -> Message:
        return next(remaining)

    return receive


async def test_body_over_the_limit_is_refused() -> None:
    assert await read_body(receive_chunks(b"a" * 50, b"b" * 50), 100, 1.0) == b"a" * 50 + b"b" * 50
    with pytest.raises(RequestRejected) as refused:
        await read_body(receive_chunks(b"a" * 50, b"b" * 51), 100, 1.0)
    assert refused.value.status == 413


async def test_slow_body_times_out() -> None:
    async def never() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(RequestRejected) as refused:
        await read_body(never, 100, 0.05)
    assert refused.value.status == 408


async def test_body_that_trickles_in_times_out() -> None:
    async def trickle() -> Message:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    with pytest.raises(RequestRejected) as refused:
        await asyncio.wait_for(read_body(trickle, 1_000_000, 0.2), 30)
    assert refused.value.status == 408


@pytest.mark.parametrize("value", [b"101", b"x", b"-1", b"9" * 30, b"9" * 5_000])
def test_too_large_or_malformed_content_length_is_refused(value: bytes) -> None:
    with pytest.raises(RequestRejected):
        check_declared_length({"headers": [(b"content-length", value)]}, 100)
    check_declared_length({"headers": [(b"content-length", b"100")]}, 100)


@pytest.mark.parametrize("body", [b'[[[["deep"]]]]', b'{"a":{"b":[[1]]}}', b"[1,2,3,4,5,6]", b"[" * 90])
def test_json_too_deep_or_with_too_many_values_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRejected) as refused:
        check_json_size(body, SMALL)
    assert refused.value.status == 413


@pytest.mark.parametrize("text", ["[[[[[[[[", ",,,,,,,,,", '\\"]]]],,,,,[[[[', "{{{{\\"])
async def test_brackets_and_commas_inside_strings_are_not_counted(text: str) -> None:
    body = json.dumps({"text": text}).encode()
    assert await _parse(body, SMALL) == {"text": text}


@pytest.mark.parametrize(
    "body",
    [
        b"{bad",
        b"",
        b'{"a": NaN}',
        b'{"a": [{"user": "ann", "user": "bob"}]}',
        b"[Infinity]",
        b"\xff\xfe",
        b"1" * 5000,
        b"[" + b"1" * 50,
    ],
)
async def test_invalid_json_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRejected) as refused:
        await _parse(body, ServerConfig())
    assert refused.value.status in (400, 413)


async def test_extremely_deep_json_is_refused() -> None:
    with pytest.raises(RequestRejected) as refused:
        await _parse(b'{"a":' * 100_000, ServerConfig())
    assert refused.value.status == 413


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_measured_depth_equals_parsed_depth(value: object) -> None:
    body = json.dumps(value).encode()
    if _depth(value) > SMALL.max_depth:
        with pytest.raises(RequestRejected):
            check_json_size(body, ServerConfig(max_depth=SMALL.max_depth))
    else:
        check_json_size(body, ServerConfig(max_depth=SMALL.max_depth))


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


@pytest.mark.parametrize(
    ("config", "host", "answers"),
    [
        (ServerConfig(), "localhost:8700", True),
        (ServerConfig(), "127.0.0.1", True),
        (ServerConfig(), "[::1]:8700", True),
        (ServerConfig(), "evil.example", False),
        (ServerConfig(), "localhost.evil.example", False),
        (ServerConfig(), "", False),
        (ServerConfig(host="10.0.0.5"), "10.0.0.5:8700", True),
        (ServerConfig(host="10.0.0.5"), "localhost", False),
        (ServerConfig(host="0.0.0.0", allowed_hosts=("memory.example",)), "Memory.Example:443", True),
        (ServerConfig(host="0.0.0.0"), "memory.example", False),
    ],
)
def test_config_accepts_only_its_own_hosts(config: ServerConfig, host: str, answers: bool) -> None:
    assert config.answers_to(host) is answers


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False)],
)
def test_config_is_local_for_loopback_addresses(host: str, local: bool) -> None:
    assert ServerConfig(host=host).is_local is local


@pytest.mark.parametrize("options", [{"port": 70_000}, {"max_body": 0}, {"allowed_origins": ("example.org",)}])
def test_invalid_config_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        ServerConfig(**options)  # type: ignore[arg-type]


async def _parse(body: bytes, config: ServerConfig) -> JSON:
    pool = FairPool(1, "test")
    try:
        return await parse_json(body, config, pool, "acme")
    finally:
        pool.shutdown()


@pytest.mark.parametrize("body", [{"a": 1}, {"a": [{}, {"b": {}}]}])
async def test_object_with_too_many_fields_is_refused_wherever_it_is(body: dict[str, Any]) -> None:
    assert await _parse(json.dumps(body).encode(), ServerConfig()) == body
    innermost = body["a"][1]["b"] if isinstance(body["a"], list) else body
    innermost |= {f"u{n}": 1 for n in range(10_001)}
    with pytest.raises(RequestRejected, match="10,000 fields") as refused:
        await _parse(json.dumps(body).encode(), ServerConfig())
    assert refused.value.status == 413
    ten_times = [{f"u{n}": 1 for n in range(5000)}] * 10
    assert await _parse(json.dumps(ten_times).encode(), ServerConfig()) == ten_times


MANY = 90_000
"""Below the number of values that a request may hold."""


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (requests.RecallRequest, {"query": "x"} | {f"u{n}": 1 for n in range(MANY)}),
        (requests.RecallRequest, {"query": "x", "where": {f"u{n}": 1 for n in range(MANY)}}),
        (requests.RecallRequest, {"query": "x", "types": ["no"] * MANY}),
        (requests.SearchRequest, {"query": "x", "memory_types": ["no"] * MANY}),
        (requests.RecallRequest, {"query": "x", "where": {"type": ["no"] * MANY}}),
        (requests.RecallRequest, {"query": "x", "where": {"source": [1] * MANY}}),
        (requests.RememberRequest, {"content": [1] * MANY}),
        (requests.AddMemoriesRequest, {"contents": [1] * MANY}),
        (requests.AddKnowledgeRequest, {"documents": [{f"u{n}": 1 for n in range(90)}] * 1000}),
        (requests.AddMessagesRequest, {"messages": [1] * MANY}),
        (requests.ReplaceMessagesRequest, {"messages": [1] * MANY}),
        (requests.DeleteMessagesRequest, {"positions": ["x"] * MANY}),
        (requests.DeleteRequest, {"memory_ids": ["x"] * MANY}),
        (requests.ForgetRequest, {"ids": ["x"] * MANY}),
        (requests.UpkeepRequest, {"settings": {f"u{n}": "x" for n in range(MANY)}}),
        (requests.UpkeepRequest, {"policies": ["x"] * MANY}),
    ],
)
def test_errors_of_a_large_request_are_few(model: type[requests.RequestModel], body: dict[str, object]) -> None:
    started = time.thread_time()
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    assert refused.value.error_count() < 20
    assert time.thread_time() - started < 0.1


def test_every_list_of_a_request_is_limited_and_stops_at_its_first_error() -> None:
    models = [each for each in vars(requests).values() if isinstance(each, type) and issubclass(each, BaseModel)]
    lists = [
        (model.__name__, part)
        for model in models
        for part in _parts(TypeAdapter(model).core_schema)
        if part["type"] == "list"
    ]
    assert len(lists) > 10
    unlimited = [name for name, part in lists if "max_length" not in part or not part.get("fail_fast")]
    assert unlimited == []


def _parts(schema: object) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that has a type."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema
        for value in schema.values():
            yield from _parts(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from _parts(value)


def test_number_of_very_many_digits_is_rejected_before_it_is_parsed() -> None:
    digits = b"7" * 401
    with pytest.raises(RequestRejected) as refused:
        check_numbers(b'{"a": [1, ' + digits + b"]}")
    assert refused.value.status == 413
    check_numbers(b'{"a": "' + digits + b'", "b": "\\"' + digits + b'", "c": ' + digits[:400] + b"}")


@pytest.mark.parametrize("end", [b"7" * 401, b"[{" * 200 + b"\\", b"7" * 401 + b"[{" * 200 + b"\\"])
async def test_string_without_an_end_is_read_once(end: bytes) -> None:
    # If the search began again at each quote in it, these four million would take hours.
    with pytest.raises(RequestRejected) as refused:
        await _parse(b'"' + b'\\"' * 3_900_000 + end, ServerConfig())
    assert refused.value.status == 400


@pytest.mark.parametrize("text", ["6\u00a0", " 6", "6\n", "1_000", "\u0663", "0x10", "", "--1", "1e", "nan", "inf"])
def test_only_a_plain_number_in_a_query_is_read_as_one(text: str) -> None:
    for name in ("start", "stop"):
        with pytest.raises(ValidationError):
            requests.MessagesQuery.model_validate({name: text})
    with pytest.raises(ValidationError):
        requests.RelatedQuery.model_validate({"min_strength": text})
    assert requests.MessagesQuery.model_validate({"start": "6", "stop": "10"}).start == 6
    assert requests.RelatedQuery.model_validate({"min_strength": "2.5e-1"}).min_strength == 0.25
