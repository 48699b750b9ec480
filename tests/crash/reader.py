"""The process that reads all the while: it must never see an error, nor anything that was not written."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from tests.crash.writer import open_manager, tell

REST_S = 0.03


def watch(path: Path, pipe: int, seed: int) -> None:
    """Reads until it is killed, and tells each content the first time it sees it."""
    rng = random.Random(seed)
    seen: set[str] = set()
    try:
        while True:
            _one_life(path, pipe, rng, seen)
            # Without any reader the file has no shared memory to go on with: the next to open it must recover.
            time.sleep(rng.uniform(0, 0.3))
    except Exception:  # noqa: BLE001 - whatever it is, the parent reports it
        tell(pipe, error=traceback.format_exc())


def _one_life(path: Path, pipe: int, rng: random.Random, seen: set[str]) -> None:
    with open_manager(path) as manager:
        for _ in range(rng.randint(1, 40)):
            found = manager.recall(rng.choice(["note river", "stone lamp", "train again"]), limit=20)
            _report(pipe, (hit.content for hit in found), seen)
            time.sleep(REST_S)


def _report(pipe: int, contents: Iterable[str], seen: set[str]) -> None:
    for content in contents:
        if content not in seen:
            seen.add(content)
            tell(pipe, seen=content)
