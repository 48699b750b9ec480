"""HTTP load: many connections, each sending one request after another over plain asyncio streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL and a function that returns the body of the n-th request."""

    url: str
    body: Callable[[int], Any]
    headers: dict[str, str] = field(default_factory=dict)

    def request(self, number: int) -> bytes:
        parts = urlsplit(self.url)
        content = json.dumps(self.body(number)).encode()
        lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(content)}", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(frozen=True, slots=True)
class Load:
    """The measurements of one load."""

    clients: int
    rate: float
    p50_ms: float
    p99_ms: float
    errors: int


def run_load(endpoint: Endpoint, clients: int, seconds: float, start: int = 0) -> Load:
    """Run the load; every client sends its next request when its last one is answered."""
    return asyncio.run(_run(endpoint, clients, seconds, start))


async def _run(endpoint: Endpoint, clients: int, seconds: float, start: int) -> Load:
    # Encoded beforehand, so that encoding takes no time from the server, which shares the machine.
    requests = [endpoint.request(start + number) for number in range(clients * 50)]
    until = time.perf_counter() + seconds
    seconds_taken: list[float] = []
    errors = 0

    async def client(first: int) -> None:
        nonlocal errors
        parts = urlsplit(endpoint.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        number = first
        while time.perf_counter() < until:
            sent = time.perf_counter()
            writer.write(requests[number] if number < len(requests) else endpoint.request(start + number))
            status = await _read_status(reader)
            seconds_taken.append(time.perf_counter() - sent)
            errors += not 200 <= status < 300
            number += clients
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(client(first) for first in range(clients)))
    elapsed = time.perf_counter() - started
    percentiles = quantiles(seconds_taken, n=100) if len(seconds_taken) > 1 else [0.0] * 99
    rate = len(seconds_taken) / elapsed
    return Load(clients, rate, median(seconds_taken) * 1000, percentiles[98] * 1000, errors)


async def _read_status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    length = next((line for line in head.split("\r\n") if line.lower().startswith("content-length")), None)
    if length is None:
        raise ValueError(f"the response has no Content-Length: {head[:200]}")
    await reader.readexactly(int(length.split(":")[1]))
    return status
