"""Server time of the dashboard on a large store: `python benchmarks/dashboard.py [--memories 100000]`.

The goal is 300 ms for the overview. Each request is sent to a real server on this machine, first with nothing cached,
then again after a write, which voids what is cached. Vectors come from a fake embedder: no page reads them but `ask`.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
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


def measure(url: str, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each request, each time after a write."""
    times: dict[str, list[float]] = {name: [] for name in REQUESTS}
    with httpx2.Client(base_url=url, timeout=120) as client:
        for number in range(rounds):
            client.post("/v1/memories", json={"content": f"a write that voids the cache, {number}"}).raise_for_status()
            for name, (method, path, values) in REQUESTS.items():
                sent = {"params": values} if method == "GET" else {"json": values}
                started = time.perf_counter()
                client.request(method, path, **sent).raise_for_status()
                times[name].append((time.perf_counter() - started) * 1000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print the times as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoranda-dashboard-") as folder:
        fill_large(Path(folder), options.memories)
        with serving(Path(folder)) as url:
            times = measure(url, options.rounds)
    if options.json:
        print(json.dumps(times))
        return
    print(f"{options.memories:,} memories, {platform.machine()}, Python {platform.python_version()}; milliseconds")
    for name, values in times.items():
        goal = (
            "" if name != "overview" else f"   goal {GOAL_MS:.0f}: {'met' if median(values) <= GOAL_MS else 'MISSED'}"
        )
        print(f"{name:28} first {values[0]:8.1f}   median {median(values):8.1f}   worst {max(values):8.1f}{goal}")


if __name__ == "__main__":
    main()
