"""Limits: how large a request may be, checked before it is parsed, and how many a key may send."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Final

from starlette.types import Message, Receive, Scope

from memoranda.aio.threads import FairPool
from memoranda.server.config import ServerConfig
from memoranda.server.errors import RequestRejected
from memoranda.types import JSON

_MAX_DIGITS: Final = 400
_MANY_DIGITS: Final = re.compile(rb"\d{%d}" % (_MAX_DIGITS + 1))
# An unclosed string goes to the end of the body. If it were no match, the search would begin again at each quote in it.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
# Strings come first, so that their content is never counted.
_TOKENS: Final = re.compile(_STRING.pattern + rb"|[\[{]|[\]}]|,", re.DOTALL)
_MAX_LENGTH: Final = 20
"""Digits of a Content-Length."""
_PARSE_IN_THREAD: Final = 64_000
"""From this many bytes on, parsing would hold up the event loop."""


def check_declared_length(scope: Scope, limit: int) -> None:
    """Reject a body whose Content-Length is too large before it is read."""
    for name, value in scope["headers"]:
        # Compared by its length first: a number of thousands of digits cannot be converted.
        if name == b"content-length" and (not value.isdigit() or len(value) > _MAX_LENGTH or int(value) > limit):
            raise RequestRejected(413, f"a request may have {limit:,} bytes: split it up")


async def read_body(receive: Receive, config: ServerConfig) -> bytes:
    """Return the whole body; reject it when it is too large or too slow."""
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await _receive_in_time(receive, config.body_timeout)
        chunk = message.get("body", b"")
        size, more = size + len(chunk), message.get("more_body", False)
        if size > config.max_body:
            raise RequestRejected(413, f"a request may have {config.max_body:,} bytes: split it up")
        chunks.append(chunk)
    return b"".join(chunks)


async def _receive_in_time(receive: Receive, seconds: float) -> Message:
    try:
        message = await asyncio.wait_for(receive(), seconds)
    except TimeoutError:
        raise RequestRejected(408, f"nothing came for {seconds:g} seconds: send the request again") from None
    if message["type"] == "http.disconnect":
        raise RequestRejected(400, "the connection ended before the request did")
    return message


async def parse_json(body: bytes, config: ServerConfig, pool: FairPool, tenant: str) -> JSON:
    """Return the JSON of a body; reject what nests too deep or holds too many values.

    Args:
        body: The body.
        config: The limits.
        pool: Parses long bodies. With one thread, the event loop competes with one body at a time, however many come.
        tenant: Who sent it: tenants take turns.
    """
    if len(body) < _PARSE_IN_THREAD:
        return _parse_json(body, config)
    return await asyncio.wrap_future(pool.submit(tenant, lambda: _parse_json(body, config)))


def _parse_json(body: bytes, config: ServerConfig) -> JSON:
    check_json_size(body, config)
    check_numbers(body)
    try:
        value: JSON = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
    except RecursionError:
        raise RequestRejected(413, "the JSON nests too deep") from None
    except ValueError as error:
        raise RequestRejected(400, f"the body is not JSON: {error}") from None
    if body.count(b",") >= config.max_fields:
        _check_field_counts(value, config.max_fields)
    return value


def _check_field_counts(value: JSON, limit: int) -> None:
    """Reject an object with too many fields, wherever it is."""
    waiting: list[JSON] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if len(part) > limit:
                raise RequestRejected(413, f"an object in the JSON has more than {limit:,} fields: split it up")
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def check_json_size(body: bytes, config: ServerConfig) -> None:
    """Reject JSON that nests too deep or holds too many values."""
    # Counting bytes is cheap and overestimates both; only a body that seems too large is scanned.
    if body.count(b"[") + body.count(b"{") <= config.max_depth and body.count(b",") < config.max_values:
        return
    depth = values = 0
    for match in _TOKENS.finditer(body):
        token = body[match.start()]
        if token in b"[{":
            depth += 1
        elif token in b"]}":
            depth -= 1
        elif token in b",":
            values += 1
        if depth > config.max_depth:
            raise RequestRejected(413, f"the JSON nests deeper than {config.max_depth} levels: flatten it")
        if values >= config.max_values:
            raise RequestRejected(413, f"the JSON holds more than {config.max_values:,} values: split it up")


def check_numbers(body: bytes) -> None:
    """Reject JSON with a number of very many digits: turning one into an integer takes the square of their count."""
    if _MANY_DIGITS.search(body) and _MANY_DIGITS.search(_STRING.sub(b'""', body)):
        raise RequestRejected(413, f"a number in the JSON has more than {_MAX_DIGITS} digits: send it as a text")


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
