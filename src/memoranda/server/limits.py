"""How much a request may hold, checked before anything parses it."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Final

from starlette.types import Message, Receive, Scope

from memoranda.server.config import ServerConfig
from memoranda.server.errors import Refusal
from memoranda.types import JSON

# Strings first, so that what stands inside them is never counted. An unclosed one ends the search.
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)|[\[{]|[\]}]|,', re.DOTALL)
_LARGE: Final = 64_000


def declared_length(scope: Scope, most: int) -> None:
    """Refuses a body that says it is too long before one byte of it is read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > most):
            raise Refusal(413, f"a request may have {most:,} bytes: split it up")


async def read_body(receive: Receive, config: ServerConfig) -> bytes:
    """The whole body, if it is small enough and comes in time."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await _next(receive, config.body_timeout)
        piece = message.get("body", b"")
        size, more = size + len(piece), message.get("more_body", False)
        if size > config.max_body:
            raise Refusal(413, f"a request may have {config.max_body:,} bytes: split it up")
        pieces.append(piece)
    return b"".join(pieces)


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        message = await asyncio.wait_for(receive(), seconds)
    except TimeoutError:
        raise Refusal(408, f"nothing came for {seconds:g} seconds: send the request again") from None
    if message["type"] == "http.disconnect":
        raise Refusal(400, "the connection ended before the request did")
    return message


async def parse(body: bytes, config: ServerConfig) -> JSON:
    """The JSON of a body, once it is known to be neither too deep nor too long."""
    if len(body) < _LARGE:
        return _parse(body, config)
    return await asyncio.to_thread(_parse, body, config)


def _parse(body: bytes, config: ServerConfig) -> JSON:
    check_shape(body, config)
    try:
        value: JSON = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise Refusal(413, "the JSON nests too deep") from None
    except ValueError as error:
        raise Refusal(400, f"the body is no JSON: {error}") from None
    return value


def check_shape(body: bytes, config: ServerConfig) -> None:
    """Refuses JSON that nests too deep or holds too many values."""
    # Counting bytes costs next to nothing and overestimates both; only what looks too much is walked through.
    if body.count(b"[") + body.count(b"{") <= config.max_depth and body.count(b",") < config.max_values:
        return
    depth = values = 0
    for found in _TOKENS.finditer(body):
        token = body[found.start()]
        if token in b"[{":
            depth += 1
        elif token in b"]}":
            depth -= 1
        elif token in b",":
            values += 1
        if depth > config.max_depth:
            raise Refusal(413, f"the JSON nests deeper than {config.max_depth} levels: flatten it")
        if values >= config.max_values:
            raise Refusal(413, f"the JSON holds more than {config.max_values:,} values: split it up")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


@dataclass(slots=True)
class Bucket:
    """Holds as many requests as a second's worth, at least one; the rest must wait."""

    rate: float
    left: float
    filled_at: float

    @classmethod
    def full(cls, rate: float, now: float) -> Bucket:
        return cls(rate, max(1.0, rate), now)

    def take(self, now: float) -> float:
        """Takes one request out: 0 when there was one, else the seconds until there will be."""
        self.left = min(max(1.0, self.rate), self.left + (now - self.filled_at) * self.rate)
        self.filled_at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.rate
