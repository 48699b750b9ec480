"""What a regime is: a seeded, bounded run that counts violations, and the result it leaves."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(slots=True)
class Plan:
    """How much one run of a regime does: at most so many runs, at most so many seconds, from this seed."""

    runs: int
    seed: int = 0
    seconds: float = 3600.0
    most_violations: int = 20
    """Stop once so many were found."""
    only: str = ""
    """For `defects`: plant those of one regime."""
    started: float = field(default_factory=time.monotonic)

    def goes_on(self, done: int, violations: Sequence[str] = ()) -> bool:
        """Return whether another run is wanted after so many, with these violations."""
        return done < self.runs and self.elapsed < self.seconds and len(violations) < self.most_violations

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def rng(self, *name: object) -> random.Random:
        """Return the random numbers of one run: the same for the same seed and name, whatever ran before."""
        return random.Random(f"{self.seed}/{'/'.join(map(str, name))}")


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of a regime found."""

    name: str
    runs: int
    violations: tuple[str, ...]
    seed: int
    seconds: float
    detail: dict[str, object]
    """Counts that show that the regime did something: kills in mid-operation, errors seen, the p99."""


class Regime(Protocol):
    """A regime is a function that runs a plan to its end, and a violation is one line that replays."""

    def __call__(self, plan: Plan) -> Result: ...


def result(
    name: str, plan: Plan, runs: int, violations: list[str], detail: Mapping[str, object] | None = None
) -> Result:
    """Return the result of a plan that ended now."""
    return Result(name, runs, tuple(violations), plan.seed, round(plan.elapsed, 1), dict(detail or {}))


def keep_copy(folder: Path, name: str) -> None:
    """Copy the files of a run that failed into the folder named in PROVE_KEEP, if there is one."""
    if target := os.environ.get("PROVE_KEEP"):
        shutil.copytree(folder, Path(target) / name, dirs_exist_ok=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder that is deleted at the end: in memory where there is one, since a killed process leaves it too."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="memoranda-prove-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
