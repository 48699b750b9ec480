"""Requests a second over HTTP, beside chromadb's server: `python benchmarks/server.py`.

Both servers hold the same texts, run one after the other, and get their requests from the same clients on the same
machine. Recollect embeds each text on the server, with a hash that costs next to nothing; chromadb is handed its
vectors, ready made. The last part runs the real embedder and asks whether the event loop was held up by it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers.base import DIMENSION, LIMIT
from peers.http import Endpoint, Load, run_load
from peers.systems import BENCHMARKS, CACHE, ROOT, ignore_cache, prepare
from peers.workload import SCOPE_SIZE, Workload

CLIENTS = (1, 8, 64)
_BATCH = 500


class Server:
    """A server in a process of its own, and its address."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process = subprocess.Popen(
            self.command(), env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def wait(self, path: str, seconds: float = 60.0) -> float:
        """How long it took to answer."""
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            try:
                urllib.request.urlopen(self.url + path, timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return time.perf_counter() - began
        raise TimeoutError(f"{self.name} did not come up")

    def post(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


class Recollect(Server):
    """Our own server as `recollect serve` starts it, with the embedder named."""

    name = "Recollect"
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


class RealEmbedder(Recollect):
    embedder = "default"


class Chroma(Server):
    """chromadb's own server, over its documented REST interface."""

    name = "chromadb"
    batch = 1000

    def command(self) -> list[str]:
        program = CACHE / "chromadb" / "bin" / "chroma"
        return [str(program), "run", "--path", str(self.folder), "--port", str(self.port)]

    def environment(self) -> dict[str, str]:
        return os.environ | {"ANONYMIZED_TELEMETRY": "False"}

    def open(self, work: Workload) -> float:
        self._work = work
        taken = self.wait("/api/v2/heartbeat")
        base = "/api/v2/tenants/default_tenant/databases/default_database/collections"
        made = self.post(base, {"name": "memories", "configuration": {"hnsw": {"space": "cosine"}}})
        self._at = f"{base}/{made['id']}"
        return taken

    def fill(self, numbers: range) -> None:
        items = [(number, self._work.item(number)) for number in numbers]
        self.post(
            f"{self._at}/add",
            {
                "ids": [str(number) for number, _ in items],
                "documents": [item.text for _, item in items],
                "embeddings": [self._work.vector(item.text).tolist() for _, item in items],
                "metadatas": [{"user": item.user} for _, item in items],
            },
        )

    def search(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            query = self._work.query(number, 0, self._work.count)
            vector = self._work.vector(query.text).tolist()
            return {"query_embeddings": [vector], "n_results": LIMIT, "where": {"user": query.user}}

        return Endpoint(f"{self.url}{self._at}/query", body)

    def add(self) -> Endpoint:
        def body(number: int) -> dict[str, Any]:
            item = self._work.item(number % 1000)
            return {
                "ids": [f"new-{number}"],
                "documents": [f"{item.text} again {number}"],
                "embeddings": [self._work.vector(item.text).tolist()],
                "metadatas": [{"user": f"new-{number % 100}"}],
            }

        return Endpoint(f"{self.url}{self._at}/add", body)


def measure(kind: type[Recollect] | type[Chroma], work: Workload, seconds: float) -> dict[str, Any]:
    with _folder() as folder:
        server = kind(folder)
        try:
            figures: dict[str, Any] = {"start_s": server.open(work)}
            began = time.perf_counter()
            for start in range(0, work.count, kind.batch):
                server.fill(range(start, min(start + kind.batch, work.count)))
                _progress(kind.name, start + kind.batch, work.count)
            figures["fill_rate"] = work.count / (time.perf_counter() - began)
            for verb in ("search", "add"):
                figures[verb] = _loads(server, verb, seconds)
            return figures
        finally:
            server.stop()


def _loads(server: Recollect | Chroma, verb: str, seconds: float) -> list[dict[str, Any]]:
    endpoint: Endpoint = getattr(server, verb)()
    run_load(endpoint, 4, min(2.0, seconds), start=10_000_000)  # so that neither is measured cold
    found: list[Load] = []
    for position, clients in enumerate(CLIENTS):
        found.append(run_load(endpoint, clients, seconds, start=position * 1_000_000))
    return [asdict(load) for load in found]


def measure_lag(texts: int) -> dict[str, Any]:
    """The share of the loop's wake-ups that came within 20 ms while the real embedder worked on so many texts."""
    work = Workload(texts)
    with _folder() as folder:
        server = RealEmbedder(folder)
        try:
            server.open(work)
            server.post("/v1/memories", {"content": "the model is loaded now"})
            resting = _lags(server)
            time.sleep(min(10.0, texts / 100))
            before, began = _lags(server), time.perf_counter()
            for start in range(0, texts, _BATCH):
                contents = [work.item(number).text for number in range(start, min(start + _BATCH, texts))]
                server.post("/v1/memories/batch", {"contents": contents})
                _progress("embedding", start + _BATCH, texts)
            after, spent = _lags(server), time.perf_counter() - began
            return {
                "texts": texts,
                "texts_per_s": texts / spent,
                "wake_ups": after["+Inf"] - before["+Inf"],
                "p99_at_most_s": _p99(before, after),
                "p99_at_rest_s": _p99(resting, before),
            }
        finally:
            server.stop()


def _lags(server: Server) -> dict[str, float]:
    with urllib.request.urlopen(f"{server.url}/v1/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    name = "recollect_event_loop_lag_seconds_bucket"
    found = [line for line in lines if line.startswith(name)]
    return {line.split('le="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1]) for line in found}


def _p99(before: dict[str, float], after: dict[str, float]) -> float:
    """The smallest bound that 99 of 100 wake-ups in between kept."""
    counted = {bound: after[bound] - before[bound] for bound in after}
    return float(next(bound for bound, count in counted.items() if count >= 0.99 * counted["+Inf"]))


def serve(embedder: str, folder: str, port: str) -> None:
    """Our server, in the process that is measured."""
    import uvicorn

    from recollect.server import ServerConfig, create_app
    from recollect.testing.hash_embedder import HashEmbedder

    app = create_app(
        ServerConfig(port=int(port)),
        f"sqlite:///{folder}/server.db",
        embedder=HashEmbedder(DIMENSION) if embedder == "hash" else None,
    )
    uvicorn.run(app, port=int(port), log_level="critical", access_log=False)


def table(results: dict[str, Any]) -> str:
    systems = results["systems"]
    lines = [f"{'':24}" + "".join(f"{name:>26}" for name in systems)]
    lines.append(f"{'start, s':24}" + "".join(f"{each['start_s']:>26.2f}" for each in systems.values()))
    lines.append(f"{'fill, memories/s':24}" + "".join(f"{each['fill_rate']:>26,.0f}" for each in systems.values()))
    for verb in ("search", "add"):
        for row, clients in enumerate(CLIENTS):
            cells = (f"{_cell(each[verb][row]):>26}" for each in systems.values())
            lines.append(f"{f'{verb}, {clients} clients':24}" + "".join(cells))
    lines.append("(requests a second, p99 in ms, errors if any)")
    if "lag" in results:
        lag = results["lag"]
        lines.append(
            f"event loop, {lag['texts']:,} texts embedded at {lag['texts_per_s']:.0f}/s: p99 of its lag at most "
            f"{lag['p99_at_most_s'] * 1000:g} ms over {lag['wake_ups']:,.0f} wake-ups (goal: 20 ms; at rest: "
            f"{lag['p99_at_rest_s'] * 1000:g} ms)"
        )
    return "\n".join(lines)


def _cell(load: dict[str, Any]) -> str:
    errors = f" {load['errors']} err" if load["errors"] else ""
    return f"{load['rate']:,.0f}/s p99 {load['p99_ms']:.0f}{errors}"


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}: {min(done, total):,} of {total:,}", end="" if done < total else "\n", file=sys.stderr)


@contextmanager
def _folder() -> Iterator[Path]:
    ignore_cache()
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
    parser.add_argument("--only", choices=["recollect", "chromadb"])
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    kinds = [kind for kind in (Recollect, Chroma) if given.only in (None, kind.name.lower())]
    if Chroma in kinds:
        prepare("chromadb")
    work = Workload(given.memories)
    results: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "memories": given.memories}
    results["systems"] = {kind.name: measure(kind, work, given.seconds) for kind in kinds}
    if given.embedded:
        results["lag"] = measure_lag(given.embedded)
    print(table(results))
    target = BENCHMARKS / "results" / "server.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
