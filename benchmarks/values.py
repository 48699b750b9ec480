"""Short-term values compared with the alternatives, in one run: `python benchmarks/values.py`.

In memory: `InMemoryBackend` and cachetools' TTLCache, plain and with the JSON copies that `InMemoryBackend` makes.
In Redis: `RedisBackend` and plain redis-py with JSON, on a server started here or on `--url`.
The candidates take turns in each round. The fastest round of each counts, since other work on the machine can only
make a round slower.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

import cachetools
import redis

from memoranda.sessions.base import Namespace
from memoranda.sessions.redis import RedisBackend
from memoranda.sessions.values import InMemoryBackend
from memoranda.types import JSON

VALUE: JSON = {"name": "Q1 launch", "budget": 50_000, "channels": ["mail", "web"], "ready": False}
AGENT = Namespace(agent="marketing_strategy_agent")
KEYS = [f"campaign {number}" for number in range(25)]
BATCH = {f"step {number}": VALUE for number in range(100)}
ENTRIES, TTL = 1000, 86_400
Run = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", help="a running Redis server; without it one is started for the run")
    parser.add_argument("--rounds", type=int, default=400)
    arguments = parser.parse_args()
    _compare("In memory, save + retrieve", _in_memory(), len(KEYS), arguments.rounds)
    with (
        redis_url(arguments.url) as url,
        RedisBackend(url, prefix="bench:") as ours,
        redis.Redis.from_url(url) as plain,
    ):
        _compare("Redis, save + retrieve", _one_by_one(ours, plain), len(KEYS), arguments.rounds)
        _compare("Redis, 100 values per call", _batches(ours, plain), len(BATCH), arguments.rounds)
        ours.clear(AGENT)
        plain.delete(*(f"plain:{key}" for key in [*KEYS, *BATCH]))


def _in_memory() -> dict[str, Run]:
    ours = InMemoryBackend(ENTRIES, TTL)
    plain_cache: cachetools.TTLCache[str, JSON] = cachetools.TTLCache(ENTRIES, TTL)
    json_cache: cachetools.TTLCache[str, str] = cachetools.TTLCache(ENTRIES, TTL)

    def run_ours() -> None:
        for key in KEYS:
            ours.set(AGENT, {key: VALUE})
            ours.get(AGENT, [key])

    def run_plain_cache() -> None:
        for key in KEYS:
            plain_cache[key] = VALUE
            plain_cache[key]

    def run_json_cache() -> None:
        for key in KEYS:
            json_cache[key] = json.dumps(VALUE)
            json.loads(json_cache[key])

    return {"memoranda": run_ours, "cachetools": run_plain_cache, "cachetools + JSON copy": run_json_cache}


def _one_by_one(ours: RedisBackend, plain: redis.Redis) -> dict[str, Run]:
    def run_ours() -> None:
        for key in KEYS:
            ours.set(AGENT, {key: VALUE})
            ours.get(AGENT, [key])

    def run_plain() -> None:
        for key in KEYS:
            plain.set(f"plain:{key}", json.dumps(VALUE), ex=TTL)
            json.loads(plain.get(f"plain:{key}"))  # type: ignore[arg-type]

    return {"memoranda": run_ours, "redis-py": run_plain}


def _batches(ours: RedisBackend, plain: redis.Redis) -> dict[str, Run]:
    def run_ours() -> None:
        ours.set(AGENT, BATCH)
        ours.get(AGENT, list(BATCH))

    def run_plain() -> None:
        with plain.pipeline(transaction=False) as pipeline:
            for key, value in BATCH.items():
                pipeline.set(f"plain:{key}", json.dumps(value), ex=TTL)
            pipeline.execute()
        for text in plain.mget([f"plain:{key}" for key in BATCH]):
            json.loads(text)  # type: ignore[arg-type]

    return {"memoranda": run_ours, "redis-py": run_plain}


def _compare(title: str, candidates: dict[str, Run], values: int, rounds: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds + 1):
        for name, run in candidates.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    # Without the first round, which warms up connections, scripts and caches.
    best_times = {name: min(times[1:]) for name, times in seconds.items()}
    print(f"\n{title} ({rounds} rounds)")
    for name, best in best_times.items():
        ratio = best_times["memoranda"] / best
        print(f"  {name:24}{values / best:>10,.0f} values/s   memoranda takes {ratio:.2f} times as long")


@contextlib.contextmanager
def redis_url(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed: run scripts/system-packages as root, or give --url")
    port = _free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                _wait_for_server(port)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                server.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_server(port: int) -> None:
    for _ in range(500):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise SystemExit(f"the Redis server on port {port} did not start")


if __name__ == "__main__":
    main()
