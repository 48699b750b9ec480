"""64 clients over HTTP, one second for each run: memory, descriptors and threads of the server stay level.

The clients add, ask, change and delete, so that the memories stay as many as they are; the ledger of recalls and the
change log grow on disk, and the memory of the server must not follow them. What is measured is its anonymous memory:
pages of libraries are shared with other programs, so that their share changes whenever one of those starts or ends.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean, median

import httpx2

from memoranda.server.keys import open_keys
from tests.prove.regime import Plan, Result, result
from tests.server.running import process, wait_for

CLIENTS = 64
KEPT = 5
"""Memories that each client keeps."""
MAX_SLOPE = 5.0
"""Megabytes an hour."""
LONG = 600
"""Seconds from which the slope decides: over a shorter time it is mostly noise."""
SPARE = 8
"""Descriptors and threads that may come and go."""
PER_THREAD = 4
"""Descriptors that a thread of the server can hold: two handles on the database, each with its log."""
OTHERS = 24
"""Descriptors of the process itself."""


@dataclass(frozen=True)
class Sample:
    """What a process uses at a moment."""

    at: float
    megabytes: float
    descriptors: int
    threads: int


def take_sample(pid: int, at: float) -> Sample:
    status = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    anonymous = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Anonymous:"))
    descriptors, threads = (sum(1 for _ in Path(f"/proc/{pid}/{name}").iterdir()) for name in ("fd", "task"))
    return Sample(at, anonymous / 1024, descriptors, threads)


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of a line through the points, and half the width of its 95 % confidence interval."""
    count = len(points)
    if count < 3:
        return 0.0, math.inf
    mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in points)
    return rise, 1.96 * math.sqrt(rest / (count - 2) / spread)


def soak(plan: Plan) -> Result:
    """Load a server for `plan.runs` seconds. The first sixth is the warm-up."""
    seconds = min(float(plan.runs), plan.seconds)
    with tempfile.TemporaryDirectory() as folder, process(Path(folder)) as (server, url):
        # The server writes a line for each request: unread, they would fill the pipe and stop it.
        threading.Thread(target=lambda: deque(server.stderr or (), maxlen=0), daemon=True).start()
        wait_for(url, 60)
        with open_keys(f"sqlite:///{folder}/server.db") as keys:
            key = keys.create("soak", scopes=("read", "write", "admin")).key
        load = Load(url, key, plan)
        asyncio.run(load.run(seconds, server.pid))
    found = [sample for sample in load.samples if sample.at >= seconds / 6]
    per_second, half_width = slope([(sample.at, sample.megabytes) for sample in found])
    violations = list(load.failures) + judge(found, per_second * 3600, half_width * 3600, seconds)
    detail: dict[str, object] = {
        "clients": CLIENTS,
        "requests": load.requests,
        "MB/h": round(per_second * 3600, 2),
        "MB/h ±95 %": round(half_width * 3600, 2),
        "MB at the end": round(found[-1].megabytes, 1),
        "descriptors": (found[0].descriptors, found[-1].descriptors),
        "threads": (found[0].threads, found[-1].threads),
    }
    return result("soak", plan, round(seconds), violations, detail)


def judge(samples: list[Sample], rise: float, half_width: float, seconds: float) -> list[str]:
    """Return what grew."""
    problems = []
    if seconds >= LONG and rise - half_width > MAX_SLOPE:
        problems.append(f"memory grows by {rise:.1f} ± {half_width:.1f} MB/h")
    part = max(1, len(samples) // 4)
    for name in ("descriptors", "threads"):
        first, last = (median(getattr(sample, name) for sample in some) for some in (samples[:part], samples[-part:]))
        # In a short run the threads still open their handles.
        if last > first + (SPARE if seconds >= LONG else CLIENTS):
            problems.append(f"{name} grow from {first:g} to {last:g}")
    most = max(samples, key=lambda sample: sample.descriptors)
    if most.descriptors > (bound := CLIENTS + PER_THREAD * most.threads + OTHERS):
        problems.append(f"{most.descriptors} descriptors, and {most.threads} threads need {bound} at the most")
    return problems


class Load:
    """The clients, and what they and the samples have seen."""

    def __init__(self, url: str, key: str, plan: Plan) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._plan = plan
        self.requests = 0
        self.samples: list[Sample] = []
        self.failures: list[str] = []

    async def run(self, seconds: float, pid: int) -> None:
        started = time.monotonic()
        limits = httpx2.Limits(max_connections=CLIENTS)
        async with httpx2.AsyncClient(base_url=self._url, headers=self._headers, timeout=60, limits=limits) as client:
            end = started + seconds
            workers = [asyncio.create_task(self._work(client, number, end)) for number in range(CLIENTS)]
            pause = min(5.0, seconds / 30)
            while time.monotonic() < end:
                await asyncio.sleep(pause)
                self.samples.append(take_sample(pid, time.monotonic() - started))
            await asyncio.gather(*workers)

    async def _work(self, client: httpx2.AsyncClient, number: int, end: float) -> None:
        rng, ids = self._plan.rng("client", number), list[int]()
        while time.monotonic() < end and len(self.failures) < 20:
            user = f"user {number % 16}"
            memory = await self._add(client, rng, user)
            ids += [] if memory is None else [memory]
            await self._send(client, "POST", "/v1/recall", {"query": f"tea {rng.randrange(50)}", "user": user})
            await self._send(client, "POST", "/v1/memories/list", {"user": user, "limit": 10})
            if ids:
                await self._send(client, "PATCH", f"/v1/memories/{rng.choice(ids)}", {"content": "tea", "user": user})
            while len(ids) > KEPT:
                await self._send(client, "POST", "/v1/memories/delete", {"memory_ids": [ids.pop(0)], "user": user})

    async def _add(self, client: httpx2.AsyncClient, rng: Random, user: str) -> int | None:
        content = f"{user} drinks tea number {rng.randrange(50)} at {rng.randrange(24)} o'clock"
        made = await self._send(client, "POST", "/v1/memories", {"content": content, "user": user})
        return None if made is None else int(made["id"])

    async def _send(self, client: httpx2.AsyncClient, method: str, path: str, body: dict[str, object]) -> dict | None:  # type: ignore[type-arg]
        try:
            answer = await client.request(method, path, json=body)
        except httpx2.HTTPError as error:
            self.failures.append(f"{method} {path}: {error!r}")
            return None
        self.requests += 1
        if answer.status_code >= 400:
            self.failures.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            return None
        return answer.json()  # type: ignore[no-any-return]
