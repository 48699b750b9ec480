"""How long one tenant's `add` takes while another tenant keeps the server busy: `python benchmarks/fairness.py`.

One server process, two tenants with a key each. One tenant adds a memory every few milliseconds, and the time of each
add is taken; meanwhile the other does nothing, remembers 1,000 messages in one call, sends 1 MB of JSON with unknown
fields, sends eight of those at once, eight questions of 1 MB, texts that are too long, memories with thousands of
metadata fields or values, a text made to be slow to read, or forgets a user. Ordinary settings, the real embedder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median

import httpx2

from memoranda.server.keys import open_keys

_MESSAGES = 1_000
_PAUSE = 0.02
_IDLE_SECONDS = 5.0


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run `memoranda serve`; yield its address once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "memoranda", "serve", "--db", str(folder / "m.db"), "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(url)
            yield url
        finally:
            server.terminate()


def _wait_for(url: str) -> None:
    for _ in range(600):
        try:
            httpx2.get(f"{url}/healthz", timeout=1)
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server did not start")


@asynccontextmanager
async def client_of(url: str, key: str) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=600) as client:
        yield client


async def remember(client: httpx2.AsyncClient) -> None:
    messages = [
        {"role": "user", "content": f"In week {number} I met Ana number {number % 97} in town {number % 41}."}
        for number in range(_MESSAGES)
    ]
    answer = await client.post("/v1/remember", json={"content": messages, "user": "busy"})
    answer.raise_for_status()


async def unknown_fields(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/memories", content=_UNKNOWN, headers=_JSON)
    assert answer.status_code in (413, 422), answer.text


async def eight_at_once(client: httpx2.AsyncClient) -> None:
    await asyncio.gather(*(unknown_fields(client) for _ in range(8)))


def eight_times(path: str, body: dict[str, object], status: int) -> Callable[[httpx2.AsyncClient], Awaitable[None]]:
    async def send(client: httpx2.AsyncClient) -> None:
        content = json.dumps(body).encode()
        answers = await asyncio.gather(*(client.post(path, content=content, headers=_JSON) for _ in range(8)))
        assert {answer.status_code for answer in answers} <= {status, 200}, answers[0].text[:200]

    return send


async def forget(client: httpx2.AsyncClient) -> None:
    (await client.post("/v1/forget", json={"user": "busy"})).raise_for_status()


async def idle(_: httpx2.AsyncClient) -> None:
    await asyncio.sleep(_IDLE_SECONDS)


_JSON = {"Content-Type": "application/json"}
_UNKNOWN = json.dumps({"content": "tea"} | {f"field {number}": "x" * 20 for number in range(24_000)}).encode()
_LOADS: dict[str, Callable[[httpx2.AsyncClient], Awaitable[None]]] = {
    "nothing": idle,
    f"`remember` of {_MESSAGES:,} messages": remember,
    "1 MB of unknown fields": unknown_fields,
    "eight times that at once": eight_at_once,
    "eight questions of 1 MB": eight_times("/v1/recall", {"query": "tea cup " * 120_000}, 200),
    "eight texts of 7 MB, which are refused": eight_times("/v1/memories", {"content": "tea " * 1_800_000}, 422),
    "eight memories with 9,000 metadata fields": eight_times(
        "/v1/memories", {"content": "tea", "metadata": {f"field {number}": number for number in range(9_000)}}, 201
    ),
    "eight memories with a list of 99,000 values": eight_times(
        "/v1/memories", {"content": "tea", "metadata": {"list": list(range(99_000))}}, 201
    ),
    "eight texts with 7,000 lines between two words": eight_times(
        "/v1/remember", {"content": "去年 1" + "\n" * 7_000 + "x"}, 201
    ),
    "`forget` of the user of those messages": forget,
}


async def add_until(client: httpx2.AsyncClient, done: asyncio.Event) -> list[float]:
    """Add memories until the other tenant has finished, at least one; return the seconds of each add."""
    taken: list[float] = []
    while not done.is_set() or not taken:
        started = time.perf_counter()
        (await client.post("/v1/memories", json={"content": f"Bob drinks tea number {len(taken)}"})).raise_for_status()
        taken.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE)
    return taken


async def measure(url: str, keys: tuple[str, str]) -> None:
    print("| the other tenant | it takes, s | adds meanwhile | median, ms | longest, ms |\n|---|---|---|---|---|")
    async with client_of(url, keys[0]) as busy, client_of(url, keys[1]) as other:
        await add_until(other, _set())  # the model is loaded by the first
        for name, load in _LOADS.items():
            done = asyncio.Event()
            adding = asyncio.create_task(add_until(other, done))
            await asyncio.sleep(5 * _PAUSE)
            started = time.perf_counter()
            await load(busy)
            seconds = time.perf_counter() - started
            done.set()
            taken = await adding
            print(f"| {name} | {seconds:.1f} | {len(taken)} | {1000 * median(taken):.0f} | {1000 * max(taken):.0f} |")


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as name:
        with open_keys(f"sqlite:///{name}/m.db") as keys:
            made = [keys.create(tenant, tenant=tenant, scopes=("read", "write", "admin")).key for tenant in "ab"]
        with serving(Path(name)) as url:
            asyncio.run(measure(url, (made[0], made[1])))


if __name__ == "__main__":
    main()
