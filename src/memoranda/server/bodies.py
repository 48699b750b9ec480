"""Reading the body of a request: how long it may take, how large it may be, and what its JSON may contain."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from starlette.types import Receive, Scope

from memoranda.aio.threads import FairPool
from memoranda.server.config import ServerConfig
from memoranda.server.responses import RequestRejected
from memoranda.types import JSON

_T = TypeVar("_T")
_SLOWEST: Final = 2_000
"""Bytes a second that a body must have on average, in addition to the time that each part of it may take."""
_MAX_DIGITS: Final = 400
_MANY_DIGITS: Final = re.compile(rb"\d{%d}" % (_MAX_DIGITS + 1))
# An unclosed string goes to the end of the body. If it were no match, the search would begin again at each quote in it.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
# Strings come first, so that their content is never counted.
_TOKENS: Final = re.compile(_STRING.pattern + rb"|[\[{]|[\]}]|,", re.DOTALL)
_MAX_LENGTH: Final = 20
"""Digits of a Content-Length."""
LARGE: Final = 64_000
"""From this many bytes on, a request is work for the processor: parsing it would hold up the event loop."""


class BodyTimer:
    """Waits for the parts of a body: for each part only so long, and for the whole by its size."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic()
        self._size = 0

    async def wait(self, part: Awaitable[_T], size: Callable[[_T], int]) -> _T:
        """Return the next part; reject the request when it does not come in time."""
        left = self._seconds + self._size / _SLOWEST - (time.monotonic() - self._started)
        try:
            found = await asyncio.wait_for(part, min(self._seconds, left))
        except TimeoutError:
            message = f"the body came too slowly, or nothing for {self._seconds:g} seconds: send the request again"
            raise RequestRejected(408, message) from None
        self._size += size(found)
        return found


def check_declared_length(scope: Scope, limit: int) -> None:
    """Reject a body whose Content-Length is too large before it is read."""
    for name, value in scope["headers"]:
        # Compared by its length first: a number of thousands of digits cannot be converted.
        if name == b"content-length" and (not value.isdigit() or len(value) > _MAX_LENGTH or int(value) > limit):
            raise RequestRejected(413, f"a request may have {limit:,} bytes: split it up")


async def read_body(receive: Receive, limit: int, seconds: float) -> bytes:
    """Return the whole body; reject it when it is too large or too slow."""
    chunks: list[bytes] = []
    size, more, timer = 0, True, BodyTimer(seconds)
    while more:
        message = await timer.wait(receive(), lambda found: len(found.get("body", b"")))
        if message["type"] == "http.disconnect":
            raise RequestRejected(400, "the connection ended before the request did")
        chunk = message.get("body", b"")
        size, more = size + len(chunk), message.get("more_body", False)
        if size > limit:
            raise RequestRejected(413, f"a request may have {limit:,} bytes: split it up")
        chunks.append(chunk)
    return b"".join(chunks)


async def parse_json(body: bytes, config: ServerConfig, pool: FairPool, tenant: str) -> JSON:
    """Return the JSON of a body; reject what nests too deep or holds too many values.

    Args:
        body: The body.
        config: The limits.
        pool: Parses long bodies. With one thread, the event loop competes with one body at a time, however many come.
        tenant: Who sent it: tenants take turns.
    """
    if len(body) < LARGE:
        return _parse_json(body, config)
    return await asyncio.wrap_future(pool.submit(tenant, lambda: _parse_json(body, config)))


def _parse_json(body: bytes, config: ServerConfig) -> JSON:
    check_json_size(body, config)
    check_numbers(body)
    try:
        value: JSON = json.loads(body.decode("utf-8"), parse_constant=_reject_constant, object_pairs_hook=_read_object)
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


def _read_object(fields: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return an object. Of two fields with one name, a proxy in front could have checked the other one."""
    value = dict(fields)
    if len(value) < len(fields):
        raise ValueError("an object has two fields with the same name")
    return value


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
