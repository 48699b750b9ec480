"""One system in its own process: takes orders as JSON lines, answers with measurements.

Its own process, so that one system's memory, threads and imports never count as another's.
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

from peers.base import BuildPeer, Item, Peer, Query
from peers.workload import Workload


@dataclass(frozen=True, slots=True)
class _Answer:
    ms: float
    found: bool
    hits: int


class Bench:
    """The orders a worker understands, one method each."""

    def __init__(self, target: str, folder: str, count: int) -> None:
        self._workload = Workload(count)
        module, name = target.split(":")
        started = time.perf_counter()
        build = cast(BuildPeer, getattr(import_module(module), name))
        self._peer: Peer = build(Path(folder), self._workload.vector)
        self._open_s = time.perf_counter() - started

    def about(self) -> dict[str, Any]:
        return {"version": self._peer.version, "settings": self._peer.settings, "open_s": self._open_s}

    def bulk(self, low: int, high: int) -> dict[str, Any]:
        items = [self._workload.item(number) for number in range(low, high)]
        return {"rate": len(items) / _seconds(lambda: self._peer.add_many(items))}

    def add(self, numbers: Sequence[int], threads: int) -> dict[str, Any]:
        items = [self._workload.item(number) for number in numbers]
        return {"rate": len(items) / _seconds(lambda: _add_all(self._peer, items, threads))}

    def search(self, asks: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
        """Each ask is (seed, low, high): a question about one of the items low…high-1."""
        return _summary([self._ask(self._workload.query(*ask)) for ask in asks])

    def add_then_search(self, asks: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Each ask is (seed, number): store that item, then ask for it. Only the search is timed."""
        return _summary([self._store_and_ask(seed, number) for seed, number in asks])

    def _store_and_ask(self, seed: int, number: int) -> _Answer:
        self._peer.add(self._workload.item(number))
        return self._ask(self._workload.query(seed, number, number + 1))

    def _ask(self, query: Query) -> _Answer:
        started = time.perf_counter()
        texts = self._peer.search(query)
        ms = (time.perf_counter() - started) * 1000
        return _Answer(ms=ms, found=query.gold in texts, hits=len(texts))

    def close(self) -> dict[str, Any]:
        self._peer.close()
        return {"peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _add_all(peer: Peer, items: Sequence[Item], threads: int) -> None:
    if threads == 1:
        for item in items:
            peer.add(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(peer.add, item) for item in items]:
            done.result()


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _summary(answers: Sequence[_Answer]) -> dict[str, Any]:
    return {
        "ms": [answer.ms for answer in answers],
        "found": [answer.found for answer in answers],
        "hits": [answer.hits for answer in answers],
    }


def _serve(orders: TextIO, answers: TextIO) -> None:
    bench: Bench | None = None
    for line in orders:
        order = json.loads(line)
        verb = order.pop("do")
        try:
            if verb == "open":
                bench, verb, order = Bench(**order), "about", {}
            answer = getattr(bench, verb)(**order)
        except Exception as error:  # noqa: BLE001 - told to the parent, which prints it and decides
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    # What a library prints must not get between the answers.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _serve(sys.stdin, channel)
