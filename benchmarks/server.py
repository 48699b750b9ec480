"""Requests per second over HTTP, compared with chromadb's server: `python benchmarks/server.py`.

Both servers hold the same texts with the same vectors and run at the same time; each load runs on one and right after
it on the other, so that both have the same conditions. Memoranda computes its vectors itself, by a cheap hash;
chromadb receives them with the requests. The last two parts time `memoranda serve` from its start to the first
response, and measure the lag of the event loop while the real embedder works.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, TypeVar

from evaluation.progress import bar
from peers.base import DIMENSION, LIMIT
from peers.http import Endpoint, run_load
from peers.systems import BENCHMARKS, CACHE, ROOT, create_cache_folder, prepare
from peers.workload import SCOPE_SIZE, Workload

_S = TypeVar("_S", bound="Server")
CLIENTS = (1, 8, 64)
_BATCH = 500
_IDLE_SECONDS = 10.0
_SAMPLES = "lags.json"
_SAMPLE_EVERY = 0.005
"""Short compared with the goal, so that no delay falls between two samples."""


class Server:
    """A server in its own process, and its address."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            self.command(), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def wait(self, path: str, seconds: float = 60.0) -> float:
        """Wait for the first response; return the seconds since the start of the process."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            try:
                urllib.request.urlopen(self.url + path, timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return time.perf_counter() - self.started
        raise TimeoutError(f"{self.name} did not start")

    def post(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


class Memoranda(Server):
    """Our server as `memoranda serve` starts it, with the given embedder."""

    name = "Memoranda"
    embedder = "hash"
    batch = SCOPE_SIZE
    """A call writes the memories of one user."""

    def command(self) -> list[str]:
        return [sys.executable, __file__, "--serve", self.embedder, str(self.folder), str(self.port)]

    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(ROOT / "src")}

    def open(self, work: Workload) -> float:
        self._work = work
        return self.wait("/healthz")

    def fill(self, numbers: range) -> None:
        user = self._work.item(numbers.start).user
        texts = [self._work.item(number).text for number in numbers]
        self.post("/v1/memories/batch", {"contents": texts, "user": user})

    def search(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            query = self._work.query(number, 0, self._work.count)
            return {"query": query.text, "user": query.user, "limit": LIMIT}

        return Endpoint(f"{self.url}/v1/search", body)

    def add(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            return {"content": f"{self._work.item(number % 1000).text} again {number}", "user": f"new-{number % 100}"}

        return Endpoint(f"{self.url}/v1/memories", body)


class RealEmbedder(Memoranda):
    embedder = "default"


class CommandLine(Memoranda):
    """`memoranda serve` itself."""

    def command(self) -> list[str]:
        options = ["--db", str(self.folder / "server.db"), "--port", str(self.port)]
        return [sys.executable, "-m", "memoranda", "serve", *options]


class Chroma(Server):
    """chromadb's server, over its documented REST interface."""

    name = "chromadb"
    batch = 1000

    def command(self) -> list[str]:
        program = CACHE / "chromadb" / "bin" / "chroma"
        return [str(program), "run", "--path", str(self.folder), "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        return os.environ | {"ANONYMIZED_TELEMETRY": "False"}

    def open(self, work: Workload) -> float:
        self._work = work
        seconds = self.wait("/api/v2/heartbeat")
        base = "/api/v2/tenants/default_tenant/databases/default_database/collections"
        collection = self.post(base, {"name": "memories", "configuration": {"hnsw": {"space": "cosine"}}})
        self._collection = f"{base}/{collection['id']}"
        return seconds

    def fill(self, numbers: range) -> None:
        items = [(number, self._work.item(number)) for number in numbers]
        self.post(
            f"{self._collection}/add",
            {
                "ids": [str(number) for number, _ in items],
                "documents": [item.text for _, item in items],
                "embeddings": _vectors([item.text for _, item in items]),
                "metadatas": [{"user": item.user} for _, item in items],
            },
        )

    def search(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            query = self._work.query(number, 0, self._work.count)
            return {"query_embeddings": _vectors([query.text]), "n_results": LIMIT, "where": {"user": query.user}}

        return Endpoint(f"{self.url}{self._collection}/query", body)

    def add(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            text = f"{self._work.item(number % 1000).text} again {number}"
            return {
                "ids": [f"new-{number}"],
                "documents": [text],
                "embeddings": _vectors([text]),
                "metadatas": [{"user": f"new-{number % 100}"}],
            }

        return Endpoint(f"{self.url}{self._collection}/add", body)


def _vectors(texts: list[str]) -> list[list[float]]:
    """Return the vectors that our server computes for the same texts."""
    from memoranda.testing.fakes import HashEmbedder

    return HashEmbedder(DIMENSION).embed(texts, kind="passage").tolist()


def measure(kinds: Sequence[type[Memoranda] | type[Chroma]], work: Workload, seconds: float) -> dict[str, Any]:
    """Return the results of each system: first all are filled, then each load runs on one after the other."""
    with ExitStack() as stack:
        servers = [stack.enter_context(_running(kind)) for kind in kinds]
        results: dict[str, Any] = {}
        for server in servers:
            server.open(work)
        for server in servers:
            results[server.name] = {"fill_rate": _fill(server, work), "search": [], "add": []}
        for operation in ("search", "add"):
            for server in servers:
                run_load(getattr(server, operation)(), 4, min(2.0, seconds), start=10_000_000)  # warm-up
            for position, clients in enumerate(CLIENTS):
                for server in servers:
                    load = run_load(getattr(server, operation)(), clients, seconds, start=position * 1_000_000)
                    results[server.name][operation].append(asdict(load))
                    print(f"{server.name}: {operation}, {clients} clients: {_cell(asdict(load))}", file=sys.stderr)
        return results


@contextmanager
def _running(kind: type[_S]) -> Iterator[_S]:
    with _folder() as folder:
        server = kind(folder)
        try:
            yield server
        finally:
            server.stop()


def _fill(server: Memoranda | Chroma, work: Workload) -> float:
    started = time.perf_counter()
    starts = range(0, work.count, server.batch)
    for start in bar(starts, len(starts), f"filling {server.name}"):
        server.fill(range(start, min(start + server.batch, work.count)))
    return work.count / (time.perf_counter() - started)


def measure_start(times: int = 5) -> dict[str, Any]:
    """Return the fastest of several starts: from the process to the first response of `/v1/health`."""
    found: list[tuple[float, float]] = []
    for _ in range(times):
        with _running(CommandLine) as server:
            found.append((server.wait("/v1/health"), server.cpu_seconds()))
    return {"wall_s": min(wall for wall, _ in found), "cpu_s": min(cpu for _, cpu in found), "times": times}


def measure_lag(texts: int) -> dict[str, Any]:
    """Return how late the server's event loop woke up while the real embedder worked on so many texts."""
    work = Workload(texts)
    with _folder() as folder:
        server = RealEmbedder(folder)
        try:
            server.wait("/healthz")
            server.post("/v1/memories", {"content": "the model is loaded now"})
            idle_from = time.perf_counter()
            time.sleep(_IDLE_SECONDS)
            busy_from = time.perf_counter()
            starts = range(0, texts, _BATCH)
            for start in bar(starts, len(starts), "embedding"):
                contents = [work.item(number).text for number in range(start, min(start + _BATCH, texts))]
                server.post("/v1/memories/batch", {"contents": contents})
            ended = time.perf_counter()
        finally:
            server.stop()
        samples = json.loads((folder / _SAMPLES).read_text())
        return {
            "texts": texts,
            "texts_per_s": texts / (ended - busy_from),
            "at_work": _percentiles(lag for at, lag in samples if busy_from <= at < ended),
            "at_rest": _percentiles(lag for at, lag in samples if idle_from <= at < busy_from),
        }


def _percentiles(lags: Iterable[float]) -> dict[str, float]:
    ordered = sorted(lag * 1000 for lag in lags)
    cuts = quantiles(ordered, n=100)
    return {"wake_ups": len(ordered), "p50_ms": cuts[49], "p99_ms": cuts[98], "max_ms": ordered[-1]}


async def _sample_lag(samples: list[tuple[float, float]]) -> None:
    """Record when the loop woke up, on the clock that all processes share, and how late."""
    while True:
        due = time.perf_counter() + _SAMPLE_EVERY
        await asyncio.sleep(_SAMPLE_EVERY)
        now = time.perf_counter()
        samples.append((now, max(0.0, now - due)))


def serve(embedder: str, folder: str, port: str) -> None:
    """Run our server as `memoranda serve` does, and sample the lag of its event loop."""
    from memoranda.server.config import ServerConfig
    from memoranda.server.run import create_app, listen
    from memoranda.testing.fakes import HashEmbedder

    config = ServerConfig(port=int(port), allow_unauthenticated=True)
    model = HashEmbedder(DIMENSION) if embedder == "hash" else None
    app = create_app(config, f"sqlite:///{folder}/server.db", embedder=model)

    async def app_with_sampling(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        samples: list[tuple[float, float]] = []
        probe = asyncio.create_task(_sample_lag(samples))
        await app(scope, receive, send)
        probe.cancel()
        (Path(folder) / _SAMPLES).write_text(json.dumps(samples))

    listen(app_with_sampling, config, log_level="critical")


def table(results: dict[str, Any]) -> str:
    lines = _systems_table(results["systems"]) if results["systems"] else []
    if "start" in results:
        start = results["start"]
        lines.append(
            f"memoranda serve, start to first response: {start['wall_s']:.2f} s, {start['cpu_s']:.2f} s of CPU time "
            f"(fastest of {start['times']}; goal: 2 s)"
        )
    if "lag" in results:
        lag = results["lag"]
        lines.append(
            f"lag of the event loop, {lag['texts']:,} texts embedded at {lag['texts_per_s']:.0f}/s (goal: p99 20 ms)"
        )
        for name in ("at_work", "at_rest"):
            found = lag[name]
            spread = f"p50 {found['p50_ms']:.2f}, p99 {found['p99_ms']:.2f}, max {found['max_ms']:.1f} ms"
            lines.append(f"  {name.replace('_', ' ')}: {spread} over {found['wake_ups']:,} wake-ups")
    load = results["load_average"]
    lines.append(f"load average of the machine: {load[0]:.1f} before, {load[1]:.1f} after, {os.cpu_count()} cores")
    return "\n".join(lines)


def _systems_table(systems: dict[str, Any]) -> list[str]:
    both = len(systems) > 1
    lines = [f"{'':20}" + "".join(f"{name:>24}" for name in systems) + (f"{'ratio':>10}" if both else "")]
    rates = [each["fill_rate"] for each in systems.values()]
    lines.append(f"{'fill, memories/s':20}" + "".join(f"{rate:>24,.0f}" for rate in rates) + _ratio(rates))
    for operation in ("search", "add"):
        for row, clients in enumerate(CLIENTS):
            loads = [each[operation][row] for each in systems.values()]
            cells = "".join(f"{_cell(load):>24}" for load in loads)
            lines.append(f"{f'{operation}, {clients} clients':20}{cells}{_ratio([load['rate'] for load in loads])}")
    return [*lines, "(requests per second, p99 in ms, errors if any; ratio: our rate to theirs)"]


def _ratio(rates: list[float]) -> str:
    return f"{f'×{rates[0] / rates[1]:.1f}':>10}" if len(rates) == 2 else ""


def _cell(load: dict[str, Any]) -> str:
    errors = f" {load['errors']} err" if load["errors"] else ""
    return f"{load['rate']:,.0f}/s p99 {load['p99_ms']:.0f}{errors}"


@contextmanager
def _folder() -> Iterator[Path]:
    create_cache_folder()
    folder = Path(tempfile.mkdtemp(dir=CACHE))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--embedded", type=int, default=10_000, help="texts for the lag of the event loop; 0 for none")
    parser.add_argument("--only", choices=["memoranda", "chromadb", "start", "lag"])
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    kinds = [kind for kind in (Memoranda, Chroma) if options.only in (None, kind.name.lower())]
    if Chroma in kinds:
        prepare("chromadb")
    load = os.getloadavg()[0]
    results: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "memories": options.memories}
    results["systems"] = measure(kinds, Workload(options.memories), options.seconds) if kinds else {}
    if options.only in (None, "start"):
        results["start"] = measure_start()
    if options.embedded and options.only in (None, "lag"):
        results["lag"] = measure_lag(options.embedded)
    results["load_average"] = [load, os.getloadavg()[0]]
    print(table(results))
    target = BENCHMARKS / "results" / "server.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
