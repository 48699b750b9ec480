"""Load on a server: many connections, one request after another on each, over plain asyncio streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

Body = Callable[[int], Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One kind of request, and the body of the n-th one."""

    url: str
    body: Body
    headers: dict[str, str] = field(default_factory=dict)

    def request(self, number: int) -> bytes:
        parts = urlsplit(self.url)
        content = json.dumps(self.body(number)).encode()
        lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(content)}", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(frozen=True, slots=True)
class Load:
    """What so many clients saw."""

    clients: int
    rate: float
    p50_ms: float
    p99_ms: float
    errors: int


def run_load(endpoint: Endpoint, clients: int, seconds: float, start: int = 0) -> Load:
    """Every client sends its next request when its last one is answered."""
    return asyncio.run(_run(endpoint, clients, seconds, start))


async def _run(endpoint: Endpoint, clients: int, seconds: float, start: int) -> Load:
    # Written beforehand: making bodies must not take the time of the server, which shares the machine.
    ready = [endpoint.request(start + number) for number in range(clients * 50)]
    until = time.perf_counter() + seconds
    taken: list[float] = []
    errors = 0

    async def client(name: int) -> None:
        nonlocal errors
        parts = urlsplit(endpoint.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        number = name
        while time.perf_counter() < until:
            began = time.perf_counter()
            writer.write(ready[number % len(ready)] if number < len(ready) else endpoint.request(start + number))
            status = await _answer(reader)
            taken.append(time.perf_counter() - began)
            errors += not 200 <= status < 300
            number += clients
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client(name) for name in range(clients)))
    spent = time.perf_counter() - began
    ordered = quantiles(taken, n=100) if len(taken) > 1 else [0.0] * 99
    return Load(clients, len(taken) / spent, median(taken) * 1000, ordered[98] * 1000, errors)


async def _answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    length = next((line for line in head.split("\r\n") if line.lower().startswith("content-length")), None)
    if length is None:
        raise ValueError(f"an answer without a length: {head[:200]}")
    await reader.readexactly(int(length.split(":")[1]))
    return status
