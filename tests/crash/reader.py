"""The process that reads while writers are killed: it must never see an error, or anything that was not written."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from tests.crash.writer import open_manager, send

PAUSE_S = 0.03


def read_until_killed(path: Path, pipe: int, seed: int) -> None:
    """Read until killed, and send each content the first time it is seen."""
    rng = random.Random(seed)
    seen: set[str] = set()
    try:
        while True:
            _read_once_opened(path, pipe, rng, seen)
            # Without a reader the shared memory of the file is gone: the next process to open it must recover.
            time.sleep(rng.uniform(0, 0.3))
    except Exception:  # noqa: BLE001 - the parent reports it
        send(pipe, error=traceback.format_exc())


def _read_once_opened(path: Path, pipe: int, rng: random.Random, seen: set[str]) -> None:
    with open_manager(path) as manager:
        for _ in range(rng.randint(1, 40)):
            found = manager.recall(rng.choice(["note river", "stone lamp", "train again"]), limit=20)
            _report(pipe, (hit.content for hit in found), seen)
            time.sleep(PAUSE_S)


def _report(pipe: int, contents: Iterable[str], seen: set[str]) -> None:
    for content in contents:
        if content not in seen:
            seen.add(content)
            send(pipe, seen=content)
