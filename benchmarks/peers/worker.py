"""Runs one system in its own process: reads commands as JSON lines and writes measurements.

The process is separate so that one system's memory, threads and imports do not count as another's.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, cast

from peers.base import LIMIT, BuildPeer, Item, Peer, Query
from peers.workload import SCOPE_SIZE, Workload


@dataclass(frozen=True, slots=True)
class _SearchResult:
    ms: float
    found: bool
    hits: int


class PeerBenchmark:
    """The commands of a worker, one method each."""

    def __init__(self, target: str, folder: str, count: int, scope_size: int = SCOPE_SIZE) -> None:
        self._workload = Workload(count, scope_size)
        module, name = target.split(":")
        started = time.perf_counter()
        build = cast(BuildPeer, getattr(import_module(module), name))
        self._peer: Peer = build(Path(folder), self._workload.vector)
        self._open_s = time.perf_counter() - started

    def describe(self) -> dict[str, Any]:
        return {"version": self._peer.version, "settings": self._peer.settings, "open_s": self._open_s}

    def bulk(self, low: int, high: int) -> dict[str, Any]:
        items = [self._workload.item(number) for number in range(low, high)]
        return {"rate": len(items) / _measure_seconds(lambda: self._peer.add_many(items))}

    def add(self, numbers: Sequence[int], threads: int) -> dict[str, Any]:
        items = [self._workload.item(number) for number in numbers]
        return {"rate": len(items) / _measure_seconds(lambda: _add_all(self._peer, items, threads))}

    def search(self, queries: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
        """Search for each (seed, low, high): a question about one of the items low…high-1."""
        return _summarize([self._search(self._workload.query(*query)) for query in queries])

    def recall(self, queries: Sequence[tuple[int, int, int]], known: int) -> dict[str, Any]:
        """Ask for the nearest vectors for each (seed, low, high): how many of the exact ones are found."""
        asked = [self._workload.wordless_query(*query) for query in queries]
        exact = [self._workload.nearest(query, known, LIMIT) for query in asked]
        found = [set(self._peer.search(query)) for query in asked]
        return {"recall": [len(right & hits) / len(right) for right, hits in zip(exact, found, strict=True)]}

    def add_then_search(self, queries: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Store an item and search for it, for each (seed, number). Only the search is timed."""
        return _summarize([self._add_and_search(seed, number) for seed, number in queries])

    def _add_and_search(self, seed: int, number: int) -> _SearchResult:
        self._peer.add(self._workload.item(number))
        return self._search(self._workload.query(seed, number, number + 1))

    def _search(self, query: Query) -> _SearchResult:
        started = time.perf_counter()
        texts = self._peer.search(query)
        ms = (time.perf_counter() - started) * 1000
        return _SearchResult(ms=ms, found=query.gold in texts, hits=len(texts))

    def close(self) -> dict[str, Any]:
        self._peer.close()
        return {"peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _add_all(peer: Peer, items: Sequence[Item], threads: int) -> None:
    if threads == 1:
        for item in items:
            peer.add(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(peer.add, item) for item in items]:
            future.result()


def _measure_seconds(function: Callable[[], None]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _summarize(results: Sequence[_SearchResult]) -> dict[str, Any]:
    return {
        "ms": [result.ms for result in results],
        "found": [result.found for result in results],
        "hits": [result.hits for result in results],
    }


def _serve(requests: TextIO, answers: TextIO) -> None:
    benchmark: PeerBenchmark | None = None
    for line in requests:
        arguments = json.loads(line)
        command = arguments.pop("command")
        try:
            if command == "open":
                benchmark, command, arguments = PeerBenchmark(**arguments), "describe", {}
            answer = getattr(benchmark, command)(**arguments)
        except Exception as error:  # noqa: BLE001 - reported to the parent process, which prints it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    # Output of libraries goes to stderr, so that it does not mix with the answers.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _serve(sys.stdin, channel)
