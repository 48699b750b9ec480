"""Kills a writing process again and again, and counts what was lost: python -m tests.crash.run --kills 2000"""

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
PATIENCE_S = 60.0
MOST_OPERATIONS = 4
"""A writer is let finish up to so many, then it is killed during the next."""


COUNTED = ("kills", "stores", "acknowledged", "struck", "late", "seen")


@dataclass(slots=True)
class Tally:
    """What the whole run has seen."""

    kills: int = 0
    stores: int = 0
    acknowledged: int = 0
    struck: int = 0
    late: int = 0
    seen: int = 0
    started: float = field(default_factory=time.monotonic)
    findings: list[str] = field(default_factory=list)

    def add(self, told: dict[str, Any]) -> None:
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + told.get(name, 0))
        self.findings += told.get("findings", []) + ([told["error"]] if "error" in told else [])

    @property
    def rate(self) -> float:
        return self.kills / max(time.monotonic() - self.started, 1e-9)


class Lane:
    """One store, one reader, and writer after writer."""

    def __init__(self, path: Path, rng: random.Random, tally: Tally, *, watched: bool) -> None:
        self.path = path
        self._rng = rng
        self._tally = tally
        self._ledger = Ledger()
        self._seen: set[str] = set()
        self._pace = 0.01
        self._prepare()
        self._reader = self._start_reader() if watched else None

    def kill_one_writer(self) -> None:
        from tests.crash.writer import live

        writer = Child(partial(live, self.path, seed=self._rng.getrandbits(32)))
        # One in ten dies while it opens the store, that is, in the middle of the recovery from the kill before.
        if self._rng.random() > 0.1:
            self._listen(writer, "rows")
            for _ in range(self._rng.randint(0, MOST_OPERATIONS)):
                self._listen(writer, "done")
        self._take(writer.messages(time.monotonic() + self._rng.uniform(0, 1.2 * self._pace)))
        self._take(writer.kill())
        self._ledger.killed()
        self._tally.kills += 1
        if self._reader is not None:
            self._take(self._reader.messages(time.monotonic() + 1e-4))

    def finish(self) -> None:
        """One last look at the store, and the account of what the reader saw."""
        from tests.crash.writer import live

        last = Child(partial(live, self.path, seed=0))
        self._listen(last, "rows")
        self._take(last.kill())
        self._take(self._reader.kill() if self._reader else ())
        self._account_for_the_reader()
        self._tally.acknowledged += self._ledger.acknowledged
        self._tally.struck += self._ledger.struck
        self._tally.late += self._ledger.late
        self._tally.seen += len(self._seen)
        self._tally.stores += 1

    def _prepare(self) -> None:
        from tests.crash.writer import open_manager

        # Schema and first vector before the reader starts, so that what it meets is a store in use.
        maker = Child(lambda _: open_manager(self.path).close())
        self._take(maker.messages(time.monotonic() + PATIENCE_S))
        self._take(maker.kill())

    def _start_reader(self) -> Child:
        from tests.crash.reader import watch

        return Child(partial(watch, self.path, seed=self._rng.getrandbits(32)))

    def _listen(self, writer: Child, word: str) -> None:
        """Takes what the writer says until it has said this."""
        started = time.monotonic()
        for message in writer.messages(started + PATIENCE_S):
            self._take([message])
            if word in message:
                self._pace += ((time.monotonic() - started) - self._pace) * 0.1 if word == "done" else 0.0
                return
            if "error" in message:
                return
        self._tally.findings.append(f"a writer said nothing for {PATIENCE_S:.0f} seconds")

    def _take(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            match message:
                case {"rows": rows, "problems": problems}:
                    self._tally.findings += self._ledger.reopened([(token, text) for token, text in rows]) + problems
                case {"begin": operation}:
                    self._ledger.begin(Operation(operation["kind"], operation["put"], tuple(operation["drop"])))
                case {"done": _}:
                    self._ledger.done()
                case {"seen": content}:
                    self._seen.add(content)
                case {"error": trace}:
                    self._tally.findings.append(trace)

    def _account_for_the_reader(self) -> None:
        for what, contents in (
            ("never written", self._seen - self._ledger.intended),
            ("never committed", self._seen & self._ledger.undone),
        ):
            if contents:
                self._tally.findings.append(f"the reader saw {len(contents)} texts {what}: {sorted(contents)[0][:80]}")


def run(kills: int, seed: int, folder: Path, keep: Path, *, watched: bool = True) -> Tally:
    """Kills that many writers, on one store after the other; stops at the first store that failed."""
    rng, tally = random.Random(seed), Tally()
    while tally.kills < kills and not tally.findings:
        lane = Lane(folder / f"store-{tally.stores}" / "memories.db", rng, tally, watched=watched)
        end = min(kills, tally.kills + KILLS_PER_STORE)
        while tally.kills < end and not tally.findings:
            lane.kill_one_writer()
            _progress(tally, kills)
        lane.finish()
        if tally.findings:
            shutil.copytree(lane.path.parent, keep / f"seed-{seed}-kill-{tally.kills}", dirs_exist_ok=True)
        shutil.rmtree(lane.path.parent)
    return tally


def run_side_by_side(kills: int, seed: int, folder: Path, keep: Path, *, lanes: int, watched: bool) -> Tally:
    """The same in several processes at once, each with stores and seeds of its own; their tallies added up."""

    def body(number: int, pipe: int) -> None:
        from tests.crash.writer import tell

        share = kills // lanes + (number < kills % lanes)
        tally = run(share, seed + number, folder / f"lane-{number}", keep, watched=watched)
        tell(pipe, **{name: getattr(tally, name) for name in COUNTED}, findings=tally.findings)

    total = Tally()
    children = [Child(partial(body, number)) for number in range(lanes)]
    for child in children:
        for message in child.messages(float("inf")):
            total.add(message)
        for message in child.kill():
            total.add(message)
    if total.kills < kills and not total.findings:
        total.findings.append(f"only {total.kills:,} of {kills:,} kills were made: a lane ended without a word")
    return total


def _progress(tally: Tally, kills: int) -> None:
    if tally.kills % 20 == 0 or tally.kills == kills:
        print(f"\rkills {tally.kills:,} of {kills:,} · {tally.rate:.1f} a second", end="", file=sys.stderr, flush=True)


def _report(tally: Tally, seed: int) -> None:
    rows = {
        "kills": f"{tally.kills:,} ({tally.rate:.1f} a second)",
        "  in the middle of an operation": f"{tally.struck:,}",
        "  found only by a later recovery": f"{tally.late:,}",
        "stores": f"{tally.stores:,}",
        "operations acknowledged": f"{tally.acknowledged:,}",
        "texts the reader saw": f"{tally.seen:,}",
        "findings": f"{len(tally.findings):,}",
        "seed": str(seed),
    }
    print("\n" + "\n".join(f"{name:<32} {value}" for name, value in rows.items()))
    for finding in tally.findings:
        print(f"\n{finding}")


def _warm_up(path: Path) -> None:
    """Loads everything a writer needs, so that a fork has it at once."""
    # Threads do not survive a fork, so the numeric libraries must not start any here.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    import tests.crash.reader  # noqa: F401
    from tests.crash.writer import open_manager, survey

    with open_manager(path) as manager:
        manager.add_memory("note")
        survey(manager)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--keep", type=Path, default=Path("crash-failures"), help="where a store that failed is kept")
    parser.add_argument("--lanes", type=int, default=2, help="stores under fire at once")
    parser.add_argument("--no-reader", action="store_true", help="nobody else has the file open")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoranda-crash-") as folder:
        _warm_up(Path(folder) / "warm-up.db")
        tally = run_side_by_side(
            options.kills,
            options.seed,
            Path(folder),
            options.keep,
            lanes=options.lanes,
            watched=not options.no_reader,
        )
    _report(tally, options.seed)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
