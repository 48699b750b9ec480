"""Kill a writing process many times, and count what was lost: python -m tests.crash.run --kills 2000"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.crash.children import Child
from tests.crash.model import Ledger, Operation

KILLS_PER_STORE = 250
TIMEOUT_S = 60.0
MAX_OPERATIONS = 4
"""A writer finishes at most this many, and is killed during the next."""
COUNTED = ("kills", "stores", "acknowledged", "interrupted", "late", "seen")


@dataclass(slots=True)
class Totals:
    """The counts and findings of the whole run."""

    kills: int = 0
    stores: int = 0
    acknowledged: int = 0
    interrupted: int = 0
    late: int = 0
    seen: int = 0
    started: float = field(default_factory=time.monotonic)
    findings: list[str] = field(default_factory=list)

    def add(self, counts: dict[str, Any]) -> None:
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + counts.get(name, 0))
        self.findings += counts.get("findings", []) + ([counts["error"]] if "error" in counts else [])

    @property
    def rate(self) -> float:
        return self.kills / max(time.monotonic() - self.started, 1e-9)


class Lane:
    """One store, one reader, and one writer after another."""

    def __init__(self, path: Path, rng: random.Random, totals: Totals, *, with_reader: bool) -> None:
        self.path = path
        self._rng = rng
        self._totals = totals
        self._ledger = Ledger()
        self._seen: set[str] = set()
        self._usual_time = 0.01
        self._prepare()
        self._reader = self._start_reader() if with_reader else None

    def kill_one_writer(self) -> None:
        from tests.crash.writer import write_until_killed

        writer = Child(partial(write_until_killed, self.path, seed=self._rng.getrandbits(32)))
        # One in ten is killed while it opens the store, that is, during the recovery from the kill before.
        if self._rng.random() > 0.1:
            self._wait_for(writer, "rows")
            for _ in range(self._rng.randint(0, MAX_OPERATIONS)):
                self._wait_for(writer, "done")
        self._handle(writer.messages(time.monotonic() + self._rng.uniform(0, 1.2 * self._usual_time)))
        self._handle(writer.kill())
        self._ledger.interrupt()
        self._totals.kills += 1
        if self._reader is not None:
            self._handle(self._reader.messages(time.monotonic() + 1e-4))

    def finish(self) -> None:
        """Check the store one last time, and what the reader saw."""
        from tests.crash.writer import write_until_killed

        last = Child(partial(write_until_killed, self.path, seed=0))
        self._wait_for(last, "rows")
        self._handle(last.kill())
        self._handle(self._reader.kill() if self._reader else ())
        self._check_reader()
        self._totals.acknowledged += self._ledger.acknowledged
        self._totals.interrupted += self._ledger.interrupted
        self._totals.late += self._ledger.late
        self._totals.seen += len(self._seen)
        self._totals.stores += 1

    def _prepare(self) -> None:
        from tests.crash.writer import open_manager

        # Schema and first vector before the reader starts, so that it opens a store in use.
        maker = Child(lambda _: open_manager(self.path).close())
        self._handle(maker.messages(time.monotonic() + TIMEOUT_S))
        self._handle(maker.kill())

    def _start_reader(self) -> Child:
        from tests.crash.reader import read_until_killed

        return Child(partial(read_until_killed, self.path, seed=self._rng.getrandbits(32)))

    def _wait_for(self, writer: Child, key: str) -> None:
        """Handle the messages of a writer until one has this key."""
        started = time.monotonic()
        for message in writer.messages(started + TIMEOUT_S):
            self._handle([message])
            if key in message:
                self._usual_time += ((time.monotonic() - started) - self._usual_time) * 0.1 if key == "done" else 0.0
                return
            if "error" in message:
                return
        self._totals.findings.append(f"a writer sent nothing for {TIMEOUT_S:.0f} seconds")

    def _handle(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            match message:
                case {"rows": rows, "problems": problems}:
                    self._totals.findings += self._ledger.check([(token, text) for token, text in rows]) + problems
                case {"begin": operation}:
                    self._ledger.begin(Operation(operation["kind"], operation["put"], tuple(operation["drop"])))
                case {"done": _}:
                    self._ledger.acknowledge()
                case {"seen": content}:
                    self._seen.add(content)
                case {"error": trace}:
                    self._totals.findings.append(trace)

    def _check_reader(self) -> None:
        for what, contents in (
            ("never written", self._seen - self._ledger.intended),
            ("never committed", self._seen & self._ledger.undone),
        ):
            if contents:
                self._totals.findings.append(f"the reader saw {len(contents)} texts {what}: {sorted(contents)[0][:80]}")


def run(kills: int, seed: int, folder: Path, keep: Path, *, with_reader: bool = True) -> Totals:
    """Kill this many writers, on one store after another; stop at the first store that failed."""
    rng, totals = random.Random(seed), Totals()
    while totals.kills < kills and not totals.findings:
        lane = Lane(folder / f"store-{totals.stores}" / "memories.db", rng, totals, with_reader=with_reader)
        end = min(kills, totals.kills + KILLS_PER_STORE)
        while totals.kills < end and not totals.findings:
            lane.kill_one_writer()
            _progress(totals, kills)
        lane.finish()
        if totals.findings:
            shutil.copytree(lane.path.parent, keep / f"seed-{seed}-kill-{totals.kills}", dirs_exist_ok=True)
        shutil.rmtree(lane.path.parent)
    return totals


def run_in_parallel(kills: int, seed: int, folder: Path, keep: Path, *, lanes: int, with_reader: bool) -> Totals:
    """Run several processes at once, each with its own stores and seeds; return the sum of their totals."""

    def body(number: int, pipe: int) -> None:
        from tests.crash.writer import send

        share = kills // lanes + (number < kills % lanes)
        totals = run(share, seed + number, folder / f"lane-{number}", keep, with_reader=with_reader)
        send(pipe, **{name: getattr(totals, name) for name in COUNTED}, findings=totals.findings)

    total = Totals()
    children = [Child(partial(body, number)) for number in range(lanes)]
    for child in children:
        for message in child.messages(float("inf")):
            total.add(message)
        for message in child.kill():
            total.add(message)
    if total.kills < kills and not total.findings:
        total.findings.append(f"only {total.kills:,} of {kills:,} kills were made: a lane ended without a message")
    return total


def _progress(totals: Totals, kills: int) -> None:
    if totals.kills % 20 == 0 or totals.kills == kills:
        print(
            f"\rkills {totals.kills:,} of {kills:,} · {totals.rate:.1f} a second", end="", file=sys.stderr, flush=True
        )


def _report(totals: Totals, seed: int) -> None:
    rows = {
        "kills": f"{totals.kills:,} ({totals.rate:.1f} a second)",
        "  in the middle of an operation": f"{totals.interrupted:,}",
        "  found only by a later recovery": f"{totals.late:,}",
        "stores": f"{totals.stores:,}",
        "operations acknowledged": f"{totals.acknowledged:,}",
        "texts the reader saw": f"{totals.seen:,}",
        "findings": f"{len(totals.findings):,}",
        "seed": str(seed),
    }
    print("\n" + "\n".join(f"{name:<32} {value}" for name, value in rows.items()))
    for finding in totals.findings:
        print(f"\n{finding}")


def _warm_up(path: Path) -> None:
    """Import everything that a writer needs, so that a fork has it at once."""
    # Threads do not survive a fork, so the numeric libraries must not start any here.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    import tests.crash.reader  # noqa: F401
    from tests.crash.writer import open_manager, read_store

    with open_manager(path) as manager:
        manager.add_memory("note")
        read_store(manager)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument(
        "--keep", type=Path, default=Path("crash-failures"), help="folder for copies of stores that failed"
    )
    parser.add_argument("--lanes", type=int, default=2, help="stores tested at the same time")
    parser.add_argument("--no-reader", action="store_true", help="without a reader on the same file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoranda-crash-") as folder:
        _warm_up(Path(folder) / "warm-up.db")
        totals = run_in_parallel(
            options.kills,
            options.seed,
            Path(folder),
            options.keep,
            lanes=options.lanes,
            with_reader=not options.no_reader,
        )
    _report(totals, options.seed)
    return 1 if totals.findings else 0


if __name__ == "__main__":
    sys.exit(main())
