from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from memoranda.errors import InvalidInput
from memoranda.server.config import ServerConfig
from memoranda.server.errors import Refusal
from memoranda.server.limits import check_shape, declared_length, parse, read_body

SMALL = ServerConfig(max_body=100, max_depth=3, max_values=5, body_timeout=0.05)


def pieces(*bodies: bytes) -> Receive:
    def messages() -> Iterator[Message]:
        for number, body in enumerate(bodies):
            yield {"type": "http.request", "body": body, "more_body": number < len(bodies) - 1}

    waiting = messages()

    async def receive() -> Message:
        return next(waiting)

    return receive


async def test_a_body_comes_whole_or_not_at_all() -> None:
    assert await read_body(pieces(b"a" * 50, b"b" * 50), SMALL) == b"a" * 50 + b"b" * 50
    with pytest.raises(Refusal) as refused:
        await read_body(pieces(b"a" * 50, b"b" * 51), SMALL)
    assert refused.value.status == 413


async def test_a_slow_client_is_not_waited_for() -> None:
    async def never() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(Refusal) as refused:
        await read_body(never, SMALL)
    assert refused.value.status == 408


@pytest.mark.parametrize("value", [b"101", b"x", b"-1", b"9" * 30])
def test_a_declared_length_is_believed_before_anything_is_read(value: bytes) -> None:
    with pytest.raises(Refusal):
        declared_length({"headers": [(b"content-length", value)]}, 100)
    declared_length({"headers": [(b"content-length", b"100")]}, 100)


@pytest.mark.parametrize("body", [b'[[[["deep"]]]]', b'{"a":{"b":[[1]]}}', b"[1,2,3,4,5,6]", b"[" * 90])
def test_too_deep_or_too_many_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        check_shape(body, SMALL)
    assert refused.value.status == 413


@pytest.mark.parametrize("text", ["[[[[[[[[", ",,,,,,,,,", '\\"]]]],,,,,[[[[', "{{{{\\"])
async def test_what_stands_inside_a_text_does_not_count(text: str) -> None:
    body = json.dumps({"text": text}).encode()
    assert await parse(body, SMALL) == {"text": text}


@pytest.mark.parametrize(
    "body", [b"{bad", b"", b'{"a": NaN}', b"[Infinity]", b"\xff\xfe", b"1" * 5000, b"[" + b"1" * 50]
)
async def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        await parse(body, ServerConfig())
    assert refused.value.status in (400, 413)


async def test_a_hundred_thousand_brackets_end_as_a_refusal_not_as_a_crash() -> None:
    with pytest.raises(Refusal) as refused:
        await parse(b'{"a":' * 100_000, ServerConfig())
    assert refused.value.status == 413


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_the_shape_that_is_measured_is_the_shape_that_is_parsed(value: object) -> None:
    body = json.dumps(value).encode()
    if _depth(value) > SMALL.max_depth:
        with pytest.raises(Refusal):
            check_shape(body, ServerConfig(max_depth=SMALL.max_depth))
    else:
        check_shape(body, ServerConfig(max_depth=SMALL.max_depth))


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
def test_only_its_own_names_are_answered(config: ServerConfig, host: str, answers: bool) -> None:
    assert config.answers_to(host) is answers


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False)],
)
def test_what_counts_as_this_machine_alone(host: str, local: bool) -> None:
    assert ServerConfig(host=host).is_local is local


@pytest.mark.parametrize("options", [{"port": 70_000}, {"max_body": 0}, {"allowed_origins": ("example.org",)}])
def test_settings_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        ServerConfig(**options)  # type: ignore[arg-type]
