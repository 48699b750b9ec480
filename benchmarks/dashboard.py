"""Server time of the dashboard on a large store: `python benchmarks/dashboard.py [--memories 100000]`.

The goal is 300 ms for the overview. Each request is sent to a real server on this machine, first with nothing cached,
then again after a write, which voids what is cached. Vectors come from a fake embedder: no page reads them but `ask`.
Both the time that passed and the processor time are printed: on a busy machine only the second one says something.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx2
from tests.browser.stores import fill_large
from tests.server.running import serving

GOAL_MS = 300.0
SCOPE = {"all_users": True}
REQUESTS = {
    "overview": ("GET", "/ui/overview", {}),
    "states": ("GET", "/ui/states", SCOPE),
    "first page of memories": ("POST", "/ui/memories", SCOPE | {"limit": 50}),
    "page of memories by trust": ("POST", "/ui/memories", SCOPE | {"limit": 50, "trust": ["user"]}),
    "search as you type": ("POST", "/ui/search", {"query": "garden", "user": "user-0007"}),
    "people": ("GET", "/v1/users", {"limit": 100}),
    "graph of 5,000": ("GET", "/ui/graph", SCOPE | {"limit": 5000}),
    "conversations": ("GET", "/ui/conversations", SCOPE),
}


@dataclass(frozen=True, slots=True)
class Taken:
    """The milliseconds of one request: what passed, and what the processor spent, client and server together."""

    passed: float
    spent: float


def measure(url: str, rounds: int) -> dict[str, list[Taken]]:
    """Return the times of each request, each time after a write."""
    times: dict[str, list[Taken]] = {name: [] for name in REQUESTS}
    with httpx2.Client(base_url=url, timeout=120) as client:
        for number in range(rounds):
            client.post("/v1/memories", json={"content": f"a write that voids the cache, {number}"}).raise_for_status()
            for name, (method, path, values) in REQUESTS.items():
                sent = {"params": values} if method == "GET" else {"json": values}
                started, spent = time.perf_counter(), time.process_time()
                client.request(method, path, **sent).raise_for_status()
                passed, spent = time.perf_counter() - started, time.process_time() - spent
                times[name].append(Taken(passed * 1000, spent * 1000))
    return times


@contextmanager
def filled(store: Path | None, memories: int) -> Iterator[Path]:
    """Yield a folder with a filled store: one that is kept and filled once, or a temporary one."""
    with tempfile.TemporaryDirectory(prefix="memoranda-dashboard-") as temporary:
        folder = Path(temporary) if store is None else store.resolve()
        done = folder / f"filled-{memories}"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            fill_large(folder, memories)
            done.touch()
        yield folder


def describe(name: str, times: Sequence[Taken]) -> str:
    passed, spent = [each.passed for each in times], [each.spent for each in times]
    line = f"{name:28} first {passed[0]:7.1f}  median {median(passed):7.1f}  worst {max(passed):7.1f}"
    line += f"   processor: first {spent[0]:6.1f}  median {median(spent):6.1f}"
    if name != "overview":
        return line
    # The processor time of client and server together is more than the server's own.
    return f"{line}   goal {GOAL_MS:.0f}: {'met' if max(spent) <= GOAL_MS else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--store", type=Path, help="a folder to keep the filled store in, for the next run")
    options = parser.parse_args()
    with filled(options.store, options.memories) as folder, serving(folder) as url:
        times = measure(url, options.rounds)
    print(f"{options.memories:,} memories, {platform.machine()}, Python {platform.python_version()}; milliseconds")
    for name, values in times.items():
        print(describe(name, values))


if __name__ == "__main__":
    main()
